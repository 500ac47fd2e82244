"""What the runtime wrote down while the program ran, as data (grader/runtime/software/log.cpp)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.hostlines import HostLines

_NEAR = 2  # lines


@dataclass(frozen=True)
class Allocation:
    """Memory that the program asked for: `function` gave `size` bytes at `address`, in `line` of the source.

    `place` is the call's own address in the program, for lines that have several. `freed` is the line that gave it
    back; 0 where no line is known, None where nobody did.
    """

    id: int
    function: str
    address: int
    size: int
    line: int | None
    place: int = 0
    freed: int | None = None

    @property
    def region(self) -> str:
        """Its name in the machine."""
        return f"#{self.id}"


@dataclass(frozen=True)
class Event:
    """Something to tell, of a `kind` of the log: report, refused, failed, unsupported, refused_by_machine, crash.

    `looked`: the program asked for its last error afterwards.
    """

    kind: str
    line: int | None
    fields: Mapping[str, Any]
    looked: bool = False


@dataclass
class Log:
    """The whole of a run. `not_started` is why the software GPU could not begin."""

    allocations: dict[int, Allocation] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    not_started: str | None = None

    def near(self, address: int) -> Allocation | None:
        """The allocation in which the address lies, freed or not, else None."""
        within = (each for each in self.allocations.values() if each.address <= address < each.address + each.size)
        return next(within, None)


def read_log(path: Path, lines: HostLines, source: str) -> Log:
    """The file's events in order; nothing where there is no such file."""
    try:
        return log_of(path.read_text(errors="replace"), lines, source)
    except OSError:
        return Log()


def log_of(text: str, lines: HostLines, source: str) -> Log:
    """The events in their order; a last line that a dying program left half is passed over.

    `source` is the text of the program, whose optimised code is known to a line or two only.
    """
    log, written = Log(), source.split("\n")
    for record in _records(text):
        place, line = _place(record.get("frames", ()), lines)
        line = _line_of_call(written, line, record.get("function", ""))
        match record["kind"]:
            case "allocation":
                made = Allocation(record["id"], record["function"], record["address"], record["bytes"], line, place)
                log.allocations[made.id] = made
            case "freed":
                if record["id"] in log.allocations:
                    log.allocations[record["id"]] = replace(log.allocations[record["id"]], freed=line or 0)
            case "looked":
                log.events = [replace(event, looked=True) for event in log.events]
            case "not_started":
                log.not_started = record["reason"]
            case kind:
                log.events.append(Event(kind, line, record))
    return log


def _records(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _place(frames: Sequence[int], lines: HostLines) -> tuple[int, int | None]:
    """The innermost of the callers that is a line of the source, and that line."""
    found = ((frame, lines.line(frame)) for frame in frames)
    return next(((frame, line) for frame, line in found if line is not None), (0, None))


def _line_of_call(written: Sequence[str], line: int | None, function: str) -> int | None:
    """The line itself, or the next one or two if it is there that the function stands."""
    if line is None or not function:
        return line
    near = range(line, min(line + _NEAR, len(written)) + 1)
    return next((each for each in near if function in written[each - 1]), line)
