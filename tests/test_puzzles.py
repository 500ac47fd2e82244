"""What holds for every part of every puzzle: `grader author check`, rule by rule and part by part.

Every solution is judged in every run. Of the skeletons, and of the solutions of the part before, an ordinary run
compiles a tenth, which change with the commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from grader.author.rules import Problem, problems_of_files
from grader.author.trials import skeleton_problems, solution_problems, step_problems
from grader.catalog import Located, LocatedPuzzle, load_catalog
from grader.list_part import ListPart, ReadingPart
from grader.puzzle import Case, shape_of
from grader.python_part import PythonPart
from grader.verdict import BENCH_GROUP, PartVerdict, State
from tests.judging import ROOT, Judge, shown
from tests.sampling import sampled

PUZZLES = load_catalog(ROOT).puzzles
PARTS = [part for puzzle in PUZZLES for part in puzzle.parts]
STEPS = [pair for puzzle in PUZZLES for pair in zip(puzzle.parts, puzzle.parts[1:], strict=False)]


def by_label(part: Located) -> str:
    return str(part.label)


EACH_PART = pytest.mark.parametrize("part", PARTS, ids=by_label)

NEVER_EMPTY = {"wmma_one_tile", "gemm_wmma", "gemm_wmma_block"}  # their files say that no size is 0


def told(problems: Iterable[Problem]) -> list[str]:
    return [f"{problem.path.name}: {problem.sentence}" for problem in problems]


@pytest.mark.parametrize("puzzle", PUZZLES, ids=lambda puzzle: str(puzzle.name))
def test_the_files_of_a_puzzle_keep_to_the_rules(puzzle: LocatedPuzzle) -> None:
    assert told(problems_of_files(puzzle)) == []


@pytest.mark.parametrize("part", sampled(PARTS, 10), ids=by_label)
def test_the_skeleton_compiles_without_a_warning_and_is_not_started(part: Located, judge: Judge) -> None:
    assert told(skeleton_problems(part, judge)) == []


@EACH_PART
def test_the_solution_compiles_without_a_warning_and_passes(part: Located, judge: Judge) -> None:
    judged: list[PartVerdict] = []

    def kept(located: Located, source: Path) -> PartVerdict:
        judged.append(judge(located, source))
        return judged[-1]

    assert told(solution_problems(part, kept)) == []
    (verdict,) = judged
    assert verdict.state is State.passed, shown(verdict)
    bench = [] if part.part.is_host else [BENCH_GROUP]
    assert list(dict.fromkeys(case.group for case in verdict.cases)) == [*part.part.groups, *bench]
    assert (verdict.cases[-1].checked > 0) == (part.part.sampled is not None or part.part.is_host)
    goals = 1 if isinstance(part.part, PythonPart) else len(part.part.goals)
    assert [goal.reached for goal in verdict.goals] == [True] * goals


@pytest.mark.parametrize(("before", "part"), sampled(STEPS, 10), ids=by_label)
def test_the_solution_of_the_part_before_does_not_pass(before: Located, part: Located, judge: Judge) -> None:
    assert told(step_problems(before, part, judge)) == []


@EACH_PART
def test_a_size_of_0_is_tried_and_never_first(part: Located) -> None:
    if part.part.is_host:
        return  # it has no sizes
    first_group, *later = part.part.groups.values()
    assert all(smallest_extent(part, case) > 0 for case in first_group)
    assert part.part.name in NEVER_EMPTY or any(smallest_extent(part, case) == 0 for group in later for case in group)


def smallest_extent(part: Located, case: Case) -> int:
    return min(extent for buffer in part.part.buffers for extent in shape_of(buffer, case.params))


@EACH_PART
def test_the_head_of_a_skeleton_is_in_paragraphs(part: Located) -> None:
    text = part.path.read_text(encoding="utf-8")
    if isinstance(part.part, ListPart | PythonPart | ReadingPart):
        head = [f"// {line}".rstrip() for line in text.partition('"""')[2].partition('"""')[0].splitlines()]
        assert head[0].startswith(f"// {part.names[-1]}: ")
    else:
        head = text.partition("#include")[0].splitlines()
        assert head[0].startswith(f"// {part.part.name}: ")
    for line in head[1:]:
        assert re.fullmatch(r"//|// (Why|Given|Write|Goal|Needs) {2,4}\S.*|// {8,}\S.*", line), line
