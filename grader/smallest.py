"""The smallest case that a file fails like the first one, run and said: the glue between a check and `shrink.py`.

Who wants the same words from a slow machine as from a fast one sets GRADER_PATIENCE: so many times as long may the
search take.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.evidence import LaunchFact
from grader.explain.names import base_name
from grader.facts import launch_facts
from grader.launcher import host_observations
from grader.puzzle import Case, Part
from grader.shrink import shrink
from grader.shrunk import Shrunk, told
from grader.verdict import Smallest

if TYPE_CHECKING:
    from grader.build import Build
    from grader.tools import Tools

_SLOW_BUILD, _AFTER_IT = 2.0, 0.5  # seconds, and how much of the time is left then

# What has nothing to do with sizes, what is slow to show itself, and what nobody has seen fail.
_NOT_SHRUNK = (
    "unsupported",
    "host_timeout",
    "endless_loop",
    "forbidden_call",
    "capture_unsafe",
    "ignored_error",
    "redundant_traffic",
)


_ANOTHER_WAY = "another way"  # what stands for the kind of a case that is right, by other kernels than the failing one


@dataclass(frozen=True)
class Failing:
    """The first case that failed, the kind of its first finding, its launches, and the cases that were right before it
    by way of its kernels.
    """

    case: Case
    kind: str
    launches: Sequence[LaunchFact]
    right: Sequence[Case]


def smallest_case(
    part: Part, label: str, built: Build, failing: Failing, seed: int, tools: Tools, seconds: float
) -> Smallest | None:
    """None where there is nothing to add to the case itself. Takes `seconds` at most, less after a slow build."""
    if failing.kind in _NOT_SHRUNK:
        return None

    def probe(case: Case) -> str | None:
        return _kind_of(part, built, case, seed, tools, failing.launches)

    if not built.cached and built.seconds > _SLOW_BUILD:
        seconds *= _AFTER_IT
    seconds *= _patience()
    blocks = {extent for launch in failing.launches for extent in (*launch.block, launch.block[0] * launch.block[1])}
    shrunk = shrink(
        part, failing.case, failing.kind, probe, right=failing.right, blocks=sorted(blocks), seconds=seconds
    )
    return _as_verdict(label, failing.kind, shrunk) if shrunk is not None else None


def _patience() -> float:
    given = os.environ.get("GRADER_PATIENCE", "")
    return float(given) if given.isdecimal() else 1.0


def same_way(one: Sequence[LaunchFact], other: Sequence[LaunchFact]) -> bool:
    """Whether some kernel is launched in both: what only runs other kernels says nothing of the ones that fail."""
    kernels = [{base_name(launch.kernel) for launch in launches} for launches in (one, other)]
    return not all(kernels) or bool(kernels[0] & kernels[1])


def _kind_of(
    part: Part, built: Build, case: Case, seed: int, tools: Tools, failing: Sequence[LaunchFact]
) -> str | None:
    """The kind of what is first found in a case, None where it is right by way of a kernel that fails elsewhere."""
    from grader.trial import Trial

    recording = tools.record(built, part, case, inject=0)
    if recording.findings:
        return next(iter(host_observations(recording, built, part.name, injected=False))).kind
    ran = Trial(part, "smallest", case, built, recording.plan, seed).run(tools)
    if ran.observations:
        return ran.observations[0].kind
    return None if same_way(failing, launch_facts(recording.plan)) else _ANOTHER_WAY


def _as_verdict(label: str, kind: str, shrunk: Shrunk) -> Smallest:
    params = shrunk.case.params
    sizes = ",".join(f"{name}={value}" for name, value in params.items())
    return Smallest(kind, params, told(shrunk), shrunk.passed, f"grader check {label} --case {sizes}")
