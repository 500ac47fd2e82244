"""Our end of a socket to a process of our own: a stream for `wire.py` that waits no longer than it may."""

from __future__ import annotations

import select
import socket
import time


class Link:
    """Our end of the socket, as a stream that waits no longer than until `deadline`."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self.deadline = 0.0

    def readable(self, seconds: float) -> bool:
        return bool(self._poll.poll(seconds * 1000))

    def readinto(self, view: memoryview) -> int:
        self._socket.settimeout(self._left())
        return self._socket.recv_into(view)

    def write(self, data: bytes | memoryview) -> None:
        if data:
            self._socket.settimeout(self._left())
            self._socket.sendall(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self._socket.close()

    def _left(self) -> float:
        return max(self.deadline - time.monotonic(), 0.001)
