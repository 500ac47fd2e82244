"""Where a register may be undefined, and how that state spreads until it matters."""

from __future__ import annotations

from dataclasses import dataclass

from grader.simt.cfg import CodeBlock
from grader.simt.code import Op, register_value
from grader.simt.dataflow import Flow

# In place of a register's name: the value came from a lane that took no part in a shuffle, or from a load.
SHUFFLED, LOADED = "shfl", "ld.shared"
_PLAIN_LOAD, TRACKED_LOAD = "ld.shared.b32", "ld.shared.tracked.b32"
_REMEMBERING_STORES = ("st.shared.", "st.volatile.shared.", "st.local.", "st.volatile.local.")


@dataclass(frozen=True, slots=True)
class Undefined:
    """`reads`: by id of an operation, the values it reads that may be undefined there.

    `origins`: the values that have to be followed, since what is undefined in them may reach a place where it matters;
    each with the value that was not assigned, and the operation that reads that first. `shuffled`: values that a
    shuffle gives, which has none for lanes whose source takes no part; there the operation is the shuffle. `loaded`:
    values that were loaded ahead of their condition; there it is the load.
    """

    reads: dict[int, frozenset[int]]
    origins: dict[int, tuple[int, Op]]
    shuffled: frozenset[int]
    loaded: frozenset[int]


def is_shuffle(op: Op) -> bool:
    return op.name.startswith("shfl.sync")


def is_tracked_load(op: Op) -> bool:
    """A load ahead of the condition under which its value is wanted (`mark_speculative_loads`)."""
    return op.name == TRACKED_LOAD


def may_miss(op: Op) -> bool:
    """Whether a result may have no value, which is no fault where nobody uses it then.

    So a shuffle may take part without its source: a mask that is computed may name fewer lanes than the shuffle reaches
    over; one that is written as a number is meant to name them all, and the machine tells at once. And so a load from
    shared memory that stands ahead of its condition may meet bytes that nobody wrote.
    """
    return is_tracked_load(op) or (is_shuffle(op) and register_value(op.sources[3]) is not None)


def mark_speculative_loads(blocks: list[CodeBlock]) -> None:
    """Loads from shared memory whose value is chosen or dropped later, by `selp`, become `TRACKED_LOAD`."""
    chosen = {
        value
        for block in blocks
        for op in block.ops
        if op.name == "selp.b32"
        for operand in op.sources[:2]
        if (value := register_value(operand)) is not None
    }
    for block in blocks:
        for op in block.ops:
            if op.name == _PLAIN_LOAD and op.written_values()[:1] and op.written_values()[0] in chosen:
                op.name = TRACKED_LOAD


def propagated(op: Op) -> list[int]:
    """Values from which an undefined state goes over to the results."""
    if op.effect and not is_shuffle(op):
        return []
    moved = op.sources[:1] if op.effect else op.sources
    return [value for operand in moved if (value := register_value(operand)) is not None]


def checked(op: Op) -> list[int]:
    """Values that have to be defined for the operation to make sense."""
    values = [(op.guard - 1) >> 1] if op.guard else []
    if not op.effect:
        return values
    sources = op.sources
    if is_shuffle(op):
        sources = sources[1:]
    elif keeps_undefined(op):
        sources = sources[:1]
    elif op.takes_undefined:
        sources = []
    return values + [value for operand in sources if (value := register_value(operand)) is not None]


def keeps_undefined(op: Op) -> bool:
    """Whether the operation stores to memory that remembers, byte by byte, what is undefined in it."""
    return op.name.startswith(_REMEMBERING_STORES)


def stored(op: Op) -> list[int]:
    """Operands that go, undefined perhaps, to memory that remembers it."""
    return op.sources[1:] if keeps_undefined(op) else []


def _affected(op: Op) -> list[int]:
    """Results that take over an undefined state."""
    return op.written_values()[:1] if is_shuffle(op) else op.written_values()


def find_undefined(blocks: list[CodeBlock], flow: Flow) -> Undefined:
    """Follows undefined states from where nothing is assigned (`flow`) to the operations that they matter to."""
    unassigned = {value for bits in flow.maybe_unassigned() for value in flow.members(bits)}
    missing = {op.written_values()[0]: op for block in blocks for op in block.ops if may_miss(op) and _affected(op)}
    if not unassigned and not missing:
        return Undefined({}, {}, frozenset(), frozenset())
    reads = _undefined_reads(blocks, flow, _reached(blocks, unassigned | set(missing)))
    origins = _origins(blocks, reads, unassigned, missing)
    matters = _mattering(blocks, reads)
    followed = {value: origin for value, origin in origins.items() if value in matters}
    loaded = frozenset(value for value, op in missing.items() if is_tracked_load(op)) - unassigned
    return Undefined(reads, followed, frozenset(missing) - unassigned - loaded, loaded)


