"""PTX opcodes to operation names and operand types, for the instructions whose operands simply follow one another.

A plan is made once for an opcode. Names are the PTX spelling without what makes no difference: integer operations
that do not care about the sign end in `.b32`, round-to-nearest is left out of arithmetic, 16-bit forms that give the
same as the 32-bit one on registers whose upper half is zero use that one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from grader.simt.ptx import TYPE_BITS

# Operand types: 16, 32 and 64 bits, and predicates; floats apart because a literal means something else there.
HALF, WORD, DOUBLE, FLOAT16, FLOAT32, FLOAT64, FLAG = "h", "w", "d", "H", "W", "D", "p"
MAYBE = "?"  # after a type: an optional operand, the sink where it is missing

_FLOATS = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "tf32"})
_PACKED = frozenset({"f16x2", "bf16x2", "u16x2", "s16x2"})
_NEAREST_IS_DEFAULT = frozenset({"add", "sub", "mul", "fma", "div", "rcp", "sqrt"})
_COMPARISONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_SIGN_FREE = frozenset({"add", "sub", "mul.lo", "mad.lo", "shl", "selp", "setp.eq", "setp.ne", "set.eq", "set.ne"})


@dataclass(frozen=True, slots=True)
class Plan:
    """Name and operand types of an operation; `carry_in` and `carry_out` say that it uses the condition code."""

    name: str
    results: tuple[str, ...]
    sources: tuple[str, ...]
    effect: bool = False
    waits: bool = False
    carry_in: bool = False
    carry_out: bool = False


def operand_type(kind: str) -> str | None:
    """The operand type of a PTX type, None where no register of ours holds it."""
    bits = TYPE_BITS.get(kind)
    if kind == "pred":
        return FLAG
    if bits in (8, 16):
        return FLOAT16 if kind in _FLOATS else HALF
    if bits == 32:
        return FLOAT32 if kind == "f32" else WORD
    if bits == 64:
        return FLOAT64 if kind == "f64" else DOUBLE
    return None


def plan_for(opcode: str) -> Plan | None:
    """The plan of a regular opcode; None for those with a lowering of their own, and for unknown ones."""
    base, *rest = opcode.split(".")
    kind = rest[-1] if rest else ""
    make = _FAMILIES.get(base)
    typed = operand_type(kind)
    if make is None or (typed is None and base not in _UNTYPED):
        return None
    return make(base, rest, typed or WORD)


def integer_kind(stem: str, kind: str) -> str:
    """The type in an operation's name: `b32` where the sign does not matter, 32 bits where 16 give the same."""
    if kind in _FLOATS or kind in _PACKED or kind == "pred":
        return kind
    bits = TYPE_BITS[kind]
    sign_free = stem in _SIGN_FREE or kind[0] == "b"
    if bits == 16 and stem in _SAME_IN_32_BITS and (sign_free or kind[0] == "u"):
        bits = 32
    return f"{'b' if sign_free else kind[0]}{bits}"


_SAME_IN_32_BITS = frozenset(
    ["and", "or", "xor", "selp", "min", "max", "shr", "setp.eq", "setp.ne", "setp.lt", "setp.le", "setp.gt", "setp.ge"]
)


def _arithmetic(count: int, base: str, rest: list[str], typed: str) -> Plan | None:
    """One result and `count` sources of the type; `.lo`, `.hi`, rounding, `.ftz`, `.sat`, `.approx` in the name."""
    kind, modifiers = rest[-1], rest[:-1]
    if kind in _FLOATS:
        base = "fma" if base == "mad" else base
        if base in _NEAREST_IS_DEFAULT:
            modifiers = [item for item in modifiers if item != "rn"]
        return Plan(".".join([base, *modifiers, kind]), (typed,), (typed,) * count)
    carry_out = "cc" in modifiers
    carry_in = base in ("addc", "subc", "madc")
    low = "lo" in modifiers
    stem = base.removesuffix("c") if carry_in else base
    stem = f"{stem}.lo" if low else stem
    saturates = "sat" in modifiers
    name_kind = kind if saturates else integer_kind(stem, kind)
    results, sources = (typed,), (typed,) * count
    if "wide" in modifiers:
        wide = {HALF: WORD, WORD: DOUBLE}.get(typed)
        if wide is None:
            return None
        results, sources = (wide,), (typed, typed, *(wide for _ in range(count - 2)))
    name = ".".join([base, *modifiers, name_kind])
    return Plan(name, results, sources, carry_in=carry_in, carry_out=carry_out)


