"""Kernels without an end or beyond all measure: each stops soon, within little memory, with a word on what it is.

They run as a learner's kernel does, in the machine's process; that process may have 256 MiB more than when it started,
and is ended, which fails the test, when it takes longer than a minute. What has no end runs with the budgets of a
check, and one kernel of each sort, which changes with the commit, with the larger ones of a program, as do all others.
"""

from __future__ import annotations

import struct
import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.record.plan import PlanBuffer
from grader.simt.lower import lower
from grader.simt.machine import MachineError
from grader.simt.program import write_program
from grader.simt.remote import Limits, RemoteMachine
from grader.simt.software import LAUNCH_BUDGET, WARP_BUDGET
from grader.trial import _LEAST_BUDGET, _LEAST_LAUNCH_BUDGET
from tests.ptx_snippets import kernel
from tests.sampling import sampled

_LIMITS = Limits(seconds=60, grace=0, head_room=256 << 20)
_ADDRESS = 0x2000_0000_0000
OF_A_CHECK, OF_A_PROGRAM = (_LEAST_BUDGET, _LEAST_LAUNCH_BUDGET), (WARP_BUDGET, LAUNCH_BUDGET)
_MOST_BLOCKS = 2**31 - 1
_PRINTED = 64 << 10
_STORE = "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4; ret;"
_PROLOGUE = "ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"


class Device:
    """A kernel `k` of this body, with one buffer of `size` bytes at the address that is its first parameter."""

    def __init__(self, directory: Path, body: str, *, before: str = "", size: int = 0) -> None:
        program = directory / "k.simt"
        write_program(lower(kernel(_PROLOGUE + body, before=before), "k.cu"), program)
        self.machine = RemoteMachine(program)
        buffers = [PlanBuffer("out", _ADDRESS, size, "inout")]
        self.memory = {"out": torch.zeros(size, dtype=torch.uint8)}
        self.roles = {"out": "inout"}
        self.machine.begin(buffers, self.memory, self.roles, _LIMITS)

    def launch(
        self,
        grid: int | tuple[int, int, int] = 1,
        block: int = 32,
        *,
        shared: int = 0,
        workers: int = 2,
        budgets: tuple[int, int] = OF_A_PROGRAM,
    ) -> dict[str, Any]:
        (report,) = self.machine.launch(
            "k",
            grid if isinstance(grid, tuple) else (grid, 1, 1),
            (block, 1, 1),
            shared,
            struct.pack("<8Q", _ADDRESS, *(7 * [0])),
            order="forward",
            seed=0,
            workers=workers,
            warp_budget=budgets[0],
            launch_budget=budgets[1],
        )
        return report

    def words(self) -> list[int]:
        """What the buffer holds after all launches, as 32-bit integers."""
        self.machine.read_back(self.memory, self.roles)
        return [int(word) for word in self.memory["out"].view(torch.int32)]

    def resident(self) -> int:
        """Bytes of the machine's process that lie in memory."""
        return int(Path(f"/proc/{self.machine.pid}/statm").read_text().split()[1]) * 4096


def kinds(report: dict[str, Any]) -> set[str]:
    return {finding["kind"] for finding in report["findings"]}


# ---- grids ----------------------------------------------------------------------------------------------------------


def test_a_grid_of_more_blocks_than_can_be_numbered_is_refused(tmp_path: Path) -> None:
    device = Device(tmp_path, "ret;")
    with pytest.raises(MachineError, match="too large for the software GPU"):
        device.launch((_MOST_BLOCKS, 65535, 1))
    with pytest.raises(MachineError, match="impossible grid"):
        device.launch((2**22, 2**21, 2**21))  # 2^64 blocks, which is none in 64 bits
    assert kinds(device.launch(1)) == set()


@pytest.mark.parametrize("shared", [0, 100_000])
def test_a_grid_that_never_ends_is_too_much_work(tmp_path: Path, shared: int) -> None:
    report = Device(tmp_path, "ret;").launch(_MOST_BLOCKS, shared=shared)
    assert [(finding["kind"], finding["text"]) for finding in report["findings"]] == [("redundant_traffic", "grid")]


