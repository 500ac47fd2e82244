"""SQLite files that a workspace keeps of its own, below `.grader/`.

Where the workspace cannot be written a file lies in the user's data folder, and where that cannot be written either,
it lasts as long as the process. GRADER_DATA names another folder. A file that cannot be read, or that a newer grader
wrote, is passed over in the same way.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Schema:
    """The tables of a file; `changes` gives, by version, the statement that makes the next version of it."""

    file: str
    version: int
    tables: str
    changes: Mapping[int, str] = field(default_factory=dict)


def open_database(workspace: Path, schema: Schema) -> tuple[Path | None, sqlite3.Connection]:
    """The file of this workspace, and None for its path where there is no place for one."""
    for folder in _folders(workspace):
        try:
            return folder / schema.file, _connect(folder, schema)
        except (OSError, sqlite3.Error):
            continue
    database = sqlite3.connect(":memory:")
    database.executescript(schema.tables)
    return None, database


def _folders(workspace: Path) -> Iterator[Path]:
    if chosen := os.environ.get("GRADER_DATA"):
        yield Path(chosen)
        return
    yield workspace / ".grader"
    data = os.environ.get("XDG_DATA_HOME") or str(Path("~").expanduser() / ".local" / "share")
    yield Path(data) / "grader" / hashlib.sha256(str(workspace.resolve()).encode()).hexdigest()[:16]


def _connect(folder: Path, schema: Schema) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    database = sqlite3.connect(folder / schema.file, timeout=2.0)
    try:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version > schema.version:
            raise sqlite3.DatabaseError(f"{folder} was written by a newer grader")
        with database:
            for statement in schema.tables.split(";"):
                database.execute(statement)
            if version in schema.changes:
                database.execute(schema.changes[version])
            database.execute(f"PRAGMA user_version = {schema.version}")
    except sqlite3.Error:
        database.close()
        raise
    return database
