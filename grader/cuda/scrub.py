"""Takes away what a kernel can leave behind in memory that nobody gave it: shared and local memory, marks in the L2.

Neither shared nor local memory is cleared between launches, and both can be read before they are written: a kernel
could keep results there from lap to lap. So small kernels of ours, PTX that the driver compiles, write a pattern over
both; of shared memory also over what is reserved in each block for the system, which a kernel can reach from sm_80 on
(seen on an H200, it keeps its contents as the rest does). They are launched cooperatively with as many blocks as fit,
and no block ends before all have begun: that way each block has a place of its own, and no place is left out. Lines of
the L2 that a kernel asked to be evicted last are made lines like others, where the architecture knows such a thing
(sm_80 and later).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from grader.cuda.driver import Driver

_BLOCK = 1024
_FIRST_WITH_PRIORITIES = 80
_FIRST_WITH_RESERVED = 80
_LINE = 128
_PATTERN = 0x7FFADBAD  # a NaN: who forgets to clear a sum does not find it cleared

# Waits until as many blocks have come as there are; `arrived` is 0 when a launch begins.
_GATHER = """
    bar.sync 0;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra $done;
    mov.u32 %r2, %nctaid.x;
    mov.u64 %rd1, arrived;
    atom.global.add.u32 %r3, [%rd1], 1;
$wait:
    ld.volatile.global.u32 %r4, [%rd1];
    setp.lt.u32 %p2, %r4, %r2;
    @%p2 bra $wait;
$done:
    ret;
"""

# The block's own reserved part, which no other memory of the launch covers.
_RESERVED = """
    mov.u32 %r11, %tid.x;
    shl.b32 %r11, %r11, 2;
    mov.u32 %r12, %reserved_smem_offset_begin;
    add.u32 %r11, %r11, %r12;
    mov.u32 %r10, %reserved_smem_offset_cap;
$more:
    setp.ge.u32 %p3, %r11, %r10;
    @%p3 bra $gather;
    st.volatile.shared.u32 [%r11], %r13;
    add.u32 %r11, %r11, {stride};
    bra $more;
"""

_SCRUB = """
.version {version}
.target sm_{target}
.address_size 64

.extern .shared .align 16 .b8 all[];
.global .align 4 .u32 arrived;

.visible .entry scrub_shared(.param .u32 bytes)
.maxntid {block}, 1, 1
{{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<8>;
    ld.param.u32 %r10, [bytes];
    mov.u32 %r11, %tid.x;
    shl.b32 %r11, %r11, 2;
    mov.u32 %r12, all;
    mov.u32 %r13, {pattern};
$next:
    setp.ge.u32 %p3, %r11, %r10;
    @%p3 bra $reserved;
    add.u32 %r14, %r12, %r11;
    st.volatile.shared.u32 [%r14], %r13;
    add.u32 %r11, %r11, {stride};
    bra $next;
$reserved:
{reserved}
$gather:
{gather}
}}

.visible .entry scrub_local()
.maxntid {block}, 1, 1
.minnctapersm 1
{{
    .local .align 16 .b8 frame[{frame}];
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<8>;
    mov.u64 %rd2, frame;
    cvta.local.u64 %rd2, %rd2;
    mov.u32 %r10, 0;
    mov.u32 %r13, {pattern};
$next:
    cvt.u64.u32 %rd3, %r10;
    add.u64 %rd4, %rd2, %rd3;
    st.volatile.u32 [%rd4], %r13;
    add.u32 %r10, %r10, 4;
    setp.lt.u32 %p3, %r10, {frame};
    @%p3 bra $next;
{gather}
}}
"""

_DEMOTE = """
.version 7.4
.target sm_80
.address_size 64

.visible .entry demote(.param .u64 first, .param .u64 lines)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [first];
    cvta.to.global.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [lines];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.wide.u32 %rd3, %r1, %r2, 0;
    cvt.u64.u32 %rd4, %r3;
    add.u64 %rd3, %rd3, %rd4;
    mov.u32 %r4, %nctaid.x;
    mul.wide.u32 %rd5, %r4, %r2;
