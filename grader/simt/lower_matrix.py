"""Matrix instructions: `wmma`, `mma`, `ldmatrix`, `stmatrix` and `movmatrix`.

All lanes of a warp make them together. Their names are PTX's without what is always there (`.sync.aligned`, `.m8n8`)
and, in products, without the layouts, since fragments lie in registers the same way for all of them. All four types of
a product are named.
"""

from __future__ import annotations

from grader.simt import ptx
from grader.simt.lower_function import FunctionLowering, Unfit
from grader.simt.lower_plans import DOUBLE, FLOAT32, FLOAT64, WORD
from grader.simt.program import KIND_SHIFT, R32, R64

_SHAPES = {  # rows of A, columns of B, depth
    "m16n16k16": (16, 16, 16),
    "m32n8k16": (32, 8, 16),
    "m8n32k16": (8, 32, 16),
    "m16n16k8": (16, 16, 8),
    "m8n8k4": (8, 8, 4),
}
_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "s8": 1, "u8": 1, "f32": 4, "s32": 4, "f64": 8}
_SPACES = ("global", "shared")
_TILE_ROW = 16  # bytes that a lane names for ldmatrix and stmatrix


def wmma(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    verb = instruction.opcode.split(".")[1:2]
    if verb == ["mma"]:
        _product(lowering, instruction)
    elif verb in (["load"], ["store"]):
        _fragment(lowering, instruction)
    else:
        raise Unfit


def _fragment(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """`wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {…}, [p], stride`; a store names the address first."""
    _, verb, matrix, *parts = instruction.opcode.split(".")
    kind, shape = (parts or [""])[-1], next((part for part in parts if part in _SHAPES), "")
    layout = next((part for part in parts if part in ("row", "col")), "")
    space = next((part.partition("::")[0] for part in parts if part.partition("::")[0] in _SPACES), "generic")
    operands = list(instruction.operands)
    if not shape or not layout or kind not in _BYTES or len(operands) not in (2, 3):
        raise Unfit
    address, registers = (operands[1], operands[0]) if verb == "load" else (operands[0], operands[1])
    pointer, offset = _address(lowering, address, space)
    stride = operands[2] if len(operands) == 3 else ptx.Immediate("int", _row_length(shape, matrix, layout))
    last = lowering.source(stride, WORD)
    name = f"wmma.{verb}.{matrix}.{layout}.{shape}.{space}.{kind}"
    if verb == "load":
        op = lowering.emit(name, _results(lowering, registers), [pointer, last], offset, effect=True, waits=True)
    else:
        values = _sources(lowering, registers)
        op = lowering.emit(name, [], [pointer, *values, last], offset, effect=True, waits=True)
    op.compiled = _piece(matrix, layout, shape, space, kind)


def _row_length(shape: str, matrix: str, layout: str) -> int:
    """Elements of a row, or of a column, of the matrix: its stride where none is given."""
    rows, columns, depth = _SHAPES[shape]
    height, width = {"a": (rows, depth), "b": (depth, columns)}.get(matrix, (rows, columns))
    return width if layout == "row" else height


def _piece(matrix: str, layout: str, shape: str, space: str, kind: str) -> int:
    """Bytes of a lane in the machine instructions that ptxas makes of it (machine/matrix.hpp: requests_of)."""
    size = _BYTES[kind]
    if matrix in ("a", "b"):
        along = (layout == "row") == (matrix == "a")
        if space == "shared" and (size == 2 or (size == 1 and along)):
            return _TILE_ROW
        return max(size, 4) if size == 2 or along else size
    if size == 2:
        return 4
    return 2 * size if (layout == "row") != (shape == "m8n32k16") else size


def _product(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """`wmma.mma.…`, whose types may be those of d and c alone, and `mma.…`."""
    base, *parts = instruction.opcode.split(".")
    shape = next((part for part in parts if part[0] == "m" and part[-1].isdigit()), "")
    types = [part for part in parts if part in _BYTES]
    if len(types) == 2:
        types = [types[0], "f16", "f16", types[1]]
    if not shape or len(types) != 4 or len(instruction.operands) != 4:
        raise Unfit
    known = {"sync", "aligned", "row", "col", "mma", "rn", "satfinite", shape, *types}
    if not known.issuperset(parts):
        raise Unfit
    name = ".".join(["wmma.mma" if base == "wmma" else "mma", shape, *types])
    results = _results(lowering, instruction.operands[0])
    sources = [value for operand in instruction.operands[1:] for value in _sources(lowering, operand)]
    finite = ".satfinite" if "satfinite" in parts else ""
    lowering.emit(name + finite, results, sources, effect=True, waits=True)


mma = _product


def ldmatrix(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    name, space = _rows(instruction)
    registers, address = instruction.operands
    pointer, offset = _address(lowering, address, space)
    op = lowering.emit(name, _results(lowering, registers), [pointer], offset, effect=True, waits=True)
    op.compiled = _TILE_ROW


def stmatrix(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    name, space = _rows(instruction)
    address, registers = instruction.operands
    pointer, offset = _address(lowering, address, space)
    op = lowering.emit(name, [], [pointer, *_sources(lowering, registers)], offset, effect=True, waits=True)
    op.compiled = _TILE_ROW


def _rows(instruction: ptx.Instruction) -> tuple[str, str]:
    """Name and space of `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16`."""
    base, *parts = instruction.opcode.split(".")
    space = "shared" if {"shared", "shared::cta"} & set(parts) else "generic"
    count = next((part for part in parts if part in ("x1", "x2", "x4")), "")
    if "m8n8" not in parts or parts[-1] != "b16" or not count or len(instruction.operands) != 2:
        raise Unfit
    return f"{base}.{count}{'.trans' if 'trans' in parts else ''}.{space}", space


def movmatrix(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    if instruction.opcode != "movmatrix.sync.aligned.m8n8.trans.b16" or len(instruction.operands) != 2:
        raise Unfit
    target, source = instruction.operands
    lowering.emit(
        "movmatrix.b16", [lowering.result(target, WORD)], [lowering.source(source, WORD)], effect=True, waits=True
    )


def _results(lowering: FunctionLowering, operand: ptx.Operand) -> list[int]:
    return [lowering.result(item, _type(item)) for item in _elements(operand)]


def _sources(lowering: FunctionLowering, operand: ptx.Operand) -> list[int]:
    return [lowering.source(item, _type(item)) for item in _elements(operand)]


def _elements(operand: ptx.Operand) -> tuple[ptx.Operand, ...]:
    return operand.elements if isinstance(operand, ptx.Vector) else (operand,)


def _type(operand: ptx.Operand) -> str:
    """The operand type by the width of a register, or of a number in its place."""
    if isinstance(operand, ptx.Immediate):
        return {"f32": FLOAT32, "f64": FLOAT64}.get(operand.kind, WORD)
    return DOUBLE if isinstance(operand, ptx.Register) and operand.bits == 64 else WORD


def _address(lowering: FunctionLowering, operand: ptx.Operand, space: str) -> tuple[int, int]:
    """The value that holds an address, and the offset from it."""
    if not isinstance(operand, ptx.Address) or operand.coordinates:
        raise Unfit
    base = operand.base
    if isinstance(base, ptx.Symbol):
        fits = base.variable.space == space or (space == "generic" and base.variable.space == "global")
        if not fits:
            raise Unfit
        return lowering.symbol(base.variable, 0, R32 if space == "shared" else R64), operand.offset
    if isinstance(base, ptx.Register) and (base.bits == 64 or (base.bits == 32 and space == "shared")):
        return base.number | {32: R32, 64: R64}[base.bits] << KIND_SHIFT, operand.offset
    raise Unfit
