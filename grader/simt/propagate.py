"""Copies and unused results disappear: what PTX moves about, the software GPU reads where it is.

PTX from nvcc is nearly in static single assignment form. A copy `d = s` may be replaced by `s` wherever `d` is read
if each of the two is written once, and surely before it is read.
"""

from __future__ import annotations

from collections import Counter

from grader.simt.cfg import CodeBlock
from grader.simt.code import REGISTER_KINDS, Code, Op
from grader.simt.program import (
    FALSE,
    INDEX_MASK,
    KIND_SHIFT,
    NOT_PREDICATE,
    PREDICATE,
    SINK,
    TRUE,
)

COPIES = frozenset({"mov.b32", "mov.b64", "mov.pred"})
_ADDITIONS = {"add.b32": "mov.b32", "add.b64": "mov.b64"}


def propagate_copies(blocks: list[CodeBlock], code: Code, unsafe: set[int]) -> None:
    """Replaces copies by their source, and additions of 0, which nvcc writes for the first variable in local memory.

    `unsafe` values may be read before they are written and stay as they are.
    """
    single = _written_once(blocks, code, unsafe)
    _replace_copies(blocks, single)
    if _additions_to_copies(blocks, code):
        _replace_copies(blocks, single)


def _written_once(blocks: list[CodeBlock], code: Code, unsafe: set[int]) -> set[int]:
    writes: Counter[int] = Counter()
    partly: set[int] = set(unsafe)
    for block in blocks:
        for op in block.ops:
            written = op.written_values()
            writes.update(written)
            if op.guard:
                partly.update(written)
    writes.update(code.specials.values())
    return {value for value, count in writes.items() if count == 1 and value not in partly}


def _additions_to_copies(blocks: list[CodeBlock], code: Code) -> bool:
    """Makes `d = s + 0` a copy; says whether there was one."""
    zeros = set()
    if 0 in code.constants32:
        zeros.add(code.constant32(0))
    if 0 in code.constants64:
        zeros.add(code.constant64(0))
    found = False
    for block in blocks:
        for op in block.ops:
            if op.name in _ADDITIONS and not zeros.isdisjoint(op.sources):
                op.name = _ADDITIONS[op.name]
                op.sources = [op.sources[1] if op.sources[0] in zeros else op.sources[0]]
                found = True
    return found


def _replace_copies(blocks: list[CodeBlock], single: set[int]) -> None:
    sources: dict[int, int] = {}
    for block in blocks:
        for op in block.ops:
            if op.name in COPIES and not op.guard and op.results[0] & INDEX_MASK in single:
                source = op.sources[0]
                kind = source >> KIND_SHIFT
                if kind not in REGISTER_KINDS or (kind != NOT_PREDICATE and source & INDEX_MASK in single):
                    sources[op.results[0] & INDEX_MASK] = source
    if sources:
        for block in blocks:
            for op in block.ops:
                _replace(op, sources)


def _replace(op: Op, sources: dict[int, int]) -> None:
    for position, operand in enumerate(op.sources):
        kind = operand >> KIND_SHIFT
        if kind not in REGISTER_KINDS:
            continue
        found = _origin(operand & INDEX_MASK, sources)
        if found is not None:
            op.sources[position] = _negated(found) if kind == NOT_PREDICATE else found
    if op.guard:
        found = _origin((op.guard - 1) >> 1, sources)
        if found is not None and found >> KIND_SHIFT == PREDICATE:
            op.guard = 1 + 2 * (found & INDEX_MASK) + ((op.guard - 1) & 1)


def _origin(value: int, sources: dict[int, int]) -> int | None:
    """Where a chain of copies begins, as an operand; None for a value that is no copy."""
    found = sources.get(value)
    if found is None:
        return None
    path = [value]
    while found >> KIND_SHIFT in REGISTER_KINDS and (further := sources.get(found & INDEX_MASK)) is not None:
        path.append(found & INDEX_MASK)
        found = further
    for step in path:
        sources[step] = found
    return found


def _negated(operand: int) -> int:
    if operand in (TRUE, FALSE):
        return operand ^ TRUE ^ FALSE
    return NOT_PREDICATE << KIND_SHIFT | (operand & INDEX_MASK)


def drop_unused(blocks: list[CodeBlock]) -> None:
    """Removes operations without effect whose results nobody reads; unread results of the others go to the sink."""
    uses: Counter[int] = Counter()
    writers: dict[int, list[Op]] = {}
    for block in blocks:
        for op in block.ops:
            uses.update(op.used_values())
            for value in op.written_values():
                writers.setdefault(value, []).append(op)
    dead: set[int] = set()  # by id
    todo = [op for ops in writers.values() for op in ops]
    while todo:
        op = todo.pop()
        if op.effect or id(op) in dead or any(uses[value] for value in op.written_values()):
            continue
        dead.add(id(op))
        for value in op.used_values():
            uses[value] -= 1
            if not uses[value]:
                todo += writers.get(value, [])
    for block in blocks:
        block.ops = [op for op in block.ops if id(op) not in dead]
        for op in block.ops:
            op.results = [result if uses[result & INDEX_MASK] else SINK for result in op.results]
