"""What is assigned and what is needed, along all paths of a function.

Divergence changes nothing here: a register slot holds a value per lane, and each lane walks its own path.
Only values that some block reads before writing them take part; all others live inside one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from grader.simt.cfg import CodeBlock

_MOST_STEPS = 30  # per block; kernels from nvcc, CUB's among them, need 3


class Tangled(Exception):
    """Jumps lead back and forth in a way that no compiler writes, and following them would take too long."""


@dataclass(slots=True)
class _BlockFacts:
    """Values that a block reads before it writes them, surely writes, and writes at least in some lanes."""

    exposed: set[int] = field(default_factory=set)
    certain: set[int] = field(default_factory=set)
    possible: set[int] = field(default_factory=set)


def _block_facts(block: CodeBlock) -> _BlockFacts:
    """The sets of one block.

    A guarded write leaves the old value in other lanes. It is enough for reads under the same guard, and two of them,
    under a predicate and its negation, are as good as one without guard.
    """
    facts = _BlockFacts()
    under: dict[int, set[int]] = {}  # by guard: what was written under it since the predicate was last written
    for op in block.ops:
        assigned = under.get(op.guard, ()) if op.guard else ()
        for value in op.used_values():
            if value not in facts.certain and value not in assigned:
                facts.exposed.add(value)
        results = op.written_values()
        facts.possible.update(results)
        if op.guard:
            opposite = under.get(((op.guard - 1) ^ 1) + 1, ())
            under.setdefault(op.guard, set()).update(results)
            facts.certain.update(value for value in results if value in opposite)
        else:
            facts.certain.update(results)
        for value in results if under else ():
            under.pop(1 + 2 * value, None)
            under.pop(2 + 2 * value, None)
    return facts


class Flow:
    """The control flow graph with, for each block, bit sets of values: read before written, written, perhaps written.

    `entry` are values that are assigned before the first operation.
    """

    def __init__(self, blocks: list[CodeBlock], entry: Iterable[int]) -> None:
        self.blocks = blocks
        self.successors = [block.successors() for block in blocks]
        self.predecessors: list[list[int]] = [[] for _ in blocks]
        for number, following in enumerate(self.successors):
            for successor in following:
                self.predecessors[successor].append(number)
        facts = [_block_facts(block) for block in blocks]
        self.values = sorted(set[int]().union(*(fact.exposed for fact in facts)))
        self.bit = {value: 1 << position for position, value in enumerate(self.values)}
        self.exposed = [self._bits(fact.exposed) for fact in facts]
        self.certain = [self._bits(fact.certain) for fact in facts]
        self.possible = [self._bits(fact.possible) for fact in facts]
        self.entry = self._bits(entry)

    def _bits(self, values: Iterable[int]) -> int:
        bits = 0
        for value in values:
            bits |= self.bit.get(value, 0)
        return bits

    def members(self, bits: int) -> list[int]:
        """The values of a bit set."""
        made = []
        while bits:
            lowest = bits & -bits
            made.append(self.values[lowest.bit_length() - 1])
            bits ^= lowest
        return made

    def live(self) -> tuple[list[int], list[int]]:
        """Values needed at the start and at the end of each block, where a lane may have assigned them."""
        needed = [0] * len(self.blocks)

        def backward(number: int) -> bool:
            after = 0
            for successor in self.successors[number]:
                after |= needed[successor]
            before = self.exposed[number] | (after & ~self.certain[number])
            changed = before != needed[number]
            needed[number] = before
            return changed

        self._settle(backward, reversed(range(len(self.blocks))), self.predecessors)
        assigned = self.spread(self.entry, lambda number, bits: bits | self.possible[number])
        starts = [bits & assigned[number] for number, bits in enumerate(needed)]
        ends = []
        for number, following in enumerate(self.successors):
            after = 0
            for successor in following:
                after |= needed[successor]
            ends.append(after & (assigned[number] | self.possible[number]))
        return starts, ends

    def maybe_unassigned(self) -> list[int]:
        """For each block, the values that it reads although on some way to it nothing has assigned them."""
        every = (1 << len(self.values)) - 1
        unassigned = self.spread(every & ~self.entry, lambda number, bits: bits & ~self.certain[number])
        return [bits & unassigned[number] for number, bits in enumerate(self.exposed)]

    def spread(self, start: int, through: Callable[[int, int], int]) -> list[int]:
        """Bits at the start of each block that hold on some way to it, where `start` holds at the function's start.

        `through(block, bits)` says what is left of them at the block's end.
        """
        after = [0] * len(self.blocks)
        before = [0] * len(self.blocks)

        def forward(number: int) -> bool:
            bits = start if number == 0 else 0
            for predecessor in self.predecessors[number]:
                bits |= after[predecessor]
            before[number] = bits
            result = through(number, bits)
            changed = result != after[number]
            after[number] = result
            return changed

        self._settle(forward, range(len(self.blocks)), self.successors)
        return before

    def _settle(self, step: Callable[[int], bool], order: Iterable[int], dependents: list[list[int]]) -> None:
        """Applies `step` to each block until nothing changes; `dependents` are looked at again after a change."""
        todo = dict.fromkeys(order)
        steps = 0
        while todo:
            steps += len(todo)
            if steps > _MOST_STEPS * len(self.blocks):
                raise Tangled
            again: dict[int, None] = {}
            for number in todo:
                if step(number):
                    again.update(dict.fromkeys(dependents[number]))
            todo = dict.fromkeys(sorted(again, reverse=dependents is self.predecessors))
