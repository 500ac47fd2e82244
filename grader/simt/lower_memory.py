"""Loads, stores, atomics and prefetches."""

from __future__ import annotations

from dataclasses import dataclass

from grader.simt import ptx
from grader.simt.lower_function import FunctionLowering, Unfit
from grader.simt.lower_plans import operand_type
from grader.simt.program import R32, R64, SINK

_SPACES = frozenset(["global", "shared", "local", "const", "param"])
_ORDERS = frozenset(["weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"])
_SCOPES = frozenset(["cta", "cluster", "gpu", "sys"])
_VECTORS = frozenset(["v2", "v4", "v8"])
_ATOMICS = frozenset(["add", "and", "or", "xor", "min", "max", "inc", "dec", "exch", "cas"])
_SIGN_FREE_ATOMICS = frozenset(["add", "and", "or", "xor", "exch", "cas"])


@dataclass(frozen=True, slots=True)
class Access:
    """The parts of a memory opcode that matter: `order` is "volatile.", "acquire.gpu." or empty."""

    space: str
    kind: str
    order: str
    vector: int
    read_only: bool
    operation: str
    no_flush: bool


def access(opcode: str) -> Access | None:
    """Takes an opcode apart; cache operators, eviction hints and prefetch sizes say nothing here."""
    parts = opcode.split(".")[1:]
    if not parts or parts[-1] not in ptx.TYPE_BITS:
        return None
    space, order, scope, operation, vector = "generic", "", "", "", 1
    for part in parts[:-1]:
        plain = part.partition("::")[0]
        if plain in _SPACES:
            space = plain
        elif part in _ORDERS:
            order = part
        elif part in _SCOPES:
            scope = part
        elif part in _VECTORS:
            vector = int(part[1:])
        elif part in _ATOMICS:
            operation = part
    if scope and not order:
        order = "relaxed"
    ordered = "" if order in ("", "weak") or (operation and (order, scope) == ("relaxed", "gpu")) else f"{order}."
    if ordered and scope:
        ordered += f"{scope}."
    return Access(space, parts[-1], ordered, vector, "nc" in parts, operation, "noftz" in parts)


def memory_kind(kind: str) -> str:
    """The type in a load's or store's name: sign and meaning do not matter but for loads shorter than a register."""
    bits = ptx.TYPE_BITS[kind]
    if bits >= 32:
        return f"b{bits}"
    return f"s{bits}" if kind[0] == "s" else f"u{bits}"


