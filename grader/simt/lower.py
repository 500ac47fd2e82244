"""PTX to the lowered program that the software GPU executes.

Text is read (`ptx_reader`), each function becomes operations on virtual registers (`lower_function` and its
families), is cut into ordered blocks (`cfg`), rid of copies (`propagate`), given masks where a register may be
uninitialised (`track`) and slots (`liveness`).
"""

from __future__ import annotations

from grader.simt import lower_control, lower_memory, lower_moves, ptx
from grader.simt.cfg import CodeBlock, build_blocks, simplify
from grader.simt.code import REGISTER_KINDS, Op
from grader.simt.dataflow import Flow
from grader.simt.liveness import Slots, allocate
from grader.simt.lower_function import FunctionLowering, Unfit
from grader.simt.lower_layout import Layout
from grader.simt.lower_plans import Plan, plan_for
from grader.simt.lower_sites import Sites
from grader.simt.lower_variables import program_variables
from grader.simt.program import (
    CONSTANT32, CONSTANT64, ENTRY, INDEX_MASK, KIND_SHIFT, NO_BLOCK, NONE, Block, Function, Instruction, Program,
    Special,
)  # fmt: skip
from grader.simt.propagate import drop_unused, propagate_copies
from grader.simt.ptx_reader import read_ptx
from grader.simt.track import insert_tracking

_HANDLERS = {
    "mov": lower_moves.mov,
    "cvt": lower_moves.cvt,
    "cvta": lower_moves.cvta,
    "ld": lower_memory.ld,
    "ldu": lower_memory.ld,
    "st": lower_memory.st,
    "atom": lower_memory.atom,
    "red": lower_memory.atom,
    "prefetch": lower_memory.prefetch,
    "prefetchu": lower_memory.prefetch,
    "bra": lower_control.bra,
    "brx": lower_control.brx,
    "ret": lower_control.leave,
    "exit": lower_control.leave,
    "trap": lower_control.leave,
    "call": lower_control.call,
}


def lower(ptx_text: str, source_name: str) -> Program:
    """Lowers a PTX text from nvcc. `source_name` is the learner's file, whose lines the sites name.

    Raises PtxError, with the line, for a text that cannot be read. An instruction that is read but not known
    becomes the operation `unsupported`, with the instruction's text, so that a kernel fails only if it gets there.
    """
    module = read_ptx(ptx_text)
    return _ModuleLowering(module, ptx_text, source_name).program()


