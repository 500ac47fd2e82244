"""The bench case on a pretended GPU: races, what is judged of them, and what becomes of kernels that fail late."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from grader.cache import ToolMissing
from grader.catalog import load_catalog
from grader.closing import Closing
from grader.cuda import room
from grader.cuda.bench import Bench
from grader.cuda.contest import Contestant, Race, ReplayContestant, Rule
from grader.cuda.defences import ALL, Defences
from grader.cuda.input_sets import InputSets
from grader.cuda.session import RealGPU, ReplayFailed
from grader.cuda.standing import MINE, Heat, timing_of
from grader.cuda.timing import Lap
from grader.explain import sentence
from grader.puzzle import Case, Part
from grader.trial import Ran, launches_of
from grader.verdict import Timing
from tests.pretend_cubin import pretended_cubin
from tests.test_cuda_replay import ADD, PRETENDED, add_plan
from tests.test_limits import H200

QUICK = Rule(warm_up=1, least_rounds=12, seconds=2.0)
HONEST_MS = 2.0  # of `add`


@pytest.fixture
def cubin(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.cubin"
    path.write_bytes(pretended_cubin({"cache": 4096}, {"table": bytes(range(64))}))
    return path


def bench(gpu: RealGPU, cubin: Path, *, n: int = 1000, kernel: str = "add", defences: Defences = ALL) -> Bench:
    case = Case(n=n)
    built: Any = SimpleNamespace(cubin=cubin)
    plan = add_plan(gpu, case)
    (launch,) = launches_of(plan)
    plan = replace(plan, operations=(replace(launch, kernel=kernel),))
    return Bench(ADD, case, built, plan, 7, gpu, QUICK, defences)


def judged(kernel: str, cubin: Path, without: str = "") -> tuple[Ran, Timing]:
    """What becomes of a kernel of `pretend_kernels` with these defences off, commas between them."""
    if "hidden" in kernel:
        cubin.write_bytes(pretended_cubin({}, {"hidden": bytes(4096)}))
    command = (*PRETENDED, "--kernels", "tests.pretend_kernels", "--without", without)
    off = dict.fromkeys(filter(None, without.split(",")), False)
    with RealGPU(ADD, command=command) as gpu:
        ran, timing = bench(gpu, cubin, n=500, kernel=kernel, defences=replace(ALL, **off)).run()
    assert timing is not None
    return ran, timing


def is_believed(ran: Ran, timing: Timing) -> bool:
    """Whether a time below the honest one stands."""
    return ran.result.passed and timing.refused is None and timing.ms < HONEST_MS


# Each attack, the defences that have to fall before it is believed, and what the others stand on: one set of inputs.
@pytest.mark.parametrize(
    ("kernel", "without"),
    [
        ("in_variable", "restored_globals"),
        ("in_hidden_variable", "restored_globals"),
        ("in_shared", "scrubbed_shared"),
        ("in_local", "scrubbed_local"),
        ("behind_result", "poison"),
        ("only_at_first", "poison,fresh_inputs"),
        ("now_and_then", "poison,fresh_inputs"),
        ("now_and_then", "checked_laps,checked_results"),
        ("forging", "host_clock"),
        ("warm", "cold_l2,poison"),  # which writes more than the L2 holds, too
        ("warm", "reset_persisting"),
    ],
)
def test_a_time_that_was_not_earned_stands_without_its_defence_alone(kernel: str, without: str, cubin: Path) -> None:
    assert is_believed(*judged(kernel, cubin, without))
    ran, timing = judged(kernel, cubin)
    assert not is_believed(ran, timing)


def test_what_is_skipped_in_some_laps_is_seen_at_places_that_chance_chose(cubin: Path) -> None:
    ran, _ = judged("now_and_then", cubin, "checked_results")
    assert [(seen.kind, seen.facts["variant"]) for seen in ran.observations] == [("non_deterministic", "lap")]


def test_a_kernel_that_takes_away_its_inputs_is_told_so(cubin: Path) -> None:
    ran, _ = judged("over_inputs", cubin)
    assert [(seen.kind, seen.buffer) for seen in ran.observations] == [("read_only_violation", "a")]


def test_inputs_that_a_lap_has_overwritten_are_there_again_in_the_next(cubin: Path) -> None:
    ran, _ = judged("over_inputs", cubin, "checked_inputs")
    assert ran.result.passed
    ran, _ = judged("over_inputs", cubin, "checked_inputs,restored_inputs")
    assert not ran.result.passed


def test_two_clocks_that_disagree_are_a_time_refused_in_a_sentence(cubin: Path) -> None:
    _, timing = judged("forging", cubin)
    assert timing.refused is not None
    assert "0.5 ms" in timing.refused
    assert "host" in timing.refused


def heat(ms: float, *held_down_by: str) -> Heat:
    return Heat(Race(laps={MINE: [Lap(ms, ms)] * 20}, held_down_by=list(held_down_by)), {MINE: ""})


def test_a_time_that_no_kernel_can_take_is_refused() -> None:
    case = Case(n=1 << 28)
    refused = timing_of(ADD, case, H200, [heat(0.1)]).refused
    assert refused is not None
    assert refused.startswith("0.1 ms cannot be: ")
    assert timing_of(ADD, case, H200, [heat(0.74)]).refused is None


def test_whatever_held_the_clocks_down_in_a_race_is_said_of_the_time() -> None:
    slowed = timing_of(ADD, Case(n=1000), H200, [heat(1.0), heat(1.0, "temperature"), heat(1.0, "power brake")]).slowed
    assert slowed is not None
    assert all(sentence("held_down", reason) in slowed for reason in ("temperature", "power brake"))
    assert timing_of(ADD, Case(n=1000), H200, [heat(1.0)]).slowed is None


@pytest.mark.parametrize("held", ["managed", "malloc"])
def test_memory_that_nobody_can_put_back_is_not_timed(tmp_path: Path, held: str) -> None:
    path = tmp_path / "kernel.cubin"
    if held == "managed":
        path.write_bytes(pretended_cubin({"kept": 64}, managed=("kept",)))
    else:
        path.write_bytes(pretended_cubin({"kept": 64}, undefined=("malloc",)))
    with RealGPU(ADD, command=PRETENDED) as gpu, pytest.raises(ToolMissing, match="outlives a launch"):
        bench(gpu, path).run()


def test_a_kernel_is_timed_and_its_values_are_judged(cubin: Path) -> None:
    with RealGPU(ADD, command=PRETENDED) as gpu:
        ran, timing = bench(gpu, cubin).run()
    assert timing is not None
    assert (ran.result.passed, ran.result.checked, ran.observations) == (True, 1000, [])
    assert (timing.device, timing.ms, timing.interval_ms, timing.runs) == (
        "Pretended GPU",
        HONEST_MS,
        (HONEST_MS, HONEST_MS),
        12,
    )
    assert (timing.refused, timing.slowed, timing.rivals) == (None, None, ())
    assert timing.gb_per_s == pytest.approx(12_000 / 2e-3 / 1e9)


def test_a_gpu_whose_l2_keeps_nothing_times_as_well(cubin: Path) -> None:
    """An older one refuses to reset what persists, and knows no priorities of lines."""
    with RealGPU(ADD, command=(*PRETENDED, "old")) as gpu:
        assert gpu.device.target == 75
        ran, timing = bench(gpu, cubin).run()
    assert ran.result.passed
    assert timing is not None


def test_a_kernel_against_itself_is_a_tie(cubin: Path) -> None:
    def itself(sets: InputSets) -> list[Contestant]:
        gpu = RealGPU(ADD, command=PRETENDED)
        return [
            ReplayContestant("reference", "the same", gpu=gpu, plan=add_plan(gpu, sets.case), cubin=cubin, sets=sets)
        ]

    with RealGPU(ADD, command=PRETENDED) as gpu:
        _, timing = bench(gpu, cubin).run(itself)
    assert timing is not None
    (rival,) = timing.rivals
    assert (rival.name, rival.times, rival.times_interval, rival.decision) == ("reference", 1.0, (1.0, 1.0), "tie")
    assert timing.medal == "gold"


@pytest.mark.parametrize(("n", "kind"), [(113, "device_trap"), (114, "endless_loop")])
def test_a_kernel_that_fails_in_a_late_lap_is_its_own_fault(cubin: Path, n: int, kind: str) -> None:
    with RealGPU(ADD, seconds=1.0, command=PRETENDED) as gpu:
        asked = bench(gpu, cubin, n=n)
        ran, timing = Bench(**{**vars(asked), "rule": Rule(least_rounds=30)}).run()
    assert timing is None
    assert [(seen.kind, seen.line) for seen in ran.observations] == [(kind, 7)]
    assert not ran.result.passed


def test_a_rival_that_fails_is_left_out_and_named(cubin: Path) -> None:
    def broken(sets: InputSets) -> list[Contestant]:
        gpu = RealGPU(ADD, command=PRETENDED)
        plan = add_plan(gpu, Case(n=13))
        return [
            ReplayContestant(
                "reference", "broken", gpu=gpu, plan=plan, cubin=cubin, sets=InputSets(ADD, Case(n=13), [1])
            )
        ]

    with RealGPU(ADD, command=PRETENDED) as gpu:
        ran, timing = bench(gpu, cubin).run(broken)
    assert timing is not None
    assert ran.result.passed
    assert (timing.rivals, timing.medal) == ((), None)
    assert "memory that is not there" in timing.left_out["reference"]


class Full(Closing):
    """A rival for which the GPU has no memory."""

    name, what = "reference", "large"

    def lap(self, inputs: int) -> Lap:
        raise ReplayFailed("unavailable", "The GPU has not enough free memory for this case.", is_full=True)

    def close(self) -> None:
        pass


def test_a_rival_that_has_no_room_beside_others_runs_alone_with_the_learners_kernel(cubin: Path) -> None:
    asked: list[Contestant] = []

    def rivals(sets: InputSets) -> list[Contestant]:
        gpu = RealGPU(ADD, command=PRETENDED)
        plan = add_plan(gpu, sets.case)
        fitting = ReplayContestant("reference", "fits", gpu=gpu, plan=plan, cubin=cubin, sets=sets)
        asked.append(fitting if asked else Full())
        return [asked[-1]]

    with RealGPU(ADD, command=PRETENDED) as gpu:
        ran, timing = bench(gpu, cubin).run(rivals)
    assert timing is not None
    assert ran.result.passed
    assert len(asked) == 2
    assert [(rival.name, rival.decision) for rival in timing.rivals] == [("reference", "tie")]
    assert (timing.left_out, timing.runs) == ({}, 2 * QUICK.least_rounds)


def test_a_rival_that_has_no_room_at_all_is_left_out(cubin: Path) -> None:
    with RealGPU(ADD, command=PRETENDED) as gpu:
        _, timing = bench(gpu, cubin).run(lambda _sets: [Full()])
    assert timing is not None
    assert timing.left_out == {"reference": "The GPU has not enough free memory for this case."}


@pytest.mark.parametrize(
    ("host", "gpu", "sets"),
    [
        (2_000, 141, 2),
        (11.0, 15.8, 1),  # what Colab lends: the learner's and one rival fit on a T4 with one set each
        (11.0, 24.0, 2),
        (4.0, 15.8, 0),
    ],
)
def test_a_small_machine_takes_one_set_of_inputs(
    monkeypatch: pytest.MonkeyPatch, host: float, gpu: float, sets: int
) -> None:
    (part,) = (one.part for puzzle in load_catalog().puzzles for one in puzzle.parts if one.label == "1.2")
    monkeypatch.setattr(room, "free_bytes", lambda: int(host * 1e9))
    assert room.sets_with_room(part, part.bench, int(gpu * 1e9)) == sets


def test_a_machine_that_colab_lends_has_room_for_all_parts_but_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its T4 and its memory; the mean of 10.2 cannot be judged in pieces."""
    monkeypatch.setattr(room, "free_bytes", lambda: int(11.0e9))
    parts = [one for puzzle in load_catalog().puzzles for one in puzzle.parts if isinstance(one.part, Part)]
    timed = [one for one in parts if one.part.buffers]
    assert [one.label for one in timed if not room.sets_with_room(one.part, one.part.bench, int(15.8e9))] == ["10.2"]


def test_inputs_are_others_each_time_whatever_the_seed(cubin: Path) -> None:
    with RealGPU(ADD, command=PRETENDED) as gpu:
        asked = bench(gpu, cubin)
        assert asked._seeds() != asked._seeds()
        known = bench(gpu, cubin, defences=Defences(unknown_seed=False))
        assert known._seeds() == known._seeds()
    with InputSets(ADD, Case(n=64), [1, 2]) as sets:
        assert not torch.equal(sets[0]["a"], sets[1]["a"])
