"""The content-keyed cache: entries are whole or not there, and shared."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from grader.cache import ToolMissing, cache_root, content_key, entry, mark_used, trim, writable


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write_word(word: str, directory: Path) -> None:
    (directory / "word").write_text(word)


def test_place_is_chosen_by_the_user_then_by_the_desktop_then_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_CACHE", "/one")
    monkeypatch.setenv("XDG_CACHE_HOME", "/two")
    monkeypatch.setenv("HOME", "/three")
    assert cache_root() == Path("/one")
    monkeypatch.delenv("GRADER_CACHE")
    assert cache_root() == Path("/two/grader")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_root() == Path("/three/.cache/grader")


def test_key_tells_parts_apart() -> None:
    assert content_key("ab", "c") == content_key(b"ab", "c") != content_key("a", "bc")
    assert len(content_key()) == 32


def test_entry_is_made_once() -> None:
    made: list[Path] = []

    def make(directory: Path) -> None:
        made.append(directory)
        write_word("kept", directory)

    first, second = entry("kind", "key", make), entry("kind", "key", make)
    assert first == second
    assert (first / "word").read_text() == "kept"
    assert len(made) == 1


def test_entry_that_fails_leaves_nothing(cache: Path) -> None:
    def fail(directory: Path) -> None:
        write_word("half", directory)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        entry("kind", "key", fail)
    assert not (cache / "kind" / "key").exists()
    assert not list((cache / "work").iterdir())


def test_of_two_makers_the_first_to_finish_is_kept() -> None:
    def slower(directory: Path) -> None:
        entry("kind", "key", lambda other: write_word("quick", other))
        write_word("slow", directory)

    assert (entry("kind", "key", slower) / "word").read_text() == "quick"


def test_one_at_a_time_lets_others_wait_for_the_first() -> None:
    made: list[int] = []

    def make(directory: Path) -> None:
        made.append(1)
        time.sleep(0.05)
        write_word("once", directory)

    threads = [
        threading.Thread(target=entry, args=("kind", "key", make), kwargs={"one_at_a_time": True}) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_what_was_used_last_is_kept(cache: Path) -> None:
    for age, key in enumerate("dcba"):
        directory = entry("kind", key, lambda made: write_word("x", made))
        os.utime(directory, (1000 - age, 1000 - age))
    mark_used(cache / "kind" / "a")
    trim("kind", keep=2)
    assert {path.name for path in (cache / "kind").iterdir()} == {"a", "d"}
    trim("no such kind", keep=2)


def test_what_a_killed_process_left_is_removed_after_a_day(cache: Path) -> None:
    left, fresh = cache / "work" / "left", cache / "work" / "fresh"
    for directory in (left, fresh):
        directory.mkdir(parents=True)
    os.utime(left, (1000, 1000))
    entry("kind", "key", lambda made: write_word("x", made))
    assert not left.exists()
    assert fresh.exists()


def test_a_cache_that_cannot_be_written_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRADER_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ToolMissing, match=r"cannot be written \(Not a directory\): set GRADER_CACHE"):
        entry("kind", "key", lambda made: write_word("x", made))


def test_cache_is_the_users_own(cache: Path) -> None:
    writable(cache)
    assert cache.stat().st_mode & 0o777 == 0o700