class _ModuleLowering:
    def __init__(self, module: ptx.Module, text: str, source_name: str) -> None:
        self.module = module
        self.text = text
        self.layout = Layout(module)
        self.sites = Sites(module, source_name)
        self.names: dict[str, int] = {}
        self.plans: dict[str, Plan | None] = {}

    def program(self) -> Program:
        variables = program_variables(self.layout)
        functions = [self.function(function) for function in self.layout.defined]
        return Program(self.module.target, list(self.names), self.sites.sites, variables, functions)

    def intern(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def function(self, function: ptx.Function) -> Function:
        lowering = FunctionLowering(function, self.layout, self.plans)
        lower_control.place_arguments(lowering)
        starts = [self.select(lowering, instruction) for instruction in lowering.body.instructions]
        starts.append(len(lowering.code.ops))
        ops = _variable_addresses(lowering) + lowering.code.ops
        shift = len(lowering.variable_values)
        if not ops:
            ops = [Op("ret", [], [], 0, 0, 0, function.line, effect=True)]
        blocks = build_blocks(ops, [start + shift for start in starts])
        blocks, masks = self.optimise(blocks, lowering)
        code = lowering.code
        entry = set(code.specials.values()) | set(masks)
        return self.emit(lowering, blocks, allocate(blocks, code, entry))

    def select(self, lowering: FunctionLowering, instruction: ptx.Instruction) -> int:
        """Lowers one instruction; returns the number of its first operation."""
        code = lowering.code
        start = len(code.ops)
        guard = instruction.guard
        lowering.guard = 0 if guard is None else 1 + 2 * guard.number + instruction.negated
        lowering.site = self.sites.number(instruction.location, code.name)
        lowering.line = instruction.line
        opcode = instruction.opcode
        if opcode not in self.plans:
            self.plans[opcode] = plan_for(opcode)
        plan = self.plans[opcode]
        try:
            if plan is not None:
                lowering.regular(plan, instruction.operands)
            else:
                handler = _HANDLERS.get(opcode.partition(".")[0])
                if handler is None:
                    raise Unfit
                handler(lowering, instruction.operands, opcode)
        except Unfit:
            del code.ops[start:]
            self.unsupported(lowering, instruction)
        return start

    def unsupported(self, lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
        """An operation with the instruction's text; what would be its results count as written."""
        first = instruction.operands[0] if instruction.operands else None
        parts = first.elements if isinstance(first, ptx.Vector) else (first,)
        results = [lowering.operands[part.number] for part in parts if isinstance(part, ptx.Register)]
        text = self.text.split("\n")[instruction.line - 1].strip()
        lowering.emit("unsupported", results, [], self.intern(text), effect=True)

    def optimise(self, blocks: list[CodeBlock], lowering: FunctionLowering) -> tuple[list[CodeBlock], list[int]]:
        """Copies, unused results and empty blocks go, masks for uninitialised registers come."""
        code = lowering.code
        entry = set(code.specials.values())
        flow = Flow(blocks, entry)
        unsafe = {value for bits in flow.maybe_unassigned() for value in flow.members(bits)}
        propagate_copies(blocks, code, unsafe)
        drop_unused(blocks)
        if not all(block.ops for block in blocks):
            blocks = simplify(blocks)
        if not unsafe:
            return blocks, []
        flow = Flow(blocks, entry)
        return blocks, insert_tracking(blocks, code, flow, self.intern, lowering.harmless_stores)

    def emit(self, lowering: FunctionLowering, blocks: list[CodeBlock], slots: Slots) -> Function:
        code = lowering.code
        emitter = _Emitter(slots, list(code.constants32), list(code.constants64))
        made_blocks: list[Block] = []
        instructions: list[Instruction] = []
        for block in blocks:
            following = NO_BLOCK if block.next < 0 else block.next
            made_blocks.append(Block(len(instructions), len(block.ops), following))
            instructions += [emitter.instruction(op, self.intern(op.name)) for op in block.ops]
        specials = [Special(name, slots.slot[value]) for name, value in code.specials.items() if value in slots.slot]
        return Function(
            code.name, ENTRY if lowering.function.entry else 0, slots.n32, slots.n64, slots.npred,
            lowering.parameter_bytes, lowering.parameters, lowering.shared.end, lowering.shared.variables,
            lowering.local_bytes, lowering.result_bytes, lowering.argument_bytes, lowering.returned_bytes,
            emitter.constants32, emitter.constants64, specials, made_blocks, instructions,
        )  # fmt: skip


def _variable_addresses(lowering: FunctionLowering) -> list[Op]:
    """The addresses of variables that instructions name directly, taken once where the function begins."""
    line = lowering.function.line
    site = lowering.code.ops[0].site if lowering.code.ops else 0
    return [
        Op("mov.variable", [value], [], index, 0, site, line) for index, value in lowering.variable_values.items()
    ]

class _Emitter:
    """Operations to instructions: values become slots, constants that are left are numbered anew."""

    def __init__(self, slots: Slots, constants32: list[int], constants64: list[int]) -> None:
        self.slots = slots
        self.pools = {CONSTANT32: constants32, CONSTANT64: constants64}
        self.kept: dict[int, dict[int, int]] = {CONSTANT32: {}, CONSTANT64: {}}

    @property
    def constants32(self) -> list[int]:
        return list(self.kept[CONSTANT32])

    @property
    def constants64(self) -> list[int]:
        return list(self.kept[CONSTANT64])

    def constant(self, kind: int, value: int) -> int:
        kept = self.kept[kind]
        return kind << KIND_SHIFT | kept.setdefault(value, len(kept))

    def operand(self, operand: int) -> int:
        kind, index = operand >> KIND_SHIFT, operand & INDEX_MASK
        if kind in REGISTER_KINDS:
            return kind << KIND_SHIFT | self.slots.slot[index]
        if kind in self.pools:
            return self.constant(kind, self.pools[kind][index])
        return operand

    def instruction(self, op: Op, number: int) -> Instruction:
        operands = [self.operand(operand) for operand in (*op.results, *op.sources)]
        guard = op.guard
        if guard:
            guard = 1 + 2 * self.slots.slot[(guard - 1) >> 1] + ((guard - 1) & 1)
        immediate = op.immediate
        if op.name == "bra":
            immediate = op.targets[0]
        elif op.name == "brx":
            operands += [self.constant(CONSTANT32, target) for target in op.targets]
        elif op.name == "unsupported":
            operands = []
        return Instruction(number, op.site, guard, operands, immediate)


__all__ = ["NONE", "lower"]
