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
_SIGN_FREE = frozenset({"add", "sub", "mul.lo", "mad.lo", "shl", "selp", "setp.eq", "setp.ne"})


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


@dataclass(frozen=True, slots=True)
class Opcode:
    """`mad.lo.s32`: base "mad", rest ["lo", "s32"], kind "s32" (the last part), typed: its operand type."""

    base: str
    rest: list[str]
    kind: str
    typed: str

    @property
    def name(self) -> str:
        return ".".join([self.base, *self.rest])


def plan_for(opcode: str) -> Plan | None:
    """The plan of a regular opcode; None for those with a lowering of their own, and for unknown ones."""
    base, *rest = opcode.split(".")
    kind = rest[-1] if rest else ""
    make = _FAMILIES.get(base)
    typed = operand_type(kind)
    if make is None or (typed is None and base not in _UNTYPED) or TYPE_BITS.get(kind) == 8:
        return None
    return make(Opcode(base, rest, kind, typed or WORD))


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


def _arithmetic(op: Opcode, count: int) -> Plan | None:
    """One result and `count` sources of the type; `.lo`, `.hi`, rounding, `.ftz`, `.sat`, `.approx` in the name."""
    base, kind, modifiers = op.base, op.kind, op.rest[:-1]
    if kind in _FLOATS:
        base = "fma" if base == "mad" else base
        if base in _NEAREST_IS_DEFAULT:
            modifiers = [item for item in modifiers if item != "rn"]
        return Plan(".".join([base, *modifiers, kind]), (op.typed,), (op.typed,) * count)
    carry_in = base in ("addc", "subc", "madc")
    stem = base[:3] if carry_in else base
    stem = f"{stem}.lo" if "lo" in modifiers else stem
    name = ".".join([base, *modifiers, kind if "sat" in modifiers else integer_kind(stem, kind)])
    sources = (op.typed,) * count
    if "wide" not in modifiers:
        return Plan(name, (op.typed,), sources, carry_in=carry_in, carry_out="cc" in modifiers)
    wide = {HALF: WORD, WORD: DOUBLE}.get(op.typed)
    return Plan(name, (wide,), (*sources[:2], *(wide for _ in sources[2:]))) if wide else None


def _logic(op: Opcode) -> Plan:
    sources = 1 if op.base in ("not", "cnot") else 2
    return Plan(f"{op.base}.{integer_kind(op.base, op.kind)}", (op.typed,), (op.typed,) * sources)


def _shift(op: Opcode) -> Plan:
    kind = integer_kind(op.base, op.kind)
    if op.base == "shr":
        kind = kind.replace("b", "u")  # untyped bits are shifted in as zeros
    return Plan(f"{op.base}.{kind}", (op.typed,), (op.typed, WORD))


def _shf(op: Opcode) -> Plan:
    return Plan(op.name, (WORD,), (WORD, WORD, WORD))


def _count_bits(op: Opcode) -> Plan:
    return Plan(op.name, (WORD,), (op.typed,))


def _bit_field(op: Opcode) -> Plan:
    sources = {"bfe": (op.typed, WORD, WORD), "bfi": (op.typed, op.typed, WORD, WORD)}
    return Plan(op.name, (op.typed,), sources[op.base])


def _words(op: Opcode, count: int) -> Plan:
    """One 32-bit result, `count` 32-bit sources."""
    return Plan(op.name, (WORD,), (WORD,) * count)


def _setp(op: Opcode) -> Plan | None:
    """`setp.lt[.and][.ftz].s32 p|q, a, b[, c]`."""
    kind, *modifiers = op.kind, *op.rest[:-1]
    if not modifiers:
        return None
    comparison = modifiers[0] if kind in _FLOATS else _COMPARISONS.get(modifiers[0], modifiers[0])
    combined = any(item in ("and", "or", "xor") for item in modifiers)
    name = ".".join([op.base, comparison, *modifiers[1:], integer_kind(f"setp.{comparison}", kind)])
    return Plan(name, (FLAG, FLAG + MAYBE), (op.typed, op.typed, FLAG) if combined else (op.typed, op.typed))


def _set(op: Opcode) -> Plan | None:
    """`set.eq.u32.f16x2 d, a, b`: of a pair. `lower_choices` has the other ones."""
    return Plan(op.name, (WORD,), (WORD, WORD)) if op.kind in _PACKED and len(op.rest) == 3 else None


def _selp(op: Opcode) -> Plan | None:
    if op.typed == FLAG:
        return None
    kind = "b64" if TYPE_BITS[op.kind] == 64 else "b32"
    return Plan(f"{op.base}.{kind}", (op.typed,), (op.typed, op.typed, FLAG))


def _test(op: Opcode) -> Plan:
    return Plan(op.name, (FLAG,), (op.typed,))


def _isspacep(op: Opcode) -> Plan:
    return Plan(op.name, (FLAG,), (DOUBLE,))


