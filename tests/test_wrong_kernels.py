"""Wrong kernels are rejected, with kind of finding and line: those written for this course, and mistakes of others.

`tests/wrong/PUZZLE/expected.json` and `tests/cases/cases.json` list file, part, and the kinds of which one must be
found; where lines are given, that finding's line or other line is among them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.catalog import Located, load_catalog
from grader.verdict import State
from tests.judging import ROOT, Judge, shown

TESTS = ROOT / "tests"
PUZZLES = load_catalog(ROOT).puzzles
OPEN_GOALS = {"uncoalesced_access", "bank_conflicts", "redundant_traffic", "goal_missed"}
LEAST_WRONG_KERNELS = 3


@dataclass(frozen=True)
class Wrong:
    """A wrong kernel and what has to be found in it."""

    part: Located
    source: Path
    kinds: frozenset[str]
    lines: frozenset[int]


def collect() -> list[Wrong]:
    found = []
    for puzzle in PUZZLES:
        parts = {part.part.name: part for part in puzzle.parts}
        listed = [
            (TESTS / "wrong" / puzzle.name, entry) for entry in read(TESTS / "wrong" / puzzle.name / "expected.json")
        ]
        listed += [
            (TESTS / "cases", entry)
            for entry in read(TESTS / "cases" / "cases.json")
            if entry["puzzle"] == puzzle.number and entry["part"] in parts
        ]
        for folder, entry in listed:
            kinds, lines = frozenset(entry["kinds"]), frozenset(entry.get("lines", ()))
            found.append(Wrong(parts[entry["part"]], folder / entry["file"], kinds, lines))
    return found


def read(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return entries


WRONG = collect()


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: str(wrong.source.stem))
def test_a_wrong_kernel_is_rejected_with_its_kind_and_line(wrong: Wrong, judge: Judge) -> None:
    verdict = judge(wrong.part, wrong.source)
    assert verdict.state in (State.wrong, State.goal_open), shown(verdict)
    matching = [finding for finding in verdict.findings if finding.kind in wrong.kinds]
    assert matching, shown(verdict)
    faults = {finding.kind for finding in verdict.findings} - OPEN_GOALS
    assert (verdict.state is State.wrong) == bool(faults), shown(verdict)
    if wrong.lines:
        assert any({finding.line, finding.other_line} & wrong.lines for finding in matching), shown(verdict)
    assert all(finding.message for finding in verdict.findings)


@pytest.mark.parametrize(
    "part", [part for puzzle in PUZZLES for part in puzzle.parts], ids=lambda part: str(part.label)
)
def test_every_part_has_wrong_kernels(part: Located) -> None:
    assert sum(wrong.part == part for wrong in WRONG) >= LEAST_WRONG_KERNELS


def test_every_wrong_kernel_is_listed() -> None:
    lying = {path for puzzle in PUZZLES for path in (TESTS / "wrong" / puzzle.name).glob("*.cu")}
    assert lying == {wrong.source for wrong in WRONG if wrong.source.parent.parent.name == "wrong"}
