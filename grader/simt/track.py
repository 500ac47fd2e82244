"""Uninitialised registers: which lanes have a value, followed at run time only where it cannot be proven.

nvcc leaves a register unassigned on a path where the source left the variable so, and moves such registers about
harmlessly. So nothing is said when one is copied or computed with; a predicate per register remembers the lanes in
which it is defined, and `track.check` asks for it where the value begins to matter: an address, a stored value, a
branch, an atomic, a barrier. `docs/program-format.md` describes the operations, `undefined` finds the places.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.simt.cfg import CodeBlock
from grader.simt.code import Code, Op, register_value
from grader.simt.dataflow import Flow
from grader.simt.program import INDEX_MASK, PREDICATE, SINK, TRUE
from grader.simt.undefined import (
    LOADED,
    SHUFFLED,
    Undefined,
    checked,
    find_undefined,
    is_shuffle,
    is_tracked_load,
    stored,
)


def insert_tracking(blocks: list[CodeBlock], code: Code, flow: Flow, intern: Callable[[str], int]) -> list[int]:
    """Adds track operations to the blocks; returns the values (lane masks) that start as 0.

    `flow` is that of the blocks; `intern` gives a name its number in the program's table.
    """
    found = find_undefined(blocks, flow)
    tracker = _Tracker(code, found, intern)
    for block in blocks:
        made: list[Op] = []
        for op in block.ops:
            made += tracker.before(op)
            made.append(op)
        block.ops = made
    return [mask & INDEX_MASK for mask in tracker.masks.values()]


class _Tracker:
    def __init__(self, code: Code, found: Undefined, intern: Callable[[str], int]) -> None:
        self.code = code
        self.found = found
        self.intern = intern
        self.masks = {value: code.new_value(PREDICATE, "a lane mask") for value in sorted(found.origins)}

    def before(self, op: Op) -> list[Op]:
        """The track operations of one operation, which stand before it."""
        undefined = self.found.reads.get(id(op), frozenset())
        made = [
            self.check(op, value) for value in dict.fromkeys(checked(op)) if value in self.masks and value in undefined
        ]
        for position, operand in enumerate(stored(op)):
            if self.mask(op, operand) != TRUE:
                made.append(self.store(op, operand & INDEX_MASK, position))
        if is_shuffle(op) and any(value in self.masks for value in op.written_values()[:1]):
            # The shuffle moves the mask along with the value: lanes that bring nothing are no harm, if nobody asks.
            op.results = [*op.results, self.masks[op.results[0] & INDEX_MASK]]
            op.sources = [*op.sources, self.mask(op, op.sources[0])]
            return made
        if is_tracked_load(op):
            op.results = [*op.results, self.masks.get(op.results[0] & INDEX_MASK, SINK)]
            return made
        for value in op.written_values():
            if value in self.masks:
                made += self.update(op, self.masks[value])
        return made

    def check(self, op: Op, value: int) -> Op:
        made = self.about(op, "track.check", value)
        if op.guard and value == (op.guard - 1) >> 1:
            made.guard = 0
        return made

    def store(self, op: Op, value: int, position: int) -> Op:
        made = self.about(op, "track.store", value)
        made.sources.append(self.code.constant32(position))
        return made

    def about(self, op: Op, name: str, value: int) -> Op:
        """An operation on the mask of a value, with the site and the name of what was not assigned."""
        root, first_read = self.found.origins[value]
        made = self.op(op, name, [], [self.masks[value], self.code.constant32(first_read.site)])
        found = self.found
        name = SHUFFLED if root in found.shuffled else LOADED if root in found.loaded else self.code.names[root]
        made.immediate = self.intern(name)
        return made

    def op(self, of: Op, name: str, results: list[int], sources: list[int]) -> Op:
        return Op(name, results, sources, 0, of.guard, of.site, of.line, effect=True)

    def mask(self, op: Op, operand: int) -> int:
        """The mask of a source: true where it is surely defined."""
        value = register_value(operand)
        if value is None or value not in self.found.reads.get(id(op), ()):
            return TRUE
        return self.masks.get(value, TRUE)

    def update(self, op: Op, target: int) -> list[Op]:
        """What becomes of the mask of a result."""
        masks = [] if op.effect else [self.mask(op, source) for source in op.sources]
        unsure = [mask for mask in dict.fromkeys(masks) if mask != TRUE]
        if not unsure:
            return [self.op(op, "track.set", [target], [])]
        if op.name in ("selp.b32", "selp.b64"):
            chosen = self.op(op, "track.selp", [target], [*masks[:2], op.sources[2]])
            return [chosen] if masks[2] == TRUE else [chosen, self.op(op, "track.and", [target], [target, masks[2]])]
        if op.name in ("and.pred", "or.pred"):
            name = "track.logical_and" if op.name == "and.pred" else "track.logical_or"
            return [self.op(op, name, [target], [*masks, *op.sources])]
        return [] if unsure == [target] else [self.op(op, "track.and", [target], unsure)]
