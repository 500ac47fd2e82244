"""Forms of instructions: an opcode with its modifiers and types, and the kinds of operands that it was met with."""

from __future__ import annotations

from collections.abc import Iterator

from grader.simt import ptx
from grader.simt.ptx_reader import read_ptx

# Jumps, calls with what they pass, and ends: what they do depends on the function, not on a type.
CONTROL = frozenset({"bra", "bra.uni", "ret", "ret.uni", "exit", "call", "call.uni", "brx.idx", "brx.idx.uni", "trap"})


def pattern(operand: ptx.Operand) -> str:
    """An operand with its registers' names left out: r32, {r32, r32}, [r64+4], shared, 7."""
    match operand:
        case ptx.Address():
            return f"[{pattern(operand.base)}{f'+{operand.offset}' if operand.offset else ''}]"
        case ptx.Vector():
            return "{" + ", ".join(pattern(item) for item in operand.elements) + "}"
        case ptx.Pair():
            return f"{pattern(operand.first)}|{pattern(operand.second)}"
        case ptx.Immediate():
            return _number(operand)
    return _name(operand)


def _number(operand: ptx.Immediate) -> str:
    spelled = {"int": str(operand.value), "f32": f"0f{operand.value:08X}", "f64": f"0d{operand.value:016X}"}
    return spelled[operand.kind]


def _name(operand: ptx.Operand) -> str:
    match operand:
        case ptx.Register():
            return "p" if operand.bits == 1 else f"r{operand.bits}"
        case ptx.Special():
            return f"%{operand.name}"
        case ptx.Symbol():
            return operand.variable.space.lstrip(".")
        case ptx.Not():
            return "!p"
        case ptx.Selector():
            return f"r{operand.register.bits}.{operand.part}"
        case ptx.Sink():
            return "_"
    return "label" if isinstance(operand, ptx.Label) else "function"


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """The opcode and the operands of every instruction of a PTX text, jumps and calls left out."""
    passing = ("st.param", "ld.param")
    for function in read_ptx(text).functions.values():
        for item in function.body.instructions if function.body else ():
            if item.opcode not in CONTROL and not item.opcode.startswith(passing):
                yield item.opcode, ", ".join(pattern(operand) for operand in item.operands)
