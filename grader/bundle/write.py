"""A submission becomes an entry of a bundle: judged on the software GPU, compiled for each target, recorded for it.

Every target is judged whose PTX is not that of one that was: a kernel may look at its architecture. The plan is that of
the part's full size, recorded at each place where a GPU may put its buffers (grader/cuda/addresses.py).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from grader.bundle.archive import BundleWriter
from grader.bundle.format import Bundled, Compiled, PlanAt
from grader.bundle.plans import offsets
from grader.check import DEVICE, Options, check_part
from grader.cuda.addresses import PLACES
from grader.explain import sentence, title
from grader.identity import own_uses, statement_hash
from grader.tools import TorchLoading, building_for, default_tools

if TYPE_CHECKING:
    from grader.build import Build
    from grader.leaderboard.names import Player
    from grader.submission import Submission
    from grader.verdict import PartVerdict

_SEEDS = 1 << 31
_HEADS = ("//", ".version", ".target")


class NotBundled(Exception):
    """Why a submission is not in the bundle; the message is one sentence."""


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
        self.skipped, judged = {}, dict[str, str]()
        compiled = [one for target in self.targets if (one := self._compiled(submission, target, judged))]
        if not compiled:  # on a newer GPU it is less likely a matter of the GPU
            raise NotBundled(sentence("bundle", "not_passed", facts={"why": self.skipped[self.targets[-1]]}))
        return Bundled(
            player_id=player.id,
            player_name=player.name,
            puzzle=submission.located.puzzle.name,
            part=submission.located.part.name,
            statement=statement_hash(submission.located),
            file=submission.located.path.name,
            source=self._text(submission.text(), submission.source),
            uses={entry: self._text(text, Path(f"{entry}.cu")) for entry, text in own_uses(submission).items()},
            compiled=tuple(compiled),
        )

    def _compiled(self, submission: Submission, target: int, judged: dict[str, str]) -> Compiled | None:
        """For one target; None where it does not pass there. `judged` says of each PTX that was judged why not."""
        from grader.build import BuildFailed

        try:
            built = submission.tools(building_for(default_tools(), target)).build(submission.source)
        except BuildFailed:
            self.skipped[target] = self._why_not(submission, target)
            return None
        code = _code(built)
        if code not in judged:
            judged[code] = self._why_not(submission, target)
        plans = [] if judged[code] else self._plans(submission, built)
        if not plans:
            self.skipped.setdefault(target, judged[code])
            return None
        return Compiled(target, self.writer.add(built.cubin.read_bytes(), ".cubin"), tuple(plans))

    def _why_not(self, submission: Submission, target: int) -> str:
        """What is found in it, compiled for that target; "" where it passes."""
        options = Options(secrets.randbelow(_SEEDS), device=DEVICE, shrink=0.0)
        verdict = check_part(submission, options, building_for(default_tools(), target), self.loading)
        return "" if verdict.passed else _why(verdict)

    def _plans(self, submission: Submission, built: Build) -> list[PlanAt]:
        """At each place; none where the launcher asks for what this GPU does not have."""
        from grader.record import record
        from grader.record.plan import to_json

        part = submission.located.part
        plans: list[PlanAt] = []
        for place in PLACES:
            recording = record(built, part, part.bench, layout=place.layout(offsets(part)))
            if recording.findings:
                self.skipped[built.target] = title(recording.findings[0].kind)
                return []
            name = self.writer.add(to_json(recording.plan).encode(), ".json")
            plans.append(PlanAt(place.first, place.between, name))
        return plans

    def _text(self, text: str, named: Path) -> str:
        return self.writer.add(text.encode(), named.suffix)


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
