"""What ptxas merged: real kernels on sm_80, counted in its own instructions, and evidence that says too little.

The numbers of the five first kernels were read off nvdisasm 13.0.88.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.build import build
from grader.sass import MemoryInstruction, read_memory_instructions
from grader.simt.lower import lower
from grader.simt.merging import by_ptx_line
from grader.simt.program import UNKNOWN_WIDTH, Program, parse_program, program_bytes
from tests.ptx_snippets import kernel

SOURCE = Path(__file__).parent / "kernels" / "merged.cu"


@pytest.fixture(scope="module")
def merged() -> Program:
    made = build(SOURCE)
    compiled = by_ptx_line(read_memory_instructions(made.cubin))
    return lower(made.ptx.read_text(), made.source_name, compiled)


def widths(program: Program, function: str, operation: str, marker: str | None = None) -> Counter[int]:
    """How often each compiled width occurs among the operations of that name, on the line with that comment."""
    line = None
    if marker is not None:
        (line,) = (n for n, text in enumerate(SOURCE.read_text().split("\n"), 1) if text.endswith(f"// {marker}"))
    (found,) = (item for item in program.functions if f"{len(function)}{function}P" in item.name)
    return Counter(
        item.compiled
        for item in found.instructions
        if program.op_names[item.op].startswith(operation) and line in (None, program.sites[item.site].line)
    )


@pytest.mark.parametrize(
    ("function", "operation", "marker", "expected"),
    [
        ("column", "ld.shared", "column", {16: 8, 0: 24}),
        ("padded", "ld.shared", "padded", {4: 32}),
        ("gemm16", "ld.shared", "gemm", {4: 16, 16: 4, 0: 12}),
        ("gemm32", "ld.shared", "gemm", {4: 32, 16: 8, 0: 24}),
        ("transpose", "ld.shared", "transpose", {4: 4}),
        ("row_stores", "st.shared", "row stores", {16: 8, 0: 24}),
        ("backwards", "ld.shared", "backwards", {16: 8, 0: 24}),
        ("with_a_gap", "ld.shared", "gap", {16: 1, 0: 2}),
        ("own_four", "ld.shared", "own four", {16: 1, 0: 3}),
        ("global_pairs", "ld.global", "global pairs", {4: 2}),
        ("bytes", "ld.shared", "bytes", {1: 8}),
        ("eight", "ld.shared", "called", {16: 2, 0: 6}),
        # By nvcc four rounds at once and one alone for the rest: ptxas makes two pairs of the four.
        ("rolled", "ld.shared", "rolled", {8: 2, 0: 2, 4: 1}),
        ("array_in_registers", "ld.local", None, {0: 5}),
        ("array_in_registers", "st.local", None, {0: 5}),
    ],
)
def test_widths_are_those_of_the_machine_instructions(
    merged: Program, function: str, operation: str, marker: str | None, expected: dict[int, int]
) -> None:
    assert widths(merged, function, operation, marker) == expected


def test_nothing_is_known_without_the_cubin() -> None:
    made = build(SOURCE)
    program = lower(made.ptx.read_text(), made.source_name)
    assert {item.compiled for function in program.functions for item in function.instructions} == {UNKNOWN_WIDTH}


def test_widths_are_kept_in_the_file(merged: Program) -> None:
    assert parse_program(program_bytes(merged)) == merged


def test_what_is_no_load_or_store_has_no_width(merged: Program) -> None:
    others = {
        item.compiled
        for function in merged.functions
        for item in function.instructions
        if not merged.op_names[item.op].startswith(("ld.shared", "ld.global", "ld.local", "st."))
    }
    assert others == {UNKNOWN_WIDTH}


def compiled(accesses: Sequence[tuple[str, tuple[int, ...]]], before: str = "") -> list[int | None]:
    """Compiled widths of accesses, each a line of PTX with the widths of the machine instructions made of it."""
    text = kernel(
        "\n".join(
            [
                f"mov.u32 %r1, %tid.x; mov.u32 %r4, 7; mov.f32 %f0, 0f00000000; {before}",
                *(ptx for ptx, _ in accesses),
                "ret;",
            ]
        )
    )
    numbers = {ptx: number for number, ptx in enumerate(text.split("\n"), 1)}
    made = [
        MemoryInstruction(".text.k", 0, "LDS" if "ld." in ptx else "STS", size, numbers[ptx])
        for ptx, sizes in accesses
        for size in sizes
    ]
    program = lower(text, "k.cu", by_ptx_line(made))
    (function,) = program.functions
    return [
        None if item.compiled == UNKNOWN_WIDTH else item.compiled
        for item in function.instructions
        if program.op_names[item.op].startswith(("ld.shared", "st.shared", "ld.volatile.shared"))
    ]


def load(register: int, address: str, guard: str = "", order: str = "", kind: str = "f32") -> str:
    return f"{guard}ld{order}.shared.{kind} %f{register}, [{address}];"


@pytest.mark.parametrize(
    ("accesses", "expected"),
    [
        pytest.param([(load(1, "%r1"), (8,)), (load(2, "%r1+4"), ())], [8, 0], id="a pair"),
        pytest.param([(load(1, "%r1+4"), ()), (load(2, "%r1"), (8,))], [0, 8], id="the later one has the line"),
        pytest.param([(load(1, "%r1"), (8, 8, 8)), (load(2, "%r1+4"), ())], [8, 0], id="a pair, unrolled by ptxas"),
        pytest.param([(load(1, "%r1"), (4,)), (load(2, "%r1"), ())], [4, 0], id="the same bytes twice"),
        pytest.param(
            [(load(1, "%r1"), (8,)), ("add.s32 %r2, %r1, 4;", ()), (load(2, "%r2"), ())], [8, 0], id="a sum as base"
        ),
        pytest.param([(load(1, "%r1"), (16,)), (load(2, "%r1+4"), ())], [None, None], id="two rounds of a loop"),
        pytest.param([(load(1, "%r1"), (16,))], [None], id="four rounds of a loop"),
        pytest.param([(load(1, "%r1"), (8, 4)), (load(2, "%r1+4"), ())], [None, None], id="merged in one copy only"),
        pytest.param([(load(1, "%r1"), (8,)), (load(2, "%r1+4"), (4,))], [None, 4], id="the other one is there too"),
        pytest.param([(load(1, "%r1"), (8,)), (load(2, "%r4+4"), ())], [None, None], id="another base"),
        pytest.param(
            [(load(1, "%r1"), (8,)), ("add.s32 %r1, %r1, %r4;", ()), (load(2, "%r1+4"), ())],
            [None, None],
            id="the base has changed",
        ),
        pytest.param(
            [(load(1, "%r1", "@%p1 "), (8,)), (load(2, "%r1+4", "@%p2 "), ())], [None, None], id="another guard"
        ),
        pytest.param(
            [(load(1, "%r1"), (8,)), ("bar.sync 0;", ()), (load(2, "%r1+4"), ())], [None, None], id="another block"
        ),
        pytest.param(
            [(load(1, "%r1"), (8,)), (load(2, "%r1+4", order=".volatile"), ())], [None, None], id="another kind"
        ),
        pytest.param([(load(1, "%r1"), (8,)), ("st.shared.f32 [%r1+4], %f0;", ())], [None, None], id="a store"),
        pytest.param([(load(1, "%r1"), (8,)), (load(2, "%r1+8"), ())], [None, None], id="too far away"),
        pytest.param(
            [(load(1, "%r1+4"), (8,)), (load(2, "%r1"), ()), (load(3, "%r1+8"), ())],
            [None, None, None],
            id="two ways to read it",
        ),
        pytest.param([(load(1, "%r1"), ()), (load(2, "%r1+4"), ())], [None, None], id="both are gone"),
    ],
)
def test_two_are_taken_as_one_only_where_nothing_else_fits(
    accesses: list[tuple[str, tuple[int, ...]]], expected: list[int | None]
) -> None:
    assert compiled(accesses, "setp.eq.s32 %p1, %r1, 3; setp.eq.s32 %p2, %r1, 4;") == expected
