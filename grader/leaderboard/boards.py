"""From files of results to the boards of the parts that they are of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.catalog import Located, UsageError
from grader.identity import statement_hash
from grader.leaderboard.entry import read_results
from grader.leaderboard.fields import EntryRefused
from grader.leaderboard.ranking import PartBoards, part_boards
from grader.leaderboard.store import Kept

_LARGEST_FILE = 256 << 20  # bytes; no results of one class are larger


def results_in(file: str) -> list[object]:
    """What a file of results holds, each still to be admitted; raises UsageError."""
    path = Path(file)
    try:
        if path.is_dir():
            raise UsageError(f"{file} is a folder; name the file in it.")
        if not path.is_file():
            raise UsageError(f"There is no file {file}.")
        if path.stat().st_size > _LARGEST_FILE:
            raise UsageError(f"{file} is larger than {_LARGEST_FILE >> 20} MiB, and no results of one class.")
        return read_results(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is no text in UTF-8.") from None
    except EntryRefused as refused:
        raise UsageError(f"{file} holds no results. {refused}") from None


def known_parts(results: Iterable[Kept], parts: Iterable[Located]) -> Iterator[tuple[Located, PartBoards]]:
    """Those of `parts` that there are results of, in their order, each with its boards."""
    found: dict[tuple[str, str], list[Kept]] = {}
    for kept in results:
        found.setdefault((kept.entry.puzzle, kept.entry.part), []).append(kept)
    for located in parts:
        if known := found.get((located.puzzle.name, located.part.name)):
            yield located, part_boards(known, statement_hash(located))
