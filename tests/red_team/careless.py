"""The part that the attacks are judged as, and the grader with one of its defences taken away.

Each function here takes one away, for as long as the `MonkeyPatch` lasts: they change the grader's own code from
outside, in a test. The grader itself has no such switch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
import torch

from grader.build import Build
from grader.compare import Comparison, compare, reference_results
from grader.inputs import memory_for
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, f32, i32
from grader.record import record
from grader.simt.remote import Limits
from grader.simt.software import RunResult, SoftwareGPU
from grader.tools import Tools
from grader.trial import Trial

N = 1000
KNOWN_SEED = 1
FEW = 4  # elements whose sums the attack knows that knows the seed
_FIRST = 8

Switch: TypeAlias = Callable[[pytest.MonkeyPatch], None]


def part_named(entry: str, **other: Any) -> Part:
    """Out = a + b, whose entry has this name."""
    made: dict[str, Any] = {
        "params": [In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
        "reference": lambda a, b: a + b,
        "groups": {"one size": [Case(n=N)]},
        "bench": Case(n=N),
        "work": lambda n: Work(bytes=12 * n, flops=n),
        "tolerance": Tolerance(2.0**-22, why="four times the error of one rounded addition"),
        "lesson": "None.",
    }
    return Part(entry, **(made | other))


def judged(built: Build, part: Part, tools: Tools, *, n: int = N, seed: int = 7, heed_host: bool = True) -> list[str]:
    """What the grader finds, by kind: of the launcher, or else of the kernels and their results."""
    case = Case(n=n)
    recording = record(built, part, case)
    if recording.findings and heed_host:
        return [finding.kind for finding in recording.findings]
    return [seen.kind for seen in Trial(part, "one size", case, built, recording.plan, seed).run(tools).observations]


# ---- the grader without one of its defences --------------------------------------------------------------------------


class Unwatched:
    """The software GPU as hardware is: nothing is read-only, nobody says what was never written, nobody sees faults."""

    def __init__(self, built: Build) -> None:
        self._gpu = SoftwareGPU(built)

    def run(self, plan: Any, memory: Mapping[str, torch.Tensor], *, roles: Mapping[str, str], **how: Any) -> RunResult:
        ran = self._gpu.run(plan, memory, roles=dict.fromkeys(roles, "inout"), **how)
        return replace(ran, findings=[], unwritten={})


def unwatched(tools: Tools) -> Tools:
    """The tools with a software GPU that tells of no fault."""
    return replace(tools, software_gpu=Unwatched)  # type: ignore[arg-type]


def old_results(patch: pytest.MonkeyPatch) -> None:
    """Results are not poisoned: what they should be lies there, as after a run of the reference."""

    def memory(part: Part, case: Case, seed: int, run: int = 0) -> dict[str, torch.Tensor]:
        held = memory_for(part, case, seed, run)
        inputs = {buffer.name: held[buffer.name] for buffer in part.buffers if buffer.is_read}
        return held | {name: right.float() for name, right in reference_results(part, case, inputs).items()}

    patch.setattr("grader.trial.memory_for", memory)


def same_inputs(patch: pytest.MonkeyPatch) -> None:
    """Every run has the inputs of the first."""
    patch.setattr(Trial, "_seed", lambda trial, _run: trial.seed)


def first_values(patch: pytest.MonkeyPatch) -> None:
    """Only the first few values are compared."""

    def few(part: Part, _case: Case, inputs: Mapping[str, torch.Tensor], memory: Mapping[str, torch.Tensor]) -> Any:
        first = ({name: tensor[:_FIRST] for name, tensor in tensors.items()} for tensors in (inputs, memory))
        return compare(part, Case(n=_FIRST), *first)

    patch.setattr("grader.trial.compare", few)


def inputs_as_left(patch: pytest.MonkeyPatch) -> None:
    """Expected values are computed from the inputs that the kernel has left."""

    def later(part: Part, case: Case, _inputs: object, memory: Mapping[str, torch.Tensor]) -> Comparison:
        return compare(part, case, {name: memory[name] for name in ("a", "b")}, memory)

    patch.setattr("grader.trial.compare", later)


def not_too_far_off(patch: pytest.MonkeyPatch) -> None:
    """An element is wrong if its error is larger than allowed, which NaN is not."""

    def lenient(part: Part, case: Case, inputs: Mapping[str, torch.Tensor], memory: Mapping[str, torch.Tensor]) -> Any:
        right = reference_results(part, case, inputs)["out"].float()
        return compare(part, case, inputs, {"out": torch.where(memory["out"].isnan(), right, memory["out"])})

    patch.setattr("grader.trial.compare", lenient)


def no_budget(patch: pytest.MonkeyPatch) -> None:
    """A warp, and a launch, may take more instructions than anybody waits for."""
    endless = {"budget": 1 << 62, "launch_budget": 1 << 62}
    patch.setattr(Trial, "_budgets", lambda _trial: endless)


def impatient(built: Build) -> SoftwareGPU:
    """A software GPU whose process is ended after a second."""
    return SoftwareGPU(built, Limits(seconds=0.5, grace=0.5))


def answers_behind_the_input(entry: str) -> Part:
    """The part with a pool that has put the answers right behind `b`, in the same buffer."""
    inputs = {"b": lambda a, n: torch.cat([torch.full([n], 0.5, dtype=a.dtype), a + 0.5])}
    params = [In("a", f32, "n"), In("b", f32, "2 * n"), Out("out", f32, "n"), Scalar("n", i32)]
    return part_named(entry, params=params, default_inputs=inputs, reference=lambda a, b, n: a + b[:n])


def known_answers() -> str:
    """The sums for the inputs of the known seed, as C++ has them."""
    part, case = part_named("knows_the_seed"), Case(n=FEW)
    memory = memory_for(part, case, KNOWN_SEED)
    return ", ".join(f"{value:.9e}f" for value in (memory["a"] + memory["b"]).tolist())
