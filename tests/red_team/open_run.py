"""A launcher run as the grader runs it, but without what holds it: no cage, no limits, no filter.

What it then does is done in a folder of the test, and seen there.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from grader.build import Build
from grader.record import EntryArgument, EntryCall, software_layout
from grader.record.device import device_for
from grader.record.request import request
from tests.red_team.building import one_process, open_recorder

N = 1000


@dataclass(frozen=True)
class Seen:
    """What an open launcher did. `outside` is what somebody who listened at a socket heard, `signalled` whether its
    parent had a signal, `stream` what came on the recorder's pipe; `code` is None of one that did not come to its end.
    """

    folder: Path
    printed: bytes
    stream: bytes
    code: int | None
    seconds: float
    outside: bytes
    signalled: bool


def call_of(entry: str, *, inject: int = 0) -> EntryCall:
    """A call of `entry(a, b, out, n, stream)`: three buffers of `N` floats."""
    arguments = [
        *(EntryArgument(name, "buffer", 4 * N, role) for name, role in (("a", "in"), ("b", "in"), ("out", "out"))),
        EntryArgument("n", "i32", N),
        EntryArgument("stream", "stream"),
    ]
    return EntryCall(entry, arguments, software_layout([0, 0, 0]), inject)


def run_open(built: Build, entry: str, folder: Path, *, seconds: float = 10.0) -> Seen:
    """The recorder without filter and cage, in `folder`, ended after `seconds`."""
    asked = request(call_of(entry), built.library, built.kernels.values(), device_for(built.target))
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream, Outside(folder) as outside:
        command = ["/bin/sh", "-c", f'exec "$0" 3>/proc/self/fd/{writing}', str(open_recorder())]
        begun = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
            pass_fds=(writing,),
        )  # fmt: skip
        os.close(writing)
        heard = _Listener(stream)
        try:
            printed, code = process.communicate(asked, timeout=seconds)[0], process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            printed, code = process.communicate()[0], None
        took = time.monotonic() - begun
        return Seen(folder, printed, heard.all(), code, took, outside.heard(), outside.signalled)


def run_beside_the_answers(built: Build, entry: str, folder: Path) -> bytes:
    """What the careless judge prints, which has its answers and its comparison in the launcher's process."""
    command = [str(one_process()), str(built.library), entry]
    return subprocess.run(command, capture_output=True, cwd=folder, timeout=20, check=False).stdout


class Outside:
    """The world beyond the launcher: somebody listens at the socket `outside`, and SIGUSR1 is noticed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.signalled = False

    def __enter__(self) -> Outside:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._before = Path.cwd()
        os.chdir(self._folder)  # the path of a socket must be short
        try:
            self._socket.bind("outside")
        finally:
            os.chdir(self._before)
        self._socket.listen()
        self._handler = signal.signal(signal.SIGUSR1, self._notice)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGUSR1, self._handler)
        self._socket.close()

    def heard(self) -> bytes:
        """What the first caller said; nothing where nobody called."""
        try:
            caller, _ = self._socket.accept()
        except BlockingIOError:
            return b""
        with caller:
            return caller.recv(1024)

    def _notice(self, *_: object) -> None:
        self.signalled = True


class _Listener:
    """Reads a pipe to its end, beside."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=[stream.read], daemon=True)
        self._thread.start()

    def _read(self, read: Callable[[], bytes]) -> None:
        self._kept = read()

    def all(self) -> bytes:
        self._thread.join(5.0)
        return self._kept
