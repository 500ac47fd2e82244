"""`set` and `slct`, which are a comparison and a selection: `setp` and `selp`."""

from __future__ import annotations

from grader.simt import ptx
from grader.simt.lower_function import FunctionLowering, Unfit
from grader.simt.lower_plans import FLOAT16, FLOAT32, HALF, WORD, operand_type, plan_for
from grader.simt.program import KIND_SHIFT, PREDICATE, R64, SINK

_ONE = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


def set_by_comparison(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """`set.lt[.and][.ftz].u32.s32 d, a, b[, c]`: all ones, or 1.0, where it holds."""
    comparison, *modifiers, to, kind = instruction.opcode.split(".")[1:]
    plan = plan_for(".".join(["setp", comparison, *modifiers, kind]))
    typed = operand_type(to)
    if plan is None or typed not in (HALF, WORD, FLOAT16, FLOAT32) or len(instruction.operands) < 2:
        raise Unfit
    result = lowering.result(instruction.operands[0], typed)
    holds = _predicate(lowering)
    lowering.emit(plan.name, [holds, SINK], lowering.sources(instruction.operands[1:], plan.sources))
    truth = _ONE[to] if to in _ONE else (1 << ptx.TYPE_BITS[to]) - 1
    _select(lowering, result, lowering.code.constant32(truth), lowering.code.constant32(0), holds)


def select_by_sign(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """`slct[.ftz].u32.s32 d, a, b, c`: c >= 0 ? a : b."""
    *modifiers, to, kind = instruction.opcode.split(".")[1:]
    plan, typed, by = plan_for(".".join(["setp.ge", *modifiers, kind])), operand_type(to), operand_type(kind)
    if plan is None or typed is None or by is None or len(instruction.operands) != 4:
        raise Unfit
    target, a, b, c = instruction.operands
    result = lowering.result(target, typed)
    holds = _predicate(lowering)
    lowering.emit(plan.name, [holds, SINK], [lowering.source(c, by), lowering.code.constant32(0)])
    _select(lowering, result, lowering.source(a, typed), lowering.source(b, typed), holds)


def _predicate(lowering: FunctionLowering) -> int:
    return lowering.temporary(PREDICATE)


def _select(lowering: FunctionLowering, result: int, a: int, b: int, holds: int) -> None:
    lowering.emit("selp.b64" if result >> KIND_SHIFT == R64 else "selp.b32", [result], [a, b, holds])
