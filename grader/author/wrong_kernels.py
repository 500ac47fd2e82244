"""The wrong kernels of a puzzle, and what has to be found in each.

`tests/wrong/PUZZLE/expected.json` lists file, part, and the kinds of which one must be found; where lines are given,
that finding's line or other line is among them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.catalog import Located, LocatedPuzzle, UsageError


@dataclass(frozen=True)
class Wrong:
    """A wrong kernel and what has to be found in it."""

    part: Located
    source: Path
    kinds: frozenset[str]
    lines: frozenset[int]


def folder_of(puzzle: LocatedPuzzle) -> Path:
    """Where the wrong kernels of a puzzle lie."""
    return puzzle.directory.parents[1] / "tests" / "wrong" / puzzle.name


def listed(puzzle: LocatedPuzzle) -> list[Wrong]:
    """The wrong kernels that the puzzle's own list names; none where it has no list."""
    path = folder_of(puzzle) / "expected.json"
    if not path.is_file():
        return []
    try:
        entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}.") from None
    return described(puzzle, path.parent, entries)


def described(puzzle: LocatedPuzzle, folder: Path, entries: Sequence[dict[str, Any]]) -> list[Wrong]:
    """Entries of a list whose files lie in `folder`; raises `UsageError` for a part that the puzzle does not have."""
    parts = {part.part.name: part for part in puzzle.parts}
    found = []
    for entry in entries:
        if entry["part"] not in parts:
            raise UsageError(
                f"{folder / entry['file']} is listed for {entry['part']}, which {puzzle.name} does not have."
            )
        kinds, lines = frozenset(entry["kinds"]), frozenset(entry.get("lines", ()))
        found.append(Wrong(parts[entry["part"]], folder / entry["file"], kinds, lines))
    return found