# ---- loops ----------------------------------------------------------------------------------------------------------


_ENDLESS = [
    "L: bra L;",
    "L: bar.sync 0; bra L;",
    "L: membar.gl; bar.sync 0; bra L;",
    "L: membar.gl; atom.global.add.u32 %r3, [%rd1], 1; bra L;",
    "L: bar.warp.sync -1; membar.gl; red.shared.add.u32 [tile], 1; bra L;",
]
_LOOPS = list(product(_ENDLESS, (32, 256)))


@pytest.mark.parametrize(
    ("body", "block", "budgets"),
    [*((*loop, OF_A_CHECK) for loop in _LOOPS), *((*loop, OF_A_PROGRAM) for loop in sampled(_LOOPS, len(_LOOPS)))],
)
def test_a_loop_without_an_end_is_told_whatever_is_in_it(
    tmp_path: Path, body: str, block: int, budgets: tuple[int, int]
) -> None:
    device = Device(
        tmp_path, f"st.shared.u32 [tile], 0;\nbar.sync 0;\n{body}", before=".shared .align 4 .b8 tile[4];", size=4
    )
    assert kinds(device.launch(2, block, budgets=budgets)) == {"endless_loop"}


def test_a_loop_in_which_every_lane_races_is_told_as_soon(tmp_path: Path) -> None:
    device = Device(tmp_path, "L: st.global.u32 [%rd1], %r1; bra L;", size=4)
    started = time.monotonic()
    assert kinds(device.launch()) == {"data_race", "endless_loop"}
    assert time.monotonic() - started < 20


_HALVES = "{%r1, %r2, %r3, %r4}"
_PRODUCT = f"""mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
    {{%f1, %f2, %f3, %f4}}, {_HALVES}, {{%r5, %r6}}, {{%f1, %f2, %f3, %f4}};"""


