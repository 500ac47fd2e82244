"""Walks a lane through a kernel without computing anything real.

What an operation computes is a hash of its name and operands, and a branch is taken where that of its predicate is
odd, so many ways through the code are tried. `walk_straight` takes the operations as they come from the text and
knows for each register whether it is defined; `walk_program` takes the finished program and believes its `track`
operations. Both note what has an effect, and end where that meets an undefined value.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from grader.simt import program as form
from grader.simt.code import Op, register_value
from grader.simt.lower_layout import Layout
from grader.simt.lower_select import Module, select_operations
from grader.simt.lower_sites import Sites
from grader.simt.program import Function, Instruction, Program
from grader.simt.ptx_reader import read_ptx
from grader.simt.undefined import checked, stored

STEPS = 3000
ENDS = ("ret", "exit", "trap", "unsupported")
COPIES = ("mov.b32", "mov.b64", "mov.pred")


def digest(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=6).digest(), "little")


@dataclass
class Walk:
    """Registers by operand; `done` is what had an effect. A walk comes to its end, or to an operation that should not
    have met an undefined value (`undefined`), or is broken off after many steps.
    """

    seed: int
    constants: dict[int, list[int]]
    registers: dict[int, int] = field(default_factory=dict)
    done: list[tuple[object, ...]] = field(default_factory=list)
    undefined: str = ""
    ended: bool = False

    def value(self, operand: int) -> int:
        kind, index = operand >> form.KIND_SHIFT, operand & form.INDEX_MASK
        if kind == form.NOT_PREDICATE:
            return self.value(form.PREDICATE << form.KIND_SHIFT | index) ^ 1
        if kind in self.constants:
            return self.constants[kind][index]
        if kind in (form.CONSTANT_PREDICATE, form.NONE):
            return index
        return self.registers.get(operand, 0)

    def holds(self, guard: int) -> bool:
        if not guard:
            return True
        predicate = self.value(form.PREDICATE << form.KIND_SHIFT | (guard - 1) >> 1)
        return bool((predicate ^ (guard - 1)) & 1)

    def apply(self, name: str, results: list[int], sources: list[int], immediate: int, effect: bool) -> None:
        """Computes, notes what has an effect, and writes."""
        values = [self.value(source) for source in sources]
        if effect:
            self.done.append((name, immediate, *values))
        made = self.computed(name, values, immediate, effect)
        for position, result in enumerate(results):
            if result != form.SINK:
                self.registers[result] = made + position

    def computed(self, name: str, values: list[int], immediate: int, effect: bool) -> int:
        if name in COPIES:
            return values[0]
        if name in ("add.b32", "add.b64") and 0 in values:
            return sum(values)
        if name.startswith("selp."):
            return values[0] if values[2] & 1 else values[1]
        if name == "and.pred":
            return values[0] & values[1] & 1
        if name == "or.pred":
            return (values[0] | values[1]) & 1
        return digest(self.seed, name, immediate, values, len(self.done) if effect else 0)


@dataclass
class Straight:
    """A function's operations as they come from the text."""

    ops: list[Op]
    starts: list[int]
    specials: dict[str, int]
    constants: dict[int, list[int]]


def straight(text: str) -> list[Straight]:
    module = read_ptx(text)
    layout = Layout(module)
    shared = Module(layout, Sites(module, "x.cu"), text.split("\n"), lambda _: 0, {})
    made = []
    for function in layout.defined:
        lowering, ops, starts = select_operations(function, shared)
        code = lowering.code
        constants = {form.CONSTANT32: list(code.constants32), form.CONSTANT64: list(code.constants64)}
        made.append(Straight(ops, starts, dict(code.specials), constants))
    return made


