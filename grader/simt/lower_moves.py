"""`mov`, `cvt` and `cvta`."""

from __future__ import annotations

from grader.simt import ptx
from grader.simt.lower_function import CHANGING_SPECIALS, READY_SPECIALS, FunctionLowering, Unfit
from grader.simt.lower_plans import DOUBLE, FLAG, HALF, WORD, operand_type
from grader.simt.program import KIND_SHIFT, R32, R64

_TYPE_OF_BITS = {1: FLAG, 16: HALF, 32: WORD, 64: DOUBLE}
_WIDE_SPECIALS = frozenset(["clock64", "globaltimer", "gridid", "current_graph_exec"] + [f"pm{n}_64" for n in range(8)])
_PACKS = {(32, 2): ".b32", (64, 2): "", (64, 4): ".v4.b64"}  # bits of the whole and number of parts


def mov(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    if len(instruction.operands) != 2:
        raise Unfit
    target, source = instruction.operands
    if isinstance(target, ptx.Vector):
        _unpack(lowering, target, source)
        return
    if not isinstance(target, ptx.Register) or target.bits not in _TYPE_OF_BITS:
        raise Unfit
    result = lowering.operands[target.number]
    if isinstance(source, ptx.Vector):
        if target.bits == 16:
            _pack_bytes(lowering, result, source.elements)
            return
        bits = target.bits // len(source.elements) if source.elements else 0
        if (target.bits, len(source.elements)) not in _PACKS:
            raise Unfit
        parts = [lowering.source(element, _TYPE_OF_BITS[bits]) for element in source.elements]
        lowering.emit("mov.pack" + _PACKS[target.bits, len(parts)], [result], parts)
    elif isinstance(source, ptx.Special):
        _special(lowering, target, source.name)
    elif isinstance(source, ptx.FunctionName):
        if target.bits != 64 or source.name not in lowering.layout.function_index:
            raise Unfit
        lowering.emit("mov.function", [result], [], lowering.layout.function_index[source.name])
    elif isinstance(source, ptx.Symbol):
        _address(lowering, target, source.variable, 0)
    elif isinstance(source, ptx.Address) and isinstance(source.base, ptx.Symbol):
        _address(lowering, target, source.base.variable, source.offset)
    else:
        floats = instruction.opcode.rsplit(".", 1)[-1] in ("f32", "f64")
        kind = operand_type(f"f{target.bits}") if floats and target.bits > 16 else _TYPE_OF_BITS[target.bits]
        lowering.copy(result, lowering.source(source, kind or HALF))


def _pack_bytes(lowering: FunctionLowering, result: int, elements: tuple[ptx.Operand, ...]) -> None:
    """`mov.b16 d, {a, b}` of registers of 8 bits, whose slots may hold more, or numbers."""
    if len(elements) != 2:
        raise Unfit
    constant = lowering.code.constant32
    parts = []
    for element in elements:
        if isinstance(element, ptx.Register) and element.bits == 8:
            part = lowering.temporary(R32)
            lowering.emit("and.b32", [part], [lowering.operands[element.number], constant(0xFF)])
            parts.append(part)
        elif isinstance(element, ptx.Immediate) and element.kind == "int":
            parts.append(constant(element.value & 0xFF))
        else:
            raise Unfit
    upper = lowering.temporary(R32)
    lowering.emit("shl.b32", [upper], [parts[1], constant(8)])
    lowering.emit("or.b32", [result], [parts[0], upper])


def _address(lowering: FunctionLowering, target: ptx.Register, variable: ptx.Variable, offset: int) -> None:
    """The address of a variable; one in global or constant memory is known only when the program is loaded."""
    result = lowering.operands[target.number]
    if variable.space in ("global", "const") and target.bits == 64:
        address = lowering.temporary(R64) if offset else result
        lowering.emit("mov.variable", [address], [], lowering.layout.variable_index[id(variable)])
        if offset:
            lowering.copy(result, lowering.plus(address, offset))
    elif target.bits in (32, 64):
        lowering.copy(result, lowering.symbol(variable, offset, result >> KIND_SHIFT))
    else:
        raise Unfit


def _special(lowering: FunctionLowering, target: ptx.Register, name: str) -> None:
    """A special register; one that changes while the kernel runs, has 64 bits or is rare is read where it stands."""
    result = lowering.operands[target.number]
    if name not in READY_SPECIALS:
        if target.bits != (64 if name in _WIDE_SPECIALS else 32):
            raise Unfit
        lowering.emit(f"mov.{name}", [result], [], effect=name in CHANGING_SPECIALS)
    elif target.bits == 32:
        lowering.copy(result, lowering.code.special(name))
    elif target.bits == 16:
        lowering.emit("cvt.u16.u32", [result], [lowering.code.special(name)])
    elif target.bits == 64:
        lowering.emit("cvt.u64.u32", [result], [lowering.code.special(name)])
    else:
        raise Unfit


def _unpack(lowering: FunctionLowering, target: ptx.Vector, source: ptx.Operand) -> None:
    count = len(target.elements)
    known = [element.bits for element in target.elements if isinstance(element, ptx.Register)]
    if not known or (known[0] * count, count) not in _PACKS:
        raise Unfit
    results = [lowering.result(element, _TYPE_OF_BITS[known[0]]) for element in target.elements]
    whole = lowering.source(source, _TYPE_OF_BITS[known[0] * count])
    lowering.emit("mov.unpack" + _PACKS[known[0] * count, count], results, [whole])


def cvta(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """Global, constant and parameter addresses are generic ones already; shared and local ones are offsets."""
    parts = instruction.opcode.split(".")[1:]
    to = parts[:1] == ["to"]
    space = parts[to].partition("::")[0] if len(parts) > 1 + to else ""
    if len(instruction.operands) != 2 or parts[-1:] != ["u64"]:
        raise Unfit
    target, pointer = instruction.operands
    result = lowering.result(target, DOUBLE)
    if isinstance(pointer, ptx.Address) and isinstance(pointer.base, ptx.Symbol):
        source = lowering.symbol(pointer.base.variable, pointer.offset, R64)
    else:
        source = lowering.source(pointer, DOUBLE)
    if space in ("shared", "local"):
        lowering.emit(f"cvta.{'to.' if to else ''}{space}.b64", [result], [source])
    elif space in ("global", "const", "param"):
        lowering.copy(result, source)
    else:
        raise Unfit


def cvt(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    opcode, operands = instruction.opcode, instruction.operands
    parts = opcode.split(".")
    if len(parts) < 3 or len(operands) < 2:
        raise Unfit
    to, source_type = parts[-2], parts[-1]
    to_bits, from_bits = ptx.TYPE_BITS.get(to, 0), ptx.TYPE_BITS.get(source_type, 0)
    target = operands[0]
    if not isinstance(target, ptx.Register) or not to_bits or not from_bits or to_bits > 64 or from_bits > 64:
        raise Unfit
    floats = source_type[0] not in "usb"
    if floats:
        kind = operand_type(source_type)
        sources = [lowering.source(operand, kind or WORD) for operand in operands[1:]]
    else:
        sources = [lowering.narrow(operand, from_bits) for operand in operands[1:]]
    result = lowering.operands[target.number]
    if _is_copy(parts[1:-2], to, source_type, target, operands):
        lowering.copy(result, sources[0])
        return
    held = 16 if to_bits <= 16 and target.bits != 8 else to_bits
    if target.bits < held:
        raise Unfit
    if target.bits == held or (target.bits == 32 and to[0] != "s"):
        lowering.emit(opcode, [result], sources)
        return
    _widened(lowering, opcode, to, target, sources)


def _is_copy(
    modifiers: list[str], to: str, source_type: str, target: ptx.Register, operands: list[ptx.Operand]
) -> bool:
    """Whether an integer conversion changes no bit of the slot: same width, or 16 bits into a wider register."""
    source = operands[1]
    if modifiers or len(operands) != 2 or to[0] not in "usb" or source_type[0] not in "usb":
        return False
    if not isinstance(source, ptx.Register) or (source.bits > 32 and target.bits != source.bits):
        return False
    to_bits, from_bits = ptx.TYPE_BITS[to], ptx.TYPE_BITS[source_type]
    if to_bits == from_bits == target.bits == source.bits:
        return True
    return source_type == "u16" and source.bits == 16 and to_bits == target.bits == 32


def _widened(lowering: FunctionLowering, opcode: str, to: str, target: ptx.Register, sources: list[int]) -> None:
    """A result in a register wider than its type: extended by the type's sign."""
    narrow = lowering.temporary(R32)
    lowering.emit(opcode, [narrow], sources)
    sign = to[0] == "s"
    if target.bits == 64 and sign and to != "s32":
        wider = lowering.temporary(R32)
        lowering.emit(f"cvt.s32.{to}", [wider], [narrow])
        narrow = wider
    name = f"cvt.s32.{to}" if target.bits == 32 else "cvt.s64.s32" if sign else "cvt.u64.u32"
    lowering.emit(name, [lowering.operands[target.number]], [narrow])