def _shfl(op: Opcode) -> Plan | None:
    """`shfl.sync.down.b32 d|p, a, b, c, mask`; the form without `.sync` is no longer in PTX."""
    if "sync" not in op.rest:
        return None
    return Plan(_sync_first(op), (WORD, FLAG + MAYBE), (WORD,) * 4, effect=True, waits=True)


def _sync_first(op: Opcode) -> str:
    """`vote.ballot.sync.b32`, which CUB writes, is `vote.sync.ballot.b32`."""
    return ".".join([op.base, "sync", *(item for item in op.rest if item != "sync")])


def _vote(op: Opcode) -> Plan | None:
    if "sync" not in op.rest:
        return None
    return Plan(_sync_first(op), (op.typed,), (FLAG, WORD), effect=True, waits=True)


def _match(op: Opcode) -> Plan | None:
    results = (WORD,) if op.rest[0] == "any" else (WORD, FLAG + MAYBE)
    return Plan(op.name, results, (op.typed, WORD), effect=True, waits=True)


def _redux(op: Opcode) -> Plan:
    return Plan(op.name, (op.typed,), (op.typed, WORD), effect=True, waits=True)


def _elect(op: Opcode) -> Plan:
    return Plan(op.name, (WORD, FLAG), (WORD,), effect=True, waits=True)


def _activemask(op: Opcode) -> Plan:
    return Plan(op.name, (WORD,), (), effect=True)


def _bar(op: Opcode) -> Plan | None:
    """`bar.sync a[, b]`, `bar.arrive a, b`, `bar.red.popc.u32 d, a[, b], p`, `bar.warp.sync mask`.

    `bar.x` is `barrier.x.aligned`; without `.aligned` the name stays `barrier.x`.
    """
    parts = [item for item in op.rest if item not in ("cta", "aligned")]
    name = ".".join(["bar" if op.base == "bar" or "aligned" in op.rest else "barrier", *parts])
    if parts == ["warp", "sync"]:
        return Plan("bar.warp.sync", (), (WORD,), effect=True, waits=True)
    if parts == ["sync"]:
        return Plan(name, (), (WORD, WORD + MAYBE), effect=True, waits=True)
    if parts == ["arrive"]:
        return Plan(name, (), (WORD, WORD), effect=True)
    if parts and parts[0] == "red" and op.typed in (WORD, FLAG):
        return Plan(name, (op.typed,), (WORD, WORD + MAYBE, FLAG), effect=True, waits=True)
    return None


def _plain(op: Opcode) -> Plan:
    """No operand, or one word (`nanosleep`)."""
    sources = (WORD,) if op.base == "nanosleep" else ()
    return Plan(op.name, (), sources, effect=True)


def _lop3(op: Opcode) -> Plan | None:
    return Plan("lop3.b32", (WORD,), (WORD,) * 4) if op.rest == ["b32"] else None


_FAMILIES: dict[str, Callable[[Opcode], Plan | None]] = {
    **dict.fromkeys(["neg", "abs", "brev", "rcp", "sqrt", "rsqrt"], partial(_arithmetic, count=1)),
    **dict.fromkeys(["sin", "cos", "lg2", "ex2", "tanh"], partial(_arithmetic, count=1)),
    **dict.fromkeys(["add", "addc", "sub", "subc", "mul", "mul24", "div", "rem"], partial(_arithmetic, count=2)),
    **dict.fromkeys(["min", "max", "copysign"], partial(_arithmetic, count=2)),
    **dict.fromkeys(["mad", "madc", "mad24", "fma", "sad"], partial(_arithmetic, count=3)),
    **dict.fromkeys(["and", "or", "xor", "not", "cnot"], _logic),
    **dict.fromkeys(["shl", "shr"], _shift),
    **dict.fromkeys(["popc", "clz", "bfind"], _count_bits),
    **dict.fromkeys(["bfe", "bfi"], _bit_field),
    **dict.fromkeys(["szext", "bmsk"], partial(_words, count=2)),
    **dict.fromkeys(["prmt", "fns", "dp4a", "dp2a", "vabsdiff2", "vabsdiff4"], partial(_words, count=3)),
    **dict.fromkeys(["membar", "fence", "nanosleep"], _plain),
    **dict.fromkeys(["bar", "barrier"], _bar),
    "shf": _shf,
    "lop3": _lop3,
    "setp": _setp,
    "set": _set,
    "selp": _selp,
    "testp": _test,
    "isspacep": _isspacep,
    "shfl": _shfl,
    "vote": _vote,
    "match": _match,
    "redux": _redux,
    "elect": _elect,
    "activemask": _activemask,
}
_UNTYPED = frozenset({"prmt", "membar", "fence", "bar", "barrier", "isspacep", "elect", "vabsdiff2", "vabsdiff4"})
