"""Branches, returns and calls."""

from __future__ import annotations

from grader.simt import ptx
from grader.simt.lower_function import FunctionLowering, Unfit
from grader.simt.lower_layout import block_layout
from grader.simt.lower_plans import DOUBLE, WORD


def bra(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    label = instruction.operands[0] if len(instruction.operands) == 1 else None
    if not isinstance(label, ptx.Label) or label.name not in lowering.body.labels:
        raise Unfit
    lowering.emit("bra", [], [], effect=True).targets = [lowering.body.labels[label.name]]


def brx(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """`brx.idx index, table;`, a jump to the label of that index."""
    operands = instruction.operands
    table = operands[1] if len(operands) == 2 else None
    labels = lowering.body.branch_targets.get(table.name, []) if isinstance(table, ptx.Label) else []
    if not labels or any(label.name not in lowering.body.labels for label in labels):
        raise Unfit
    index = lowering.source(operands[0], WORD)
    lowering.emit("brx", [], [index], effect=True).targets = [lowering.body.labels[label.name] for label in labels]


def leave(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """`ret`, `exit` or `trap`."""
    if instruction.operands:
        raise Unfit
    lowering.emit(instruction.opcode.partition(".")[0], [], [], effect=True)


def stop(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """`brkpt`: without a debugger it ends the kernel with an error."""
    if instruction.operands:
        raise Unfit
    lowering.emit("trap", [], [], effect=True)


def call(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """What is passed was stored to the argument block before, what comes back is loaded after it."""
    target = instruction.operands[1]
    if isinstance(target, ptx.FunctionName):
        index = lowering.layout.function_index.get(target.name)
        name = "call" if index is not None else f"call.{target.name}"
        lowering.emit(name, [], [], index or 0, effect=True, waits=True)
    else:
        lowering.emit("call.indirect", [], [lowering.source(target, DOUBLE)], effect=True, waits=True)


def place_arguments(lowering: FunctionLowering) -> None:
    """Gives every `.param` variable of a call sequence its offset, before the instructions that use it.

    A variable that two calls pass at different places gets none; what uses it becomes `unsupported`.
    """
    blocks = lowering.parameter_blocks
    blocks.update((id(variable), "own") for variable in lowering.function.parameters)
    blocks.update((id(variable), "result") for variable in lowering.function.results)
    for instruction in lowering.body.instructions:
        if instruction.opcode.partition(".")[0] != "call":
            continue
        results, _, arguments = instruction.operands
        lowering.argument_bytes = max(lowering.argument_bytes, _place(lowering, arguments, "argument"))
        lowering.returned_bytes = max(lowering.returned_bytes, _place(lowering, results, "returned"))


def _place(lowering: FunctionLowering, passed: ptx.Operand, block: str) -> int:
    symbols = passed.elements if isinstance(passed, ptx.Vector) else ()
    variables = [symbol.variable for symbol in symbols if isinstance(symbol, ptx.Symbol)]
    if len(variables) != len(symbols):
        return 0
    places, size = block_layout(variables)
    for variable, place in zip(variables, places, strict=True):
        known = lowering.parameter_blocks.setdefault(id(variable), block)
        if known != block or lowering.offsets.setdefault(id(variable), place.offset) != place.offset:
            lowering.parameter_blocks[id(variable)] = "ambiguous"
    return size
