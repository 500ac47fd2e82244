"""Is a lowered program well formed? Every index is in range, blocks tile the instructions, jumps land on blocks."""

from __future__ import annotations

from grader.simt import program as form
from grader.simt.program import Block, Function, Instruction, Program, ProgramError

TERMINATORS = frozenset({"bra", "brx", "ret", "exit", "trap"})
_WIDTHS = frozenset({0, 1, 2, 4, 8, 16, form.UNKNOWN_WIDTH})
_IMMEDIATE_IS_NAME = frozenset({"unsupported", "track.check", "track.store"})


def check(program: Program) -> None:
    """Raises ProgramError, whose sentence names the function and instruction that do not fit."""
    if not program.sites:
        raise ProgramError("site 0, the unknown one, is missing")
    _check_variables(program)
    names = [function.name for function in program.functions]
    if len(set(names)) != len(names):
        raise ProgramError("two functions have the same name")
    for function in program.functions:
        _FunctionCheck(program, function).run()


def _check_variables(program: Program) -> None:
    for variable in program.variables:
        if variable.space not in (form.GLOBAL, form.CONST) or not _is_power_of_two(variable.align):
            raise ProgramError(f"variable {variable.name} has no valid space or alignment")
        if len(variable.initial) > variable.size:
            raise ProgramError(f"variable {variable.name} has more initial bytes than it is long")
        for item in variable.relocations:
            is_function = item.index & form.FUNCTION_RELOCATION
            known = len(program.functions) if is_function else len(program.variables)
            if item.offset + 8 > variable.size or (item.index & ~form.FUNCTION_RELOCATION) >= known:
                raise ProgramError(f"variable {variable.name} has a relocation out of range")


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


class _FunctionCheck:
    def __init__(self, program: Program, function: Function) -> None:
        self.program = program
        self.function = function
        self.limits = (
            function.n32,
            function.n64,
            function.npred,
            len(function.constants32),
            len(function.constants64),
            2,
            1,
            function.npred,
        )

    def fail(self, reason: str) -> ProgramError:
        return ProgramError(f"function {self.function.name}: {reason}")

    def run(self) -> None:
        function = self.function
        for parameter in function.parameters:
            if parameter.offset + parameter.size > function.parameter_bytes:
                raise self.fail("a parameter lies outside the parameter block")
        for shared in function.shared:
            if shared.offset + shared.size > function.shared_bytes or shared.offset % shared.align:
                raise self.fail(f"shared variable {shared.name} lies outside shared memory or is misaligned")
        for special in function.specials:
            if special.slot >= function.n32:
                raise self.fail(f"special register {special.name} has no slot")
        if not function.blocks:
            raise self.fail("there is no block")
        position = 0
        for number, block in enumerate(function.blocks):
            if block.first != position:
                raise self.fail(f"block {number} does not start where the one before ends")
            position += block.count
            if position > len(function.instructions):
                raise self.fail(f"block {number} runs past the last instruction")
            self.block(number, block)
        if position != len(function.instructions):
            raise self.fail("some instructions are in no block")

    def block(self, number: int, block: Block) -> None:
        instructions = self.function.instructions[block.first : block.first + block.count]
        for position, instruction in enumerate(instructions):
            self.instruction(block.first + position, instruction)
            name = self.program.op_names[instruction.op]
            if name in TERMINATORS and position != block.count - 1:
                raise self.fail(f"block {number} goes on after its terminator")
        last = instructions[-1] if instructions else None
        leaves = last is not None and last.guard == 0 and self.program.op_names[last.op] in TERMINATORS
        if leaves != (block.next == form.NO_BLOCK):
            raise self.fail(f"block {number} has no way on, or one that is never taken")
        if not leaves and block.next >= len(self.function.blocks):
            raise self.fail(f"block {number} goes on to a block that does not exist")

    def instruction(self, position: int, instruction: Instruction) -> None:
        program = self.program
        if instruction.op >= len(program.op_names):
            raise self.fail(f"instruction {position} has no operation")
        name = program.op_names[instruction.op]
        where = f"instruction {position} ({name})"
        if instruction.site >= len(program.sites):
            raise self.fail(f"{where} has no site")
        if instruction.guard and (instruction.guard - 1) // 2 >= self.function.npred:
            raise self.fail(f"{where} is guarded by a predicate that does not exist")
        if instruction.compiled not in _WIDTHS:
            raise self.fail(f"{where} was compiled to a width that no access has")
        for operand in instruction.operands:
            kind, index = operand >> form.KIND_SHIFT, operand & form.INDEX_MASK
            if kind > form.NOT_PREDICATE or index >= self.limits[kind]:
                raise self.fail(f"{where} has an operand out of range")
        bound = self.immediate_bound(name)
        if bound is not None and not 0 <= instruction.immediate < bound:
            raise self.fail(f"{where} has an immediate out of range")
        if name == "brx":
            for operand in instruction.operands[1:]:
                if operand >> form.KIND_SHIFT != form.CONSTANT32:
                    raise self.fail(f"{where} has a target that is no constant")
                if self.function.constants32[operand & form.INDEX_MASK] >= len(self.function.blocks):
                    raise self.fail(f"{where} has a target that does not exist")

    def immediate_bound(self, name: str) -> int | None:
        """How many values the immediate may take where it is an index, else None."""
        if name == "bra":
            return len(self.function.blocks)
        if name in _IMMEDIATE_IS_NAME:
            return len(self.program.op_names)
        if name == "mov.variable":
            return len(self.program.variables)
        if name in ("call", "mov.function"):
            return len(self.program.functions)
        return None
