"""Launch code with nothing wrong, in all the ways it can be written: no finding, and a Plan that says what it does."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from grader.build import Build, build
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, f32, i32
from grader.record import EntryArgument, EntryCall, layout_at, record, record_entry, software_layout
from grader.record.plan import (
    Allocation,
    Copy,
    Free,
    Launch,
    Memset,
    SymbolCopy,
    SymbolUpload,
    Upload,
    from_json,
    to_json,
)
from tests.recording import BYTES, N, built, call_of, line_of, recorded

COPY_KERNEL = "_Z11copy_kernelPKfPfi"
ENTRIES = [
    "plain", "does_nothing", "by_function", "by_config", "cooperative", "from_template", "nested", "padded",
    "attribute_once", "stream_order", "queries", "recovers", "ordinary_host_code", "per_thread_names",
]  # fmt: skip


@pytest.fixture(scope="module")
def honest() -> Build:
    return built("honest.cu")


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_honest_entry_gives_no_finding(entry: str) -> None:
    recording = recorded("honest.cu", entry)
    assert recording.findings == []
    assert recording.plan.returned == 0


def test_a_launch_is_recorded_as_it_was_made() -> None:
    plan = recorded("honest.cu", "plain").plan
    a, out = (buffer.address for buffer in plan.buffers)
    (launch,) = plan.operations
    assert launch == Launch(
        kernel=COPY_KERNEL,
        grid=(4, 1, 1),
        block=(256, 1, 1),
        shared=0,
        cooperative=False,
        parameters=struct.pack("<QQi", a, out, N),
        max_dynamic_shared=48 << 10,
        line=line_of("honest.cu", "plain"),
    )


def test_buffers_lie_where_the_case_places_them() -> None:
    a, out = recorded("honest.cu", "plain").plan.buffers
    assert (a.name, a.role, a.bytes, a.address % 256) == ("a", "in", BYTES, 0)
    assert (out.name, out.role, out.bytes, out.address % 256) == ("out", "out", BYTES, 4)


@pytest.mark.parametrize(
    ("entry", "marks"),
    [
        ("by_function", ["by_function"]),
        ("by_config", ["by_config"]),
        ("from_template", ["from_template"]),
        ("nested", ["inner", "outer"]),
    ],
)
def test_a_launch_has_the_line_on_which_it_is_written(entry: str, marks: list[str]) -> None:
    lines = [operation.line for operation in recorded("honest.cu", entry).plan.operations]
    assert lines == [line_of("honest.cu", mark) for mark in marks]


def test_work_is_recorded_in_stream_order_with_its_lines_and_payloads() -> None:
    plan = recorded("honest.cu", "stream_order").plan
    a, out = (buffer.address for buffer in plan.buffers)
    memset, copy, upload, symbol_upload, symbol_copy, allocation, table, launch, free = plan.operations
    floats = struct.pack("<4f", 1, 2, 3, 4)

    def line(mark: str) -> int:
        return line_of("honest.cu", mark)

    assert memset == Memset(out, 0, BYTES, line("memset"))
    assert copy == Copy(out, a, BYTES, line("copy"))
    assert upload == Upload(out, floats, line("upload"))
    assert symbol_upload == SymbolUpload("weights", 0, floats, line("symbol_upload"))
    assert symbol_copy == SymbolCopy("weights", 4, a, 8, line("symbol_copy"))
    assert isinstance(allocation, Allocation)
    assert (allocation.bytes, allocation.line) == (16, line("allocate"))
    assert isinstance(table, Upload)
    assert (table.destination, table.payload) == (allocation.address, struct.pack("<2Q", a, out))
    assert isinstance(launch, Launch)
    assert launch.parameters == struct.pack("<2Q", allocation.address, out)
    assert free == Free(allocation.address, line("free"))


def test_an_attribute_set_in_the_first_call_holds_in_the_launch() -> None:
    (launch,) = recorded("honest.cu", "attribute_once").plan.operations
    assert isinstance(launch, Launch)
    assert (launch.shared, launch.max_dynamic_shared) == (65_536, 65_536)


def test_a_cooperative_launch_says_so() -> None:
    (launch,) = recorded("honest.cu", "cooperative").plan.operations
    assert isinstance(launch, Launch)
    assert launch.cooperative


def test_queries_are_answered_for_the_target() -> None:
    (launch,) = recorded("honest.cu", "queries").plan.operations
    assert isinstance(launch, Launch)
    assert launch.grid == (8 * 108, 1, 1)


def test_every_kind_of_argument_arrives(honest: Build) -> None:
    arguments = [
        EntryArgument("a", "buffer", 64, "in"),
        EntryArgument("f", "f32", 1.5),
        EntryArgument("out", "buffer", 64, "out"),
        EntryArgument("d", "f64", -2.25),
        EntryArgument("i", "i32", -7),
        EntryArgument("l", "i64", -(1 << 40)),
        EntryArgument("b", "buffer", 0, "in"),
        EntryArgument("c", "buffer", 64, "in"),
        EntryArgument("g", "f32", 0.125),
        EntryArgument("j", "i32", 8),
        EntryArgument("k", "i32", 9),
        EntryArgument("m", "i32", 10),
        EntryArgument("w", "buffer", 64, "workspace"),
        EntryArgument("stream", "stream"),
    ]
    recording = record_entry(honest, EntryCall("many_arguments", arguments, software_layout([0] * 5)))
    assert recording.findings == []
    (launch,) = recording.plan.operations
    assert isinstance(launch, Launch)
    assert launch.grid == (1, 1, 1)
    assert [scalar.value for scalar in recording.plan.scalars] == [1.5, -2.25, -7, -(1 << 40), 0.125, 8, 9, 10]


def test_a_plan_is_the_same_after_being_saved() -> None:
    plan = recorded("honest.cu", "stream_order").plan
    assert from_json(to_json(plan)) == plan


def test_printing_is_kept() -> None:
    assert recorded("honest.cu", "ordinary_host_code").printed == "hello from the launcher: caught\n"


@pytest.mark.parametrize(
    "addresses",
    [(0x1234_5000_0000, 0x1234_6000_0004), (0x6FAD_F080_0000, 0x6FAD_F0C0_0004)],
    ids=["below ours", "above ours"],
)
def test_an_entry_can_be_recorded_at_addresses_of_another_process(honest: Build, addresses: tuple[int, int]) -> None:
    call = call_of("plain")
    layout = layout_at(addresses, arena=0x1300_0000_0000, arena_bytes=1 << 30)
    recording = record_entry(honest, EntryCall("plain", call.arguments, layout))
    assert recording.findings == []
    assert tuple(buffer.address for buffer in recording.plan.buffers) == addresses


def test_a_part_and_a_case_say_all_that_is_needed(honest: Build) -> None:
    part = Part(
        "plain",
        params=[In("a", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
        reference=lambda a: a,
        groups={"any": [Case(n=0)]},
        bench=Case(n=1 << 28),
        work=lambda n: Work(bytes=8 * n, flops=0),
        tolerance=Tolerance(0.0, why="a copy"),
        lesson="",
    )
    assert record(honest, part, Case(n=0)).plan.operations == ()
    bench = record(honest, part, part.bench)
    (launch,) = bench.plan.operations
    assert isinstance(launch, Launch)
    assert launch.grid == (1 << 20, 1, 1)
    moved = record(honest, part, Case(n=7, offset={"a": 12}))
    assert moved.plan.buffers[0].address % 256 == 12


def test_a_kernel_may_have_a_name_of_thousands_of_characters(tmp_path: Path) -> None:
    source = tmp_path / "long.cu"
    name = "k" * 6_000
    source.write_text(
        f"#include <cuda_runtime.h>\n__global__ void {name}(float* out) {{ *out = 1; }}\n"
        'extern "C" cudaError_t entry(const float*, float* out, int, cudaStream_t stream) {\n'
        f"    {name}<<<1, 1, 0, stream>>>(out);\n    return cudaGetLastError();\n}}\n"
    )
    recording = record_entry(build(source), call_of("entry"))
    assert recording.findings == []
    (launch,) = recording.plan.operations
    assert isinstance(launch, Launch)
    assert name in launch.kernel
    assert from_json(to_json(recording.plan)) == recording.plan
