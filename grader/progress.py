"""What this learner has reached: one SQLite file in the workspace, `.grader/progress.sqlite` (see `database.py`).

A check never fails because of its notes.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.database import Schema, open_database
from grader.verdict import State

_TABLES = """
CREATE TABLE IF NOT EXISTS part (
    puzzle TEXT NOT NULL, part TEXT NOT NULL,
    state TEXT NOT NULL, last_finding TEXT, failed_seed INTEGER,
    first_passed REAL, last_checked REAL, checks INTEGER NOT NULL DEFAULT 0, passed_text TEXT,
    PRIMARY KEY (puzzle, part)
);
CREATE TABLE IF NOT EXISTS hint (
    puzzle TEXT NOT NULL, part TEXT NOT NULL, number INTEGER NOT NULL, seen REAL NOT NULL,
    PRIMARY KEY (puzzle, part, number)
);
"""
_BEFORE_TEXTS = "ALTER TABLE part ADD COLUMN passed_text TEXT"  # version 1 did not note which text passed
_SCHEMA = Schema("progress.sqlite", 2, _TABLES, {1: _BEFORE_TEXTS})


@dataclass(frozen=True)
class PartProgress:
    """One part's notes: `failed_seed` is tried first until it passes; `hints` are the numbers of those seen;
    `passed_text` names the text that passed last, see `digest`.
    """

    state: State = State.not_started
    last_finding: str | None = None
    failed_seed: int | None = None
    hints: frozenset[int] = frozenset()
    first_passed: float | None = None
    checks: int = 0
    passed_text: str | None = None


def digest(text: bytes) -> str:
    """What a text is known by."""
    return hashlib.sha256(text).hexdigest()


class Progress:
    """Notes on all parts of one workspace."""

    def __init__(self, workspace: Path) -> None:
        self.path, self._database = open_database(workspace, _SCHEMA)

    def close(self) -> None:
        self._database.close()

    def part(self, puzzle: str, part: str) -> PartProgress:
        """What is known of a part; not started if nothing is."""
        return self.parts(puzzle).get(part, PartProgress())

    def parts(self, puzzle: str) -> Mapping[str, PartProgress]:
        """All noted parts of a puzzle by name."""
        hints: dict[str, set[int]] = {}
        for part, number in self._rows("SELECT part, number FROM hint WHERE puzzle = ?", puzzle):
            hints.setdefault(part, set()).add(number)
        rows = self._rows(
            "SELECT part, state, last_finding, failed_seed, first_passed, checks, passed_text FROM part "
            "WHERE puzzle = ?",
            puzzle,
        )
        found = {
            part: PartProgress(State(state), last, seed, frozenset(hints.pop(part, ())), passed, checks, text)
            for part, state, last, seed, passed, checks, text in rows
        }
        return found | {part: PartProgress(hints=frozenset(seen)) for part, seen in hints.items()}

    def _rows(self, query: str, puzzle: str) -> list[tuple[Any, ...]]:
        try:
            return self._database.execute(query, (puzzle,)).fetchall()
        except sqlite3.Error:
            return []

    def note_check(
        self, puzzle: str, part: str, state: State, seed: int, last_finding: str | None, text: bytes = b""
    ) -> None:
        """After a check of `text`: `unchecked` changes nothing, and `first_passed` stays what it was."""
        if state is State.unchecked:
            return
        now = time.time()
        passed = state is State.passed
        outcome = (None, now, now, digest(text)) if passed else (seed, None, now, None)
        with self._changes():
            self._database.execute(
                """INSERT INTO part
                   (puzzle, part, state, last_finding, failed_seed, first_passed, last_checked, passed_text, checks)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
                   ON CONFLICT (puzzle, part) DO UPDATE SET
                       state = excluded.state, last_finding = excluded.last_finding, failed_seed = excluded.failed_seed,
                       first_passed = coalesce(first_passed, excluded.first_passed),
                       passed_text = coalesce(excluded.passed_text, passed_text),
                       last_checked = excluded.last_checked, checks = checks + 1""",
                (puzzle, part, state, last_finding, *outcome),
            )

    def note_hint(self, puzzle: str, part: str, number: int) -> None:
        """Hint `number`, from 1, was shown."""
        with self._changes():
            self._database.execute(
                "INSERT OR IGNORE INTO hint (puzzle, part, number, seen) VALUES (?, ?, ?, ?)",
                (puzzle, part, number, time.time()),
            )

    def forget(self, puzzle: str, part: str) -> None:
        """The part begins again: its file is the skeleton once more."""
        with self._changes():
            for table in ("part", "hint"):
                self._database.execute(f"DELETE FROM {table} WHERE puzzle = ? AND part = ?", (puzzle, part))

    @contextlib.contextmanager
    def _changes(self) -> Iterator[None]:
        with contextlib.suppress(sqlite3.Error), self._database:
            yield
