"""Our ends of a program's pipes: what goes in, what is kept of what comes out."""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

_CHUNK = 1 << 16
_ENDLESS = 3600.0  # seconds: something wakes us long before


@dataclass
class Output:
    """One stream from the program: what is kept of it, at most `limit` bytes; one that `floods` may send no more."""

    limit: int
    floods: bool = False
    kept: bytearray = field(default_factory=bytearray)

    def take(self, data: bytes) -> bool:
        """Keep what fits; False if there was more than this stream may carry."""
        room = self.limit - len(self.kept)
        self.kept += data[:room]
        return len(data) <= room or not self.floods


class Pipes:
    """The pipes of one program, read and written as they become ready."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._theirs: list[int] = []
        self.flooded = False

    def from_program(self, output: Output) -> int:
        """The end for the program to write to."""
        ours, theirs = os.pipe()
        self._theirs.append(theirs)
        os.set_blocking(ours, False)
        self._selector.register(ours, selectors.EVENT_READ, lambda: self._read(ours, output))
        return theirs

    def to_program(self, data: bytes) -> int:
        """The end for the program to read from."""
        theirs, ours = os.pipe()
        self._theirs.append(theirs)
        rest = bytearray(data)
        if rest:
            os.set_blocking(ours, False)
            self._selector.register(ours, selectors.EVENT_WRITE, lambda: self._write(ours, rest))
        else:
            os.close(ours)
        return theirs

    def started(self) -> None:
        """The program has its ends now: close ours of them, so that its end is the end of the stream."""
        while self._theirs:
            os.close(self._theirs.pop())

    def turn(self, seconds: float) -> None:
        """Move what is ready, waiting at most so long for something to be."""
        for ready, _ in self._selector.select(seconds):
            ready.data()

    def drain(self, seconds: float) -> None:
        """Read what is left in the pipes, until every writer is gone or the time is over."""
        deadline = time.monotonic() + seconds
        while self._selector.get_map() and (left := deadline - time.monotonic()) > 0:
            self.turn(left)

    def close(self) -> None:
        self.started()
        for ours in list(self._selector.get_map().values()):
            os.close(ours.fd)
        self._selector.close()

    @contextlib.contextmanager
    def waking_at_exit(self, pid: int) -> Iterator[float]:
        """Lets `turn` return when the process ends; gives the longest that one turn should wait."""
        try:
            exited = os.pidfd_open(pid)
        except OSError:  # a kernel before 5.3, or a sandbox without it: look every few milliseconds
            yield 0.005
            return
        self._selector.register(exited, selectors.EVENT_READ, lambda: None)
        try:
            yield _ENDLESS
        finally:
            self._forget(exited)

    def _read(self, descriptor: int, output: Output) -> None:
        data = os.read(descriptor, _CHUNK)
        if not data:
            self._forget(descriptor)
        elif not output.take(data):
            self.flooded = True

    def _write(self, descriptor: int, rest: bytearray) -> None:
        try:
            del rest[: os.write(descriptor, rest[:_CHUNK])]
        except BrokenPipeError:  # a program that does not read its input
            rest.clear()
        if not rest:
            self._forget(descriptor)

    def _forget(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
