"""A watched thread's trace → what happened, in the order in which it happened, under the names of the source.

The trace is the machine's list of memory accesses (see `RunResult.trace`); the probes in it tell lines, variables and
barriers. Reads of the thread's own variables are left out: their values have been told when they were set.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.explain import sentence
from grader.explain.names import kernel_name
from grader.story.probes import MARK, SPACE_BYTES, Probe
from grader.story.variables import Type, Variable

_BUFFER_TYPES = {
    "f32": Type("float", 4),
    "f64": Type("float", 8),
    "f16": Type("float", 2),
    "bf16": Type("bfloat", 2),
    "i32": Type("int", 4),
    "i64": Type("int", 8),
}
SHARED = ""  # stands for a buffer's name where a place is one of shared memory
_MOST_SHOWN = 4  # elements of one wide access


@dataclass(frozen=True)
class Event:
    """`kind` is "line", "set", "read", "write", "atomic" or "barrier"; `what` is the name and `value` its value, shown.

    `place` is (buffer, byte offset) of an access to a buffer, (SHARED, offset) of one to shared memory, and `bytes` how
    wide it is.
    """

    kind: str
    function: str
    line: int
    what: str = ""
    value: str = ""
    place: tuple[str, int] | None = None
    bytes: int = 0


@dataclass(frozen=True)
class Names:
    """What gives places in memory their names: the part's buffers by name ("f32"), addresses of buffers with their
    bytes, the kernel's shared variables as (name in the PTX, offset, bytes), variables of functions and of symbols.
    """

    buffers: Mapping[str, str]
    addresses: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    shared: Sequence[tuple[str, int, int]] = ()
    variables: Mapping[str, Sequence[Variable]] = field(default_factory=dict)
    symbols: Mapping[str, Variable] = field(default_factory=dict)


def events(trace: Sequence[Mapping[str, Any]], probes: Sequence[Probe], names: Names) -> Iterator[Event]:
    """One event an entry, as far as an entry tells anything. What functions of headers do is told of their caller."""
    frames: dict[str, int] = {}  # where the frame of each function lies, once a probe has told it
    function, line = "", 0
    for entry in trace:
        value = bytes.fromhex(entry["value"])
        probe = _probe(entry, value, probes)
        if probe is not None:
            frames[probe.function] = int(entry["offset"]) + SPACE_BYTES
            function, line = probe.function, probe.line
            told = _told(probe, value, names)
            if told.kind != "set" or told.value not in (told.what, sentence("story", "address")):
                yield told  # all but a parameter that points to the buffer of its name, and addresses of anything else
            continue
        if not probes:
            function, line = str(entry["function"]), int(entry["line"] or line)
        event = _accessed(entry, value, names, frames)
        if event is not None:
            yield replace(event, function=function, line=line)


def _probe(entry: Mapping[str, Any], value: bytes, probes: Sequence[Probe]) -> Probe | None:
    if entry["space"] != "local" or not entry["write"] or len(value) not in (8, 16):
        return None
    number = int.from_bytes(value[: len(value) // 2], "little") - MARK
    return probes[number] if 0 <= number < len(probes) else None


def _told(probe: Probe, value: bytes, names: Names) -> Event:
    if probe.variable is None:
        return Event(probe.kind, probe.function, probe.line)
    shown = shown_value(value[len(value) // 2 :], probe.variable.type, names)
    return Event("set", probe.function, probe.line, probe.variable.name, shown)


def _accessed(entry: Mapping[str, Any], value: bytes, names: Names, frames: Mapping[str, int]) -> Event | None:
    function, offset = str(entry["function"]), int(entry["offset"])
    kind = "write" if entry["write"] else "read"
    if str(entry["op"]).startswith(("atom", "red")):
        kind = "atomic"
    if entry["region"] in names.buffers:
        of = _BUFFER_TYPES[names.buffers[entry["region"]]]
        what = _elements(entry["region"], offset, len(value), of)
        return Event(kind, function, 0, what, _many(value, of, names), (entry["region"], offset), len(value))
    if entry["space"] == "shared":
        what, of = _shared(offset, len(value), names)
        return Event(kind, function, 0, what, _many(value, of, names), (SHARED, offset), len(value))
    if entry["space"] == "local":
        own = _local(function, offset, len(value), names, frames) if entry["write"] else None
        return Event("set", function, 0, own[0], shown_value(value, own[1], names)) if own else None
    if entry["space"] in ("global", "const"):
        variable = names.symbols.get(entry["region"])
        found = _within(variable.name, variable.type, offset, len(value)) if variable is not None else None
        what, of = found or (kernel_name(entry["region"]) or sentence("story", "memory"), Type(""))
        return Event(kind, function, 0, what, _many(value, of, names))
    return None


# ---- names ----------------------------------------------------------------------------------------------------------


def _elements(name: str, offset: int, size: int, of: Type) -> str:
    first, count = offset // of.bytes, max(size // of.bytes, 1)
    return f"{name}[{first}]" if count == 1 else f"{name}[{first}…{first + count - 1}]"


def _shared(offset: int, size: int, names: Names) -> tuple[str, Type]:
    """The variable in shared memory, and the type of what lies there."""
    for symbol, start, length in names.shared:
        if start <= offset and (offset < start + length or not length):
            variable = names.symbols.get(symbol)
            if variable is None:
                break
            found = _within(variable.name, variable.type, offset - start, size)
            if found is not None:
                return found
    return sentence("story", "shared", facts={"offset": offset}), Type("")


def _local(function: str, offset: int, size: int, names: Names, frames: Mapping[str, int]) -> tuple[str, Type] | None:
    at = offset - frames.get(function, offset + 1)
    for variable in names.variables.get(function, ()):
        if variable.frame is not None and variable.frame <= at < variable.frame + max(variable.type.bytes, 1):
            return _within(variable.name, variable.type, at - variable.frame, size)
    return None


def _within(name: str, of: Type, at: int, size: int) -> tuple[str, Type] | None:
    """The part of a variable that an access of `size` bytes at its byte `at` touches: `v.y`, `parts[1]`, `As[2][0]`."""
    if of.kind == "struct":
        for member, offset, kind in of.members:
            if offset <= at < offset + kind.bytes and size <= kind.bytes:
                return _within(f"{name}.{member}", kind, at - offset, size)
        return (name, of) if at == 0 else None
    if of.kind != "array" or of.of is None or not of.of.bytes:
        return name, of
    index, rest = divmod(at, of.of.bytes)
    subscripts = ""
    for extent in reversed(of.extents[1:]):
        index, inner = divmod(index, max(extent, 1))
        subscripts = f"[{inner}]{subscripts}"
    return _within(f"{name}[{index}]{subscripts}", of.of, rest, size)


# ---- values ---------------------------------------------------------------------------------------------------------


def _many(value: bytes, of: Type, names: Names) -> str:
    """One value, or those of a wide access with commas between them; "" for an access that lay outside."""
    if not value:
        return ""
    if of.kind == "struct" and of.members and all(kind == of.members[0][2] for _, _, kind in of.members):
        of = of.members[0][2]
    if not of.bytes or len(value) <= of.bytes:
        return shown_value(value, of, names)
    pieces = [value[start : start + of.bytes] for start in range(0, len(value), of.bytes)]
    shown = [shown_value(piece, of, names) for piece in pieces[:_MOST_SHOWN]]
    return ", ".join(shown) + (", …" if len(pieces) > _MOST_SHOWN else "")


def shown_value(value: bytes, of: Type, names: Names) -> str:
    """A value as a learner writes it; bytes of an unknown type are shown as the float or the number they may be."""
    if of.kind == "pointer":
        return _pointer(int.from_bytes(value[:8], "little"), of, names)
    if of.kind in ("float", "bfloat"):
        return _float(value, of)
    if of.kind == "bool":
        return "true" if any(value[: max(of.bytes, 1)]) else "false"
    if of.kind in ("int", "unsigned"):
        return str(int.from_bytes(value[: of.bytes], "little", signed=of.kind == "int"))
    if of.kind == "struct" and of.members and len(value) >= of.bytes:
        parts = [shown_value(value[at : at + kind.bytes], kind, names) for _, at, kind in of.members]
        return "(" + ", ".join(parts) + ")"
    return _float(value, Type("float", 4)) if len(value) == 4 else f"0x{value[::-1].hex()}"


def _float(value: bytes, of: Type) -> str:
    if of.kind == "bfloat":
        value, of = b"\0\0" + value[:2], Type("float", 4)
    letter = {2: "e", 4: "f", 8: "d"}.get(of.bytes)
    if letter is None or len(value) < of.bytes:
        return f"0x{value[::-1].hex()}"
    return f"{struct.unpack(f'<{letter}', value[: of.bytes])[0]:.7g}"


def _pointer(address: int, of: Type, names: Names) -> str:
    for name, (start, size) in names.addresses.items():
        if start <= address <= start + size:
            width = max(of.of.bytes if of.of is not None else 1, 1)
            index, rest = divmod(address - start, width)
            return (name if not index else f"{name} + {index}") if not rest else f"{name} + {address - start} bytes"
    return sentence("story", "address") if address else "nullptr"
