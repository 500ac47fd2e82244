"""Chooses the operations of each PTX instruction of a function, in the order of the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.simt import (
    lower_asynchronous,
    lower_choices,
    lower_control,
    lower_matrix,
    lower_memory,
    lower_moves,
    ptx,
)
from grader.simt.code import Op
from grader.simt.lower_function import FunctionLowering, Unfit
from grader.simt.lower_layout import Layout
from grader.simt.lower_plans import Plan, plan_for
from grader.simt.lower_sites import Sites

_HANDLERS = {
    "mov": lower_moves.mov,
    "cvt": lower_moves.cvt,
    "cvta": lower_moves.cvta,
    "set": lower_choices.set_by_comparison,
    "slct": lower_choices.select_by_sign,
    "ld": lower_memory.ld,
    "ldu": lower_memory.ld,
    "st": lower_memory.st,
    "atom": lower_memory.atom,
    "red": lower_memory.atom,
    "bra": lower_control.bra,
    "brx": lower_control.brx,
    "ret": lower_control.leave,
    "exit": lower_control.leave,
    "trap": lower_control.leave,
    "brkpt": lower_control.stop,
    "call": lower_control.call,
    "wmma": lower_matrix.wmma,
    "mma": lower_matrix.mma,
    "ldmatrix": lower_matrix.ldmatrix,
    "stmatrix": lower_matrix.stmatrix,
    "movmatrix": lower_matrix.movmatrix,
    "cp": lower_asynchronous.cp,
    "mbarrier": lower_asynchronous.mbarrier,
    "createpolicy": lower_asynchronous.createpolicy,
}
# Hints, and order between ways to memory of which we have but one.
_CHANGES_NOTHING = ("prefetch", "pmevent", "applypriority.", "griddepcontrol.", "fence.proxy.", "fence.mbarrier_init.")


@dataclass(frozen=True, slots=True)
class Module:
    """What the functions of a module share. `text` are its lines, `intern` numbers the names of the program."""

    layout: Layout
    sites: Sites
    text: list[str]
    intern: Callable[[str], int]
    plans: dict[str, Plan | None]


def select_operations(function: ptx.Function, module: Module) -> tuple[FunctionLowering, list[Op], list[int]]:
    """The operations of a function, at least one, and the number of the first one of each instruction.

    The list has one number more, for what comes after the last instruction.
    """
    lowering = FunctionLowering(function, module.layout)
    lower_control.place_arguments(lowering)
    starts = [_select(lowering, instruction, module) for instruction in lowering.body.instructions]
    starts.append(len(lowering.code.ops))
    addresses = _variable_addresses(lowering)
    ops = addresses + lowering.code.ops
    if not ops:
        ops = [Op("ret", [], [], 0, 0, 0, function.line, effect=True)]
    return lowering, ops, [start + len(addresses) for start in starts]


def _variable_addresses(lowering: FunctionLowering) -> list[Op]:
    """The addresses of variables that instructions name directly, taken once where the function begins."""
    line = lowering.function.line
    site = lowering.code.ops[0].site if lowering.code.ops else 0
    return [Op("mov.variable", [value], [], index, 0, site, line) for index, value in lowering.variable_values.items()]


def _select(lowering: FunctionLowering, instruction: ptx.Instruction, module: Module) -> int:
    """Lowers one instruction; returns the number of its first operation."""
    code = lowering.code
    start = len(code.ops)
    opcode = instruction.opcode
    if opcode.startswith(_CHANGES_NOTHING):
        return start
    guard = instruction.guard
    lowering.guard = 0 if guard is None else 1 + 2 * guard.number + instruction.negated
    lowering.site = module.sites.number(instruction.location, code.name)
    lowering.line = instruction.line
    if opcode not in module.plans:
        module.plans[opcode] = plan_for(opcode)
    plan = module.plans[opcode]
    try:
        if plan is not None:
            lowering.regular(plan, instruction.operands)
        elif (handler := _HANDLERS.get(opcode.partition(".")[0])) is not None:
            handler(lowering, instruction)
        else:
            raise Unfit
    except Unfit:
        del code.ops[start:]
        _unsupported(lowering, instruction, module)
    return start


def _unsupported(lowering: FunctionLowering, instruction: ptx.Instruction, module: Module) -> None:
    """An operation with the instruction's text; what would be its results count as written."""
    first = instruction.operands[0] if instruction.operands else None
    parts = first.elements if isinstance(first, ptx.Vector) else (first,)
    results = [lowering.operands[part.number] for part in parts if isinstance(part, ptx.Register)]
    text = module.text[instruction.line - 1].strip()
    lowering.emit("unsupported", results, [], module.intern(text), effect=True)
