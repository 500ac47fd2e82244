"""Slots of the register file: values that are never needed at the same time share one.

A linear scan over the blocks in their order. Loops are contiguous there, so the range from the first to the last
place where a value is needed is close to where it is really needed.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from grader.simt.cfg import CodeBlock
from grader.simt.code import Code
from grader.simt.dataflow import Flow
from grader.simt.program import PREDICATE, R32, R64

_BEFORE_THE_FIRST = -1


@dataclass(frozen=True, slots=True)
class Slots:
    """`slot` by value, and how many slots each class takes."""

    slot: dict[int, int]
    n32: int
    n64: int
    npred: int


def allocate(blocks: list[CodeBlock], code: Code, entry: set[int]) -> Slots:
    """A slot for every value that the blocks name; `entry` values hold something before the first operation."""
    ranges = _ranges(blocks, Flow(blocks, entry), entry)
    slot: dict[int, int] = {}
    counts = {R32: 0, R64: 0, PREDICATE: 0}
    free: dict[int, list[int]] = {R32: [], R64: [], PREDICATE: []}
    active: dict[int, list[tuple[int, int]]] = {R32: [], R64: [], PREDICATE: []}
    for value in sorted(ranges, key=lambda value: ranges[value]):
        start, end = ranges[value]
        kind = code.kinds[value]
        while active[kind] and active[kind][0][0] < start:
            heapq.heappush(free[kind], heapq.heappop(active[kind])[1])
        if free[kind]:
            slot[value] = heapq.heappop(free[kind])
        else:
            slot[value] = counts[kind]
            counts[kind] += 1
        heapq.heappush(active[kind], (end, slot[value]))
    return Slots(slot, counts[R32], counts[R64], counts[PREDICATE])


def _ranges(blocks: list[CodeBlock], flow: Flow, entry: set[int]) -> dict[int, tuple[int, int]]:
    """First and last place of each value. Operation n reads at 2n and writes at 2n + 1.

    An operation with several results writes at 2n already: a result never lies where a source still does.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}

    def touch(value: int, place: int) -> None:
        if place < first.get(value, place + 1):
            first[value] = place
        if place > last.get(value, place - 1):
            last[value] = place

    starts, ends = flow.live()
    place = 0
    begun = 0  # values met at the start of a block: only the first one matters
    limits = []
    for number, block in enumerate(blocks):
        for value in flow.members(starts[number] & ~begun):
            touch(value, place)
        begun |= starts[number]
        for op in block.ops:
            for value in op.used_values():
                touch(value, place)
            written = op.written_values()
            for value in written:
                touch(value, place + 1)
                if len(written) > 1:
                    touch(value, place)
            place += 2
        limits.append(place - 1)
    ended = 0  # and at the end of a block only the last
    for number in reversed(range(len(blocks))):
        for value in flow.members(ends[number] & ~ended):
            touch(value, limits[number])
        ended |= ends[number]
    for value in entry:
        if value in first:
            first[value] = _BEFORE_THE_FIRST
    return {value: (first[value], last[value]) for value in first}
