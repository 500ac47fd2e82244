"""What is remembered of a learner, and that remembering never stands in the way."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from grader.hints import next_hint, read_hints
from grader.progress import Progress
from grader.verdict import State


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("GRADER_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "course"


def test_a_part_nobody_checked_is_not_started(workspace: Path) -> None:
    noted = Progress(workspace).part("puzzle_01_add", "add")
    assert (noted.state, noted.failed_seed, noted.hints, noted.checks) == (State.not_started, None, frozenset(), 0)


def test_notes_outlive_the_process_and_lie_in_the_workspace(workspace: Path) -> None:
    progress = Progress(workspace)
    progress.note_check("puzzle_01_add", "add", State.wrong, 7, "data_race")
    progress.close()
    assert (workspace / ".grader" / "progress.sqlite").is_file()
    assert (workspace / ".grader" / ".gitignore").read_text() == "*\n"
    noted = Progress(workspace).part("puzzle_01_add", "add")
    assert (noted.state, noted.failed_seed, noted.last_finding) == (State.wrong, 7, "data_race")


def test_a_failed_seed_is_kept_until_it_passes(workspace: Path) -> None:
    progress = Progress(workspace)
    progress.note_check("p", "add", State.wrong, 7, "wrong_values")
    progress.note_check("p", "add", State.passed, 7, None)
    noted = progress.part("p", "add")
    assert (noted.state, noted.failed_seed, noted.last_finding, noted.checks) == (State.passed, None, None, 2)
    first = noted.first_passed
    assert first is not None
    progress.note_check("p", "add", State.wrong, 9, "data_race")
    assert progress.part("p", "add").first_passed == first


def test_what_could_not_be_checked_changes_nothing(workspace: Path) -> None:
    progress = Progress(workspace)
    progress.note_check("p", "add", State.passed, 7, None)
    progress.note_check("p", "add", State.unchecked, 8, None)
    assert progress.part("p", "add").state is State.passed


def test_hints_are_remembered_and_forgotten_with_the_part(workspace: Path) -> None:
    progress = Progress(workspace)
    progress.note_hint("p", "add", 2)
    progress.note_hint("p", "add", 2)
    progress.note_hint("p", "add", 3)
    assert progress.part("p", "add").hints == {2, 3}
    assert progress.parts("p")["add"].state is State.not_started
    progress.forget("p", "add")
    assert progress.parts("p") == {}


def test_a_broken_or_newer_file_is_passed_over(workspace: Path, tmp_path: Path) -> None:
    folder = workspace / ".grader"
    folder.mkdir(parents=True)
    (folder / "progress.sqlite").write_bytes(b"this is no database" * 100)
    progress = Progress(workspace)
    progress.note_hint("p", "add", 1)
    assert progress.part("p", "add").hints == {1}
    assert progress.path is not None
    assert (tmp_path / "data") in progress.path.parents


def test_without_any_place_to_write_it_lasts_as_long_as_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRADER_DATA", str(tmp_path / "file" / "below"))
    progress = Progress(tmp_path)
    progress.note_check("p", "add", State.wrong, 1, None)
    assert progress.path is None
    assert progress.part("p", "add").state is State.wrong


def test_a_locked_file_is_no_reason_to_fail(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress(workspace)
    assert progress.path is not None
    other = sqlite3.connect(progress.path)
    other.execute("BEGIN EXCLUSIVE")
    progress._database.execute("PRAGMA busy_timeout = 10")
    progress.note_hint("p", "add", 1)
    assert progress.part("p", "add").hints == frozenset()
    other.rollback()


HINTS = """# Hints

## 1_add

1. First,
   on two lines.
2. <!-- out_of_bounds_read, never_written --> Second.
3. <!-- data_race --> Third.

## 2_other

1. Elsewhere.
"""


@pytest.fixture
def hints_file(tmp_path: Path) -> Path:
    path = tmp_path / "hints.md"
    path.write_text(HINTS)
    return path


def test_hints_are_read_by_heading(hints_file: Path) -> None:
    hints = read_hints(hints_file, "1_add")
    assert [hint.text for hint in hints] == ["First,\non two lines.", "Second.", "Third."]
    assert hints[1].kinds == {"out_of_bounds_read", "never_written"}
    assert read_hints(hints_file, "3_none") == ()
    assert read_hints(hints_file.parent / "missing.md", "1_add") == ()


@pytest.mark.parametrize(
    ("seen", "finding", "number"),
    [
        ((), None, 1),
        ((), "data_race", 3),
        ((), "never_written", 2),
        ((3,), "data_race", 1),
        ((1,), "wrong_values", 2),
        ((1, 2), None, 3),
    ],
)
def test_the_next_hint_answers_the_last_finding_where_one_does(
    hints_file: Path, seen: tuple[int, ...], finding: str | None, number: int
) -> None:
    chosen = next_hint(read_hints(hints_file, "1_add"), seen, finding)
    assert chosen is not None
    assert chosen.number == number


def test_when_all_hints_were_seen_there_is_none(hints_file: Path) -> None:
    assert next_hint(read_hints(hints_file, "1_add"), (1, 2, 3), "data_race") is None
