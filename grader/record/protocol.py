"""Reads what the recorder wrote: JSON lines from a process that runs hostile code.

Whatever does not follow the protocol to the letter is a `Forgery`: the launcher wrote on the grader's own channel.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from grader.record.errors import CODES, SUCCESS
from grader.record.operations import (
    ADDRESS_END,
    MAX_OPERATIONS,
    MAX_PAYLOAD_BYTES,
    Operation,
    PlanInvalid,
    check_name,
    check_number,
)
from grader.record.plan import OPERATIONS, operation_from_json

MAX_STREAM_BYTES = 320 << 20  # three calls with all the payload a Plan may hold, or many with an ordinary one
_MAX_LINES = MAX_OPERATIONS + 1_000  # of one call: the runtime falls silent after as many as a Plan may hold
_MAX_LINE = MAX_PAYLOAD_BYTES // 3 * 4 + (1 << 20)  # bytes; a payload is written in base64
_ORDINARY_CALLS = 2  # in those that follow a launch fails
_MAX_FRAMES = 16
_MAX_TEXT = 2_000
_MAX_HOST = 1 << 17  # characters of base64
_MAX_REFUSAL = 5464  # characters of base64: 4,096 bytes
_WORD = (1 << 64) - 1


class Forgery(ValueError):
    """A line that the recorder cannot have written."""


@dataclass(frozen=True)
class Event:
    """One line: its kind, its fields, an operation if it is one, and return addresses in the learner's object."""

    kind: str
    fields: Mapping[str, Any]
    frames: tuple[int, ...]
    operation: Operation | None = None


@dataclass
class RecordedCall:
    """What the entry did in one call. `returned` is None if it did not return, `host` what it left in host memory,
    `refusal` why it returned an error, in the words of its own object.
    """

    events: list[Event] = field(default_factory=list)
    returned: int | None = None
    host: bytes = b""
    refusal: str = ""

    def operations(self, line_of: Callable[[tuple[int, ...]], int | None]) -> list[Operation]:
        """The operations with their lines."""
        return [
            replace(event.operation, line=line_of(event.frames)) for event in self.events if event.operation is not None
        ]


@dataclass(frozen=True)
class Transcript:
    """All that was said: while the object was loaded, in each call, and what ended it ("done" when all went well)."""

    loading: RecordedCall
    calls: list[RecordedCall]
    ending: Event | None


def _number(low: int, high: int) -> Callable[[object], None]:
    return lambda value: check_number(value, low, high, "a field")


def _text(value: object) -> None:
    if not isinstance(value, str) or len(value) > _MAX_TEXT or not value.isprintable():
        raise Forgery("text that is none")


def _payload(value: object) -> None:
    if not isinstance(value, str) or len(value) > _MAX_HOST:
        raise Forgery("host memory that is none")
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        raise Forgery("host memory that is none") from None


def _refusal(value: object) -> None:
    _payload(value)
    if len(str(value)) > _MAX_REFUSAL:
        raise Forgery("more words than an entry has")


def _signal(value: object) -> None:
    if value not in ("SYS", "time", "SEGV", "BUS", "FPE", "ILL", "ABRT", "TRAP", "exception"):
        raise Forgery("a signal that is none")


def _flag(value: object) -> None:
    if type(value) is not bool:
        raise Forgery("a flag that is none")


def _extents(value: object) -> None:
    if not isinstance(value, list) or len(value) != 3:
        raise Forgery("extents that are none")
    for extent in value:
        check_number(extent, 0, (1 << 32) - 1, "an extent")


def _error(value: object) -> None:
    if type(value) is not int or value not in CODES - {SUCCESS}:
        raise Forgery("an error that CUDA does not have")


_CODE = _number(-(1 << 31), (1 << 31) - 1)
_ADDRESS = _number(0, _WORD)
_LAUNCH: dict[str, Callable[[object], None]] = {
    "kernel": lambda value: check_name(value, "a kernel"),
    "grid": _extents,
    "block": _extents,
    "shared": _number(0, _WORD),
    "cooperative": _flag,
    "max_dynamic_shared": _number(0, 1 << 31),
}
# The fields of each kind, and those that may be missing. Every kind but those in _PLAIN has frames.
_REQUIRED: dict[str, dict[str, Callable[[object], None]]] = {
    "armed": {},
    "begin": {},
    "end": {"returned": _CODE},
    "done": {},
    "host": {"payload": _payload},
    "injected": {},
    "limit": {},
    "refused": {"code": _error, **_LAUNCH},
    "failed": {"function": _text, "code": _error},
    "unsupported": {"function": _text},
    "capture": {"function": _text, "stream": _text, "code": _error},
    "fault": {"signal": _signal},
    "not_loaded": {"why": _text},
    "no_entry": {},
    "unavailable": {"what": _text},
}
_OPTIONAL: dict[str, dict[str, Callable[[object], None]]] = {
    "end": {"refusal": _refusal},
    "failed": {"address": _ADDRESS, "bytes": _ADDRESS},
    "fault": {
        "address": _ADDRESS,
        "known": _flag,
        "stack": _flag,
        "call": _text,
        "number": _CODE,
        "raised": _CODE,
        "path": _text,
        "type": _text,
        "function": _text,
    },
}
_PLAIN = frozenset({"armed", "begin", "end", "done", "host", "not_loaded", "no_entry", "unavailable"})
_ENDINGS = frozenset({"fault", "done", "not_loaded", "no_entry", "unavailable"})


