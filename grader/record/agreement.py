"""Compares the two recordings of an entry, made with every buffer at another address.

They must ask for the same things. An address may differ, and bytes of arguments and payloads may, where they lie in an
8-byte word that differs by exactly the distance which one buffer moved. Nothing is rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields

from grader.record.errors import error_name
from grader.record.operations import Allocation, Free, Launch, Operation, SymbolUpload, Triple, Upload

WORD = 8
_WORDS = 1 << 64
_ADDRESSES = ("address", "destination", "source")
# Not compared: the line, and the attribute as it stood, which says nothing of this launch once it was accepted.
_NOT_COMPARED = ("line", "max_dynamic_shared")


@dataclass(frozen=True)
class Difference:
    """Where the second recording departs from the first: the learner's line, and half a sentence of how.

    `variant` is "arguments" for a launch that gets other arguments, else "said".
    """

    line: int | None
    variant: str
    reason: str


BytesRead = Callable[[str], Collection[int]]


def difference(
    first: Sequence[Operation],
    second: Sequence[Operation],
    returned: tuple[int | None, int | None],
    shifts: Collection[int],
    bytes_read: BytesRead,
) -> Difference | None:
    """The first difference, or None. `bytes_read` gives the offsets that a kernel reads of its parameters."""
    for one, other in zip(first, second, strict=False):
        found = _of_operations(one, other, shifts, bytes_read)
        if found is not None:
            return found
    if len(first) != len(second):
        longer = max(first, second, key=len)
        reason = f"it asks for {_count(len(second))}, the first call for {_count(len(first))}"
        return Difference(longer[min(len(first), len(second))].line, "said", reason)
    if returned[0] != returned[1]:
        names = [error_name(code) if code is not None else "nothing" for code in returned]
        return Difference(None, "said", f"it returns {names[1]}, the first call {names[0]}")
    return None


def _of_operations(
    one: Operation, other: Operation, shifts: Collection[int], bytes_read: BytesRead
) -> Difference | None:
    if type(one) is not type(other):
        return Difference(
            other.line or one.line, "said", f"it has {_noun(other)} where the first call has {_noun(one)}"
        )
    for name in (field.name for field in fields(one) if field.name not in _NOT_COMPARED):
        before, after = getattr(one, name), getattr(other, name)
        if before == after:
            continue
        if name in _ADDRESSES and after - before in shifts:
            continue
        if isinstance(one, Launch) and name == "parameters":
            read = bytes_read(one.kernel)
            if _words_agree(before, after, shifts, read):
                continue
            return Difference(other.line, "arguments", "other arguments")
        if name == "payload" and _words_agree(before, after, shifts, range(len(before))):
            continue
        return Difference(other.line, "said", _reason(name, before, after, one))
    return None


def _words_agree(before: bytes, after: bytes, shifts: Collection[int], matters: Collection[int]) -> bool:
    if len(before) != len(after):
        return False
    for start in range(0, len(before), WORD):
        old, new = before[start : start + WORD], after[start : start + WORD]
        if old == new or _is_shifted(old, new, shifts):
            continue
        if any(old[byte] != new[byte] and start + byte in matters for byte in range(len(old))):
            return False
    return True


def _is_shifted(old: bytes, new: bytes, shifts: Collection[int]) -> bool:
    moved = (int.from_bytes(new, "little") - int.from_bytes(old, "little")) % _WORDS
    return len(old) == WORD and moved in shifts


def _reason(name: str, before: object, after: object, operation: Operation) -> str:
    if isinstance(before, tuple) and isinstance(after, tuple):
        return f"its {name} is {_times(after)}, the first call's was {_times(before)}"
    if name in _ADDRESSES:
        return f"{_noun(operation)} goes to another place of a buffer, or to an address that depends on another address"
    if name == "payload":
        return f"{_noun(operation)} carries other bytes"
    return f"{name} of {_noun(operation)} is {after}, in the first call it was {before}"


def _times(extents: Triple | tuple[object, ...]) -> str:
    return " × ".join(str(extent) for extent in extents)


def _count(operations: int) -> str:
    return f"{operations} operation{'' if operations == 1 else 's'}"


def _noun(operation: Operation) -> str:
    match operation:
        case Launch():
            return "a launch"
        case Allocation():
            return "an allocation"
        case Free():
            return "a free"
        case Upload() | SymbolUpload():
            return "a copy from the host"
    return "a memset" if hasattr(operation, "value") else "a copy"