def _reached(blocks: list[CodeBlock], roots: set[int]) -> set[int]:
    """Values that the undefined ones could reach, whatever the order of operations."""
    readers: dict[int, list[Op]] = {}
    for block in blocks:
        for op in block.ops:
            for value in propagated(op):
                readers.setdefault(value, []).append(op)
    reached = set(roots)
    todo = list(roots)
    for value in todo:
        for op in readers.get(value, []):
            for result in _affected(op):
                if result not in reached:
                    reached.add(result)
                    todo.append(result)
    return reached


@dataclass(frozen=True, slots=True)
class _Transfer:
    """What an operation does to a set of values that may be undefined, as bits."""

    op: Op
    used: int
    propagated: int
    affected: int
    written: int

    def apply(self, state: int) -> int:
        if state & self.propagated or may_miss(self.op):
            state |= self.affected
            return state if self.op.guard else state & ~(self.written & ~self.affected)
        return state if self.op.guard else state & ~self.written


def _undefined_reads(blocks: list[CodeBlock], flow: Flow, candidates: set[int]) -> dict[int, frozenset[int]]:
    """The reads of candidates that may be undefined, along the paths that there are."""
    values = sorted(candidates)
    bit = {value: 1 << position for position, value in enumerate(values)}

    def bits(chosen: list[int]) -> int:
        made = 0
        for value in chosen:
            made |= bit.get(value, 0)
        return made

    transfers = [
        [
            _Transfer(op, used, bits(propagated(op)), bits(_affected(op)), written)
            for op in block.ops
            if (used := bits(op.used_values())) | (written := bits(op.written_values()))
        ]
        for block in blocks
    ]
    everything = (1 << len(values)) - 1
    before = flow.spread(everything, lambda number, state: _through(transfers[number], state))
    reads: dict[int, frozenset[int]] = {}
    for number, steps in enumerate(transfers):
        state = before[number]
        for step in steps:
            met = state & step.used
            reads[id(step.op)] = frozenset(value for value in step.op.used_values() if met & bit.get(value, 0))
            state = step.apply(state)
    return reads


def _through(steps: list[_Transfer], state: int) -> int:
    for step in steps:
        state = step.apply(state)
    return state


def _origins(
    blocks: list[CodeBlock], reads: dict[int, frozenset[int]], roots: set[int], missing: dict[int, Op]
) -> dict[int, tuple[int, Op]]:
    """For each value that may be undefined: the unassigned value it comes from, and the first read of that.

    Or, of those in `missing`, the value that a shuffle or a load gives, and that operation.
    """
    readers: dict[int, list[Op]] = {}
    for block in blocks:
        for op in block.ops:
            for value in reads.get(id(op), ()):
                readers.setdefault(value, []).append(op)
    origins = {value: (value, readers[value][0]) for value in sorted(roots) if value in readers}
    origins |= {value: (value, op) for value, op in sorted(missing.items()) if value in readers and value not in roots}
    todo = list(origins)
    for value in todo:
        for op in readers.get(value, []):
            if value in propagated(op):
                for result in _affected(op):
                    if result not in origins:
                        origins[result] = origins[value]
                        todo.append(result)
    return origins


def _mattering(blocks: list[CodeBlock], reads: dict[int, frozenset[int]]) -> set[int]:
    """Values whose undefined state may reach a check or memory."""
    writers: dict[int, list[Op]] = {}
    todo: list[int] = []
    for block in blocks:
        for op in block.ops:
            undefined = reads.get(id(op), frozenset())
            todo += [value for value in checked(op) if value in undefined]
            todo += [value for operand in stored(op) if (value := register_value(operand)) in undefined]
            for result in _affected(op):
                writers.setdefault(result, []).append(op)
    found = set(todo)
    for value in todo:
        for op in writers.get(value, []):
            for source in propagated(op):
                if source in reads.get(id(op), ()) and source not in found:
                    found.add(source)
                    todo.append(source)
    return found
