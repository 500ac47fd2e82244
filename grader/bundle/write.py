"""A submission becomes an entry of a bundle: judged on the software GPU, compiled for each target, recorded for it.

Every target is judged whose PTX is not that of one that has passed: a kernel may look at its architecture. The plan is
that of the part's full size, recorded at each place where a GPU may put its buffers (grader/cuda/addresses.py).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.bundle.archive import BundleWriter, is_taken
from grader.bundle.format import Bundled, Compiled, PlanAt
from grader.bundle.plans import offsets
from grader.check import DEVICE, Options, check_part
from grader.cuda.addresses import PLACES, Place
from grader.explain import sentence, title
from grader.identity import own_uses, statement_hash
from grader.tools import Tools, TorchLoading, building_for, default_tools

if TYPE_CHECKING:
    from pathlib import Path

    from grader.build import Build
    from grader.leaderboard.names import Player
    from grader.submission import Submission
    from grader.verdict import PartVerdict

_SEEDS = 1 << 31
_HEADS = ("//", ".version", ".target")


class NotBundled(Exception):
    """Why a submission is not in the bundle; the message is one sentence."""


class _NotFor(Exception):
    """Why a submission is not packed for one target; a few words."""


@dataclass(frozen=True)
class _Made:
    """What is packed for one target: the cubin, and the plan at each place."""

    target: int
    cubin: bytes
    plans: Mapping[Place, bytes]


@dataclass
class Bundler:
    """Puts submissions into a bundle, one after the other.

    `skipped` says of the last one, by target that it is not packed for, why not in a few words.
    """

    writer: BundleWriter
    targets: Sequence[int]
    loading: TorchLoading = field(default_factory=TorchLoading)
    skipped: dict[int, str] = field(default_factory=dict)

    def add(self, submission: Submission, player: Player) -> Bundled:
        """The entry of a submission; raises `NotBundled`."""
        self.skipped, passed = {}, set[str]()
        made: list[_Made] = []
        for target in self.targets:
            try:
                made.append(self._made(submission, target, passed))
            except _NotFor as why:
                self.skipped[target] = str(why)
        if not made:  # on a newer GPU it is less likely a matter of the GPU
            raise NotBundled(sentence("bundle", "not_passed", facts={"why": self.skipped[self.targets[-1]]}))
        return Bundled(
            player_id=player.id,
            player_name=player.name,
            puzzle=submission.located.puzzle.name,
            part=submission.located.part.name,
            statement=statement_hash(submission.located),
            file=submission.located.path.name,
            source=self._text(submission.text(), submission.source),
            uses=self._uses(submission),
            compiled=tuple(map(self._written, made)),
        )

    def _made(self, submission: Submission, target: int, passed: set[str]) -> _Made:
        """For one target; `passed` holds the PTX that has passed for another, and gets this one. Raises `_NotFor`."""
        from grader.build import BuildFailed

        try:
            built = submission.tools(building_for(default_tools(), target)).build(submission.source)
        except BuildFailed:
            raise _NotFor(self._why_not(submission, target)) from None
        code = _code(built)
        if code not in passed and (why := self._why_not(submission, target)):
            raise _NotFor(why)
        passed.add(code)
        plans = {place: _plan(submission, built, place) for place in PLACES}
        made = _Made(target, built.cubin.read_bytes(), plans)
        if not is_taken(made.cubin, ".cubin") or not all(is_taken(plan, ".json") for plan in plans.values()):
            raise _NotFor(sentence("bundle", "large"))
        return made

    def _why_not(self, submission: Submission, target: int) -> str:
        """What is found in it, compiled for that target; "" where it passes."""
        verdict = judged(submission, building_for(default_tools(), target), self.loading)
        return "" if verdict.passed else _why(verdict)

    def _written(self, made: _Made) -> Compiled:
        plans = [
            PlanAt(place.first, place.between, self.writer.add(plan, ".json")) for place, plan in made.plans.items()
        ]
        return Compiled(made.target, self.writer.add(made.cubin, ".cubin"), tuple(plans))

    def _uses(self, submission: Submission) -> dict[str, str]:
        files = {used.part.name: used.path for used in submission.located.used}
        return {entry: self._text(text, files[entry]) for entry, text in own_uses(submission).items()}

    def _text(self, text: str, named: Path) -> str:
        return self.writer.add(text.encode(), named.suffix)


def judged(submission: Submission, tools: Tools, loading: TorchLoading) -> PartVerdict:
    """By a whole check on the software GPU, on inputs that nobody knew."""
    return check_part(submission, Options(secrets.randbelow(_SEEDS), device=DEVICE, shrink=0.0), tools, loading)


def _plan(submission: Submission, built: Build, place: Place) -> bytes:
    """The plan of the full size there, as JSON; raises `_NotFor` where this GPU does not have what it asks for."""
    from grader.record import record
    from grader.record.plan import to_json

    part = submission.located.part
    recording = record(built, part, part.bench, layout=place.layout(offsets(part)))
    if recording.findings:
        raise _NotFor(title(recording.findings[0].kind))
    return to_json(recording.plan).encode()


def _code(built: Build) -> str:
    """The PTX without what names the target."""
    lines = built.ptx.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(line for line in lines if not line.startswith(_HEADS))


def _why(verdict: PartVerdict) -> str:
    """The first finding, or the reason that there is none, in a line."""
    if not verdict.findings:
        return verdict.reason or str(verdict.state).replace("_", " ")
    first = verdict.findings[0]
    return f"{first.title}, line {first.line}" if first.line is not None else first.title
