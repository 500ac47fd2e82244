"""`grader author new` and `grader author check`: a new puzzle keeps to the rules, and each broken rule is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from grader import cli
from grader.author.rules import Problem, problems_of_files
from grader.author.template_files import new_puzzle
from grader.author.trials import (
    Judge,
    judge_with,
    narrow_problems,
    skeleton_problems,
    solution_problems,
    step_problems,
    worst_share,
)
from grader.catalog import Catalog, LocatedPuzzle, UsageError, load_catalog
from tests.conftest import SEED

NAME = "scaled_copy"
FOLDER = f"puzzle_01_{NAME}"


@pytest.fixture
def puzzle(tmp_path: Path) -> Callable[[], LocatedPuzzle]:
    """A new puzzle in a course of its own; called again it is read again."""
    new_puzzle(Catalog(tmp_path, ()), NAME)
    return lambda: load_catalog(tmp_path).puzzles[0]


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def told(problems: Iterable[Problem]) -> str:
    """The one problem that there is: file, sentence and next step."""
    (problem,) = problems
    assert problem.next_step
    return f"{problem.path.name}: {problem.sentence}"


def test_a_new_puzzle_keeps_to_the_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new_puzzle(Catalog(tmp_path, ()), NAME, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert cli.run(["author", "new", "second_one"]) == 0
        assert "puzzles/puzzle_08_second_one/1_second_one.cu" in capsys.readouterr().out
        code = cli.run(["author", "check", "second_one"])
    assert (code, capsys.readouterr().out.splitlines()[-1]) == (0, "All keep to the rules.")


@pytest.mark.parametrize("name", ["", "Capital", "two words", "1st", "a__b", "../up", NAME])
def test_a_name_that_cannot_be_is_refused(puzzle: Callable[[], LocatedPuzzle], name: str) -> None:
    located = puzzle()
    with pytest.raises(UsageError):
        new_puzzle(Catalog(located.directory.parents[1], (located,)), name)


def test_a_number_that_is_taken_is_refused(puzzle: Callable[[], LocatedPuzzle]) -> None:
    located = puzzle()
    with pytest.raises(UsageError, match="number 1"):
        new_puzzle(Catalog(located.directory.parents[1], (located,)), "another", 1)


def test_a_broken_rule_is_told_with_file_and_next_step(
    puzzle: Callable[[], LocatedPuzzle], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    located = puzzle()
    (located.directory / "old.cu").write_text("// nothing\n", encoding="utf-8")
    monkeypatch.chdir(located.directory.parents[1])
    assert cli.run(["author", "check", NAME]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "Puzzle 1 Scaled copy",
        f"  puzzles/{FOLDER}/old.cu",
        "    This file belongs to no part.",
        "    Next  remove it, or name it in puzzle.py",
        "One to mend.",
    ]


def test_mutants_are_judged_and_written_down(
    puzzle: Callable[[], LocatedPuzzle], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(puzzle().directory.parents[1])
    assert cli.run(["author", "mutate", "1.1", "--sample", "2", "--seed", "5", "--json", "rates.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["1/2", "2/2"]
    assert lines[-1].endswith("2 of 2  100 %")
    (row,) = json.loads(Path("rates.json").read_text(encoding="utf-8"))["parts"]
    assert (row["part"], row["mutants"], row["killed"]) == (NAME, 2, 2)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["author", "new", "Capital"], "no name for a puzzle"),
        (["author", "check", "99"], "no puzzle or part"),
        (["author", "mutate", "--sample", "0"], "`grader author --help` shows"),
    ],
)
def test_a_mistake_is_one_sentence(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert told in printed.err


# ---- what files show ----


def test_a_difference_outside_the_markers_is_told(puzzle: Callable[[], LocatedPuzzle]) -> None:
    change(puzzle().parts[0].path, "threads = 256", "threads = 128")
    assert "outside the markers, first at `constexpr int threads = 128;`" in told(problems_of_files(puzzle()))


def test_a_skeleton_that_holds_the_answer_is_told(puzzle: Callable[[], LocatedPuzzle]) -> None:
    part = puzzle().parts[0]
    part.path.write_text(part.solution_path.read_text(encoding="utf-8"), encoding="utf-8")
    assert "holds more than comments" in told(problems_of_files(puzzle()))


def test_a_region_that_is_not_closed_is_told(puzzle: Callable[[], LocatedPuzzle]) -> None:
    for path in (puzzle().parts[0].path, puzzle().parts[0].solution_path):
        change(path, "    // --- end ---\n", "")
    problems = [problem.sentence for problem in problems_of_files(puzzle())]
    assert problems[0] == problems[1] == "A region that begins in line 9 is not closed."


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "The grid is rounded up to whole blocks, so some threads have no element. What must they not do?",
            "",
            "Hint 2 of 1.1 says nothing.",
        ),
        ("3. `blockIdx", "`blockIdx", "Part 1.1 has 2 hints, not 3."),
    ],
)
def test_hints_that_are_missing_are_told(
    puzzle: Callable[[], LocatedPuzzle], old: str, new: str, sentence: str
) -> None:
    change(puzzle().directory / "hints.md", old, new)
    assert told(problems_of_files(puzzle())) == f"hints.md: {sentence}"


@pytest.mark.parametrize("place", [f"puzzles/{FOLDER}/old.cu", f"solutions/{FOLDER}/2_next.cu"])
def test_a_stray_file_is_told(puzzle: Callable[[], LocatedPuzzle], tmp_path: Path, place: str) -> None:
    (tmp_path / place).write_text("// nothing\n", encoding="utf-8")
    assert told(problems_of_files(puzzle())) == f"{Path(place).name}: This file belongs to no part."


def test_too_few_wrong_kernels_are_told(puzzle: Callable[[], LocatedPuzzle], tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "wrong" / FOLDER
    entries = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    (folder / "expected.json").write_text(json.dumps(entries[1:]), encoding="utf-8")
    sentences = [problem.sentence for problem in problems_of_files(puzzle())]
    assert sentences == [
        "Part 1.1 has 2 wrong kernels, and 3 are the fewest.",
        "This wrong kernel is not listed in expected.json.",
    ]


def test_a_missing_solution_and_a_missing_page_are_told(puzzle: Callable[[], LocatedPuzzle]) -> None:
    located = puzzle()
    (located.directory / "README.md").unlink()
    located.parts[0].solution_path.unlink()
    assert [problem.path.name for problem in problems_of_files(located)] == ["README.md", located.parts[0].path.name]


def test_an_easy_size_comes_first(puzzle: Callable[[], LocatedPuzzle]) -> None:
    change(puzzle().directory / "puzzle.py", "n=256)", "n=0)")
    assert "first group of 1.1 has a size of 0" in told(problems_of_files(puzzle()))


# ---- what judging shows ----


def test_a_skeleton_that_passes_is_told(puzzle: Callable[[], LocatedPuzzle], judge: Judge) -> None:
    for path in (puzzle().parts[0].path, puzzle().parts[0].solution_path):
        change(
            path,
            "    // --- your code ---\n",
            "    const int j = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (j < n) out[j] = factor * x[j];\n    // --- your code ---\n",
        )
    assert "The skeleton passes." in told(skeleton_problems(puzzle().parts[0], judge))


def test_a_solution_that_fails_is_told(puzzle: Callable[[], LocatedPuzzle], judge: Judge) -> None:
    change(puzzle().parts[0].solution_path, "factor * x[i]", "factor + x[i]")
    assert "The solution does not pass (wrong)." in told(solution_problems(puzzle().parts[0], judge))


def test_a_step_that_is_none_is_told(puzzle: Callable[[], LocatedPuzzle], judge: Judge, tmp_path: Path) -> None:
    located = puzzle()
    before = located.parts[0]
    text = (located.directory / "puzzle.py").read_text(encoding="utf-8")
    begun, ended = text.index("        Part("), text.index("    ],\n)")
    second = text[begun:ended].replace(NAME, "same_again")
    (located.directory / "puzzle.py").write_text(text[:ended] + second + text[ended:], encoding="utf-8")
    following = puzzle().parts[1]
    assert f"The solution of {before.label} passes as {following.label}." in told(
        step_problems(before, following, judge)
    )
    marked = second.replace("lesson=", f'same_program_as="{NAME}", lesson=')
    (located.directory / "puzzle.py").write_text(text[:ended] + marked + text[ended:], encoding="utf-8")
    assert list(step_problems(before, puzzle().parts[1], judge)) == []


def test_a_statement_may_have_its_mathematics_beside_it(puzzle: Callable[[], LocatedPuzzle]) -> None:
    folder = puzzle().directory
    (folder / "reference.py").write_text("TITLE = 'First'\n", encoding="utf-8")
    assert told(problems_of_files(puzzle())) == "reference.py: This file belongs to no part."
    text = (folder / "puzzle.py").read_text(encoding="utf-8")
    taken = text.replace("\nfrom grader", "\nfrom .reference import TITLE\nfrom grader", 1)
    (folder / "puzzle.py").write_text(taken + "\npuzzle = Puzzle(TITLE, puzzle.parts)\n", encoding="utf-8")
    assert puzzle().puzzle.title == "First"
    assert list(problems_of_files(puzzle())) == []
    (folder / "reference.py").write_text("TITLE = 'Second'\n", encoding="utf-8")
    assert puzzle().puzzle.title == "Second"


@pytest.mark.parametrize(
    ("tolerance", "sentence"),
    [
        ("2.0**-23", "The solution of 1.1 takes"),
        ("2.0**-10", "in_half.cu misses 1.1 by"),
    ],
)
def test_a_tolerance_outside_the_rule_is_told(
    puzzle: Callable[[], LocatedPuzzle], tolerance: str, sentence: str
) -> None:
    def problems() -> list[Problem]:
        part = puzzle().parts[0]
        return [*solution_problems(part, judge_with(SEED)), *narrow_problems(part, SEED)]

    assert problems() == []
    change(puzzle().directory / "puzzle.py", "2.0**-22", tolerance)
    assert sentence in told(problems())


def test_a_share_of_the_tolerance_is_the_largest_of_all_elements(puzzle: Callable[[], LocatedPuzzle]) -> None:
    part = puzzle().parts[0]
    assert 2**-4 < worst_share(part, part.solution_path, SEED) <= 1 / 4