def walk_straight(code: Straight, seed: int) -> Walk:
    walk = Walk(seed, code.constants)
    walk.registers = {value: digest(seed, name) for name, value in code.specials.items()}
    defined = set(code.specials.values())
    at = 0
    for _ in range(STEPS):
        op = code.ops[at] if at < len(code.ops) else None
        at += 1
        if op is None:
            walk.ended = True
            return walk
        if op.guard and (op.guard - 1) >> 1 not in defined:
            walk.undefined = op.name
            return walk
        if not walk.holds(op.guard):
            continue
        if op.name in ENDS:
            walk.ended = True
            return walk
        if op.name == "bra":
            at = code.starts[op.targets[0]]
            continue
        kept = [value for operand in stored(op) if (value := register_value(operand)) is not None]
        if any(value not in defined for value in checked(op) + kept):
            walk.undefined = op.name
            return walk
        good = _result_is_defined(op, walk, defined)
        walk.apply(op.name, op.results, op.sources, op.immediate, op.effect)
        for position, value in enumerate(op.written_values()):
            predicate_of_shuffle = op.name.startswith("shfl") and position
            (defined.add if good or predicate_of_shuffle else defined.discard)(value)
    return walk


def _result_is_defined(op: Op, walk: Walk, defined: set[int]) -> bool:
    """The truth that tracking has to find: a value chosen or masked away does not count."""
    good = [
        operand >> form.KIND_SHIFT in (form.CONSTANT32, form.CONSTANT64, form.CONSTANT_PREDICATE, form.NONE)
        or operand & form.INDEX_MASK in defined
        for operand in op.sources
    ]
    values = [walk.value(operand) & 1 for operand in op.sources]
    if op.name.startswith("shfl"):
        return good[0]
    if op.effect:
        return True
    if op.name.startswith("selp."):
        return good[2] and (good[0] if values[2] else good[1])
    if op.name in ("and.pred", "or.pred"):
        decides = op.name == "or.pred"
        return all(good) or any(known and value == decides for known, value in zip(good, values, strict=True))
    return all(good)


def result_shapes(code: Straight) -> dict[str, tuple[int, bool]]:
    """Number of results, and whether there is an effect, by the name of an operation."""
    shapes = {op.name: (len(op.results), op.effect) for op in code.ops}
    return shapes | dict.fromkeys(COPIES, (1, False))


def walk_program(program: Program, function: Function, shapes: dict[str, tuple[int, bool]], seed: int) -> Walk:
    walk = Walk(seed, {form.CONSTANT32: function.constants32, form.CONSTANT64: function.constants64})
    walk.registers = {special.slot: digest(seed, special.name) for special in function.specials}
    failed = False
    at = 0
    for _ in range(STEPS):
        block = function.blocks[at]
        at = block.next
        for item in function.instructions[block.first : block.first + block.count]:
            name = program.op_names[item.op]
            if name in ("track.check", "track.store"):
                failed |= walk.holds(item.guard) and not walk.value(item.operands[0])
                continue
            if name.startswith("track."):
                if walk.holds(item.guard):
                    _track(walk, name, item.operands)
                continue
            if failed:
                walk.undefined = name
                return walk
            if not walk.holds(item.guard):
                continue
            if name in ENDS:
                walk.ended = True
                return walk
            if name == "bra":
                at = item.immediate
            else:
                _apply(walk, name, item, *shapes[name])
    return walk


def _apply(walk: Walk, name: str, item: Instruction, count: int, effect: bool) -> None:
    results, sources = item.operands[:count], item.operands[count:]
    if name.startswith("shfl") and len(item.operands) == 8:  # with the masks of result and source
        results, sources = item.operands[:2], item.operands[3:7]
        walk.registers[item.operands[2]] = walk.value(item.operands[7])
    walk.apply(name, results, sources, item.immediate, effect)


def _track(walk: Walk, name: str, operands: list[int]) -> None:
    """What the track operations do to the mask of one lane."""
    target, *sources = operands
    values = [walk.value(source) & 1 for source in sources]
    if name == "track.set":
        walk.registers[target] = 1
    elif name == "track.and":
        walk.registers[target] = int(all(values))
    elif name == "track.selp":
        walk.registers[target] = values[0] if values[2] else values[1]
    elif name in ("track.logical_and", "track.logical_or"):
        decides = name == "track.logical_or"
        known = [good and value == decides for good, value in zip(values[:2], values[2:], strict=True)]
        walk.registers[target] = int(all(values[:2]) or any(known))