def _logic(base: str, rest: list[str], typed: str) -> Plan:
    sources = {"not": 1, "cnot": 1, "and": 2, "or": 2, "xor": 2}[base]
    return Plan(f"{base}.{integer_kind(base, rest[-1])}", (typed,), (typed,) * sources)


def _shift(base: str, rest: list[str], typed: str) -> Plan:
    return Plan(f"{base}.{integer_kind(base, rest[-1])}", (typed,), (typed, WORD))


def _shf(base: str, rest: list[str], typed: str) -> Plan:
    return Plan(".".join([base, *rest]), (WORD,), (WORD, WORD, WORD))


def _count_bits(base: str, rest: list[str], typed: str) -> Plan:
    return Plan(".".join([base, *rest]), (WORD,), (typed,))


def _bit_field(base: str, rest: list[str], typed: str) -> Plan:
    sources = {"bfe": (typed, WORD, WORD), "bfi": (typed, typed, WORD, WORD), "szext": (WORD, WORD)}
    return Plan(".".join([base, *rest]), (typed,), sources.get(base, (WORD,) * 2))


def _words(count: int, base: str, rest: list[str], typed: str) -> Plan:
    """One 32-bit result, `count` 32-bit sources."""
    return Plan(".".join([base, *rest]), (WORD,), (WORD,) * count)


def _setp(base: str, rest: list[str], typed: str) -> Plan | None:
    """`setp.lt[.and][.ftz].s32 p|q, a, b[, c]`."""
    kind, *modifiers = rest[-1], *rest[:-1]
    if not modifiers:
        return None
    comparison = modifiers[0] if kind in _FLOATS else _COMPARISONS.get(modifiers[0], modifiers[0])
    combined = any(item in ("and", "or", "xor") for item in modifiers)
    name = ".".join([base, comparison, *modifiers[1:], integer_kind(f"setp.{comparison}", kind)])
    return Plan(name, (FLAG, FLAG + MAYBE), (typed, typed, FLAG) if combined else (typed, typed))


def _set(base: str, rest: list[str], typed: str) -> Plan | None:
    """`set.eq[.and].u32.f32 d, a, b[, c]`."""
    if len(rest) < 3 or (result := operand_type(rest[-2])) is None:
        return None
    comparison = rest[0] if rest[-1] in _FLOATS else _COMPARISONS.get(rest[0], rest[0])
    combined = any(item in ("and", "or", "xor") for item in rest)
    sources = (typed, typed, FLAG) if combined else (typed, typed)
    return Plan(".".join([base, comparison, *rest[1:]]), (result,), sources)


def _selp(base: str, rest: list[str], typed: str) -> Plan:
    kind = "b64" if TYPE_BITS[rest[-1]] == 64 else "b32"
    return Plan(f"{base}.{kind}", (typed,), (typed, typed, FLAG))


def _slct(base: str, rest: list[str], typed: str) -> Plan | None:
    """`slct.b32.s32 d, a, b, c`: c >= 0 ? a : b."""
    result = operand_type(rest[-2]) if len(rest) > 1 else None
    return None if result is None else Plan(".".join([base, *rest]), (result,), (result, result, typed))


def _test(base: str, rest: list[str], typed: str) -> Plan:
    return Plan(".".join([base, *rest]), (FLAG,), (typed,))


def _isspacep(base: str, rest: list[str], typed: str) -> Plan:
    return Plan(".".join([base, *rest]), (FLAG,), (DOUBLE,))


def _shfl(base: str, rest: list[str], typed: str) -> Plan | None:
    """`shfl.sync.down.b32 d|p, a, b, c, mask`; the form without `.sync` is no longer in PTX."""
    if rest[0] != "sync":
        return None
    return Plan(".".join([base, *rest]), (WORD, FLAG + MAYBE), (WORD,) * 4, effect=True, waits=True)


