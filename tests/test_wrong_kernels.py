"""Wrong kernels are rejected, with kind of finding and line: those written for this course, and mistakes of others.

`tests/wrong/PUZZLE/expected.json` and `tests/cases/cases.json` list file, part, and the kinds of which one must be
found; where lines are given, that finding's line or other line is among them.

Compiling all of them takes longer than a test run should. An ordinary run tries one of each kind of finding, one of
each puzzle, and a fiftieth of the others, which change with the commit; `make thorough` tries all.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from grader.author.wrong_kernels import Wrong, described, listed
from grader.catalog import load_catalog
from grader.verdict import State
from tests.judging import ROOT, Judge, shown
from tests.sampling import one_of_each, sampled

CASES = ROOT / "tests" / "cases"
PUZZLES = load_catalog(ROOT).puzzles
OPEN_GOALS = {"uncoalesced_access", "bank_conflicts", "redundant_traffic", "goal_missed"}


def collect() -> list[Wrong]:
    entries: list[dict[str, Any]] = json.loads((CASES / "cases.json").read_text(encoding="utf-8"))
    found = []
    for puzzle in PUZZLES:
        parts = {part.part.name for part in puzzle.parts}
        own = [entry for entry in entries if entry["puzzle"] == puzzle.number and entry["part"] in parts]
        found += [*listed(puzzle), *described(puzzle, CASES, own)]
    return found


def chosen(wrong: list[Wrong]) -> list[Wrong]:
    """Those of this run."""
    always = one_of_each(wrong, [(one.part.puzzle.number, *one.kinds) for one in wrong])
    return [*always, *sampled([one for one in wrong if one not in always], 50)]


WRONG = collect()


@pytest.mark.parametrize("wrong", chosen(WRONG), ids=lambda wrong: str(wrong.source.stem))
def test_a_wrong_kernel_is_rejected_with_its_kind_and_line(wrong: Wrong, judge: Judge) -> None:
    verdict = judge(wrong.part, wrong.source)
    assert verdict.state in (State.wrong, State.goal_open), shown(verdict)
    matching = [finding for finding in verdict.findings if finding.kind in wrong.kinds]
    assert matching, shown(verdict)
    goals = {goal.kind for goal in wrong.part.part.goals}
    faults = {finding.kind for finding in verdict.findings} - OPEN_GOALS - goals
    assert (verdict.state is State.wrong) == bool(faults), shown(verdict)
    if wrong.lines:
        assert any({finding.line, finding.other_line} & wrong.lines for finding in matching), shown(verdict)
    assert all(finding.message for finding in verdict.findings)


def test_every_puzzle_has_some_in_each_run_and_every_part_has_some_at_all() -> None:
    tried = chosen(WRONG)
    assert {one.part.puzzle.number for one in tried} == {puzzle.number for puzzle in PUZZLES}
    assert {one.part.label for one in WRONG} == {part.label for puzzle in PUZZLES for part in puzzle.parts}
    assert len(tried) * 25 > len(WRONG)
    assert len({(one.part.label, one.source) for one in tried}) == len(tried)


def test_every_kind_of_finding_is_shown_in_each_run() -> None:
    assert {kind for one in chosen(WRONG) for kind in one.kinds} == {kind for one in WRONG for kind in one.kinds}
