"""Compares the two recordings of an entry, made with every buffer at another address.

They must ask for the same things. An address may differ, and bytes of arguments and payloads may, where they lie in an
8-byte word that differs by exactly the distance which one buffer moved. A word that did not move although it points
into a buffer of the first call was kept from it. Nothing is rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields

from grader.record.errors import error_name
from grader.record.layout import WORDS
from grader.record.operations import Allocation, Free, Launch, Operation, SymbolUpload, Triple, Upload

WORD = 8
_OTHER_ARGUMENTS = "it passes on other values"
_ADDRESSES = ("address", "destination", "source")
# Not compared: the line, and the attribute as it stood, which says nothing of this launch once it was accepted.
_NOT_COMPARED = ("line", "max_dynamic_shared")


@dataclass(frozen=True)
class Difference:
    """Where the second recording departs from the first: the learner's line, and half a sentence of how.

    `variant` is "arguments" where the bytes passed on differ, else "said".
    """

    line: int | None
    variant: str
    reason: str


@dataclass(frozen=True)
class Moves:
    """How memory moved between the calls.

    `shifts` are the distances modulo 2**64, one a buffer; `first` the first call's buffers as ranges (address, end).
    `bytes_read` gives the offsets that a kernel reads of its parameter block.
    """

    shifts: Collection[int]
    first: Collection[tuple[int, int]]
    bytes_read: Callable[[str], Collection[int]]

    def kept(self, word: int) -> bool:
        """Whether a word of the second call is an address of the first."""
        return any(start <= word < end for start, end in self.first)


def difference(
    first: Sequence[Operation], second: Sequence[Operation], returned: tuple[int | None, int | None], moves: Moves
) -> Difference | None:
    """The first difference, or None."""
    for one, other in zip(first, second, strict=False):
        found = _of_operations(one, other, moves)
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


def _of_operations(one: Operation, other: Operation, moves: Moves) -> Difference | None:
    if type(one) is not type(other):
        reason = f"it has {_noun(other)} where the first call has {_noun(one)}"
        return Difference(other.line or one.line, "said", reason)
    for name in (field.name for field in fields(one) if field.name not in _NOT_COMPARED):
        before, after = getattr(one, name), getattr(other, name)
        if isinstance(after, bytes):
            matters = moves.bytes_read(one.kernel) if isinstance(one, Launch) else range(len(after))
            found = _of_bytes(before, after, matters, moves)
        elif before == after or (name in _ADDRESSES and (after - before) % WORDS in moves.shifts):
            continue
        else:
            found = _reason(name, before, after, one)
        if found is not None:
            return Difference(other.line, "arguments" if found == _OTHER_ARGUMENTS else "said", found)
    return None


def _of_bytes(before: bytes, after: bytes, matters: Collection[int], moves: Moves) -> str | None:
    if len(before) != len(after):
        return _OTHER_ARGUMENTS
    for start in range(0, len(before), WORD):
        old, new = before[start : start + WORD], after[start : start + WORD]
        read = [byte for byte in range(len(new)) if start + byte in matters]
        if old == new:
            if len(read) == WORD and moves.kept(int.from_bytes(new, "little")):
                return "it passes on a pointer that it kept from the first call"
        elif not _is_shifted(old, new, moves.shifts) and any(old[byte] != new[byte] for byte in read):
            return _OTHER_ARGUMENTS
    return None


def _is_shifted(old: bytes, new: bytes, shifts: Collection[int]) -> bool:
    moved = (int.from_bytes(new, "little") - int.from_bytes(old, "little")) % WORDS
    return len(old) == WORD and moved in shifts


def _reason(name: str, before: object, after: object, operation: Operation) -> str:
    if name in ("kernel", "symbol"):
        return f"{_noun(operation)} is of another {name}"
    if isinstance(before, tuple) and isinstance(after, tuple):
        return f"its {name} is {_times(after)}, the first call's was {_times(before)}"
    if name in _ADDRESSES:
        return f"{_noun(operation)} goes to another place of a buffer, or to an address that depends on another address"
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
