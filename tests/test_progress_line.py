"""The line that says what is being done: only at a terminal, and gone afterwards."""

from __future__ import annotations

import io
import sys

import pytest

from grader.cli.progress_line import progress_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_at_a_terminal_the_sentence_is_shown_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_line() as tell:
        tell("The kernels take turns.")
    shown = terminal.getvalue()
    assert "The kernels take turns." in shown
    assert shown.rstrip().endswith("\x1b[2K")


def test_before_the_first_sentence_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_line():
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(("stream", "wanted"), [(io.StringIO(), True), (Terminal(), False)])
def test_nobody_is_told_where_nobody_looks_or_it_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, wanted: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_line(wanted=wanted) as tell:
        tell("The kernels take turns.")
    assert stream.getvalue() == ""
