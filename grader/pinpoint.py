"""Where a kernel goes wrong that a GPU has stopped: the hardware says "illegal address" and no more.

The software GPU can say the line, thread and element, but has seen nothing yet: the small cases were right, and of the
full size it runs a sample of the blocks. So it is asked again: for other blocks of the same case, then for cases like
it that it can run whole, on inputs that it has not had.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grader.compiled import named_fragments
from grader.explain import Observation, sentence
from grader.facts import listed
from grader.findings import Place
from grader.inputs import derived_seed
from grader.puzzle import Case, Part, call_by_name
from grader.shrink import smaller_cases
from grader.verdict import Finding, Stage

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record import Recording
    from grader.tools import Tools
    from grader.trial import Ran

SECONDS = 15.0  # that somebody waits for the line, once a GPU has found a fault
_SAMPLES = 2
# of a case that is run whole: a second or so
_MOST_BYTES = 4 << 20
_MOST_FLOPS = 1 << 28


@dataclass(frozen=True)
class Pinpointed:
    """The case in which the software GPU saw it, how that was recorded, what was seen, and whether the case is another
    than the one that the GPU stopped in.
    """

    case: Case
    recording: Recording
    observations: Sequence[Observation]
    elsewhere: bool

    def findings(self, place: Place, text: str, reason: str) -> list[Finding]:
        """In words, at `place` in the file that says `text`; the first tells the GPU's `reason` too."""
        first, *others = (place.finding(seen) for seen in named_fragments(self.observations, text))
        facts = {"reason": reason, "message": first.message, "sizes": listed(self.case.params)}
        message = sentence("device_trap", "message", "placed" if self.elsewhere else "sampled", facts=facts)
        return [replace(first, message=message), *others]


@dataclass(frozen=True)
class FaultSearch:
    """A recorded case that a GPU could not bring to its end."""

    part: Part
    case: Case
    build: Build
    recording: Recording
    seed: int

    def run(self, tools: Tools, seconds: float = SECONDS) -> Pinpointed | None:
        """The first fault that the software GPU sees on a line; None where it sees none within about `seconds`."""
        end = time.monotonic() + seconds
        for case, recording, ran in self._looks(tools):
            if ran is not None and ran.stage is Stage.run and _has_line(ran.observations):
                return Pinpointed(case, recording, ran.observations, elsewhere=case is not self.case)
            if time.monotonic() > end:
                return None
        return None

    def _looks(self, tools: Tools) -> Iterator[tuple[Case, Recording, Ran | None]]:
        from grader.fullsize import FullSize
        from grader.trial import Trial

        for number in range(1, _SAMPLES + 1):
            seed = derived_seed(self.seed, number)
            sample = FullSize(self.part, self.case, self.build, self.recording.plan, seed).run(tools)
            yield self.case, self.recording, sample
        fresh = derived_seed(self.seed, _SAMPLES + 1)
        for case in smaller_cases(self.part, self.case, _MOST_BYTES):
            if call_by_name(self.part.work, case.params).flops > _MOST_FLOPS:
                continue
            recording = tools.record(self.build, self.part, case)
            if not recording.findings:
                trial = Trial(self.part, "smaller", case, self.build, recording.plan, fresh)
                yield case, recording, trial.run(tools)


def _has_line(observations: Sequence[Observation]) -> bool:
    return any(seen.line is not None and seen.kind != "unsupported" for seen in observations)
