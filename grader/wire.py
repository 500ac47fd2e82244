"""What the grader and a process of its own say to each other: one JSON object and some raw bytes at a time.

A frame is twelve bytes, little-endian: the size of the JSON in four, that of the raw bytes in eight; then both. Raw
bytes may be gigabytes: they are not collected, but left in the stream for whoever asked for them.
"""

from __future__ import annotations

import json
import struct

TYPE_CHECKING = False  # as in typing, whose import takes longer than all others together
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, BinaryIO

_HEAD = struct.Struct("<IQ")
MAX_JSON_BYTES = 256 << 20
MAX_RAW_BYTES = 1 << 40


class WireBroken(Exception):
    """The other side is gone, or says something that is no frame."""


def send(stream: BinaryIO, message: Mapping[str, Any], raw: bytes | memoryview = b"") -> None:
    """Writes one frame; raises `WireBroken` if nobody reads."""
    announce(stream, message, len(raw))
    try:
        stream.write(raw)
        stream.flush()
    except OSError as error:
        raise WireBroken(str(error)) from error


def announce(stream: BinaryIO, message: Mapping[str, Any], raw_bytes: int) -> None:
    """Writes a frame but for its raw bytes, which the caller writes and flushes."""
    text = json.dumps(message).encode()
    try:
        stream.write(_HEAD.pack(len(text), raw_bytes))
        stream.write(text)
    except OSError as error:
        raise WireBroken(str(error)) from error


def receive(
    stream: BinaryIO, most_json: int = MAX_JSON_BYTES, most_raw: int = MAX_RAW_BYTES
) -> tuple[dict[str, Any], int]:
    """The next message, and how many raw bytes follow it in the stream."""
    size, raw_bytes = _HEAD.unpack(_exactly(stream, _HEAD.size))
    if size > most_json or raw_bytes > most_raw:
        raise WireBroken("a frame that is too large")
    try:
        message = json.loads(_exactly(stream, size))
    except ValueError as error:
        raise WireBroken("a frame that is no JSON") from error
    if not isinstance(message, dict):
        raise WireBroken("a frame that is no object")
    return message, raw_bytes


def read_into(stream: BinaryIO, view: memoryview) -> None:
    """Fills `view`, bytes, from the stream."""
    place = 0
    while place < len(view):
        try:
            count = stream.readinto(view[place:])  # type: ignore[attr-defined]
        except OSError as error:
            raise WireBroken(str(error)) from error
        if not count:
            raise WireBroken("the end of the stream")
        place += count


def _exactly(stream: BinaryIO, size: int) -> bytes:
    held = bytearray(size)
    read_into(stream, memoryview(held))
    return bytes(held)
