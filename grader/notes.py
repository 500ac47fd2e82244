"""What a check has seen of one part so far, and the verdict that comes of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from grader.evidence import CaseEvidence
from grader.explain import Observation
from grader.facts import PRINTED_CHARACTERS, as_sentence, launch_facts, readable
from grader.failed import of_itself
from grader.findings import Place, identity
from grader.puzzle import Case, call_by_name
from grader.submission import Options, Submission
from grader.tools import TorchMissing
from grader.verdict import (
    BENCH_GROUP,
    CaseResult,
    Finding,
    GoalResult,
    PartVerdict,
    Smallest,
    Stage,
    State,
    Timing,
    Used,
)

if TYPE_CHECKING:
    from grader.record import Recording

_MOST_FINDINGS = 32


@dataclass
class Notes:
    """Findings, results and counts of one submission, noted as they come."""

    submission: Submission
    options: Options
    stage: Stage = Stage.build
    reason: str | None = None
    findings: list[Finding] = field(default_factory=list)
    results: list[CaseResult] = field(default_factory=list)
    evidence: list[CaseEvidence] = field(default_factory=list)
    goals: list[GoalResult] = field(default_factory=list)
    reference_counters: Mapping[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    printed: str = ""
    timing: Timing | None = None
    untimed: str | None = None
    smallest: Smallest | None = None

    def __post_init__(self) -> None:
        self.part = self.submission.located.part
        located = self.submission.located
        self.place = Place(
            self.part,
            located.label,
            self.submission.shown,
            self.submission.source,
            kernel_is_given=located.kernel_is_given(),
        )
        grouped = [(group, case) for group, cases in self.part.groups.items() for case in cases]
        self.cases = list(self.options.cases) if self.options.cases is not None else grouped

    def concluded(self, judge: Callable[[], State], device: Callable[[], str]) -> PartVerdict:
        """The verdict that `judge` comes to, whatever happens in it; `device` says then what gave the final values."""
        from grader.toolchain import ToolMissing

        begun = time.perf_counter()
        try:
            state = judge()
        except (ToolMissing, TorchMissing) as missing:
            state, self.reason = State.unchecked, as_sentence(str(missing))
        except Exception as error:
            logging.getLogger(__name__).debug("judging %s", self.submission.shown, exc_info=True)
            state = State.unchecked
            self.reason = f"{of_itself(error)[:-1]}; your file may well be right."
        if state in (State.wrong, State.goal_open) and self.submission.is_untouched():
            state = State.not_started
        self._spent("total", begun)
        return self._verdict(state, device())

    def _verdict(self, state: State, device: str) -> PartVerdict:
        largest = self._largest()
        return PartVerdict(
            part=self.part.name,
            label=self.submission.located.label,
            state=state,
            device=device,
            seed=self.options.seed,
            stage=Stage.done if state is State.passed else self.stage,
            file=self.submission.shown,
            findings=tuple(self.findings[:_MOST_FINDINGS]),
            cases=tuple(self.results),
            not_reached=tuple(self._not_reached()),
            goals=tuple(self.goals),
            counters=largest.counters if largest is not None else {},
            reference_counters=self.reference_counters,
            timing=self.timing,
            untimed=self.untimed if state in (State.passed, State.goal_open) and self.timing is None else None,
            printed=readable(self.printed),
            seconds={step: round(spent, 3) for step, spent in self.seconds.items()},
            reason=self.reason,
            smallest=self.smallest,
            uses=tuple(Used(used.located.part.name, used.located.label, used.is_own) for used in self.submission.used),
        )

    def _not_reached(self) -> list[str]:
        tried = {result.group for result in self.results}
        return [group for group in dict.fromkeys(group for group, _ in self.cases) if group not in tried]

    def _largest(self) -> CaseEvidence | None:
        """The judged case that moves most bytes; its counters are the ones shown."""
        judged = [evidence for evidence in self.evidence if evidence.group != BENCH_GROUP]
        return max(judged, key=lambda evidence: call_by_name(self.part.work, evidence.case.params).bytes, default=None)

    def _at(self, case: Case, recording: Recording) -> Place:
        return replace(self.place, case=case, launches=launch_facts(recording.plan))

    def _found(self, seen: Observation) -> None:
        self._add(self.place.finding(seen))

    def _add(self, finding: Finding) -> None:
        """One finding a kind, line and buffer, since a later case shows the same again.

        Of a barrier that some threads do not reach, the first place where these are instead says enough.
        """
        if identity(finding) not in map(identity, self.findings):
            self.findings.append(finding)

    def _spent(self, step: str, begun: float) -> None:
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - begun

    def _print(self, text: str) -> None:
        if len(self.printed) < PRINTED_CHARACTERS:
            self.printed += text
