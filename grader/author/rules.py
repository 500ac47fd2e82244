"""What every puzzle keeps to, as far as its files show it; see trials.py for what its files do when they are judged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.author.wrong_kernels import folder_of, listed
from grader.catalog import Located, LocatedPuzzle, emptied, is_untouched, markers, regions
from grader.hints import read_hints
from grader.list_part import ListPart

HINTS = 3
LEAST_HINT = 20  # characters: less says nothing
LEAST_WRONG_KERNELS = 3
MOST_LINES, MOST_LINES_TO_WRITE, MOST_LINES_IN_LARGE_PUZZLES = 80, 25, 40
LARGE_PUZZLES = (7, 8)
# What puzzle.py takes from its folder: `from .reference import gradients`, `from . import pytorch`.
_BESIDE = re.compile(r"^from \.(?:(\w+) import| import (\w+)$)", re.MULTILINE)
_PAGES = {"puzzle.py", "hints.md", "README.md"}
_LEFT_BY_TOOLS = (".bak", ".pyc", "")


@dataclass(frozen=True)
class Problem:
    """What is wrong with a puzzle: the file to look at, a sentence, and what to do next."""

    path: Path
    sentence: str
    next_step: str


def problems_of_files(puzzle: LocatedPuzzle) -> Iterator[Problem]:
    """All that the files of a puzzle show without being compiled."""
    yield from stray_files(puzzle)
    if not (puzzle.directory / "README.md").is_file():
        yield Problem(puzzle.directory / "README.md", "The puzzle has no page.", "write what it is for, in one page")
    for part in puzzle.parts:
        if not part.path.is_file() or not part.solution_path.is_file():
            missing = part.solution_path if part.path.is_file() else part.path
            yield Problem(
                missing, f"Part {part.label} has no such file.", "write it, or take the part out of puzzle.py"
            )
            continue
        yield from regions_of(part)
        yield from hints_of(part)
        yield from size_of(part)
        yield from first_cases_of(part)
    yield from wrong_kernels_of(puzzle)


def stray_files(puzzle: LocatedPuzzle) -> Iterator[Problem]:
    """Files in the puzzle's folders that belong to none of its parts."""
    parts = {part.path.name for part in puzzle.parts}
    fast = {Path(name).with_suffix(f".fast{Path(name).suffix}").name for name in parts}
    imported = set(_imported(puzzle.directory, "puzzle.py"))
    for folder, known in ((puzzle.directory, parts | imported | _PAGES), (puzzle.solutions, parts | fast)):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.name not in known and path.suffix not in _LEFT_BY_TOOLS:
                yield Problem(path, "This file belongs to no part.", "remove it, or name it in puzzle.py")


def _imported(folder: Path, name: str) -> Iterator[str]:
    """The files of the folder that this one imports, and those that they import."""
    for taken_from, taken in _BESIDE.findall((folder / name).read_text(encoding="utf-8")):
        beside = f"{taken_from or taken}.py"
        yield beside
        yield from _imported(folder, beside)


def regions_of(part: Located) -> Iterator[Problem]:
    """Markers that do not pair, a skeleton that holds an answer, and differences outside the markers.

    Of a part that is given: any difference at all.
    """
    skeleton, solution = (path.read_text(encoding="utf-8") for path in (part.path, part.solution_path))
    for path, text in ((part.path, skeleton), (part.solution_path, solution)):
        starts, ends = markers(text)
        if not starts and not is_given(part):
            yield Problem(path, "Nothing is marked for the learner to write.", "put both markers into it")
        elif len(starts) != len(ends) or len(regions(text)) != len(starts):
            yield Problem(path, f"A region that begins in line {starts[-1]} is not closed.", "add `// --- end ---`")
    if regions(skeleton) and not is_untouched(skeleton):
        yield Problem(
            part.path, "The skeleton holds more than comments between its markers.", f"grader reset {part.label}"
        )
    if emptied(skeleton) != emptied(solution):
        line = _first_difference(emptied(skeleton), emptied(solution))
        yield Problem(
            part.path,
            f"It differs from its solution outside the markers, first at `{line}`.",
            f"make them equal, then grader reset {part.label}",
        )
    if regions(solution) and is_untouched(solution):
        yield Problem(part.solution_path, "The solution has nothing between its markers.", "write the answer")


def is_given(part: Located) -> bool:
    """Whether nothing is written in the part's file."""
    return isinstance(part.part, ListPart) and part.part.is_given


def _first_difference(one: str, other: str) -> str:
    for line, against in zip([*one.splitlines(), ""], [*other.splitlines(), ""], strict=False):
        if line != against:
            return (line or against).strip()
    return ""


def hints_of(part: Located) -> Iterator[Problem]:
    """Too few hints, too many, or an empty one."""
    hints = read_hints(part.hints_path, part.path.stem)
    if len(hints) != HINTS:
        sentence = f"Part {part.label} has {len(hints)} hints, not {HINTS}."
        yield Problem(part.hints_path, sentence, f"number them below `## {part.path.stem}`")
    for hint in hints:
        if len(hint.text) < LEAST_HINT:
            sentence = f"Hint {hint.number} of {part.label} says nothing."
            yield Problem(part.hints_path, sentence, "write what a learner who is stuck should look at")


def size_of(part: Located) -> Iterator[Problem]:
    """A file that is too long to be read, or more lines to write than one lesson should ask for."""
    text = part.solution_path.read_text(encoding="utf-8")
    most = MOST_LINES_IN_LARGE_PUZZLES if part.puzzle.number in LARGE_PUZZLES else MOST_LINES_TO_WRITE
    lines = [line.strip() for region in regions(text) for line in region.splitlines()]
    written = sum(bool(line) and not line.startswith(("//", "# ")) for line in lines)
    total = len(text.splitlines())
    longest = MOST_LINES + max(most - MOST_LINES_TO_WRITE, 0)
    if written > most:
        yield Problem(
            part.solution_path,
            f"The learner has {written} lines to write, and {most} are the most.",
            "give some of them",
        )
    if total > longest:
        yield Problem(part.solution_path, f"The file has {total} lines, and {longest} are the most.", "say it in fewer")


def first_cases_of(part: Located) -> Iterator[Problem]:
    """A size of 0 never comes first."""
    first = next(iter(part.part.groups.values()))
    if any(value == 0 for case in first for name, value in case.params.items() if name in part.part.sizes):
        path = part.puzzle.directory / "puzzle.py"
        yield Problem(path, f"The first group of {part.label} has a size of 0.", "let an easy size come first")


def wrong_kernels_of(puzzle: LocatedPuzzle) -> Iterator[Problem]:
    """Fewer wrong kernels than a part needs, files that nobody lists, and entries without a file."""
    folder, known = folder_of(puzzle), listed(puzzle)
    for part in puzzle.parts:
        own = sum(wrong.part.part.name == part.part.name for wrong in known)
        if own < LEAST_WRONG_KERNELS:
            sentence = f"Part {part.label} has {own} wrong kernels, and {LEAST_WRONG_KERNELS} are the fewest."
            yield Problem(folder / "expected.json", sentence, "write some, each with the kind that must be found")
    for wrong in known:
        if not wrong.source.is_file():
            yield Problem(wrong.source, "This wrong kernel is listed and does not exist.", "write it, or strike it out")
    for path in sorted(folder.glob("*.[cp][uy]")) if folder.is_dir() else ():
        if path not in {wrong.source for wrong in known}:
            yield Problem(path, "This wrong kernel is not listed in expected.json.", "list it with its kinds")
