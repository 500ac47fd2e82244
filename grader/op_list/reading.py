"""A part that reads a plan → verdict: its answers beside the plan of the reference solution."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grader.catalog import load_catalog
from grader.compiled import build_findings
from grader.explain import sentence
from grader.list_part import ListPart, Question, ReadingPart
from grader.notes import Notes
from grader.op_list.calls import ListRefused, refuse
from grader.op_list.listing import answered_by
from grader.op_list.planned import PlannedOp, planned_ops
from grader.op_list.translate import calls_of
from grader.submission import Submission, references, used_sources
from grader.verdict import CaseResult, Finding, PartVerdict, Stage, State

if TYPE_CHECKING:
    from grader.submission import Options

_DEVICE = "software"


def check_reading_part(submission: Submission, options: Options) -> PartVerdict:
    """Judges one file; whatever it does, a verdict comes out."""
    check = _ReadingCheck(submission, options)
    return check.concluded(check.judge, lambda: _DEVICE)


class _ReadingCheck(Notes):
    def judge(self) -> State:
        begun = time.perf_counter()
        try:
            values = self._values()
        except ListRefused as refused:
            self.findings += build_findings(refused, self.place)
            return State.wrong
        finally:
            self._spent("build", begun)
        self.stage = Stage.compare
        ops = planned_solution(self._part.about)
        wrong = [
            self._wrong(question, value)
            for question, value in zip(self._part.questions, values, strict=True)
            if not _same(value, question.right(ops))
        ]
        ((group, case),) = self.cases[:1]
        count = len(self._part.questions)
        self.results.append(CaseResult(_DEVICE, group, case.params, not wrong, checked=count, wrong=len(wrong)))
        self.findings += wrong
        return State.wrong if wrong else State.passed

    @property
    def _part(self) -> ReadingPart:
        assert isinstance(self.part, ReadingPart)
        return self.part

    def _values(self) -> Sequence[Any]:
        """One for each question; raises ListRefused."""
        message = {"do": "answer", "file": self.submission.source.name, "entry": self.part.name}
        answered = answered_by(self.part, message, self.submission.source.read_bytes())
        values, wanted = answered.get("values"), len(self._part.questions)
        if not isinstance(values, list) or len(values) != wanted:
            got = len(values) if isinstance(values, list) else 0
            raise refuse("answers", None, entry=self.part.name, wanted=wanted, got=got)
        return values

    def _wrong(self, question: Question, value: Any) -> Finding:
        given = isinstance(value, int | str)
        shown = repr(value)[:60] if given else ""
        line = next(self._assignments(question.name), None)
        return Finding(
            kind="wrong_values",
            severity="error",
            title=sentence("list", "titles", "answer"),
            message=sentence("list", "answer" if given else "no_answer", facts={"name": question.name, "got": shown}),
            why=question.why,
            file=self.submission.shown,
            line=line,
            marks=((line, shown),) if line is not None and given else (),
        )

    def _assignments(self, name: str) -> Any:
        """The lines where the name gets a value, the last first."""
        lines = list(enumerate(self.submission.text().splitlines(), 1))
        return (number for number, line in reversed(lines) if re.match(rf"\s*{name}\s*=", line))


def planned_solution(name: str) -> list[PlannedOp]:
    """The plan of the reference solution of a list, in its first case, launch by launch."""
    from grader.build import build
    from grader.record import record

    located = load_catalog().part_named(name, name)
    part, source, companions = located.part, located.solution_path, used_sources(located)
    assert isinstance(part, ListPart)
    case = next(iter(part.cases()))
    plan = record(build(source, uses=companions), part, case).plan
    return planned_ops(part, case, calls_of(located, source, references(located)), plan, companions)


def _same(value: Any, right: int | str) -> bool:
    return type(value) is type(right) and value == right
