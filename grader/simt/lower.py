"""PTX to the lowered program that the software GPU executes.

Text is read (`ptx_reader`), each function becomes operations on virtual registers (`lower_select`), is cut into
ordered blocks (`cfg`), rid of copies (`propagate`), given masks where a register may be uninitialised (`track`), the
widths of loads and stores as compiled (`merging`) and slots (`liveness`).
"""

from __future__ import annotations

from grader.simt import ptx
from grader.simt.cfg import CodeBlock, build_blocks, simplify
from grader.simt.code import REGISTER_KINDS, Code, Op
from grader.simt.dataflow import Flow, Tangled
from grader.simt.liveness import Slots, allocate
from grader.simt.lower_function import FunctionLowering
from grader.simt.lower_layout import Layout
from grader.simt.lower_select import Module, select_operations
from grader.simt.lower_sites import Sites
from grader.simt.lower_variables import program_variables
from grader.simt.merging import Compiled, mark_merged
from grader.simt.program import (
    CONSTANT32,
    CONSTANT64,
    ENTRY,
    INDEX_MASK,
    KIND_SHIFT,
    NO_BLOCK,
    Block,
    Function,
    Instruction,
    Program,
    Special,
)
from grader.simt.propagate import COPIES, drop_unused, propagate_copies
from grader.simt.ptx_reader import read_ptx
from grader.simt.swap_loops import relax_first_loads
from grader.simt.track import insert_tracking
from grader.simt.undefined import mark_speculative_loads, may_miss


def lower(ptx_text: str, source_name: str, compiled: Compiled | None = None) -> Program:
    """Lowers a PTX text from nvcc. `source_name` is the learner's file, whose lines the sites name; `compiled` is what
    the cubin made of the same text holds of loads and stores, so that they can be counted as compiled too.

    Raises PtxError, with the line, for a text that cannot be read. An instruction that is read but not known
    becomes the operation `unsupported`, with the instruction's text, so that a kernel fails only if it gets there.
    """
    return _ModuleLowering(read_ptx(ptx_text), ptx_text, source_name, compiled or {}).program()


class _ModuleLowering:
    def __init__(self, module: ptx.Module, text: str, source_name: str, compiled: Compiled) -> None:
        self.compiled = compiled
        self.target = module.target
        self.names: dict[str, int] = {}
        self.module = Module(Layout(module), Sites(module, source_name), text.split("\n"), self.intern, {})

    def program(self) -> Program:
        layout = self.module.layout
        variables = program_variables(layout)
        functions = [self.function(function) for function in layout.defined]
        return Program(self.target, list(self.names), self.module.sites.sites, variables, functions)

    def intern(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def function(self, function: ptx.Function) -> Function:
        lowering, ops, starts = select_operations(function, self.module)
        code = lowering.code
        try:
            blocks, masks = self.optimise(build_blocks(ops, starts), code)
            if self.compiled:
                mark_merged(blocks, code, self.compiled)
            slots = allocate(blocks, code, set(code.specials.values()) | set(masks))
        except Tangled:
            reason = "the jumps of this function are too tangled to follow"
            raise ptx.PtxError(function.line, self.module.text[function.line - 1].strip(), reason) from None
        return self.emit(lowering, blocks, slots)

    def optimise(self, blocks: list[CodeBlock], code: Code) -> tuple[list[CodeBlock], list[int]]:
        """Copies, unused results and empty blocks go, masks for uninitialised registers come."""
        entry = set(code.specials.values())
        flow = Flow(blocks, entry)
        unsafe = {value for bits in flow.maybe_unassigned() for value in flow.members(bits)}
        propagate_copies(blocks, code, unsafe)
        drop_unused(blocks)
        if not all(block.ops for block in blocks):
            blocks = simplify(blocks)
        relax_first_loads(blocks)
        mark_speculative_loads(blocks)
        follow = unsafe or any(may_miss(op) for block in blocks for op in block.ops)
        return blocks, insert_tracking(blocks, code, Flow(blocks, entry), self.intern) if follow else []

    def emit(self, lowering: FunctionLowering, blocks: list[CodeBlock], slots: Slots) -> Function:
        code = lowering.code
        emitter = _Emitter(slots, code)
        made_blocks: list[Block] = []
        instructions: list[Instruction] = []
        for block in blocks:
            following = NO_BLOCK if block.next < 0 else block.next
            kept = [op for op in block.ops if not emitter.is_in_place(op)] or block.ops
            made_blocks.append(Block(len(instructions), len(kept), following))
            instructions += [emitter.instruction(op, self.intern(op.name)) for op in kept]
        return Function(
            name=code.name,
            flags=ENTRY if lowering.function.entry else 0,
            n32=slots.n32,
            n64=slots.n64,
            npred=slots.npred,
            parameter_bytes=lowering.parameter_bytes,
            parameters=lowering.parameters,
            shared_bytes=lowering.shared.end,
            shared=lowering.shared.variables,
            local_bytes=lowering.local_bytes,
            result_bytes=lowering.result_bytes,
            argument_bytes=lowering.argument_bytes,
            returned_bytes=lowering.returned_bytes,
            constants32=emitter.constants(CONSTANT32),
            constants64=emitter.constants(CONSTANT64),
            specials=[Special(name, slots.slot[value]) for name, value in code.specials.items() if value in slots.slot],
            blocks=made_blocks,
            instructions=instructions,
        )


class _Emitter:
    """Operations to instructions: values become slots, constants that are left are numbered anew."""

    def __init__(self, slots: Slots, code: Code) -> None:
        self.slots = slots
        self.pools = {CONSTANT32: list(code.constants32), CONSTANT64: list(code.constants64)}
        self.kept: dict[int, dict[int, int]] = {CONSTANT32: {}, CONSTANT64: {}}

    def constants(self, kind: int) -> list[int]:
        return list(self.kept[kind])

    def is_in_place(self, op: Op) -> bool:
        """Whether the operation is a copy from a slot to itself."""
        return op.name in COPIES and self.operand(op.results[0]) == self.operand(op.sources[0])

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
        operands = [] if op.name == "unsupported" else [self.operand(item) for item in (*op.results, *op.sources)]
        guard = op.guard
        if guard:
            guard = 1 + 2 * self.slots.slot[(guard - 1) >> 1] + ((guard - 1) & 1)
        immediate = op.immediate
        if op.name == "bra":
            immediate = op.targets[0]
        elif op.name == "brx":
            operands += [self.constant(CONSTANT32, target) for target in op.targets]
        return Instruction(number, op.site, guard, operands, immediate, op.compiled)