$next:
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra $done;
    shl.b64 %rd6, %rd3, 7;
    add.u64 %rd6, %rd1, %rd6;
    applypriority.global.L2::evict_normal [%rd6], {line};
    add.u64 %rd3, %rd3, %rd5;
    bra $next;
$done:
    ret;
}}
"""


def scrubbing_ptx(frame: int, target: int) -> str:
    """The kernels scrub_shared(bytes) and scrub_local(), which writes `frame` bytes a thread, a multiple of 4, for
    GPUs of compute capability `target` (80 for 8.0).
    """
    stride = 4 * _BLOCK
    facts = {"pattern": _PATTERN, "block": _BLOCK, "stride": stride, "frame": frame, "gather": _GATHER}
    if target < _FIRST_WITH_RESERVED:
        return _SCRUB.format(version="6.5", target=75, reserved="", **facts)
    return _SCRUB.format(version="7.6", target=80, reserved=_RESERVED.format(stride=stride), **facts)


def demoting_ptx() -> str:
    """The kernel demote(first, lines), for sm_80 and later."""
    return _DEMOTE.format(line=_LINE)


class Scrubber:
    """Our kernels, compiled for a plan whose kernels have `frame` bytes of local memory at most."""

    def __init__(self, driver: Driver, frame: int) -> None:
        self._driver = driver
        self._processors = driver.attribute("MULTIPROCESSOR_COUNT")
        self._cooperates = bool(driver.attribute("COOPERATIVE_LAUNCH"))
        self._shared = driver.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        stack = int(driver.call("cuCtxGetLimit", driver.enum("CUlimit", "LIMIT_STACK_SIZE")))
        target = driver.facts().target
        self._module = driver.module_of(scrubbing_ptx(-(-(frame + stack) // 16) * 16, target))
        self._scrub_shared = driver.call("cuModuleGetFunction", self._module, b"scrub_shared")
        self._scrub_local = driver.call("cuModuleGetFunction", self._module, b"scrub_local")
        self._arrived, _ = driver.call("cuModuleGetGlobal", self._module, b"arrived")
        most = driver.enum("CUfunction_attribute", "FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES")
        driver.call("cuFuncSetAttribute", self._scrub_shared, most, self._shared)
        self._resident = int(driver.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", self._scrub_local, _BLOCK, 0))
        self._demoting: Any = None
        if target >= _FIRST_WITH_PRIORITIES:
            self._demoting = driver.module_of(demoting_ptx())
            self._demote = driver.call("cuModuleGetFunction", self._demoting, b"demote")

    def close(self) -> None:
        """Unloads the kernels."""
        for module in filter(None, (self._module, self._demoting)):
            self._driver.call("cuModuleUnload", module)

    def shared(self, stream: Any) -> None:
        """Fills all that a block can have of the shared memory of each multiprocessor; in stream order."""
        self._launch(self._scrub_shared, self._processors, struct.pack("<I", self._shared), stream, self._shared)

    def local(self, stream: Any) -> None:
        """Fills the local memory of every thread that can be resident; in stream order."""
        self._launch(self._scrub_local, self._processors * self._resident, b"", stream)

    def demote(self, ranges: Sequence[tuple[int, int]], stream: Any) -> None:
        """Lines of these (address, bytes), whole lines, are evicted as others are; in stream order."""
        if self._demoting is None:
            return
        for first, size in ranges:
            values = struct.pack("<QQ", first, size // _LINE)
            self._launch(self._demote, 2 * self._processors, values, stream, together=False)

    def _launch(
        self, function: Any, blocks: int, values: bytes, stream: Any, shared: int = 0, *, together: bool = True
    ) -> None:
        driver = self._driver
        # where the GPU knows no cooperative launch they fit as well, since nothing else runs; nobody vouches for it
        cooperative = together and self._cooperates
        config = driver.launch_config((blocks, 1, 1), (_BLOCK, 1, 1), shared, stream, cooperative=cooperative)
        if together:
            driver.call("cuMemsetD32Async", self._arrived, 0, 1, stream)
        extra, _held = driver.packed(values)  # the launch copies the parameters before it returns
        driver.call("cuLaunchKernelEx", config, function, 0, extra)