def _vote(base: str, rest: list[str], typed: str) -> Plan | None:
    if rest[0] != "sync":
        return None
    return Plan(".".join([base, *rest]), (typed,), (FLAG, WORD), effect=True, waits=True)


def _match(base: str, rest: list[str], typed: str) -> Plan | None:
    results = (WORD,) if rest[0] == "any" else (WORD, FLAG + MAYBE)
    return Plan(".".join([base, *rest]), results, (typed, WORD), effect=True, waits=True)


def _redux(base: str, rest: list[str], typed: str) -> Plan | None:
    return Plan(".".join([base, *rest]), (typed,), (typed, WORD), effect=True, waits=True)


def _elect(base: str, rest: list[str], typed: str) -> Plan | None:
    return Plan(".".join([base, *rest]), (WORD, FLAG), (WORD,), effect=True, waits=True)


def _activemask(base: str, rest: list[str], typed: str) -> Plan:
    return Plan(".".join([base, *rest]), (WORD,), (), effect=True)


def _bar(base: str, rest: list[str], typed: str) -> Plan | None:
    """`bar.sync a[, b]`, `bar.arrive a, b`, `bar.red.popc.u32 d, a[, b], p`, `bar.warp.sync mask`.

    `bar.x` is `barrier.x.aligned`; without `.aligned` the name stays `barrier.x`.
    """
    parts = [item for item in rest if item not in ("cta", "aligned")]
    name = ".".join(["bar" if base == "bar" or "aligned" in rest else "barrier", *parts])
    if parts == ["warp", "sync"]:
        return Plan("bar.warp.sync", (), (WORD,), effect=True, waits=True)
    if parts == ["sync"]:
        return Plan(name, (), (WORD, WORD + MAYBE), effect=True, waits=True)
    if parts == ["arrive"]:
        return Plan(name, (), (WORD, WORD), effect=True)
    if parts and parts[0] == "red" and typed in (WORD, FLAG):
        return Plan(name, (typed,), (WORD, WORD + MAYBE, FLAG), effect=True, waits=True)
    return None


def _plain(base: str, rest: list[str], typed: str) -> Plan:
    """No operand, or one word (`nanosleep`)."""
    sources = (WORD,) if base == "nanosleep" else ()
    return Plan(".".join([base, *rest]), (), sources, effect=True)


def _lop3(base: str, rest: list[str], typed: str) -> Plan | None:
    return Plan("lop3.b32", (WORD,), (WORD,) * 4) if rest == ["b32"] else None


_FAMILIES: dict[str, Callable[[str, list[str], str], Plan | None]] = {
    **dict.fromkeys(["neg", "abs", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"], partial(_arithmetic, 1)),
    **dict.fromkeys(["add", "addc", "sub", "subc", "mul", "mul24", "div", "rem"], partial(_arithmetic, 2)),
    **dict.fromkeys(["min", "max", "copysign"], partial(_arithmetic, 2)),
    **dict.fromkeys(["mad", "madc", "mad24", "fma", "sad"], partial(_arithmetic, 3)),
    **dict.fromkeys(["and", "or", "xor", "not", "cnot"], _logic),
    **dict.fromkeys(["shl", "shr"], _shift),
    **dict.fromkeys(["popc", "clz", "bfind"], _count_bits),
    **dict.fromkeys(["bfe", "bfi", "szext", "bmsk"], _bit_field),
    **dict.fromkeys(["prmt", "fns", "dp4a", "dp2a"], partial(_words, 3)),
    **dict.fromkeys(["membar", "fence", "nanosleep", "brkpt", "pmevent"], _plain),
    **dict.fromkeys(["bar", "barrier"], _bar),
    "brev": partial(_arithmetic, 1),
    "shf": _shf,
    "lop3": _lop3,
    "setp": _setp,
    "set": _set,
    "selp": _selp,
    "slct": _slct,
    "testp": _test,
    "isspacep": _isspacep,
    "shfl": _shfl,
    "vote": _vote,
    "match": _match,
    "redux": _redux,
    "elect": _elect,
    "activemask": _activemask,
}
_UNTYPED = frozenset({"prmt", "membar", "fence", "brkpt", "bar", "barrier", "isspacep", "elect"})
