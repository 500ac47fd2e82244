"""Finds puzzles, in the learner's workspace first, and resolves the names that people type.

`puzzle_1`, `1`, `01`, `puzzle_01_vector_add` and `vector_add` mean puzzle 1; `1.3` and `vector_add_launch` mean its
third part. Where a puzzle and a part share a name, the bare name is the puzzle.
"""

from __future__ import annotations

import difflib
import importlib.util
import itertools
import os
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.list_part import ListPart, ReadingPart
from grader.puzzle import Part, Puzzle, PuzzleError
from grader.python_part import PythonPart

_read = itertools.count()
_DIRECTORY = re.compile(r"puzzle_(\d{2})_(\w+)")
_REGION_START, _PYTHON_REGION_START = "// --- your code ---", "# --- your code ---"
_STARTS, _ENDS = (_REGION_START, _PYTHON_REGION_START), ("// --- end ---", "# --- end ---")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PYTHON_COMMENTS = re.compile(r"#[^\n]*")


class UsageError(Exception):
    """Something that was asked for does not exist or makes no sense; the message is one sentence and the next step."""


@dataclass(frozen=True)
class LocatedPuzzle:
    """A puzzle on disk: `name` is its directory's name, "puzzle_01_vector_add"."""

    puzzle: Puzzle
    number: int
    name: str
    directory: Path
    solutions: Path

    @cached_property
    def parts(self) -> tuple[Located, ...]:
        numbered = zip(self.puzzle.parts, self.puzzle.numbers, strict=True)
        return tuple(Located(part, self, index) for part, index in numbered)

    @property
    def topic(self) -> str:
        """The name without its number: "vector_add"."""
        return self.name.split("_", 2)[2]


@dataclass(frozen=True)
class Located:
    """A part on disk; `index` is its number within the puzzle."""

    part: Part
    puzzle: LocatedPuzzle
    index: int

    @property
    def label(self) -> str:
        """What to type for it: "1.2"."""
        return f"{self.puzzle.number}.{self.index}"

    @property
    def names(self) -> tuple[str, ...]:
        """The entry's name; a part in Python has one of its own besides."""
        return (self.part.name, self.part.entry) if isinstance(self.part, PythonPart) else (self.part.name,)

    @property
    def path(self) -> Path:
        """The learner's own file."""
        suffix = "py" if isinstance(self.part, ListPart | PythonPart | ReadingPart) else "cu"
        return self.puzzle.directory / f"{self.index}_{self.part.name}.{suffix}"

    @property
    def solution_path(self) -> Path:
        return self.puzzle.solutions / self.path.name

    @property
    def hints_path(self) -> Path:
        return self.puzzle.directory / "hints.md"

    @cached_property
    def used(self) -> tuple[Located, ...]:
        """The parts that this one builds on, and those that they build on, each behind what it needs itself."""
        return load_catalog(self.puzzle.directory).used_by(self) if self.part.uses else ()

    @property
    def headers(self) -> tuple[str, ...]:
        """The files that lie beside its source, as paths in the puzzle's folder; its own only, not of parts it uses."""
        folder = self.puzzle.directory
        found = [path for pattern in self.part.headers for path in folder.glob(pattern) if path.is_file()]
        return tuple(sorted({path.relative_to(folder).as_posix() for path in found}))

    @cached_property
    def beside(self) -> tuple[Located, ...]:
        """The parts of the same puzzle that are shown beside this one, in the order of their calls."""
        named = self.part.beside.parts if self.part.beside is not None else ()
        by_name = {located.part.name: located for located in self.puzzle.parts}
        return tuple(by_name[name] for name in named)

    def kernel_is_given(self) -> bool:
        """Whether the learner writes the launch only: the markers of the skeleton come after the kernel."""
        try:
            before = self.skeleton().partition(_REGION_START)[0]
        except UsageError:
            return False
        return "__global__" in before and 'extern "C"' in before

    def skeleton(self) -> str:
        """The file as it was handed out: the solution with nothing between its markers."""
        try:
            return emptied(self.solution_path.read_text(encoding="utf-8"))
        except OSError:
            raise UsageError(
                f"The skeleton of {self.label} cannot be made, because {self.solution_path} is missing; "
                "run this from a checkout of the course that has its solutions folder."
            ) from None


