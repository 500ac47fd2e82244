"""The replay process and the parent's side of it, on a pretended driver: what is replayed, and what when it fails."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from grader.cache import ToolMissing
from grader.cuda import replay as replay_process
from grader.cuda.driver import Driver
from grader.cuda.poison import poison_of
from grader.cuda.replay import Replay
from grader.cuda.session import RealGPU, ReplayFailed
from grader.cuda.trial import CudaTrial, replayed
from grader.puzzle import Case, DTypeBy, In, InOut, Out, Part, Scalar, Tolerance, Work, Workspace, f16, f32, f64, i32
from grader.record.operations import (
    Allocation,
    Copy,
    Free,
    Launch,
    Memset,
    Operation,
    SymbolCopy,
    SymbolUpload,
    Upload,
)
from grader.record.plan import Plan, PlanBuffer, PlanScalar, to_json
from tests.gpu.alone import times_of
from tests.pretend_cubin import pretended_cubin
from tests.pretend_gpu import (
    L2_BYTES,
    LOCAL_BYTES,
    SHARED_BYTES,
    STACK_BYTES,
    SYMBOL_BYTES,
    Kernel,
    PretendDriver,
)

PRETENDED = (sys.executable, "-m", "tests.pretend_gpu")
TOLERANCE = Tolerance(2.0**-22, why="one rounded addition")
ADD = Part(
    "add",
    params=[In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
    reference=lambda a, b: a + b,
    groups={"some": [Case(n=1000)]},
    bench=Case(n=1000),
    work=lambda n: Work(bytes=12 * n, flops=n),
    tolerance=TOLERANCE,
    lesson="",
)
SCRIPTED = Part(
    "scripted",
    params=[In("a", f32, 4), InOut("b", f32, 4), Out("out", f32, 4), Workspace("w", f64, 2)],
    reference=lambda a: a,
    groups={"some": [Case()]},
    bench=Case(),
    work=lambda: Work(bytes=64, flops=0),
    tolerance=TOLERANCE,
    lesson="",
)


@pytest.fixture
def gpu() -> Iterator[RealGPU]:
    with RealGPU(ADD, seconds=3.0, command=PRETENDED) as started:
        yield started


@pytest.fixture
def cubin(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.cubin"
    path.write_bytes(pretended_cubin({"table": SYMBOL_BYTES}))
    return path


def plan_of(part: Part, case: Case, addresses: Sequence[int], operations: Sequence[Operation]) -> Plan:
    sizes = [struct.calcsize("d" if buffer.dtype == f64 else "f") for buffer in part.buffers]
    counts = [int(case.params.get("n", 2 if buffer.dtype == f64 else 4)) for buffer in part.buffers]
    return Plan(
        target=90,
        entry=part.name,
        module="0" * 64,
        buffers=tuple(
            PlanBuffer(buffer.name, address, size * count, buffer.role)
            for buffer, address, size, count in zip(part.buffers, addresses, sizes, counts, strict=True)
        ),
        scalars=tuple(PlanScalar(name, "i32", int(value)) for name, value in case.params.items()),
        returned=0,
        operations=tuple(operations),
    )


def launch(parameters: bytes) -> Launch:
    return Launch("add", (4, 1, 1), (256, 1, 1), 0, False, parameters, 49_152, line=7)


def add_plan(gpu: RealGPU, case: Case) -> Plan:
    addresses = gpu.layout(case).first
    return plan_of(ADD, case, addresses, [launch(struct.pack("<QQQi", *addresses, case.params["n"]))])


def memory_of(n: int) -> dict[str, torch.Tensor]:
    return {"a": torch.arange(float(n)), "b": torch.full((n,), 0.5), "out": torch.zeros(n)}


def trial(gpu: RealGPU, case: Case, cubin: Path) -> CudaTrial:
    class Built:
        pass

    built = Built()
    built.cubin = cubin  # type: ignore[attr-defined]
    return CudaTrial(ADD, "some", case, built, add_plan(gpu, case), 7, gpu=gpu)  # type: ignore[arg-type]


# ---- what is replayed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["stream", "graph"])
def test_values_go_in_and_results_come_out(gpu: RealGPU, cubin: Path, how: str) -> None:
    case, memory = Case(n=1000), memory_of(1000)
    gpu.load(add_plan(gpu, case), cubin)
    replayed(gpu, ADD, memory, how=how)
    assert torch.equal(memory["out"], memory["a"] + memory["b"])


def test_buffers_lie_at_their_offsets_past_a_256_byte_boundary(gpu: RealGPU) -> None:
    layout = gpu.layout(Case(n=8, offset={"a": 4, "out": 12}))
    assert [address % 256 for address in layout.first] == [4, 0, 12]
    assert [address % 256 for address in layout.second] == [4, 0, 12]
    assert len(set(layout.shifts)) == len(layout.shifts)


def test_addresses_stay_from_case_to_case(gpu: RealGPU, cubin: Path) -> None:
    small, large = Case(n=1), Case(n=1000, offset={"b": 8})
    plans = [(add_plan(gpu, case), case) for case in (small, large)]
    for plan, case in (*reversed(plans), plans[1]):
        memory = memory_of(int(case.params["n"]))
        gpu.load(plan, cubin)
        replayed(gpu, ADD, memory, how="graph")
        assert torch.equal(memory["out"], memory["a"] + memory["b"])


def test_an_entry_that_asked_for_nothing_leaves_the_poison(gpu: RealGPU, cubin: Path) -> None:
    case, memory = Case(n=4), memory_of(4)
    gpu.load(plan_of(ADD, case, gpu.layout(case).first, []), cubin)
    replayed(gpu, ADD, memory, how="graph")
    assert memory["out"].isnan().all()


def test_every_operation_of_a_plan_is_replayed_in_order(cubin: Path) -> None:
    with RealGPU(SCRIPTED, seconds=3.0, command=PRETENDED) as gpu:
        layout = gpu.layout(Case())
        a, b, out, w = layout.first
        fresh = layout.arenas[0]
        operations: list[Operation] = [
            Allocation(fresh, 16),
            Memset(fresh, 0, 16),
            Upload(fresh + 4, struct.pack("<f", 2.5)),
            Copy(out, fresh, 16),
            SymbolUpload("table", SYMBOL_BYTES - 4, struct.pack("<f", 1.0)),
            SymbolCopy("table", 0, a + 4, 4),
            Copy(b + 8, b, 8),
            Free(fresh),
        ]
        gpu.load(plan_of(SCRIPTED, Case(), (a, b, out, w), operations), cubin)
        memory = {"a": torch.arange(4.0), "b": torch.arange(4.0), "out": torch.zeros(4), "w": torch.zeros(2).double()}
        for how in ("stream", "graph"):  # b is put back before each
            replayed(gpu, SCRIPTED, memory | {"b": torch.arange(4.0)}, how=how)
        gpu.read(memory)
    assert memory["out"].tolist() == [0.0, 2.5, 0.0, 0.0]
    assert memory["b"].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert memory["w"].view(torch.int64).tolist() == [0x7FFADBADDEADBEEF] * 2


def test_times_are_taken_until_they_are_narrow_and_results_are_fresh_in_the_last(gpu: RealGPU, cubin: Path) -> None:
    case, memory = Case(n=16), memory_of(16)
    gpu.load(add_plan(gpu, case), cubin)
    gpu.fill({"a": memory["a"], "b": memory["b"]})
    times = times_of(gpu, "graph", poison_of(ADD, memory, 0))
    gpu.read({"out": memory["out"]})
    assert times.median == 2.0
    assert times.interval == (2.0, 2.0)
    assert len(times.ms) == 30
    assert torch.equal(memory["out"], memory["a"] + memory["b"])


def test_single_elements_and_whole_buffers_can_be_read(gpu: RealGPU, cubin: Path) -> None:
    case, memory = Case(n=1000), memory_of(1000)
    gpu.load(add_plan(gpu, case), cubin)
    replayed(gpu, ADD, memory, how="graph")
    assert struct.unpack("<3f", gpu.peek("out", [999, 0, 7], 4)) == (999.5, 0.5, 7.5)
    assert torch.equal(gpu.taken("out", torch.float32, (10, 100)).flatten(), memory["out"])


def test_a_lap_takes_the_inputs_of_its_set(gpu: RealGPU, cubin: Path) -> None:
    gpu.load(add_plan(gpu, Case(n=4)), cubin)
    for number in range(3):
        gpu.fill({"a": torch.full((4,), float(number)), "b": torch.zeros(4)}, number)
    for number in (2, 0, 1, 1):
        lap = gpu.lap({"out": "addbfa7f"}, number)
        assert (lap.ms, gpu.taken("out", torch.float32, (4,)).tolist()) == (2.0, [float(number)] * 4)
        assert lap.host_ms == pytest.approx(2.0, abs=0.02)


def test_a_lap_takes_no_room_in_the_l2_from_whoever_is_next(cubin: Path, tmp_path: Path) -> None:
    def adds_and_keeps(device: PretendDriver, a: int, b: int, out: int, n: int) -> None:
        device.floats(out, n)[:] = device.sums(a, b, n)
        device.persist(a)
        kept.append(device.keeps)

    kept: list[int] = []
    device = PretendDriver({"add": Kernel("<QQQi", adds_and_keeps)})
    lap_on(device, cubin, tmp_path)
    assert (kept, device.keeps) == ([1], 0)


def lap_on(device: PretendDriver, cubin: Path, folder: Path) -> list[int]:
    """One lap of `add`, in this process; where its buffers lie."""
    replay = Replay(Driver(device))
    addresses: list[int] = replay.reserve([4096] * 3, [1 << bit for bit in range(40, 44)], 4096)["addresses"]
    operations = [launch(struct.pack("<QQQi", *addresses, 1000))]
    replay.load(to_json(plan_of(ADD, Case(n=1000), addresses, operations)), cubin.read_bytes())
    values = folder / "values"
    values.write_bytes(bytes(4000))
    for name in ("a", "b"):
        replay.fill(name, 0, str(values))
    replay.lap("graph", {"out": "addbfa7f"}, 0)
    return addresses


@pytest.mark.parametrize(("least", "flushed"), [(1 << 10, 4 * L2_BYTES), (8 * L2_BYTES, 8 * L2_BYTES)])
def test_a_lap_begins_once_four_times_the_l2_was_written_over(
    cubin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int, flushed: int
) -> None:
    written: list[int] = []

    class Counting(PretendDriver):
        def cuMemsetD8Async(self, address: int, value: int, count: int, stream: Any) -> tuple[Any, ...]:  # noqa: N802
            written.append(count)
            return super().cuMemsetD8Async(address, value, count, stream)

    monkeypatch.setattr(replay_process, "_FLUSH_BYTES", least)
    lap_on(Counting(), cubin, tmp_path)
    assert flushed in written


def test_all_that_a_kernel_could_have_left_a_mark_in_is_cleared_before_and_after_a_lap(
    cubin: Path, tmp_path: Path
) -> None:
    """Our kernels are launched on all of it: the stand-in has 4 processors, of 2 blocks each."""
    device = PretendDriver()
    addresses = lap_on(device, cubin, tmp_path)
    assert device.scrubbed == [
        ("scrub_local", 4 * 2, b"", 0, LOCAL_BYTES + STACK_BYTES),
        ("scrub_shared", 4, struct.pack("<I", SHARED_BYTES), SHARED_BYTES, 0),
    ]
    ranges = [(first, 128 * lines) for first, lines in device.demoted]
    assert len(ranges) == 2 * len(addresses)
    assert all(any(first <= one and one + 4000 <= first + size for first, size in ranges) for one in addresses)


def test_inputs_that_were_changed_are_known_though_nobody_reads_them(gpu: RealGPU, cubin: Path) -> None:
    addresses = gpu.layout(Case(n=4)).first
    gpu.load(plan_of(ADD, Case(n=4), addresses, [Memset(addresses[0] + 5, 1, 1)]), cubin)
    gpu.fill({"a": torch.ones(4), "b": torch.ones(4)})
    gpu.lap({"out": "addbfa7f"})
    assert [gpu.unchanged(name, 0, kept=False) for name in ("a", "b")] == [False, True]
    assert gpu.unchanged("a", 0, kept=True)


@pytest.mark.parametrize("places", [[1000], [-1]])
def test_elements_that_are_not_there_cannot_be_read(gpu: RealGPU, cubin: Path, places: list[int]) -> None:
    gpu.load(add_plan(gpu, Case(n=1000)), cubin)
    with pytest.raises(ReplayFailed, match="no such elements"):
        gpu.peek("out", places, 4)


def test_a_file_that_is_not_there_is_one_sentence(gpu: RealGPU, cubin: Path) -> None:
    gpu.load(add_plan(gpu, Case(n=4)), cubin)
    with pytest.raises(ReplayFailed, match="has no file"):
        gpu.fill_from({"a": "/proc/0/fd/0"}, 0)


def test_what_a_kernel_prints_is_kept_and_is_no_answer(gpu: RealGPU, cubin: Path) -> None:
    case, memory = Case(n=15), memory_of(15)
    gpu.load(add_plan(gpu, case), cubin)
    replayed(gpu, ADD, memory, how="stream")
    assert torch.equal(memory["out"], memory["a"] + memory["b"])
    gpu.run("graph", poison_of(ADD, memory, 0))
    assert '"passed"' in gpu.printed


def test_a_result_is_poisoned_in_the_type_that_it_has() -> None:
    part = SimpleNamespace(buffers=[Out("y", DTypeBy("dtype", (f32, f16)), "n"), In("x", f32, "n")])
    for dtype, bytes_of_an_element in ((torch.float32, "addbfa7f"), (torch.float16, "ad7e")):
        given: Any = part
        assert poison_of(given, {"y": torch.empty(3, dtype=dtype)}, 0) == {"y": bytes_of_an_element}


# ---- what is refused ------------------------------------------------------------------------------------------------


def test_a_plan_recorded_somewhere_else_is_refused(gpu: RealGPU, cubin: Path) -> None:
    elsewhere = [address + (1 << 40) for address in gpu.layout(Case(n=4)).first]
    with pytest.raises(ReplayFailed, match="does not lie where it was reserved"):
        gpu.load(plan_of(ADD, Case(n=4), elsewhere, []), cubin)


def test_a_parameter_block_of_another_size_is_refused(gpu: RealGPU, cubin: Path) -> None:
    addresses = gpu.layout(Case(n=4)).first
    with pytest.raises(ReplayFailed, match="not as many bytes"):
        gpu.load(plan_of(ADD, Case(n=4), addresses, [launch(bytes(24))]), cubin)


def test_a_copy_past_the_end_of_a_symbol_is_refused(gpu: RealGPU, cubin: Path) -> None:
    operations = [SymbolUpload("table", SYMBOL_BYTES - 3, bytes(4))]
    with pytest.raises(ReplayFailed, match="past the end of table"):
        gpu.load(plan_of(ADD, Case(n=4), gpu.layout(Case(n=4)).first, operations), cubin)


def test_a_kernel_that_the_cubin_lacks_is_one_sentence(gpu: RealGPU, cubin: Path) -> None:
    wanted = Launch("other", (1, 1, 1), (1, 1, 1), 0, False, b"", 0)
    with pytest.raises(ReplayFailed, match=r"^cuModuleGetFunction failed: the driver's words for 500 \(CUDA_ERROR"):
        gpu.load(plan_of(ADD, Case(n=4), gpu.layout(Case(n=4)).first, [wanted]), cubin)


# ---- what fails -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "kind", "word"), [(13, "fault", "memory that is not there"), (14, "hang", "seconds")])
def test_a_fault_or_a_hang_ends_the_child_alone_and_the_next_plan_runs(
    cubin: Path, n: int, kind: str, word: str
) -> None:
    with RealGPU(ADD, seconds=1.0, command=PRETENDED) as gpu:
        before = gpu.layout(Case(n=4))
        gpu.load(add_plan(gpu, Case(n=n)), cubin)
        with pytest.raises(ReplayFailed, match=word) as failed:
            replayed(gpu, ADD, memory_of(n), how="graph")
        assert failed.value.kind == kind
        assert gpu.layout(Case(n=4)) == before
        memory = memory_of(4)
        gpu.load(add_plan(gpu, Case(n=4)), cubin)
        replayed(gpu, ADD, memory, how="graph")
        assert torch.equal(memory["out"], memory["a"] + memory["b"])


def test_a_child_that_ends_without_a_word_says_what_it_printed() -> None:
    with RealGPU(ADD, command=(*PRETENDED, "silent")) as gpu, pytest.raises(ReplayFailed) as failed:
        gpu.layout(Case(n=4))
    assert failed.value.kind == "unavailable"
    assert "something went wrong" in str(failed.value)


def test_no_driver_is_one_sentence() -> None:
    with RealGPU(ADD, command=(*PRETENDED, "no_driver")) as gpu, pytest.raises(ReplayFailed, match="libcuda") as failed:
        assert gpu.device
    assert failed.value.kind == "unavailable"
    assert "\n" not in str(failed.value)


# ---- what is judged -------------------------------------------------------------------------------------------------


def test_a_right_case_passes_on_the_gpu_that_ran_it(gpu: RealGPU, cubin: Path) -> None:
    ran = trial(gpu, Case(n=1000), cubin).run_on_gpu()
    assert ran.result.passed
    assert ran.result.device == "Pretended GPU"
    assert ran.result.checked == 1000


@pytest.mark.parametrize(("n", "kind"), [(13, "device_trap"), (14, "endless_loop")])
def test_a_fault_and_a_hang_are_the_kernels_findings(cubin: Path, n: int, kind: str) -> None:
    with RealGPU(ADD, seconds=1.0, command=PRETENDED) as gpu:
        ran = trial(gpu, Case(n=n), cubin).run_on_gpu()
    assert not ran.result.passed
    assert [(seen.kind, seen.line) for seen in ran.observations] == [(kind, 7)]


def test_elements_that_kept_their_poison_were_never_written(gpu: RealGPU, cubin: Path) -> None:
    case = Case(n=1000)
    asked = trial(gpu, case, cubin)
    addresses = gpu.layout(case).first
    half = plan_of(ADD, case, addresses, [launch(struct.pack("<QQQi", *addresses, 500))])
    ran = CudaTrial(**(vars(asked) | {"plan": half})).run_on_gpu()
    assert [(seen.kind, seen.index, seen.count) for seen in ran.observations] == [("never_written", 500, 500)]


def test_a_gpu_that_is_gone_is_nobodys_fault(cubin: Path) -> None:
    with RealGPU(ADD, command=PRETENDED) as gpu:
        lost = trial(gpu, Case(n=4), cubin)
        gpu.close()
        gpu._command = (*PRETENDED, "silent")
        with pytest.raises(ToolMissing, match="without a word"):
            lost.run_on_gpu()
