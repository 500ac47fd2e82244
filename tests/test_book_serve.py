"""A book is served while it is written: to this machine, built again on a change, and until Ctrl-C."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import cli
from grader.publish.serve import rebuild_on_change, served
from tests.book_site import little_book
from tests.judging import ROOT

SETTLED = 1.0  # seconds: longer than the watcher waits for another change


def test_a_change_is_built_again_and_what_is_built_is_no_change(tmp_path: Path) -> None:
    built, stop = threading.Event(), threading.Event()
    page = tmp_path / "out" / "page"
    page.parent.mkdir()
    watching = threading.Thread(
        target=rebuild_on_change, args=([tmp_path], tmp_path / "out", built.set), kwargs={"stop": stop}
    )
    watching.start()
    try:
        assert eventually(built, lambda number: (tmp_path / "chapter").write_text(str(number)))
        time.sleep(SETTLED)
        built.clear()
        page.write_text("built")
        assert not built.wait(SETTLED)
    finally:
        stop.set()
        watching.join()


def eventually(event: threading.Event, act: Callable[[int], object]) -> bool:
    """Whether it is set in the end, `act` being called again and again: the watcher needs a moment to begin."""
    for number in range(100):
        act(number)
        if event.wait(0.1):
            return True
    return False


def test_what_was_built_is_served_to_this_machine(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("here", encoding="utf-8")
    with served(tmp_path, 0) as address, urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - http, see below
        assert address.startswith("http://127.0.0.1:")
        assert answer.read() == b"here"
        assert answer.headers["Cache-Control"] == "no-store"


def test_a_port_that_is_in_use_is_told_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    settings, out = little_book(tmp_path), tmp_path / "out"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = ["book", "serve", "--port", port, "--settings", str(settings), "--out", str(out)]
        assert cli.run(command) == cli.BAD_USAGE
    assert f"Port {port} cannot be had: Address already in use; --port 0 takes a free one." in capsys.readouterr().err
    assert not out.exists()


def test_serving_goes_on_after_a_mistake_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    settings = little_book(tmp_path, lanes="# Lanes\n\n{{ nothing }}\n")
    command = [sys.executable, "-m", "grader", "book", "serve", "--port", "0", "--settings", str(settings)]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    ) as serving:  # fmt: skip
        assert serving.stdout is not None
        first = serving.stdout.readline()
        serving.send_signal(signal.SIGINT)
        _, said = serving.communicate(timeout=60)
    assert re.match(r"Open http://127\.0\.0\.1:\d+/ ", first)
    assert serving.returncode == cli.INTERRUPTED
    assert "lanes.md.j2:3: 'nothing' is undefined" in said
    assert said.splitlines()[-1] == "grader: Stopped."
    assert "Traceback" not in said
