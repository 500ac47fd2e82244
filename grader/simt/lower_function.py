"""One PTX function to operations on virtual registers: what all instructions share, and the regular ones."""

from __future__ import annotations

import struct

from grader.simt import ptx
from grader.simt.code import Code, Op
from grader.simt.lower_layout import Layout, SharedLayout, block_layout, is_dynamic
from grader.simt.lower_plans import DOUBLE, FLAG, FLOAT16, FLOAT32, FLOAT64, HALF, MAYBE, WORD, Plan
from grader.simt.program import FALSE, KIND_SHIFT, NOT_PREDICATE, PREDICATE, R32, R64, SINK, TRUE

BITS = {HALF: 16, FLOAT16: 16, WORD: 32, FLOAT32: 32, DOUBLE: 64, FLOAT64: 64, FLAG: 1}
_KIND_OF_BITS = {1: PREDICATE, 8: R32, 16: R32, 32: R32, 64: R64, 128: R64}


class Unfit(Exception):
    """The operands are none that the operation takes: the instruction becomes `unsupported`."""


class FunctionLowering:
    """Turns instructions into `code.ops`, in the order of the text."""

    def __init__(self, function: ptx.Function, layout: Layout) -> None:
        assert function.body is not None
        self.function = function
        self.body = function.body
        self.layout = layout
        self.code = Code(function.name)
        self.code.kinds = [_KIND_OF_BITS[register.bits] for register in self.body.registers]
        self.code.names = [register.name for register in self.body.registers]
        self.operands = [kind << KIND_SHIFT | number for number, kind in enumerate(self.code.kinds)]
        self.shared: SharedLayout = layout.shared(function)
        self.parameters, self.parameter_bytes = block_layout(function.parameters)
        self.results, self.result_bytes = block_layout(function.results)
        self.offsets: dict[int, int] = {}  # id of a parameter, result or local variable -> offset in its block
        for variables, places in ((function.parameters, self.parameters), (function.results, self.results)):
            self.offsets.update((id(item), place.offset) for item, place in zip(variables, places, strict=True))
        local = [item for item in self.body.variables if item.space == "local"]
        places, self.local_bytes = block_layout(local)
        self.offsets.update((id(item), place.offset) for item, place in zip(local, places, strict=True))
        self.variable_values: dict[int, int] = {}  # variable index -> value that holds its address
        self.parameter_blocks: dict[int, str] = {}  # id of a .param variable -> own, result, argument, returned
        self.argument_bytes = 0
        self.returned_bytes = 0
        self.carry: int | None = None
        self.guard = 0
        self.site = 0
        self.line = function.line

    # Operations

    def emit(
        self,
        name: str,
        results: list[int],
        sources: list[int],
        immediate: int = 0,
        *,
        effect: bool = False,
        waits: bool = False,
    ) -> Op:
        op = Op(name, results, sources, immediate, self.guard, self.site, self.line, effect, waits)
        self.code.ops.append(op)
        return op

    def copy(self, result: int, source: int) -> None:
        """`result = source`, both of the same class."""
        kind = result >> KIND_SHIFT
        self.emit({R32: "mov.b32", R64: "mov.b64", PREDICATE: "mov.pred"}[kind], [result], [source])

    def temporary(self, kind: int) -> int:
        return self.code.new_value(kind, "a temporary")

    def regular(self, plan: Plan, operands: list[ptx.Operand]) -> None:
        """An instruction whose operands are its results and then its sources."""
        results: list[int] = []
        rest = operands
        if plan.results:
            if not operands:
                raise Unfit
            first, *rest = operands
            if isinstance(first, ptx.Pair):
                if len(plan.results) != 2:
                    raise Unfit
                results = [self.result(first.first, plan.results[0]), self.result(first.second, plan.results[1][0])]
            else:
                results = [self.result(first, plan.results[0])]
                results += [SINK] * (len(plan.results) - 1)
        if plan.carry_out:
            results.append(self.carry_value())
        sources = self.sources(rest, plan.sources)
        if plan.carry_in:
            sources.append(self.carry_value())
        self.emit(plan.name, results, sources, effect=plan.effect, waits=plan.waits)

    def sources(self, operands: list[ptx.Operand], types: tuple[str, ...]) -> list[int]:
        """Operands by type; where one of the types is optional, its operand may be missing."""
        if len(operands) == len(types):
            return [self.source(operand, kind[0]) for operand, kind in zip(operands, types, strict=True)]
        optional = [position for position, kind in enumerate(types) if kind.endswith(MAYBE)]
        if len(operands) != len(types) - 1 or not optional:
            raise Unfit
        kept = [kind for kind in types if not kind.endswith(MAYBE)]
        made = [self.source(operand, kind) for operand, kind in zip(operands, kept, strict=True)]
        made.insert(optional[0], SINK)
        return made

    def carry_value(self) -> int:
        """The condition code, which PTX has one of."""
        if self.carry is None:
            self.carry = self.code.new_value(PREDICATE, "the carry flag")
        return self.carry

    # Operands

    def result(self, operand: ptx.Operand, kind: str) -> int:
        if isinstance(operand, ptx.Register):
            if operand.bits != BITS[kind]:
                raise Unfit
            return self.operands[operand.number]
        if isinstance(operand, ptx.Sink):
            return SINK
        raise Unfit

    def source(self, operand: ptx.Operand, kind: str) -> int:
        if isinstance(operand, ptx.Register):
            if operand.bits != BITS[kind]:
                raise Unfit
            return self.operands[operand.number]
        if isinstance(operand, ptx.Immediate):
            return self.constant(operand, kind)
        if isinstance(operand, ptx.Not) and kind == FLAG and operand.register.bits == 1:
            return NOT_PREDICATE << KIND_SHIFT | operand.register.number
        if isinstance(operand, ptx.Special) and kind == WORD and operand.name in READY_SPECIALS:
            return self.code.special(operand.name)
        if isinstance(operand, ptx.Symbol) and kind in (WORD, DOUBLE):
            return self.symbol(operand.variable, 0, R64 if kind == DOUBLE else R32)
        raise Unfit

    def constant(self, number: ptx.Immediate, kind: str) -> int:
        value = number.value
        if kind == FLAG:
            if number.kind != "int":
                raise Unfit
            return TRUE if value else FALSE
        if kind in (FLOAT16, FLOAT32, FLOAT64):
            value = _float_bits(number, BITS[kind])
        elif number.kind != "int" and BITS[kind] != int(number.kind[1:]):
            raise Unfit
        if BITS[kind] == 64:
            return self.code.constant64(value)
        return self.code.constant32(value & 0xFFFF if BITS[kind] == 16 else value)

    def symbol(self, variable: ptx.Variable, offset: int, kind: int) -> int:
        """The address of a variable in its own space, as a constant or as a value of class `kind`."""
        space = variable.space
        if space == "shared":
            if self.function.entry or not is_dynamic(variable):
                place = self.shared.offsets[id(variable)] + offset
                return self.code.constant64(place) if kind == R64 else self.code.constant32(place)
            start = self.code.special("dynamic_shared")
            if kind == R64:
                wide = self.temporary(R64)
                self.emit("cvt.u64.u32", [wide], [start])
                return self.plus(wide, offset)
            return self.plus(start, offset)
        if kind != R64:
            raise Unfit
        if space in ("global", "const"):
            return self.plus(self.variable_address(variable), offset)
        if id(variable) not in self.offsets:
            raise Unfit
        made = self.temporary(R64)
        name = "mov.local" if space == "local" else "mov.param"
        self.emit(name, [made], [], self.offsets[id(variable)] + offset)
        return made

    def plus(self, address: int, offset: int) -> int:
        """The sum of address and offset, in a fresh value unless offset is 0."""
        if not offset:
            return address
        kind = address >> KIND_SHIFT
        made = self.temporary(kind)
        constant = self.code.constant64(offset) if kind == R64 else self.code.constant32(offset)
        self.emit("add.b64" if kind == R64 else "add.b32", [made], [address, constant])
        return made

    def variable_address(self, variable: ptx.Variable) -> int:
        """The value that holds the address of a variable in memory; it is set once, before everything else."""
        index = self.layout.variable_index[id(variable)]
        if index not in self.variable_values:
            self.variable_values[index] = self.code.new_value(R64, variable.name)
        return self.variable_values[index]

    def narrow(self, operand: ptx.Operand, bits: int) -> int:
        """A source that may lie in a wider register than its type has bits: PTX takes the lower ones."""
        if isinstance(operand, ptx.Register) and operand.bits > bits:
            if operand.bits == 64:
                made = self.temporary(R32)
                self.emit("cvt.u32.u64", [made], [self.operands[operand.number]])
                return made
            if operand.bits == 32:
                return self.operands[operand.number]
            if operand.bits != 16 or bits != 8:
                raise Unfit
            return self.operands[operand.number]
        kind = {8: HALF, 16: HALF, 32: WORD, 64: DOUBLE}.get(bits)
        if kind is None:
            raise Unfit
        return self.source(operand, kind)


# Those that a slot holds before the first instruction.
READY_SPECIALS = frozenset(
    [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
    + [f"lanemask_{relation}" for relation in ("eq", "le", "lt", "ge", "gt")]
    + ["laneid", "warpid", "nwarpid", "smid", "nsmid", "total_smem_size", "dynamic_smem_size", "envreg1", "envreg2"]
)
CHANGING_SPECIALS = frozenset(
    ["clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi"]
    + [f"pm{number}" for number in range(8)]
    + [f"pm{number}_64" for number in range(8)]
)


def _float_bits(number: ptx.Immediate, bits: int) -> int:
    """The literal as a float of that many bits; a literal of the wrong precision is converted."""
    if number.kind == "int":
        raise Unfit
    if number.kind == f"f{bits}":
        return number.value
    width = int(number.kind[1:])
    value: float = struct.unpack("<f" if width == 32 else "<d", number.value.to_bytes(width // 8, "little"))[0]
    try:
        packed = struct.pack({16: "<e", 32: "<f", 64: "<d"}[bits], value)
    except OverflowError:
        raise Unfit from None
    return int.from_bytes(packed, "little")
