"""What holds for every part of every puzzle: skeletons, solutions, hints, and that each step is a step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.build import build
from grader.catalog import Located, emptied, is_untouched, load_catalog, regions
from grader.verdict import BENCH_GROUP, State
from tests.judging import ROOT, Judge, shown

PUZZLES = load_catalog(ROOT).puzzles
PARTS = [part for puzzle in PUZZLES for part in puzzle.parts]
STEPS = [pair for puzzle in PUZZLES for pair in zip(puzzle.parts, puzzle.parts[1:], strict=False)]
EACH_PART = pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.label))

MOST_LINES, MOST_LINES_TO_WRITE = 80, 25


@EACH_PART
def test_the_skeleton_compiles_without_a_warning_and_is_not_started(
    part: Located, judge: Judge, tmp_path: Path
) -> None:
    skeleton = tmp_path / part.path.name
    skeleton.write_text(part.skeleton(), encoding="utf-8")
    assert build(skeleton).warnings == ""
    verdict = judge(part, skeleton)
    assert verdict.state is State.not_started, shown(verdict)
    assert verdict.findings, "a skeleton should be told what is missing"


@EACH_PART
def test_the_solution_compiles_without_a_warning_and_passes(part: Located, judge: Judge) -> None:
    assert build(part.solution_path).warnings == ""
    verdict = judge(part, part.solution_path)
    assert verdict.state is State.passed, shown(verdict)
    assert [case.group for case in verdict.cases][-1] == BENCH_GROUP
    assert {case.group for case in verdict.cases} == {*part.part.groups, BENCH_GROUP}
    assert (verdict.cases[-1].checked > 0) == (part.part.sampled is not None)
    assert [goal.reached for goal in verdict.goals] == [True] * len(part.part.goals)


@pytest.mark.parametrize(("before", "part"), STEPS, ids=lambda part: str(part.label))
def test_the_solution_of_the_part_before_does_not_pass(
    before: Located, part: Located, judge: Judge, tmp_path: Path
) -> None:
    if part.part.same_program_as == before.part.name:
        return  # the same program, written from its other half
    source = tmp_path / part.path.name
    text = before.solution_path.read_text(encoding="utf-8")
    source.write_text(re.sub(rf"\b{before.part.name}\(", f"{part.part.name}(", text), encoding="utf-8")
    verdict = judge(part, source)
    assert verdict.state in (State.wrong, State.goal_open), shown(verdict)


@EACH_PART
def test_skeleton_and_solution_differ_between_the_markers_only(part: Located) -> None:
    skeleton, solution = (path.read_text(encoding="utf-8") for path in (part.path, part.solution_path))
    assert len(regions(solution)) == len(regions(skeleton)) > 0
    assert emptied(skeleton) == emptied(solution)
    assert is_untouched(skeleton), "`grader reset` brings the skeleton back"
    assert not is_untouched(solution)


@EACH_PART
def test_a_part_is_small(part: Located) -> None:
    text = part.solution_path.read_text(encoding="utf-8")
    lines = [line.strip() for region in regions(text) for line in region.splitlines()]
    written = [line for line in lines if line and not line.startswith("//")]
    assert len(text.splitlines()) <= MOST_LINES
    assert len(written) <= MOST_LINES_TO_WRITE


@EACH_PART
def test_a_part_has_three_hints(part: Located) -> None:
    text = part.hints_path.read_text(encoding="utf-8")
    section = re.search(rf"^## {part.path.stem}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section is not None
    hints = re.findall(r"^(\d)\. (.+)$", section[1], re.MULTILINE)
    assert [number for number, _ in hints] == ["1", "2", "3"]
    assert all(len(hint) > 40 for _, hint in hints)


@EACH_PART
def test_n_0_never_comes_first(part: Located) -> None:
    first_group, *later = part.part.groups.values()
    assert all(min(case.params.values()) > 0 for case in first_group)
    assert any(min(case.params.values()) == 0 for group in later for case in group)


@pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda puzzle: str(puzzle.name))
def test_no_file_lies_in_a_puzzle_that_is_none_of_its_parts(puzzle: object) -> None:
    located = next(known for known in PUZZLES if known is puzzle)
    parts = {part.path.name for part in located.parts}
    given = {path.name for path in located.directory.iterdir() if path.suffix not in (".bak", "")}
    assert given == parts | {"puzzle.py", "hints.md", "README.md"}
    solved = {path.name for path in located.solutions.iterdir()}
    assert parts <= solved
    assert solved - parts <= {name.replace(".cu", ".fast.cu") for name in parts}
