"""Whether a cubin and a plan were made from the source beside them: where nvcc is, by making them again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grader.explain import sentence
from grader.identity import cubin_hash
from grader.record.plan import Plan
from grader.tools import building_for, default_tools

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record import Layout
    from grader.submission import Submission


class NotItsSource(Exception):
    """Something was not made from the source that came with it; the message is one sentence."""


def rebuilt(submission: Submission, target: int) -> Build:
    """What the source is compiled to here. Raises `NotItsSource` where it does not compile, and `ToolMissing`."""
    from grader.build import BuildFailed

    try:
        return submission.tools(building_for(default_tools(), target)).build(submission.source)
    except BuildFailed:
        raise NotItsSource(sentence("bundle", "no_build")) from None


def check_code(build: Build, code: str) -> None:
    """Raises `NotItsSource` where code of this hash was not made from the source that was built."""
    if cubin_hash(build.cubin) != code:
        raise NotItsSource(sentence("bundle", "other_code"))


def check_plan(submission: Submission, build: Build, plan: Plan, layout: Layout) -> None:
    """Raises `NotItsSource` where the submission's entry asks for something else at full size in that layout, and
    `ToolMissing` where it cannot be recorded.

    Which PTX it was is left out: that names paths of the machine that made it.
    """
    from grader.record import record

    part = submission.located.part
    recording = record(build, part, part.bench, layout=layout)
    if recording.findings or replace(recording.plan, module=plan.module) != plan:
        raise NotItsSource(sentence("bundle", "other_plan"))
