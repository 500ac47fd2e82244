"""What goes wrong around a book is told in one sentence, and nothing that is not the book's is touched."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import cli
from tests.book_site import little_book
from tests.judging import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:.*Check CHANGES for Sphinx API modifications")

Built = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Built:
    """Builds the little book in `tmp_path`, which cannot be done; what is said, a sentence."""
    monkeypatch.chdir(ROOT)

    def told(*options: str, command: str = "build") -> str:
        settings, out = str(tmp_path / "book.toml"), str(tmp_path / "out")
        assert cli.run(["book", command, "--settings", settings, "--out", out, *options]) == cli.BAD_USAGE
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    return told


# ---- where it is built ----


@pytest.mark.parametrize("folder", ["html", "epub", "work"])
def test_a_folder_that_is_somebodys_is_left_as_it_is(tmp_path: Path, refused: Built, folder: str) -> None:
    little_book(tmp_path)
    mine = tmp_path / "out" / folder / "mine.html"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", encoding="utf-8")
    assert f"out/{folder} is there, and not by a build of a book: --out DIR chooses another." in refused()
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == [mine]


def test_what_lies_beside_the_book_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    settings, out = little_book(tmp_path), tmp_path / "out"
    mine = [out / "traces" / "mine.html", out / "notes.txt"]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine", encoding="utf-8")
    for only in ([], ["--only", "lanes"]):
        assert cli.run(["book", "build", "--settings", str(settings), "--out", str(out), "--no-epub", *only]) == 0
        assert all(path.read_text(encoding="utf-8") == "mine" for path in mine)


def test_a_file_where_a_folder_should_be_is_told(tmp_path: Path, refused: Built) -> None:
    little_book(tmp_path)
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert "The book cannot be written: " in refused()
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


# ---- what it is made of ----


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("book.toml", "book.toml:3"),
        ("en/phrases.toml", "phrases.toml:3"),
        ("en/chapters/lanes.md.j2", "lanes.md.j2:3"),
        ("en/chapters/left-out.md.j2", "left-out.md.j2:3"),
    ],
)
def test_a_file_that_is_no_utf_8_is_named(tmp_path: Path, refused: Built, file: str, place: str) -> None:
    little_book(tmp_path)
    (tmp_path / file).write_bytes(b"# one\n\n# caf\xe9\n")
    assert f"{place}: this line is no UTF-8; save the file as UTF-8." in refused()


@pytest.mark.parametrize(
    ("phrases", "said"),
    [
        ("", "en/phrases.toml lacks the phrase 'tip'; the course's book/en/phrases.toml has it."),
        ("tip = 3", "en/phrases.toml: tip should be words in quotes."),
        ("tip = ", "en/phrases.toml is no TOML: "),
    ],
)
def test_phrases_that_a_translation_lacks_are_named(tmp_path: Path, refused: Built, phrases: str, said: str) -> None:
    little_book(tmp_path, lanes='# Lanes\n\n{{ tips("3.4") }}\n')
    (tmp_path / "en" / "phrases.toml").write_text(phrases, encoding="utf-8")
    assert said in refused()


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("def lane():\n    return missing\n", "lanes.py:2: NameError: name 'missing' is not defined"),
        ("def lane():\n    return (\n", "lanes.py:2: SyntaxError: "),
        ("import nothing_of_that_name\n", "lanes.py:1: ModuleNotFoundError: "),
        ("", "lanes.py has no function 'lane'."),
    ],
)
def test_a_drawing_that_fails_is_told_with_its_line(tmp_path: Path, refused: Built, module: str, said: str) -> None:
    little_book(tmp_path, lanes='# Lanes\n\n{{ drawing("lane", caption="A lane.", alt="A lane") }}\n')
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "lanes.py").write_text(module, encoding="utf-8")
    assert said in refused()


# ---- serving ----


def test_a_port_that_is_in_use_is_told_before_anything_is_built(tmp_path: Path, refused: Built) -> None:
    little_book(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused("--port", str(port), command="serve")
    assert f"Port {port} cannot be had: Address already in use; --port 0 takes a free one." in said
    assert not (tmp_path / "out").exists()


def test_serving_goes_on_after_a_mistake_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    settings = little_book(tmp_path, lanes="# Lanes\n\n{{ nothing }}\n")
    command = [sys.executable, "-m", "grader", "book", "serve", "--port", "0", "--settings", str(settings)]
    serving = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    assert serving.stdout is not None
    assert re.match(r"Open http://127\.0\.0\.1:\d+/ ", serving.stdout.readline())
    serving.send_signal(signal.SIGINT)
    _, said = serving.communicate(timeout=60)
    assert serving.returncode == cli.INTERRUPTED
    assert "lanes.md.j2:3: 'nothing' is undefined" in said
    assert said.splitlines()[-1] == "grader: Stopped."
    assert "Traceback" not in said
