"""What this learner has reached: one SQLite file in the workspace, `.grader/progress.sqlite`.

Where the workspace cannot be written the file lies in the user's data folder, and where that cannot be written either,
progress lasts as long as the process. GRADER_DATA names another folder. A check never fails because of its notes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.verdict import State

_VERSION = 2
_SCHEMA = """
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
        self.path, self._database = _open(workspace)

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


def _open(workspace: Path) -> tuple[Path | None, sqlite3.Connection]:
    for folder in _folders(workspace):
        try:
            return folder / "progress.sqlite", _connect(folder)
        except (OSError, sqlite3.Error):
            continue
    database = sqlite3.connect(":memory:")
    database.executescript(_SCHEMA)
    return None, database


def _folders(workspace: Path) -> Iterator[Path]:
    if chosen := os.environ.get("GRADER_DATA"):
        yield Path(chosen)
        return
    yield workspace / ".grader"
    data = os.environ.get("XDG_DATA_HOME") or str(Path("~").expanduser() / ".local" / "share")
    yield Path(data) / "grader" / hashlib.sha256(str(workspace.resolve()).encode()).hexdigest()[:16]


def _connect(folder: Path) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    database = sqlite3.connect(folder / "progress.sqlite", timeout=2.0)
    try:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version > _VERSION:
            raise sqlite3.DatabaseError(f"{folder} was written by a newer grader")
        with database:
            for statement in _SCHEMA.split(";"):
                database.execute(statement)
            if version == 1:  # written before it was noted which text passed
                database.execute("ALTER TABLE part ADD COLUMN passed_text TEXT")
            database.execute(f"PRAGMA user_version = {_VERSION}")
    except sqlite3.Error:
        database.close()
        raise
    return database
