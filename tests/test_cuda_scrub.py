"""The kernels that clear a device between laps, and what a module keeps from launch to launch.

PTX is assembled for each architecture, and runs on the software GPU; the cubin is nvcc's own.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from grader.build import build
from grader.cache import content_key
from grader.cuda.checksum import SUMMING_PTX
from grader.cuda.driver import Driver
from grader.cuda.scrub import demoting_ptx, scrubbing_ptx
from grader.cuda.variables import Variables, read_module
from grader.record.operations import Launch, Operation, SymbolUpload
from grader.record.plan import Plan, PlanBuffer, PlanInvalid
from grader.simt.execution import Watch
from grader.simt.software import SoftwareGPU
from grader.toolchain import find_toolchain
from tests.checksums import checksum_of
from tests.judging import ROOT
from tests.pretend_cubin import pretended_cubin
from tests.pretend_gpu import PretendDriver, Status

SHARED, RESERVED, FRAME = 8192, 1024, 64
PATTERN = "addbfa7f"  # a NaN, byte by byte
BLOCK = (1024, 1, 1)
TELLING = """
.visible .entry tell(.param .u64 out)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd1, %rd1;
    ld.global.u64 %rd2, [total];
    st.global.u64 [%rd1], %rd2;
    ret;
}
"""
KEPT = """
__device__ float zeros[1000];
__device__ int five = 5;
__constant__ float table[16] = {1, 2, 3};
static __device__ int hidden;
extern "C" __global__ void keeps(int* out) {
    static __device__ int counter;
    out[0] = ++counter + ++hidden + five + (int)table[out[1]] + (int)zeros[out[2]];
}
"""


def assembled(text: str, target: int, folder: Path) -> Path:
    """The cubin of a PTX text."""
    source, cubin = folder / "kernel.ptx", folder / "kernel.cubin"
    source.write_text(text, encoding="ascii")
    command = [str(find_toolchain().nvcc), f"-arch=sm_{target}", "-cubin", str(source), "-o", str(cubin)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return cubin


def compiled(text: str, folder: Path, *options: str) -> Path:
    """The cubin of a CUDA source."""
    source, cubin = folder / "kernel.cu", folder / "kernel.cubin"
    source.write_text(text, encoding="ascii")
    command = [str(find_toolchain().nvcc), "-arch=sm_80", *options, "-cubin", str(source), "-o", str(cubin)]
    subprocess.run(command, capture_output=True, check=True)
    return cubin


# ---- our kernels ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [75, 80, 86, 90, 100, 120])
def test_they_are_ptx_for_every_architecture(target: int, tmp_path: Path) -> None:
    assembled(scrubbing_ptx(1 << 10, target), target, tmp_path)
    assembled(SUMMING_PTX, target, tmp_path)
    if target >= 80:
        assembled(demoting_ptx(), target, tmp_path)


def software_gpu(text: str, folder: Path) -> SoftwareGPU:
    """One with this PTX for its module."""
    cubin = assembled(text, 80, folder)
    other = build(ROOT / "solutions" / "puzzle_01_vector_add" / "1_vector_add_block.cu")
    key = f"scrub {content_key(text)}"
    return SoftwareGPU(replace(other, key=key, ptx=folder / "kernel.ptx", cubin=cubin, kernels={}))


def run(gpu: SoftwareGPU, operations: Sequence[Operation]) -> None:
    plan = Plan(gpu.build.target, "none", "0" * 64, (), (), 0, tuple(operations))
    assert gpu.run(plan, {}, roles={}).findings == []


def launch(kernel: str, blocks: int, parameters: bytes = b"", shared: int = 0) -> list[Operation]:
    """One cooperative launch, as the scrubber makes it: its blocks are counted from zero."""
    return [
        SymbolUpload("arrived", 0, bytes(4)),
        Launch(kernel, (blocks, 1, 1), BLOCK, shared, True, parameters, 48 << 10, 1),
    ]


def test_blocks_wait_for_each_other_and_end_however_often_and_in_whatever_grids_they_are_launched(
    tmp_path: Path,
) -> None:
    gpu = software_gpu(scrubbing_ptx(FRAME, 80), tmp_path)
    both = [*launch("scrub_shared", 3, SHARED.to_bytes(4, "little"), SHARED), *launch("scrub_local", 5)]
    run(gpu, both * 3)


@pytest.mark.parametrize("thread", [0, 5, 1023])
def test_each_thread_writes_the_pattern_over_its_part_of_shared_memory_reserved_too_and_all_of_its_frame(
    thread: int, tmp_path: Path
) -> None:
    gpu = software_gpu(scrubbing_ptx(FRAME, 80), tmp_path)
    both = [launch("scrub_shared", 2, SHARED.to_bytes(4, "little"), SHARED), launch("scrub_local", 2)]
    reserved = range(SHARED + 4 * thread, SHARED + RESERVED, 4096)  # the software GPU has it behind all else
    shared = [*range(4 * thread, SHARED, 4096), *reserved]
    for operations, space, places in zip(both, ("shared", "local"), (shared, range(0, FRAME, 4)), strict=True):
        plan = Plan(gpu.build.target, "none", "0" * 64, (), (), 0, tuple(operations))
        noted = gpu.run(plan, {}, roles={}, trace=Watch(1, thread)).trace
        written = [(one["offset"], one["value"]) for one in noted if one["space"] == space and one["write"]]
        assert written == [(place, PATTERN) for place in places]


def test_every_line_is_made_one_like_others_and_nothing_beyond(tmp_path: Path) -> None:
    """The software GPU has no L2: a byte is written wherever a line would be told its priority."""
    told = "applypriority.global.L2::evict_normal [%rd6], 128;"
    gpu = software_gpu(demoting_ptx().replace(told, "st.global.u8 [%rd6], 1;"), tmp_path)
    lines, address = 5000, 1 << 40
    marks = torch.zeros(128 * (lines + 7), dtype=torch.uint8)
    parameters = struct.pack("<QQ", address, lines)
    operations = (Launch("demote", (2, 1, 1), BLOCK, 0, False, parameters, 48 << 10, 1),)
    plan = Plan(
        gpu.build.target, "none", "0" * 64, (PlanBuffer("marks", address, len(marks), "inout"),), (), 0, operations
    )
    assert gpu.run(plan, {"marks": marks}, roles={"marks": "inout"}).findings == []
    assert told in demoting_ptx()
    assert marks.nonzero().flatten().tolist() == list(range(0, 128 * lines, 128))


@pytest.mark.parametrize("size", [0, 1, 1023, 5000])
def test_a_checksum_on_the_gpu_is_that_of_all_bytes_at_their_places(size: int, tmp_path: Path) -> None:
    gpu, key, address = software_gpu(SUMMING_PTX + TELLING, tmp_path), 0xFEDCBA9876543210, 1 << 40
    content = torch.arange(size, dtype=torch.int64).mul(37).remainder(251).to(torch.uint8)
    total = torch.zeros(1, dtype=torch.int64)
    parameters = struct.pack("<QQQ", address, size, key)
    operations = (
        SymbolUpload("total", 0, bytes(8)),
        Launch("add_up", (3, 1, 1), (256, 1, 1), 0, False, parameters, 48 << 10, 1),
        Launch("tell", (1, 1, 1), (1, 1, 1), 0, False, struct.pack("<Q", address << 1), 48 << 10, 1),
    )
    buffers = (PlanBuffer("content", address, size, "in"), PlanBuffer("total", address << 1, 8, "inout"))
    plan = Plan(gpu.build.target, "none", "0" * 64, buffers, (), 0, operations)
    roles = {"content": "in", "total": "inout"}
    assert gpu.run(plan, {"content": content, "total": total}, roles=roles).findings == []
    assert int(total) % (1 << 64) == checksum_of(bytes(content.tolist()), key)


def test_a_checksum_tells_one_byte_and_two_that_changed_places() -> None:
    content, key = bytes(range(200)), 12345
    swapped = bytes([content[1], content[0], *content[2:]])
    sums = {checksum_of(each, key) for each in (content, swapped, content[:-1] + b"\0", content + b"\0", bytes(200))}
    assert len(sums) == 5
    assert checksum_of(content, key) != checksum_of(content, key + 1)


# ---- a module's variables -------------------------------------------------------------------------------------------


def test_all_that_a_module_keeps_is_found_static_variables_too(tmp_path: Path) -> None:
    module = read_module(compiled(KEPT, tmp_path).read_bytes())
    assert module.unrestorable is None
    names = sorted(name for section in module.sections for name, _, _ in section.symbols)
    assert names[0].startswith("_ZZ")
    assert names[0].endswith("counter")
    assert [name for name in names[1:] if "hidden" not in name] == ["five", "table", "zeros"]
    assert any("hidden" in name for name in names)
    zeros = [section.size for section in module.sections if section.content is None]
    assert zeros == [4008]
    contents = {section.size: section.content for section in module.sections if section.content}
    assert contents[4] == (5).to_bytes(4, "little")


@pytest.mark.parametrize("apart", [True, False])
def test_each_variable_is_put_back_however_the_driver_lays_them_out(apart: bool) -> None:
    gpu, cubin = PretendDriver(), pretended_cubin({"zeros": 16, "more": 8}, {"five": b"\5\0\0\0", "six": b"\6\6"})
    gpu.variables_apart = apart
    driver = Driver(gpu)
    variables = Variables(driver, driver.call("cuModuleLoadData", cubin), read_module(cubin))
    assert variables.found
    loaded = {name: bytes(gpu.variable(name)) for name in gpu.variables}
    for name, content in loaded.items():
        gpu.variable(name)[:] = b"\xff" * len(content)
    variables.restore(None)
    assert {name: bytes(gpu.variable(name)) for name in loaded} == loaded
    assert loaded == {"zeros": bytes(16), "more": bytes(8), "five": b"\5\0\0\0", "six": b"\6\6"}
    assert gpu.fault == Status.CUDA_SUCCESS


@pytest.mark.parametrize(("apart", "found"), [(True, False), (False, True)])
def test_a_variable_that_the_driver_does_not_know_is_put_back_where_it_lies_among_others(
    apart: bool, found: bool
) -> None:
    gpu, cubin = PretendDriver(), pretended_cubin({"zeros": 16, "hidden": 8})
    gpu.variables_apart = apart
    driver = Driver(gpu)
    assert Variables(driver, driver.call("cuModuleLoadData", cubin), read_module(cubin)).found == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('__managed__ int m; extern "C" __global__ void k() { ++m; }', "managed variable m"),
        ('extern "C" __global__ void k(int** p) { *p = (int*)malloc(4); }', "malloc"),
        (
            'extern "C" __global__ void k(void** p) { *p = __nv_aligned_device_malloc(64, 32); }',
            "__cuda_syscall_aligned_malloc",
        ),
    ],
)
def test_what_nobody_can_put_back_is_named(text: str, why: str, tmp_path: Path) -> None:
    assert why in (read_module(compiled(text, tmp_path).read_bytes()).unrestorable or "")


def test_a_kernel_that_prints_and_asserts_keeps_nothing(tmp_path: Path) -> None:
    text = """
        #include <cassert>
        #include <cstdio>
        extern "C" __global__ void k(int n) { assert(n > 0); printf("%d\\n", n); }
    """
    assert read_module(compiled(text, tmp_path).read_bytes()).unrestorable is None


@pytest.mark.parametrize("image", [b"", b"\x7fELF", b"\x7fELF" + b"\xff" * 100, b"no file of that kind" * 50])
def test_what_is_no_cubin_is_refused(image: bytes) -> None:
    with pytest.raises(PlanInvalid):
        read_module(image)


def test_a_cubin_that_is_cut_short_or_damaged_is_refused_or_read(tmp_path: Path) -> None:
    """Whatever a bundle holds, nothing but `PlanInvalid` comes of it."""
    whole = compiled(KEPT, tmp_path).read_bytes()
    for end in range(0, len(whole), 97):
        damaged = bytearray(whole)
        damaged[end : end + 8] = b"\xff" * 8
        for image in (whole[:end], bytes(damaged)):
            try:
                read_module(image)
            except PlanInvalid:
                continue