def ld(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    parsed, operands = access(instruction.opcode), instruction.operands
    if parsed is None or len(operands) != 2 or not isinstance(operands[1], ptx.Address) or operands[1].coordinates:
        raise Unfit
    targets = list(operands[0].elements) if isinstance(operands[0], ptx.Vector) else [operands[0]]
    if len(targets) != parsed.vector or parsed.kind == "b128" or parsed.vector == 8:
        raise Unfit
    results: list[int] = []
    extensions: list[tuple[str, int, int]] = []
    kind = memory_kind(parsed.kind)
    for target in targets:
        result, extension = _loaded(lowering, target, kind, parsed.kind)
        results.append(result)
        extensions += extension
    suffix = f".v{parsed.vector}" if parsed.vector > 1 else ""
    if all(isinstance(target, ptx.Register) and target.bits == 16 for target in targets) and kind == "s16":
        kind = "u16"
    space = f"{parsed.order}{parsed.space}{'.nc' if parsed.read_only else ''}"
    name, sources, offset = _address(lowering, operands[1], "ld", space, parsed.space)
    lowering.emit(f"{name}.{kind}{suffix}", results, sources, offset, effect=parsed.space != "param")
    for name, wide, narrow in extensions:
        lowering.emit(name, [wide], [narrow])


def _loaded(
    lowering: FunctionLowering, target: ptx.Operand, kind: str, ptx_kind: str
) -> tuple[int, list[tuple[str, int, int]]]:
    """Where a load writes, and the conversion that follows where the register is wider than the type."""
    if isinstance(target, ptx.Sink):
        return SINK, []
    if not isinstance(target, ptx.Register):
        raise Unfit
    bits, result = int(kind[1:]), lowering.operands[target.number]
    if target.bits < bits or target.bits not in (16, 32, 64):
        raise Unfit
    if bits == 64 or target.bits == 32 or (target.bits == 16 and kind != "s8"):
        return result, []
    narrow = lowering.temporary(R32)
    if target.bits == 16:
        return narrow, [("cvt.u16.u32", result, narrow)]
    return narrow, [("cvt.s64.s32" if ptx_kind[0] == "s" else "cvt.u64.u32", result, narrow)]


def st(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    parsed, operands = access(instruction.opcode), instruction.operands
    if parsed is None or len(operands) != 2 or not isinstance(operands[0], ptx.Address) or operands[0].coordinates:
        raise Unfit
    values = list(operands[1].elements) if isinstance(operands[1], ptx.Vector) else [operands[1]]
    if len(values) != parsed.vector or parsed.kind == "b128" or parsed.vector == 8:
        raise Unfit
    stored = [_stored(lowering, value, parsed.kind) for value in values]
    kind = memory_kind(parsed.kind).replace("s", "u")
    suffix = f".v{parsed.vector}" if parsed.vector > 1 else ""
    name, sources, offset = _address(lowering, operands[0], "st", f"{parsed.order}{parsed.space}", parsed.space)
    op = lowering.emit(f"{name}.{kind}{suffix}", [], sources + stored, offset, effect=True)
    base = operands[0].base
    if parsed.space == "param" and isinstance(base, ptx.Symbol):
        # A structure passed or returned by value may have members that nobody assigned and nobody reads.
        op.takes_undefined = name == "st.result" or base.variable.count != 1


def _stored(lowering: FunctionLowering, value: ptx.Operand, kind: str) -> int:
    bits = ptx.TYPE_BITS[kind]
    if isinstance(value, ptx.Immediate) and value.kind != "int":
        typed = operand_type(kind)
        if typed is None:
            raise Unfit
        return lowering.constant(value, typed)
    return lowering.narrow(value, bits)


def _address(
    lowering: FunctionLowering, address: ptx.Address, verb: str, spelled: str, space: str
) -> tuple[str, list[int], int]:
    """The name without its type, the address operand (none in a block at a fixed offset), and the byte offset."""
    base = address.base
    if space == "param" and isinstance(base, ptx.Symbol):
        return _parameter(lowering, base.variable, verb), [], lowering.offsets[id(base.variable)] + address.offset
    if space == "param":
        if verb != "ld":
            raise Unfit
        return "ld.param.indexed", [_register_address(lowering, base, space)], address.offset
    if isinstance(base, ptx.Symbol):
        variable = base.variable
        if variable.space != space and (space != "generic" or variable.space not in ("global", "const")):
            raise Unfit
        value = lowering.symbol(variable, 0, R32 if variable.space == "shared" else R64)
        return f"{verb}.{spelled}", [value], address.offset
    return f"{verb}.{spelled}", [_register_address(lowering, base, space)], address.offset


def _parameter(lowering: FunctionLowering, variable: ptx.Variable, verb: str) -> str:
    """Name of the access, by the block in which a parameter lies: this function's own, or that of a call it makes."""
    names = {
        ("own", "ld"): "ld.param",
        ("result", "st"): "st.result",
        ("argument", "st"): "st.argument",
        ("returned", "ld"): "ld.result",
    }
    name = names.get((lowering.parameter_blocks.get(id(variable), ""), verb))
    if name is None:
        raise Unfit
    return name


def _register_address(lowering: FunctionLowering, base: ptx.Operand, space: str) -> int:
    if isinstance(base, ptx.Immediate):
        if base.kind != "int":
            raise Unfit
        return lowering.code.constant32(base.value) if space == "shared" else lowering.code.constant64(base.value)
    if not isinstance(base, ptx.Register) or base.bits not in (32, 64):
        raise Unfit
    if base.bits == 32 and space != "shared":
        raise Unfit
    return lowering.operands[base.number]


def atom(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """`atom.add.global.b32 d, [a], b[, c]` and `red`, which has no result; of a vector each element by itself."""
    parsed, operands = access(instruction.opcode), instruction.operands
    reduces = instruction.opcode.startswith("red.")
    if parsed is None or not parsed.operation or parsed.space in ("param", "const", "local"):
        raise Unfit
    kind = operand_type(parsed.kind)
    if kind is None or parsed.kind in ("b8", "u8", "s8"):
        raise Unfit
    rest = operands if reduces else operands[1:]
    if not rest or not isinstance(rest[0], ptx.Address) or len(rest) != (3 if parsed.operation == "cas" else 2):
        raise Unfit
    elements = list(
        zip(*(_elements(operand, parsed.vector) for operand in (*operands[: not reduces], *rest[1:])), strict=True)
    )
    spelled = parsed.kind
    if parsed.operation in _SIGN_FREE_ATOMICS and spelled[0] in "us":
        spelled = f"b{spelled[1:]}"
    operation = f"{parsed.operation}{'.noftz' if parsed.no_flush else ''}"
    verb = f"{'red' if reduces else 'atom'}.{parsed.order}{operation}"
    name, address, offset = _address(lowering, rest[0], verb, parsed.space, parsed.space)
    for number, element in enumerate(elements):
        results = [] if reduces else [lowering.result(element[0], kind)]
        values = [lowering.source(operand, kind) for operand in element[not reduces :]]
        place = offset + number * ptx.TYPE_BITS[parsed.kind] // 8
        lowering.emit(f"{name}.{spelled}", results, address + values, place, effect=True)


def _elements(operand: ptx.Operand, count: int) -> list[ptx.Operand]:
    elements: list[ptx.Operand] = [operand]
    if isinstance(operand, ptx.Vector):
        elements = list(operand.elements)
    if len(elements) != count:
        raise Unfit
    return elements
