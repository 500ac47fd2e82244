"""A lowered program as text, for tests and for reading."""

from __future__ import annotations

from grader.simt import program as form
from grader.simt.program import Function, Instruction, Program

_PREFIX = {form.R32: "r", form.R64: "d", form.PREDICATE: "p", form.NOT_PREDICATE: "!p"}
_INDEXED = frozenset({"unsupported", "track.check", "track.store"})


def program_text(program: Program) -> str:
    """Every function with its blocks and instructions, a line each; behind it the learner's line, and what is known of
    a load or store as compiled.
    """
    lines = [f"target sm_{program.target}"]
    for variable in program.variables:
        space = "global" if variable.space == form.GLOBAL else "const"
        lines.append(f"{space} {variable.name}: {variable.size} bytes, align {variable.align}")
    for function in program.functions:
        lines += ["", *_function_lines(program, function)]
    return "\n".join(lines) + "\n"


def _function_lines(program: Program, function: Function) -> list[str]:
    kind = "kernel" if function.flags & form.ENTRY else "function"
    lines = [
        f"{kind} {function.name}: {function.n32} r, {function.n64} d, {function.npred} p; "
        f"parameters {function.parameter_bytes}, shared {function.shared_bytes}, local {function.local_bytes}"
    ]
    lines += [f"  r{special.slot} = %{special.name}" for special in function.specials]
    lines += [f"  shared {item.name} at {item.offset}, {item.size} bytes" for item in function.shared]
    for number, block in enumerate(function.blocks):
        lines.append(f" block {number}:")
        for instruction in function.instructions[block.first : block.first + block.count]:
            line = program.sites[instruction.site].line
            width = "" if instruction.compiled == form.UNKNOWN_WIDTH else f", {instruction.compiled} bytes"
            lines.append(f"  {instruction_text(program, function, instruction):<64} // {line}{width}")
        if block.next not in (number + 1, form.NO_BLOCK):
            lines.append(f"  -> block {block.next}")
    return lines


def instruction_text(program: Program, function: Function, instruction: Instruction) -> str:
    """One instruction: guard, name, operands, and the immediate where there is one."""
    name = program.op_names[instruction.op]
    guard = ""
    if instruction.guard:
        slot, negated = divmod(instruction.guard - 1, 2)
        guard = f"@{'!' if negated else ''}p{slot} "
    operands = [_operand_text(function, operand) for operand in instruction.operands]
    if name == "bra":
        operands.append(f"block {instruction.immediate}")
    elif name in _INDEXED:
        operands.append(f'"{program.op_names[instruction.immediate]}"')
    elif name == "mov.variable":
        operands.append(program.variables[instruction.immediate].name)
    elif name in ("call", "mov.function"):
        operands.append(program.functions[instruction.immediate].name)
    elif instruction.immediate:
        operands.append(f"{instruction.immediate:+d}")
    return f"{guard}{name} {', '.join(operands)}".rstrip()


def _operand_text(function: Function, operand: int) -> str:
    kind, index = operand >> form.KIND_SHIFT, operand & form.INDEX_MASK
    if kind in _PREFIX:
        return f"{_PREFIX[kind]}{index}"
    if kind == form.CONSTANT32:
        return f"{function.constants32[index]:#x}"
    if kind == form.CONSTANT64:
        return f"{function.constants64[index]:#x}l"
    if kind == form.CONSTANT_PREDICATE:
        return "true" if index else "false"
    return "_"