@pytest.mark.parametrize("body", [_PRODUCT, f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {_HALVES}, [tile];"])
def test_a_loop_of_matrix_instructions_is_told_as_soon(tmp_path: Path, body: str) -> None:
    fill = "mov.u32 %r2, tile; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], 0; bar.sync 0;"
    zeros = "\n".join(
        [*(f"mov.u32 %r{i}, 0;" for i in range(3, 7)), *(f"mov.f32 %f{i}, 0f00000000;" for i in range(1, 5))]
    )
    before = ".shared .align 16 .b8 tile[128];"
    device = Device(tmp_path, f"{fill}\n{zeros}\nL: {8 * body} bra L;", before=before)
    started = time.monotonic()
    assert kinds(device.launch()) == {"endless_loop"}
    assert time.monotonic() - started < 20


def nest(depth: int) -> str:
    """`depth` loops, one in the other, each of two rounds for one way to the innermost and of one for all others."""
    opened = [f"mov.u32 %z{i}, 0; L{i}:" for i in range(depth)]
    closed = [
        f"add.u32 %z{i}, %z{i}, 1; setp.lt.u32 %p1, %z{i}, 2; setp.eq.and.u32 %p2, %r3, {i}, %p1; @%p2 bra L{i};"
        for i in reversed(range(depth))
    ]
    return "\n".join([f".reg .b32 %z<{depth}>; rem.u32 %r3, %r1, {depth};", *opened, "add.u32 %r4, %r4, 1;", *closed])


def test_three_hundred_loops_one_in_the_other_come_to_their_end(tmp_path: Path) -> None:
    body = f"mov.u32 %r4, 0;\n{nest(300)}\n{_STORE}"
    device = Device(tmp_path, body, size=4 * 512)
    assert kinds(device.launch(1, 512)) == set()
    assert device.words() == [2] * 512


# ---- what a kernel prints -------------------------------------------------------------------------------------------


def printing(directory: Path, text: str, *, loop: bool) -> Device:
    codes = ", ".join(map(str, text.encode() + b"\0"))
    call = """{ .param .b64 param0; st.param.b64 [param0], %rd3; .param .b64 param1; st.param.b64 [param1], 0;
                .param .b32 retval0; call.uni (retval0), vprintf, (param0, param1); }"""
    before = f""".extern .func (.param .b32 f) vprintf (.param .b64 a, .param .b64 b);
                 .global .align 1 .b8 text[{len(text) + 1}] = {{{codes}}};"""
    body = f"mov.u64 %rd2, text; cvta.global.u64 %rd3, %rd2;\nL: {call}\n{'bra L;' if loop else 'ret;'}"
    return Device(directory, body, before=before)


_TEXTS = ["", "x", "%500d"]


@pytest.mark.parametrize(
    ("text", "budgets"),
    [*((text, OF_A_CHECK) for text in _TEXTS), *((text, OF_A_PROGRAM) for text in sampled(_TEXTS, 3))],
)
def test_a_kernel_that_prints_for_ever_is_told_so_and_little_of_it_is_kept(
    tmp_path: Path, text: str, budgets: tuple[int, int]
) -> None:
    report = printing(tmp_path, text, loop=True).launch(budgets=budgets)
    assert kinds(report) == {"endless_loop"}
    assert len(report["printed"]) <= 2 * (_PRINTED + 4096)


@pytest.mark.parametrize("text", ["%999999999d", "%.999999999f", "%0999999999.999999999x|"])
def test_a_number_of_a_thousand_million_digits_is_cut_short(tmp_path: Path, text: str) -> None:
    started = time.monotonic()
    report = printing(tmp_path, text, loop=False).launch(1, 1)
    assert time.monotonic() - started < 5
    assert len(report["printed"]) <= 4096


# ---- calls ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("registers", [4, 3000])
def test_a_function_that_calls_itself_for_ever_overflows_its_stack(tmp_path: Path, registers: int) -> None:
    made = " ".join(f"mul.wide.u32 %z{i}, %y0, {i + 3};" for i in range(registers))
    used = " ".join(f"xor.b64 %z0, %z0, %z{i};" for i in range(1, registers))
    function = f""".func (.param .b64 r) f(.param .b32 x)
    {{ .reg .b32 %y<3>; .reg .b64 %z<{registers}>; ld.param.u32 %y0, [x]; add.u32 %y1, %y0, 1; {made}
       {{ .param .b32 p0; st.param.b32 [p0], %y1; .param .b64 r0; call.uni (r0), f, (p0); ld.param.b64 %z1, [r0]; }}
       {used} st.param.b64 [r], %z0; ret; }}"""
    call = "{ .param .b32 p0; st.param.b32 [p0], 1; .param .b64 r0; call.uni (r0), f, (p0); ld.param.b64 %rd2, [r0]; }"
    report = Device(tmp_path, f"{call} st.global.u64 [%rd1], %rd2; ret;", before=function, size=8).launch()
    assert {(finding["kind"], finding["text"]) for finding in report["findings"]} == {("device_trap", "stack")}


# ---- code -----------------------------------------------------------------------------------------------------------


def test_ten_thousand_blocks_of_code_are_read_and_run_in_seconds(tmp_path: Path) -> None:
    started = time.process_time()
    steps = "\n".join(f"setp.eq.u32 %p1, %r1, {i % 64}; @%p1 bra L{i}; add.u32 %r4, %r4, 1; L{i}:" for i in range(5000))
    body = f"mov.u32 %r4, 0;\n{steps}\n{_STORE}"
    device = Device(tmp_path, body, size=4 * 64)
    assert time.process_time() - started < 10
    assert kinds(device.launch(1, 64)) == set()
    assert device.words() == [5000 - len(range(i, 5000, 64)) for i in range(64)]


def test_thousands_of_registers_hold_their_values(tmp_path: Path) -> None:
    made = "\n".join(f"mad.lo.u32 %z{i}, %r1, {i}, %r2;" for i in range(5000))
    used = "\n".join(f"xor.b32 %r4, %r4, %z{i};" for i in range(5000))
    body = f".reg .b32 %z<5000>; mov.u32 %r4, 0;\n{made}\n{used}\n{_STORE}"
    device = Device(tmp_path, body, size=4 * 32)
    assert kinds(device.launch()) == set()
    expected = [0] * 32
    for thread in range(32):
        for i in range(5000):
            expected[thread] ^= thread * i
    assert device.words() == expected


# ---- launches, and what they leave behind ---------------------------------------------------------------------------


def test_thousands_of_launches_take_no_more_memory_than_one(tmp_path: Path) -> None:
    device = Device(tmp_path, "atom.global.add.u32 %r3, [%rd1], 1; ret;", size=4)
    for _ in range(200):
        assert kinds(device.launch(workers=1)) == set()
    before = device.resident()
    for _ in range(2000):
        assert kinds(device.launch(workers=1)) == set()
    assert device.resident() - before < 4 << 20
    assert device.words() == [2200 * 32]


def test_a_sum_that_the_last_of_many_blocks_adds_up_is_followed_through_all_of_them(tmp_path: Path) -> None:
    blocks = 20_000
    body = f"""
        setp.ne.u32 %p1, %r1, 0; @%p1 bra E;
        mul.wide.u32 %rd4, %r2, 4; add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5+8], %r2;
        membar.gl; atom.global.add.u32 %r3, [%rd1], 1; membar.gl;
        setp.ne.u32 %p2, %r3, {blocks - 1}; @%p2 bra E;
        mov.u32 %r4, 0; mov.u32 %r5, 0;
     L: mul.wide.u32 %rd7, %r4, 4; add.u64 %rd8, %rd1, %rd7; ld.global.u32 %r6, [%rd8+8];
        add.u32 %r5, %r5, %r6; add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, {blocks}; @%p3 bra L;
        st.global.u32 [%rd1+4], %r5;
     E: ret;"""
    device = Device(tmp_path, body, size=8 + 4 * blocks)
    started = time.monotonic()
    assert kinds(device.launch(blocks)) == set()
    assert time.monotonic() - started < 20
    assert device.words()[1] == blocks * (blocks - 1) // 2


def test_a_lock_that_all_blocks_take_in_turn_orders_them_in_time(tmp_path: Path) -> None:
    body = """
        setp.ne.u32 %p1, %r1, 0; @%p1 bra E;
     L: atom.global.cas.b32 %r3, [%rd1], 0, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra L;
        membar.gl;
        ld.global.u32 %r4, [%rd1+4]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1+4], %r4;
        membar.gl; atom.global.exch.b32 %r5, [%rd1], 0;
     E: ret;"""
    device = Device(tmp_path, body, size=8)
    started = time.monotonic()
    assert kinds(device.launch(20_000)) == set()
    assert time.monotonic() - started < 20
    assert device.words() == [0, 20_000]


def test_flags_at_a_million_places_stay_within_the_memory_of_a_check(tmp_path: Path) -> None:
    body = """
        mad.lo.u32 %r3, %r2, 1024, %r1; mul.wide.u32 %rd2, %r3, 8; add.u64 %rd3, %rd1, %rd2;
        st.global.u32 [%rd3+4], %r3; membar.gl; atom.global.add.u32 %r4, [%rd3], 1; ret;"""
    device = Device(tmp_path, body, size=8 << 20)
    before = device.resident()
    assert kinds(device.launch(1024, 1024)) == set()
    assert device.resident() - before < (256 << 20)


def test_of_very_many_lines_that_race_some_hundred_are_told(tmp_path: Path) -> None:
    lines = 1000
    ways = "\n".join(f".loc 1 {i + 1} 0\nS{i}: st.global.u32 [%rd1], %r3; bra E;" for i in range(lines))
    table = ", ".join(f"S{i}" for i in range(lines))
    body = f"""
        mad.lo.u32 %r3, %r2, 32, %r1; mul.lo.u32 %r4, %r3, 0x9E3779B1; shr.u32 %r4, %r4, 8; rem.u32 %r4, %r4, {lines};
        T: .branchtargets {table};
        brx.idx %r4, T;
        {ways}
        E: ret;"""
    report = Device(tmp_path, body, before='.file 1 "k.cu"', size=4).launch(1000)
    assert kinds(report) == {"data_race"}
    assert 100 <= len(report["findings"]) <= 1000
