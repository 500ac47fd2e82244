"""The bench case on a pretended GPU: races, what is judged of them, and what becomes of kernels that fail late."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from grader.cuda.bench import Bench
from grader.cuda.contest import Contestant, ReplayContestant, Rule
from grader.cuda.defences import ALL, Defences
from grader.cuda.input_sets import InputSets
from grader.cuda.session import RealGPU
from grader.puzzle import Case
from tests.pretend_gpu import pretended_cubin
from tests.test_cuda_replay import ADD, PRETENDED, add_plan

QUICK = Rule(warm_up=1, least_rounds=8, seconds=2.0)


@pytest.fixture
def cubin(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.cubin"
    path.write_bytes(pretended_cubin({"cache": 64}))
    return path


def bench(gpu: RealGPU, cubin: Path, *, n: int = 1000, defences: Defences = ALL) -> Bench:
    case = Case(n=n)
    built: Any = SimpleNamespace(cubin=cubin)
    return Bench(ADD, case, built, add_plan(gpu, case), 7, gpu, QUICK, defences)


def test_a_kernel_is_timed_and_its_values_are_judged(cubin: Path) -> None:
    with RealGPU(ADD, command=PRETENDED) as gpu:
        ran, timing = bench(gpu, cubin).run()
    assert timing is not None
    assert (ran.result.passed, ran.result.checked, ran.observations) == (True, 1000, [])
    assert (timing.device, timing.ms, timing.interval_ms, timing.runs) == ("Pretended GPU", 2.0, (2.0, 2.0), 8)
    assert (timing.refused, timing.slowed, timing.rivals) == (None, None, ())
    assert timing.gb_per_s == pytest.approx(12_000 / 2e-3 / 1e9)


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


def test_inputs_are_others_each_time_whatever_the_seed(cubin: Path) -> None:
    with RealGPU(ADD, command=PRETENDED) as gpu:
        asked = bench(gpu, cubin)
        assert asked._seeds() != asked._seeds()
        known = bench(gpu, cubin, defences=Defences(unknown_seed=False))
        assert known._seeds() == known._seeds()
    with InputSets(ADD, Case(n=64), [1, 2]) as sets:
        assert not torch.equal(sets[0]["a"], sets[1]["a"])
