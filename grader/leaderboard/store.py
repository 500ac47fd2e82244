"""The results that a workspace knows: one SQLite file, `.grader/leaderboard.sqlite` (see `grader/database.py`).

Own results are noted by checks, others' come by import. A check never fails because of it.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

from grader.closing import Closing
from grader.database import Schema, open_database
from grader.leaderboard.entry import Entry, entry_from_json
from grader.leaderboard.fields import EntryRefused
from grader.leaderboard.names import Player, player_of
from grader.verdict import dumps

_TABLES = """
CREATE TABLE IF NOT EXISTS entry (
    id TEXT PRIMARY KEY, puzzle TEXT NOT NULL, part TEXT NOT NULL, player TEXT NOT NULL,
    document TEXT NOT NULL, texts INTEGER NOT NULL, rebuilt INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS entry_part ON entry (puzzle, part);
CREATE TABLE IF NOT EXISTS owner (one INTEGER PRIMARY KEY CHECK (one = 1), key BLOB NOT NULL, name TEXT);
"""
_SCHEMA = Schema("leaderboard.sqlite", 1, _TABLES)
_KEY_BYTES = 32


@dataclass(frozen=True)
class Kept:
    """A result as it is kept: `own` tells whose it is, `rebuilt` that its source was compiled here to the same code."""

    entry: Entry
    own: bool = False
    rebuilt: bool = False


class Leaderboard(Closing):
    """The results of one workspace; `path` is None where they last as long as the process."""

    def __init__(self, workspace: Path) -> None:
        self.path, self._database = open_database(workspace, _SCHEMA)
        self._key, self._name = self._owner()

    def close(self) -> None:
        self._database.close()

    @property
    def player(self) -> Player:
        """Whose workspace this is, by the name they chose, else by a pseudonym."""
        pseudonym = player_of(self._key)
        return replace(pseudonym, name=self._name) if self._name else pseudonym

    def player_named(self, who: str) -> Player:
        """The pseudonym of somebody that the owner knows by the name `who`, always the same one."""
        return player_of(self._key, who)

    def choose_name(self, name: str | None) -> None:
        """The owner's name from now on, on what there is too; None goes back to the pseudonym. Raises sqlite3.Error."""
        with self._database:
            self._database.execute("UPDATE owner SET name = ?", (name,))
        self._name = name

    def note(self, entry: Entry) -> None:
        """A result of the owner's, after a check."""
        with contextlib.suppress(sqlite3.Error):
            self.keep([Kept(entry, rebuilt=True)])

    def keep(self, results: list[Kept]) -> int:
        """Takes results in, all or none; how many of them were not there yet. Raises sqlite3.Error.

        Of what is there already the later form stays, but for one that lacks the texts which the earlier has.
        """
        before = self._count()
        with self._database:
            self._database.executemany(
                """INSERT INTO entry (id, puzzle, part, player, document, texts, rebuilt) VALUES (?, ?, ?, ?, ?, ?, ?)
                   ON CONFLICT (id) DO UPDATE SET
                       document = CASE WHEN excluded.texts >= texts THEN excluded.document ELSE document END,
                       texts = max(texts, excluded.texts), rebuilt = max(rebuilt, excluded.rebuilt)""",
                map(_row, results),
            )
        return self._count() - before

    def entries(self, puzzle: str | None = None, part: str | None = None) -> list[Kept]:
        """All results, or those of a puzzle or part, the oldest first; what cannot be read is left out."""
        asked = [(column, value) for column, value in (("puzzle", puzzle), ("part", part)) if value is not None]
        where = " AND ".join(f"{column} = ?" for column, _ in asked) or "1"
        query = f"SELECT document, rebuilt FROM entry WHERE {where}"
        try:
            rows = self._database.execute(query, [value for _, value in asked]).fetchall()
        except sqlite3.Error:
            return []
        found = (self._kept(document, rebuilt=bool(rebuilt)) for document, rebuilt in rows)
        return sorted((kept for kept in found if kept is not None), key=lambda kept: kept.entry.when)

    def _kept(self, document: str, *, rebuilt: bool) -> Kept | None:
        try:
            entry = entry_from_json(json.loads(document))
        except (ValueError, EntryRefused):
            return None
        own = self.player
        is_own = entry.player.id == own.id
        return Kept(replace(entry, player=own) if is_own else entry, own=is_own, rebuilt=rebuilt)

    def _count(self) -> int:
        return int(self._database.execute("SELECT count(*) FROM entry").fetchone()[0])

    def _owner(self) -> tuple[bytes, str | None]:
        fresh = secrets.token_bytes(_KEY_BYTES)
        try:
            with self._database:
                self._database.execute("INSERT OR IGNORE INTO owner (one, key) VALUES (1, ?)", (fresh,))
            key, name = self._database.execute("SELECT key, name FROM owner").fetchone()
        except sqlite3.Error:  # locked for long: nothing can be noted either
            return fresh, None
        return bytes(key), name


def _row(kept: Kept) -> tuple[str, str, str, str, str, bool, bool]:
    entry = kept.entry
    texts = entry.source is not None
    return entry.id, entry.puzzle, entry.part, entry.player.id, dumps(entry.to_json()), texts, kept.rebuilt
