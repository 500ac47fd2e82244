"""Asynchronous copies and mbarriers: `cp.async` and `mbarrier`.

Cache operators, prefetch sizes and cache policies say nothing here; scopes neither, since an mbarrier is one block's.
"""

from __future__ import annotations

from grader.simt import ptx
from grader.simt.lower_function import FunctionLowering, Unfit
from grader.simt.lower_plans import DOUBLE, FLAG, WORD
from grader.simt.program import FALSE, R32, R64, SINK

_GROUPS = frozenset(["cp.async.commit_group", "cp.async.wait_all"])
_COPIES = frozenset(["cp.async.ca.shared.global", "cp.async.cg.shared.global"])
_NAME_OF_SIZE = {4: "cp.async.b32", 8: "cp.async.b64", 16: "cp.async.b128"}
_SCOPES = frozenset(["cta", "cluster"])
_ORDERS = frozenset(["release", "acquire", "relaxed"])


def cp(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    opcode, operands = _plain(instruction.opcode), instruction.operands
    if opcode in _GROUPS and not operands:
        lowering.emit(opcode, [], [], effect=True)
    elif opcode == "cp.async.wait_group" and len(operands) == 1:
        lowering.emit(opcode, [], [], _number(operands[0]), effect=True)
    elif opcode in _COPIES:
        _copy(lowering, opcode, operands, cached="L2::cache_hint" in instruction.opcode)
    elif opcode.startswith("cp.async.mbarrier.arrive"):
        _mbarrier(lowering, opcode.split(".")[4:], operands, "cp.async.mbarrier.arrive", [])
    else:
        raise Unfit


def _plain(opcode: str) -> str:
    """Without what follows a `::`, and without cache hints."""
    return ".".join(part.partition("::")[0] for part in opcode.split(".") if not part.startswith("L2::"))


def _number(operand: ptx.Operand) -> int:
    if not isinstance(operand, ptx.Immediate) or operand.kind != "int" or operand.value < 0:
        raise Unfit
    return operand.value


def _copy(lowering: FunctionLowering, opcode: str, operands: list[ptx.Operand], *, cached: bool) -> None:
    """`[to], [from], size{, bytes read | predicate that reads none}{, cache policy}`."""
    rest = operands[3 : len(operands) - cached]
    if len(operands) - cached not in (3, 4):
        raise Unfit
    size = _number(operands[2])
    if size not in _NAME_OF_SIZE or (opcode.startswith("cp.async.cg") and size != 16):
        raise Unfit
    read, ignored = SINK, FALSE
    if rest and _is_flag(rest[0]):
        ignored = lowering.source(rest[0], FLAG)
    elif rest:
        read = lowering.source(rest[0], WORD)
    to, to_offset = address(lowering, operands[0], "shared")
    source, offset = address(lowering, operands[1], "global")
    lowering.emit(_NAME_OF_SIZE[size], [], [lowering.plus(to, to_offset), source, read, ignored], offset, effect=True)


def _is_flag(operand: ptx.Operand) -> bool:
    return isinstance(operand, ptx.Not) or (isinstance(operand, ptx.Register) and operand.bits == 1)


def address(lowering: FunctionLowering, operand: ptx.Operand, space: str) -> tuple[int, int]:
    """An address in shared or global memory, or a generic one, as the value of its base and an offset."""
    if not isinstance(operand, ptx.Address) or operand.coordinates:
        raise Unfit
    base = operand.base
    if isinstance(base, ptx.Symbol):
        if base.variable.space != space:
            raise Unfit
        return lowering.symbol(base.variable, 0, R32 if space == "shared" else R64), operand.offset
    if isinstance(base, ptx.Register) and base.bits in ((32, 64) if space == "shared" else (64,)):
        return lowering.operands[base.number], operand.offset
    raise Unfit


def createpolicy(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    """How a cache should treat what an access brings: a number that nobody looks into."""
    if not instruction.operands:
        raise Unfit
    lowering.copy(lowering.result(instruction.operands[0], DOUBLE), lowering.code.constant64(0))


_VERBS = {  # how many operands follow the address, and which
    "init": (WORD,),
    "inval": (),
    "expect_tx": (WORD,),
    "complete_tx": (WORD,),
    "arrive": (WORD,),
    "arrive_drop": (WORD,),
    "test_wait": (DOUBLE,),
    "try_wait": (DOUBLE,),
}


def mbarrier(lowering: FunctionLowering, instruction: ptx.Instruction) -> None:
    verb, *parts = _plain(instruction.opcode).split(".")[1:]
    operands = instruction.operands
    if verb == "pending_count" and parts == ["b64"] and len(operands) == 2:
        results = [lowering.result(operands[0], WORD)]
        lowering.emit("mbarrier.pending_count.b64", results, [lowering.source(operands[1], DOUBLE)])
    elif verb in ("arrive", "arrive_drop"):
        _arrive(lowering, verb, parts, operands)
    elif verb in ("test_wait", "try_wait"):
        _wait(lowering, parts, operands[:3])  # `try_wait` may say how long
    elif verb in _VERBS:
        if verb in ("expect_tx", "complete_tx"):
            parts = [part for part in parts if part != "relaxed"]
        sources = [lowering.source(operand, WORD) for operand in operands[1:]]
        if len(sources) != len(_VERBS[verb]):
            raise Unfit
        _mbarrier(lowering, parts, operands[:1], f"mbarrier.{verb}", sources)
    else:
        raise Unfit


def _arrive(lowering: FunctionLowering, verb: str, parts: list[str], operands: list[ptx.Operand]) -> None:
    """`token, [barrier]{, how many | bytes}`."""
    result, *rest = operands
    if not rest or len(rest) > 2:
        raise Unfit
    tells_bytes = "expect_tx" in parts
    if tells_bytes and len(rest) != 2:
        raise Unfit
    given = [lowering.source(rest[1], WORD)] if len(rest) == 2 else [SINK]
    parts = [part for part in parts if part not in ("noComplete", "expect_tx")]
    name = f"mbarrier.{verb}{'.expect_tx' if tells_bytes else ''}"
    _mbarrier(lowering, parts, rest[:1], name, given, [lowering.result(result, DOUBLE)])


def _wait(lowering: FunctionLowering, parts: list[str], operands: list[ptx.Operand]) -> None:
    """`p, [barrier], token` or, with `.parity`, the phase's parity."""
    if len(operands) != 3:
        raise Unfit
    parity = "parity" in parts
    awaited = lowering.source(operands[2], WORD if parity else DOUBLE)
    name = f"mbarrier.test_wait{'.parity' if parity else ''}"
    parts = [part for part in parts if part != "parity"]
    _mbarrier(lowering, parts, operands[1:2], name, [awaited], [lowering.result(operands[0], FLAG)])


def _mbarrier(
    lowering: FunctionLowering,
    parts: list[str],
    operands: list[ptx.Operand],
    name: str,
    sources: list[int],
    results: list[int] | None = None,
) -> None:
    """Emits `name` on the mbarrier that `operands` consists of; `parts` are order, scope, space and type."""
    if len(operands) != 1:
        raise Unfit
    order = "relaxed." if "relaxed" in parts else ""
    if "noinc" in parts:
        name += ".noinc"
    space = "shared" if "shared" in parts else "generic"
    if {*parts} - _SCOPES - _ORDERS - {"shared", "noinc", "b64"} or "b64" not in parts:
        raise Unfit
    place, offset = address(lowering, operands[0], space)
    lowering.emit(f"{name}.{order}{space}.b64", results or [], [place, *sources], offset, effect=True)
