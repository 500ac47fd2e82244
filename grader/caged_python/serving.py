"""What the caged processes for learners' Python share: frames on descriptor 3, and errors told with their line.

Nothing that is said here is believed without being looked at, since the file could say it too.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Protocol

from grader.wire import read_into, receive, send

DESCRIPTOR = 3


class Serving(Protocol):
    """Has a method for each thing that it may be told to do, and knows the learner's file once it is loaded."""

    file: str


def serve(serving: Callable[[BinaryIO], Serving]) -> None:
    """Does what it is told until the other side is gone; what the file prints comes out at once."""
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", 0), write_through=True)
    with os.fdopen(DESCRIPTOR, "r+b", buffering=0) as link:
        learner = serving(link)
        while True:
            message, size = receive(link)
            raw = bytearray(size)
            read_into(link, memoryview(raw))
            try:
                answer, bytes_ = getattr(learner, str(message["do"]))(message, bytes(raw))
            except BaseException as error:
                answer, bytes_ = _told(error, str(message.get("file") or learner.file)), b""
            send(link, {"done": answer}, bytes_)


def line_of(file: str, stack: Sequence[traceback.FrameSummary]) -> int | None:
    """The innermost line of the learner's file."""
    return next((frame.lineno for frame in reversed(stack) if frame.filename == file), None)


def _told(error: BaseException, file: str) -> Mapping[str, Any]:
    line = error.lineno if isinstance(error, SyntaxError) else line_of(file, traceback.extract_tb(error.__traceback__))
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return {"raised": type(error).__name__, "message": message[:2000], "line": line}
