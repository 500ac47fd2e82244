"""A process of its own that holds a GPU, as its parent sees it: asked over pipes, killed when it takes too long."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from grader.cuda.driver import FAULTS
from grader.wire import WireBroken, announce, read_into, receive

_SECONDS_A_BYTE = 1 / 50e6  # the slowest pipe that is still waited for
_NO_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"
_PRINTED = 16_384  # bytes
_ROOT = Path(__file__).parents[2]


class ReplayFailed(Exception):
    """The process could not do what it was asked; the message is one sentence.

    `kind` is "fault" (a kernel's), "hang" (a kernel's), or "unavailable": no GPU, no driver, no memory, a lost child.
    `is_full` says that it was the GPU's memory.
    """

    def __init__(self, kind: str, sentence: str, *, is_full: bool = False) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.is_full = is_full


class Child:
    """The process, its pipes, and what it prints. Once it has raised `ReplayFailed` it is gone.

    It answers each message with one (grader/wire.py); {"error": "one sentence", "name": "CUDA_ERROR_..."} is its last.
    """

    def __init__(self, command: tuple[str, ...]) -> None:
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path, "CUDA_MODULE_LOADING": "EAGER", "CUDA_CACHE_DISABLE": "1"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._replies: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self._killed = False
        self._said = bytearray()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def hear(self, seconds: float) -> dict[str, Any]:
        """What it says by itself, as when it has started; waits so long."""
        with self._waiting(seconds):
            return self._answer(0)

    def ask(self, message: Mapping[str, Any], raw: bytes | memoryview = b"", *, seconds: float) -> dict[str, Any]:
        """Its answer to a message and raw bytes; for these it gets more time."""
        with self._waiting(seconds + len(raw) * _SECONDS_A_BYTE):
            self._say(message, raw)
            return self._answer(0)

    def ask_bytes(self, message: Mapping[str, Any], count: int, *, seconds: float) -> bytes:
        """The raw bytes that it answers with; so many."""
        values = bytearray(count)
        with self._waiting(seconds):
            self._say(message)
            self._answer(count)
            read_into(self._replies, memoryview(values))
        return bytes(values)

    def printed(self) -> str:
        return bytes(self._said).decode(errors="replace")

    def close(self) -> None:
        """Ends it; one that does not go at the end of its input is killed."""
        for stream in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                stream.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # the driver may hold it a little longer
                self._process.wait(10.0)
        self._listener.join(2.0)

    def _say(self, message: Mapping[str, Any], raw: bytes | memoryview = b"") -> None:
        """A message; a child that has found an error reads no further: its answer says which."""
        try:
            announce(self._requests, message, len(raw))
            self._requests.write(raw)
            self._requests.flush()
        except (OSError, WireBroken) as error:
            if self._killed:
                raise WireBroken(str(error)) from error

    def _answer(self, expected: int) -> dict[str, Any]:
        message, raw_bytes = receive(self._replies)
        if "error" in message:
            kind = "fault" if message.get("name") in FAULTS else "unavailable"
            raise ReplayFailed(kind, str(message["error"]), is_full=message.get("name") == _NO_MEMORY)
        if raw_bytes != expected:
            raise WireBroken(f"{raw_bytes} bytes, and not {expected}")
        return message

    @contextlib.contextmanager
    def _waiting(self, seconds: float) -> Iterator[None]:
        """Kills it if this takes longer; whatever fails, it is gone afterwards."""
        timer = threading.Timer(seconds, self._kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        except ReplayFailed:
            self.close()
            raise
        except WireBroken as broken:
            late = self._killed
            self.close()
            if late:
                raise ReplayFailed("hang", f"Nothing came of it within {seconds:.0f} seconds.") from broken
            said = _quoted(self.printed())
            raise ReplayFailed("unavailable", f"The replay process ended without a word{said}.") from broken
        finally:
            timer.cancel()

    def _kill(self) -> None:
        self._killed = True
        self._process.kill()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            while chunk := stream.read1(4096):  # type: ignore[attr-defined]
                self._said += chunk[: max(_PRINTED - len(self._said), 0)]


def _quoted(said: str) -> str:
    lines = said.strip().splitlines()
    return f": {lines[-1][:300]}" if lines else ""