def read_transcript(stream: bytes, expected_calls: int) -> Transcript:
    """The transcript of a stream, which may end early; raises `Forgery`."""
    try:
        return _Reader(expected_calls).read(stream)
    except PlanInvalid as invalid:
        raise Forgery(str(invalid)) from None


class _Reader:
    def __init__(self, expected_calls: int) -> None:
        self._expected = expected_calls
        self._loading = RecordedCall()
        self._calls: list[RecordedCall] = []
        self._armed = False
        self._inside = False
        self._ending: Event | None = None

    def read(self, stream: bytes) -> Transcript:
        if stream.count(b"\n") > _MAX_LINES * (self._expected + 1):  # what is said while loading counts like a call
            raise Forgery("more lines than the runtime writes")
        for event in _events(stream):
            if self._ending is not None:
                raise Forgery("a line after the last")
            if event.kind in _ENDINGS:
                self._end(event)
            elif not self._armed:
                self._armed = self._must(event, "armed")
            elif self._inside:
                self._inside = self._during_call(event)
            else:
                self._inside = self._between_calls(event)
        return Transcript(self._loading, self._calls, self._ending)

    def _must(self, event: Event, kind: str) -> bool:
        if event.kind != kind:
            raise Forgery(f"{event.kind} where only {kind} can come")
        return True

    def _between_calls(self, event: Event) -> bool:
        if not self._calls and event.kind not in ("armed", "begin", "end", "host", "injected"):
            self._loading.events.append(event)  # constructors of global objects run before the first call
            return False
        self._must(event, "begin")
        if len(self._calls) == self._expected:
            raise Forgery("more calls than were asked for")
        self._calls.append(RecordedCall())
        return True

    def _during_call(self, event: Event) -> bool:
        call = self._calls[-1]
        if event.kind == "end":
            call.returned = event.fields["returned"]
            call.refusal = base64.b64decode(event.fields.get("refusal", "")).decode(errors="replace")
            return False
        if event.kind in ("armed", "begin"):
            raise Forgery(f"{event.kind} inside a call")
        if event.kind == "host":
            if call.host:
                raise Forgery("host memory told twice")
            call.host = base64.b64decode(event.fields["payload"])
            return True
        if event.kind == "injected" and len(self._calls) <= _ORDINARY_CALLS:
            raise Forgery("a failure where none was injected")
        call.events.append(event)
        return True

    def _end(self, event: Event) -> None:
        if event.kind == "unavailable" and self._armed:
            raise Forgery("a machine that refuses after it has agreed")
        if event.kind == "done" and (self._inside or len(self._calls) != self._expected):
            raise Forgery("done before the last call has returned")
        if event.kind in ("not_loaded", "no_entry") and self._calls:
            raise Forgery(f"{event.kind} after the first call")
        self._ending = event


def _events(stream: bytes) -> Iterator[Event]:
    lines = [line for line in stream.split(b"\n") if line]
    for number, line in enumerate(lines):
        try:
            yield _event(line)
        except Forgery:
            # A signal may strike while a line is written; what it reports follows at once.
            following = lines[number + 1 : number + 2]
            if not (following and _is_fault(following[0])):
                raise


def _is_fault(line: bytes) -> bool:
    try:
        return _event(line).kind == "fault"
    except Forgery:
        return False


def _event(line: bytes) -> Event:
    if len(line) > _MAX_LINE:
        raise Forgery("a line too long to be read")
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        raise Forgery("a line that is no JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise Forgery("a line that is no event")
    kind = document.pop("kind")
    frames = () if kind in _PLAIN else _frames(document.pop("frames", None))
    if kind in OPERATIONS:
        return Event(kind, {}, frames, _operation(kind, document))
    required, optional = _REQUIRED.get(kind), _OPTIONAL.get(kind, {})
    if required is None or not required.keys() <= document.keys() <= required.keys() | optional.keys():
        raise Forgery("an event of no known kind or with other fields")
    try:
        for name, value in document.items():
            {**required, **optional}[name](value)
    except PlanInvalid as invalid:
        raise Forgery(str(invalid)) from None
    return Event(kind, document, frames)


def _operation(kind: str, document: dict[str, Any]) -> Operation:
    try:
        return operation_from_json({"op": kind, "line": None, **document})
    except PlanInvalid as invalid:
        raise Forgery(str(invalid)) from None


def _frames(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > _MAX_FRAMES:
        raise Forgery("frames that are none")
    for offset in value:
        if type(offset) is not int or not 0 <= offset < ADDRESS_END:
            raise Forgery("frames that are none")
    return tuple(value)
