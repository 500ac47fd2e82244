"""Each value of a constant in a copy of the file: is it legal, is it right, and how many blocks run at once.

The learner's file is never written. A copy bears its name, so that what compilers and the recorder say of it reads as
usual.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.catalog import UsageError
from grader.check import Options, check_part
from grader.explain import sentence
from grader.explain.names import used_part
from grader.facts import as_sentence
from grader.findings import Place
from grader.launcher import host_observations
from grader.occupancy import occupancy
from grader.puzzle import Part
from grader.record.device import Device
from grader.small_case import small_case
from grader.submission import Submission
from grader.sweep.choice import Choice, NothingToSweep, choose
from grader.sweep.constants import Source
from grader.sweep.shapes import Shape
from grader.tools import Tools, TorchLoading
from grader.trial import launches_of
from grader.verdict import PartVerdict, State

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record import Recording
    from grader.record.plan import Launch

_AT_ONCE = 4  # copies


@dataclass(frozen=True)
class Tried:
    """A shape, and what was built of its copy, where it compiles."""

    shape: Shape
    build: Build | None = None


@dataclass(frozen=True)
class Bench:
    """Where shapes are tried. `tools` build for the GPU that times are wanted of and record without one; occupancy is
    of `device`, and left out where its limits are not known.
    """

    submission: Submission
    tools: Tools
    loading: TorchLoading
    device: Device | None
    seed: int

    @property
    def part(self) -> Part:
        return self.submission.located.part

    def choice(self, name: str | None = None) -> Choice:
        """The constant of the file to sweep, from its text and from what it launches at full size.

        Raises `NothingToSweep` where there is none, UsageError where the file cannot be recorded.
        """
        launches = launches_of(self._recorded(self._built(self.submission.source)).plan)
        launch = _largest(launches)
        if launch is None or launch.line is None:
            why = "not_its_own" if launches else "no_kernel"
            raise NothingToSweep(sentence("sweep", why, facts={"label": self.submission.located.label}))
        return choose(Source(self.submission.text()), launch.line, launch.block, name)

    def all_tried(self, choice: Choice, folder: Path, done: Callable[[Shape], None]) -> list[Tried]:
        """Every value, in order; copies go into `folder`, which is empty. `done` hears of each.

        Raises UsageError where the file is not right as it is.
        """
        self.loading.wait()

        def one(value: int) -> Tried:
            found = self._tried(choice, value, folder)
            done(found.shape)
            return found

        own = one(choice.constant.value)
        if own.shape.refused is not None:
            facts = {"file": self.submission.shown, "label": self.submission.located.label, "why": own.shape.refused}
            raise UsageError(sentence("sweep", "not_right", facts=facts).replace("`", ""))
        with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as pool:
            others = pool.map(one, (value for value in choice.values if value != choice.constant.value))
            return sorted([own, *others], key=lambda tried: list(choice.values).index(tried.shape.value))

    def _tried(self, choice: Choice, value: int, folder: Path) -> Tried:
        copy = folder / str(value) / self.submission.source.name
        copy.parent.mkdir()
        copy.write_text(choice.constant.replaced(self.submission.text(), value), encoding="utf-8")
        verdict = self._judged(replace(self.submission, source=copy))
        shape = Shape(value, choice.values[value], refused=_refusal(verdict))
        if verdict.stage == "build":
            return Tried(shape)
        built = self._built(copy)
        recording = self._recorded(built)
        if shape.refused is None and recording.findings:
            shape = replace(shape, refused=self._refused_at_full_size(built, recording))
        launch = _largest([one for one in launches_of(recording.plan) if one.line == choice.line])
        return Tried(shape if launch is None else _described(shape, built, launch, self.device), built)

    def _judged(self, copy: Submission) -> PartVerdict:
        options = Options(self.seed, "software", cases=[small_case(self.part)], shrink=0)
        return check_part(copy, options, self.tools, self.loading)

    def _built(self, source: Path) -> Build:
        from grader.build import BuildFailed

        try:
            return self.submission.tools(self.tools).build(source)
        except BuildFailed:
            facts = {"file": self.submission.shown, "label": self.submission.located.label}
            raise UsageError(sentence("sweep", "does_not_compile", facts=facts)) from None

    def _recorded(self, built: Build) -> Recording:
        """At full size."""
        return self.tools.record(built, self.part, self.part.bench)

    def _refused_at_full_size(self, built: Build, recording: Recording) -> str:
        located = self.submission.located
        place = Place(self.part, located.label, self.submission.shown, built.source, self.part.bench)
        seen = next(host_observations(recording, built, self.part.name))
        return as_sentence(place.finding(seen).message)


def _largest(launches: Sequence[Launch]) -> Launch | None:
    """The launch of most threads; those of parts that the file builds on do not count."""
    own = (launch for launch in launches if used_part(launch.kernel) is None)
    return max(own, key=lambda launch: math.prod(launch.grid) * math.prod(launch.block), default=None)


def _described(shape: Shape, built: Build, launch: Launch, device: Device | None) -> Shape:
    kernel, threads = built.kernels[launch.kernel], math.prod(launch.block)
    return replace(
        shape,
        threads=threads,
        block=launch.block,
        registers=kernel.registers,
        spilled=kernel.local,
        static_shared=kernel.static_shared,
        dynamic_shared=launch.shared,
        occupancy=occupancy(kernel, threads, launch.shared, device) if device is not None else None,
    )


def _refusal(verdict: PartVerdict) -> str | None:
    """Why a shape is none: what a check of it found first, in a sentence."""
    if verdict.state in (State.passed, State.goal_open):
        return None
    return as_sentence(verdict.findings[0].message) if verdict.findings else verdict.reason or ""
