"""What a kernel is timed in turn with: who they are, that each runs the case, and what becomes of one that cannot.

The GPU is a pretended one, and PyTorch's process has the CPU; the kernels are the course's own, built and recorded.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from grader.build import BuildFailed, build
from grader.cache import ToolMissing
from grader.catalog import Located, load_catalog
from grader.cuda import pytorch_rival, rivals
from grader.cuda.bench import Bench
from grader.cuda.ceilings import SOURCE
from grader.cuda.child import Child, ReplayFailed
from grader.cuda.contest import Contestant, Rule
from grader.cuda.driver import DeviceFacts
from grader.cuda.input_sets import InputSets
from grader.cuda.pytorch_rival import ProductContestant, pytorch_ahead, pytorch_of
from grader.cuda.rivals import Later, ceiling_beside, rivals_of
from grader.cuda.session import RealGPU
from grader.puzzle import Case
from grader.tools import default_tools
from tests.judging import ROOT
from tests.test_limits import H200

PARTS = {located.label: located for puzzle in load_catalog(ROOT).puzzles for located in puzzle.parts}
SMALL = Case(n=4096)
PRETENDED = (sys.executable, "-m", "tests.pretend_gpu", "--kernels", "tests.rival_kernels")
TORCH = (sys.executable, "-m", "tests.pretend_torch")
IDLE = (sys.executable, "-m", "tests.idle_rival")


@pytest.fixture(autouse=True)
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "RealGPU", functools.partial(RealGPU, command=PRETENDED))
    monkeypatch.setattr(pytorch_rival, "COMMAND", (sys.executable, "-S", "-c", ""))  # where nobody asks it anything


def small(label: str, case: Case) -> Located:
    """A part whose case at full size is a small one."""
    return dataclasses.replace(PARTS[label], part=dataclasses.replace(PARTS[label].part, bench=case))


@pytest.fixture
def sets() -> Iterator[InputSets]:
    with InputSets(PARTS["1.2"].part, SMALL, [1, 2]) as held:
        yield held


@pytest.fixture
def stopped() -> Iterator[list[Contestant]]:
    """Contestants that end with the test."""
    found: list[Contestant] = []
    yield found
    for one in found:
        one.close()


def test_a_kernel_is_timed_beside_the_course_pytorch_and_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytorch_rival, "COMMAND", TORCH)
    located, tools = small("1.2", SMALL), default_tools()
    with RealGPU(located.part, command=PRETENDED) as gpu:
        own = gpu.tools(tools)
        built = own.build(located.solution_path)
        plan = own.record(built, located.part, SMALL).plan

        def others(sets: InputSets) -> Sequence[Contestant]:
            return rivals_of(located, SMALL, sets=sets, device=gpu.device, tools=tools)

        rule = Rule(warm_up=1, least_rounds=8, seconds=2.0)
        ran, timing = Bench(located.part, SMALL, built, plan, 7, gpu, rule).run(others)
    assert ran.result.passed
    assert timing is not None
    assert timing.left_out == {}
    found = {rival.name: rival for rival in timing.rivals}
    assert {name: (rival.ms, rival.times, rival.decision) for name, rival in found.items()} == {
        "reference": (2.0, 1.0, "tie"),
        "pytorch": (2.0, 1.0, "tie"),
        "ceiling": (1.0, 0.5, "slower"),
    }
    assert (timing.of_limit, timing.medal, timing.bound) == (0.5, "gold", "memory")
    assert found["reference"].what == "the course's own solution"
    assert found["pytorch"].what == "PyTorch: the formula as it stands"
    assert found["ceiling"].what == "a kernel that reads 32.8 KB, writes 16.4 KB, and does nothing else"


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({}, ["reference", "pytorch", "ceiling"]),
        ({"compiled": True}, ["reference", "pytorch", "compiled", "ceiling"]),
        ({"reference": False}, ["pytorch", "ceiling"]),
    ],
)
def test_who_takes_part(wanted: dict[str, Any], names: list[str], sets: InputSets, stopped: list[Contestant]) -> None:
    stopped += rivals_of(PARTS["1.2"], SMALL, sets=sets, device=H200, tools=default_tools(), **wanted)
    assert [rival.name for rival in stopped] == names


def test_a_part_without_anything_of_pytorch_has_no_such_rival(sets: InputSets, stopped: list[Contestant]) -> None:
    part = dataclasses.replace(PARTS["1.2"].part, pytorch=None)
    located = dataclasses.replace(PARTS["1.2"], part=part)
    stopped += rivals_of(located, SMALL, sets=sets, device=H200, tools=default_tools(), compiled=True)
    assert [rival.name for rival in stopped] == ["reference", "ceiling"]


def test_pytorch_may_have_started_before_there_were_inputs(sets: InputSets, stopped: list[Contestant]) -> None:
    ahead = pytorch_ahead(PARTS["1.2"])
    assert ahead is not None
    stopped += rivals_of(PARTS["1.2"], SMALL, sets=sets, device=H200, tools=default_tools(), pytorch=ahead)
    assert [getattr(one, "_child", None) is ahead for one in stopped] == [False, True, False]
    assert pytorch_ahead(PARTS["3.1"]) is None


# ---- PyTorch -------------------------------------------------------------------------------------------------------


def test_pytorch_says_what_of_it_runs_and_how(stopped: list[Contestant]) -> None:
    case = Case(rows=3, cols=50, eps=1e-5)
    with InputSets(PARTS["6.2"].part, case, [1]) as held:
        stopped += [
            pytorch_of(PARTS["6.2"], case, held, child=Child(TORCH)),
            pytorch_of(PARTS["6.2"], case, held, child=Child((*TORCH, "eager"))),
            pytorch_of(PARTS["6.2"], case, held, compiled=True, child=Child((*TORCH, "compiled"))),
        ]
        assert all(one.lap(0).ms == 2.0 for one in stopped)
    assert [(one.name, one.what) for one in stopped] == [
        ("pytorch", "PyTorch: rms_norm"),
        ("pytorch", "PyTorch: rms_norm, call by call"),
        ("compiled", "torch.compile of rms_norm"),
    ]


@pytest.mark.parametrize(
    ("child", "said"),
    [
        ((*TORCH, "crowded"), "The GPU has not enough free memory for this case."),
        ((sys.executable, "-c", "import no_such_torch"), "ModuleNotFoundError: No module named 'no_such_torch'"),
    ],
)
def test_pytorch_that_cannot_run_says_why(
    child: tuple[str, ...], said: str, sets: InputSets, stopped: list[Contestant]
) -> None:
    contestant = pytorch_of(PARTS["1.2"], SMALL, sets, child=Child(child))
    stopped.append(contestant)
    with pytest.raises(ReplayFailed, match=said) as failed:
        contestant.lap(0)
    assert failed.value.kind == "unavailable"
    assert failed.value.is_full == ("crowded" in child)


def test_pytorch_touches_the_gpu_when_it_is_to_run_something_and_not_before(stopped: list[Contestant]) -> None:
    stopped.append(ProductContestant("ceiling", "float32", 16, child=Child((*TORCH, "absent"))))
    with pytest.raises(ReplayFailed, match="No CUDA here"):
        stopped[0].lap(0)


def test_a_product_counts_as_if_it_had_as_many_operations_as_the_case(stopped: list[Contestant]) -> None:
    flops = 3 * 256**3
    product = ProductContestant("ceiling", "float32", flops, child=Child(IDLE))
    stopped.append(product)
    assert product.lap(1).ms == pytest.approx(2.0 * flops / (2 * 256**3))
    assert product.what == "PyTorch's product of 256 × 256 matrices in float32, scaled to as many operations"


# ---- the limit -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "what"),
    [
        ("3.6", "a kernel that reads 1.07 GB, writes 1.07 GB, and does nothing else"),
        ("5.3", "a kernel that reads 1.07 GB, writes 4 bytes, and does nothing else"),
        ("2.5", "PyTorch's product of 4,096 × 4,096 matrices in float32, scaled to as many operations"),
        ("4.4", "PyTorch's product of 4,096 × 4,096 matrices in float16, scaled to as many operations"),
        ("4.5", "PyTorch's product of 4,096 × 4,096 matrices in bfloat16, scaled to as many operations"),
        ("8.5", "PyTorch's product of 6,400 × 6,400 matrices in float16, scaled to as many operations"),
    ],
)
def test_the_limit_is_of_what_bounds_the_part(label: str, what: str, stopped: list[Contestant]) -> None:
    part = PARTS[label].part
    stopped.append(ceiling_beside(part, part.bench, sets=2, device=H200, tools=default_tools()))
    assert (stopped[0].name, stopped[0].what) == ("ceiling", what)


def test_a_gpu_nobody_knows_the_rates_of_is_held_against_its_memory(stopped: list[Contestant]) -> None:
    part, unknown = PARTS["2.5"].part, DeviceFacts("a GPU", 110, 20, 1 << 20, 1 << 34, 13_000, "GPU-1")
    stopped.append(ceiling_beside(part, part.bench, sets=2, device=unknown, tools=default_tools()))
    assert stopped[0].what == "a kernel that reads 134 MB, writes 67.1 MB, and does nothing else"


# ---- one that cannot be had ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [ToolMissing("nvcc is missing."), BuildFailed("It does not compile.", None, 0.1), OSError("No space is left.")],
)
def test_a_rival_that_cannot_be_made_says_why_and_is_left_out(error: Exception) -> None:
    def failing() -> Contestant:
        raise error

    with Later("reference", "", failing) as later, pytest.raises(ReplayFailed, match=str(error)) as failed:
        later.lap(0)
    assert failed.value.kind == "unavailable"


def test_a_rival_whose_source_does_not_build_leaves_no_process_behind(
    sets: InputSets, monkeypatch: pytest.MonkeyPatch, stopped: list[Contestant]
) -> None:
    started: list[RealGPU] = []

    def starting(*arguments: Any, **more: Any) -> RealGPU:
        started.append(RealGPU(*arguments, command=PRETENDED, **more))
        return started[-1]

    def no_nvcc(_source: Path, **_more: Any) -> None:
        raise ToolMissing("nvcc is missing.")

    monkeypatch.setattr(rivals, "RealGPU", starting)
    monkeypatch.setattr("grader.build.build", no_nvcc)
    stopped += rivals_of(PARTS["1.2"], SMALL, sets=sets, device=H200, tools=default_tools())
    with pytest.raises(ReplayFailed, match="nvcc is missing"):
        stopped[0].lap(0)
    assert [gpu._child for gpu in started] == [None]


def test_the_stand_in_has_the_kernels_of_the_course() -> None:
    from tests.rival_kernels import KERNELS

    sources = (PARTS["1.2"].solution_path, PARTS["1.3"].solution_path, SOURCE)
    kernels = {name for source in sources for name in build(source).kernels}
    assert KERNELS.keys() <= kernels