@dataclass(frozen=True)
class Catalog:
    """All puzzles below one root, by number."""

    root: Path
    puzzles: tuple[LocatedPuzzle, ...]

    def resolve(self, text: str, part_name: str | None = None) -> tuple[LocatedPuzzle, Located | None]:
        """The puzzle that `text` means, and the part where `text` or `part_name` (an entry's name) names one."""
        puzzle, part = self._resolve(text)
        if part_name is None:
            return puzzle, part
        named = next((located for located in puzzle.parts if part_name in located.names), None)
        if named is None:
            names = ", ".join(located.part.name for located in puzzle.parts)
            raise UsageError(f"Puzzle {puzzle.number} has no part {part_name!r}; its parts are {names}.")
        if part is not None and part != named:
            raise UsageError(f"{text!r} is part {part.label} and --part names {named.label}; name one of them.")
        return puzzle, named

    def part_named(self, entry: str, user: str | None = None) -> Located:
        """The part of that entry; `user` is the label of the part that builds on it, where one does."""
        parts = (located for puzzle in self.puzzles for located in puzzle.parts)
        named = next((located for located in parts if located.part.name == entry), None)
        if named is None and user is not None:
            raise UsageError(f"Part {user} builds on {entry}, which is no part of any puzzle here.")
        if named is None:
            raise UsageError(f"No puzzle here has a part {entry}.")
        return named

    def used_by(self, located: Located) -> tuple[Located, ...]:
        """The parts that a part builds on, and those that they build on, each behind what it needs itself."""
        found: dict[str, Located] = {}
        for entry in located.part.uses:
            needed = self.part_named(entry, located.label)
            found |= {part.label: part for part in (*self.used_by(needed), needed)}
        return tuple(found.values())

    def _resolve(self, text: str) -> tuple[LocatedPuzzle, Located | None]:
        whole = self._puzzle(text)
        if whole is not None:
            return whole, None
        head, dot, tail = text.partition(".")
        puzzle = self._puzzle(head) if dot else None
        if puzzle is not None:
            return puzzle, self._part_of(puzzle, text, tail)
        for candidate in self.puzzles:
            for located in candidate.parts:
                if text in located.names:
                    return candidate, located
        raise UsageError(self._unknown(text))

    def _puzzle(self, text: str) -> LocatedPuzzle | None:
        number = re.fullmatch(r"(?:puzzle_)?0*(\d{1,4})", text, re.ASCII)
        for puzzle in self.puzzles:
            if text in (puzzle.name, puzzle.topic) or (number and int(number[1]) == puzzle.number):
                return puzzle
        return None

    @staticmethod
    def _part_of(puzzle: LocatedPuzzle, text: str, tail: str) -> Located:
        for located in puzzle.parts:
            if tail in (str(located.index), *located.names):
                return located
        raise UsageError(
            f"There is no part {text!r}: puzzle {puzzle.number} has parts "
            f"{puzzle.parts[0].label} to {puzzle.parts[-1].label}; `grader list` shows them."
        )

    def _unknown(self, text: str) -> str:
        names = [name for puzzle in self.puzzles for name in (puzzle.name, puzzle.topic, f"puzzle_{puzzle.number}")]
        names += [located.part.name for puzzle in self.puzzles for located in puzzle.parts]
        close = difflib.get_close_matches(text, names, n=1)
        suggestion = f"did you mean {close[0]!r}? " if close else ""
        return f"There is no puzzle or part {text[:80]!r}; {suggestion}`grader list` shows all of them."


