"""A caged program that is talked with: it has a socket on descriptor 3, and frames of `grader/wire.py` go both ways.

What it prints is kept apart, in files without a name that the limit on the size of a file bounds.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.cache import ToolMissing
from grader.cage.command import Cage, caged
from grader.closing import Closing
from grader.link import Link
from grader.wire import WireBroken, read_into, receive, send

DESCRIPTOR = 3
_MOST_PRINTED = 1 << 16
_LAST_WORDS = 2.0  # seconds for a program that has ended to be gone


class Ended(Exception):
    """The program says nothing more: `why` is "late", "flood" (more, or other, than may be said), or how it ended:
    "signal SIGSEGV", "exit 1".
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Conversation(Closing):
    """The program from its start until `close`. Raises ToolMissing where the cage cannot be started."""

    def __init__(
        self, command: Sequence[str | Path], cage: Cage, environment: Mapping[str, str], most_json: int, most_raw: int
    ) -> None:
        self._most = most_json, most_raw
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the conversation
        self._report = tempfile.TemporaryFile()  # noqa: SIM115
        ours, theirs = socket.socketpair()
        self._link = Link(ours)
        with theirs:
            ends = {DESCRIPTOR: theirs.fileno()}
            report = os.dup(self._report.fileno())
            try:
                self._process = subprocess.Popen(
                    caged(command, cage, Path("/"), ends, report),
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    pass_fds=(theirs.fileno(), report),
                    cwd="/",
                    env=dict(environment),
                    start_new_session=True,
                )
            finally:
                os.close(report)

    @property
    def printed(self) -> str:
        """What it has printed so far, at its beginning; the place where the program writes stays where it is."""
        return os.pread(self._output.fileno(), _MOST_PRINTED, 0).decode(errors="replace")

    def say(self, message: Mapping[str, Any], raw: bytes = b"", *, seconds: float) -> None:
        """One frame to the program; for `seconds` from now on it may be listened to."""
        self._link.deadline = time.monotonic() + seconds
        try:
            send(self._link, message, raw)  # type: ignore[arg-type]
        except WireBroken as broken:
            raise self._ended(broken) from broken

    def hear(self) -> tuple[dict[str, Any], bytes]:
        """The next frame from the program; raises `Ended` where there will be none."""
        try:
            message, size = receive(self._link, *self._most)  # type: ignore[arg-type]
            raw = bytearray(size)
            read_into(self._link, memoryview(raw))  # type: ignore[arg-type]
        except (WireBroken, TimeoutError, RecursionError) as broken:
            raise self._ended(broken) from broken
        return message, bytes(raw)

    def close(self) -> None:
        """Ends it, and all of its group, whatever it is doing."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._link.close()
        self._output.close()
        self._report.close()

    def _ended(self, broken: Exception) -> Ended:
        if time.monotonic() >= self._link.deadline or isinstance(broken.__cause__ or broken, TimeoutError):
            return Ended("late")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_WORDS)
        code = self._process.poll()
        if code is None:
            return Ended("flood")
        self._raise_if_not_started()
        if code == -signal.SIGXCPU:
            return Ended("late")
        return Ended(f"signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}")

    def _raise_if_not_started(self) -> None:
        self._report.seek(0)
        said = self._report.read().decode(errors="replace")
        if said.startswith("error ") or not said:
            raise ToolMissing(f"the cage could not start Python ({said.removeprefix('error ').strip()}): grader doctor")