def workspace_root(start: Path | None = None) -> Path:
    """The nearest folder at or above `start` that holds puzzles, else the checkout that this package lies in."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if any(_puzzle_directories(folder)):
            return folder
    checkout = Path(__file__).resolve().parents[1]
    if any(_puzzle_directories(checkout)):
        return checkout
    raise UsageError(
        f"There are no puzzles at or above {here}; change into the course's folder, which holds `puzzles/`."
    )


def load_catalog(start: Path | None = None) -> Catalog:
    """The puzzles of the workspace around `start` (by default the current folder)."""
    root = workspace_root(start)
    return Catalog(root, tuple(load_puzzle(directory, root) for directory in _puzzle_directories(root)))


def load_puzzle(directory: Path, root: Path) -> LocatedPuzzle:
    """Reads `directory/puzzle.py`, and what that imports from its folder, as in `from .reference import gradients`.

    Solutions lie in a folder of that name, in the workspace or beside this package.
    """
    source = directory / "puzzle.py"
    match = _DIRECTORY.fullmatch(directory.name)
    name = f"grader_puzzle_{next(_read)}_{directory.name}"  # read again, it is another module
    spec = importlib.util.spec_from_file_location(name, source, submodule_search_locations=[str(directory)])
    if match is None or spec is None or spec.loader is None:
        raise UsageError(
            f"{source} cannot be loaded as a puzzle: its folder should be named as in puzzle_01_vector_add."
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        puzzle = module.puzzle
    except PuzzleError as error:
        raise UsageError(f"{source} contradicts itself: {error}") from error
    except Exception as error:
        raise UsageError(f"{source} cannot be loaded ({type(error).__name__}: {error}).") from error
    if not isinstance(puzzle, Puzzle):
        raise UsageError(f"{source} defines no `puzzle = Puzzle(...)`.")
    return LocatedPuzzle(puzzle, int(match[1]), directory.name, directory, _solutions(directory.name, root))


def _solutions(name: str, root: Path) -> Path:
    own = root / "solutions" / name
    return own if own.is_dir() else Path(__file__).resolve().parents[1] / "solutions" / name


def _puzzle_directories(root: Path) -> list[Path]:
    try:
        folders = sorted((root / "puzzles").iterdir())
    except OSError:
        return []
    return [folder for folder in folders if _DIRECTORY.fullmatch(folder.name) and (folder / "puzzle.py").is_file()]


def regions(source: str) -> list[str]:
    """The text between each pair of markers, `// --- your code ---` and `// --- end ---`, whole lines.

    In Python the markers begin with `#`.
    """
    found: list[str] = []
    inside: list[str] | None = None
    for line in source.splitlines(keepends=True):
        match line.strip():
            case text if text in _STARTS:
                inside = []
            case text if text in _ENDS and inside is not None:
                found.append("".join(inside))
                inside = None
            case _ if inside is not None:
                inside.append(line)
    return found


def markers(source: str) -> tuple[list[int], list[int]]:
    """The numbers of the lines that open and that close a region."""
    lines = [line.strip() for line in source.splitlines()]
    starts = [number for number, line in enumerate(lines, 1) if line in _STARTS]
    return starts, [number for number, line in enumerate(lines, 1) if line in _ENDS]


def region_spans(source: str) -> list[tuple[int, int]]:
    """Where the text between each pair of markers begins and ends in `source`, as `regions` gives it."""
    spans: list[tuple[int, int]] = []
    place, start = 0, _PYTHON_REGION_START if is_python(source) else _REGION_START
    for region in regions(source):
        begun = source.index("\n", source.index(start, place)) + 1
        place = begun + len(region)
        spans.append((begun, place))
    return spans


def emptied(source: str) -> str:
    """`source` with nothing between its markers."""
    kept: list[str] = []
    inside = False
    for line in source.splitlines(keepends=True):
        inside = inside and line.strip() not in _ENDS
        if not inside:
            kept.append(line)
        inside = inside or line.strip() in _STARTS
    return "".join(kept)


def is_python(source: str) -> bool:
    """Whether the markers of a source are Python's."""
    return any(line.strip() == _PYTHON_REGION_START for line in source.splitlines())


def is_untouched(source: str) -> bool:
    """Whether nothing but comments and blanks stands between the markers; False for a file that has none."""
    found = regions(source)
    comments = _PYTHON_COMMENTS if is_python(source) else _COMMENTS
    return bool(found) and not any(comments.sub("", region).strip() for region in found)


def shown_path(path: Path) -> str:
    """Relative to the current folder where it lies below it, so that it can be clicked and typed."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links and show another name
    try:
        return str(absolute.relative_to(Path.cwd()))
    except ValueError:
        return str(absolute)
