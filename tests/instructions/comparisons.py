"""Comparisons and selections: setp, set, selp, slct (PTX ISA 9.1, sections 9.7.6 and 9.7.7)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from tests import exact
from tests.exact import F32, Format
from tests.instructions.case import Case, Row, Word
from tests.instructions.floats import LETTER as FLOAT_LETTER
from tests.instructions.integers import letter
from tests.instructions.registers import on_registers
from tests.instructions.values import FORMATS, operands, signed

Holds = Callable[[int, int], bool]
_COMBINE: dict[str, Callable[[int, int], int]] = {
    ".and": operator.and_,
    ".or": operator.or_,
    ".xor": operator.xor,
}
_ORDERED: dict[str, Callable[[int], bool]] = {  # of -1, 0, 1
    "eq": lambda way: way == 0,
    "ne": lambda way: way != 0,
    "lt": lambda way: way < 0,
    "le": lambda way: way <= 0,
    "gt": lambda way: way > 0,
    "ge": lambda way: way >= 0,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
FLOAT_COMPARISONS = (*_ORDERED, *(f"{name}u" for name in _ORDERED), "num", "nan")


def float_holds(form: Format, comparison: str) -> Holds:
    """With a NaN, `eq` to `ge` are false, `equ` to `geu` true."""

    def holds(a: int, b: int) -> bool:
        way = exact.compared(form, a, b)
        if comparison in ("num", "nan"):
            return (way is None) == (comparison == "nan")
        plain = comparison.removesuffix("u")
        return comparison.endswith("u") if way is None else _ORDERED[plain](way)

    return holds


def _integer_holds(kind: str, comparison: str) -> Holds:
    way = _ORDERED[_UNSIGNED.get(comparison, comparison)]

    def holds(a: int, b: int) -> bool:
        left, right = signed(kind, a), signed(kind, b)
        return way((left > right) - (left < right))

    return holds


def flushing(form: Format, holds: Holds) -> Holds:
    return lambda a, b: holds(exact.flushed(form, a), exact.flushed(form, b))


def comparisons() -> Iterator[tuple[str, str, str, str, Holds]]:
    """Each comparison of f32, f64 and the integers: its name, `.ftz` or nothing, type, register letter, and meaning."""
    for kind in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"):
        names = ["eq", "ne"] if kind[0] == "b" else [*_ORDERED, *(_UNSIGNED if kind[0] == "u" else ())]
        for name in names:
            yield name, "", kind, letter(kind), _integer_holds(kind, name)
    for kind in ("f32", "f64"):
        form = FORMATS[kind]
        for name in FLOAT_COMPARISONS:
            yield name, "", kind, FLOAT_LETTER[kind], float_holds(form, name)
            if kind == "f32":
                yield name, ".ftz", kind, "r", flushing(form, float_holds(form, name))


def predicates(name: str, flush: str, kind: str, of: str, holds: Holds, *, pair: bool = True) -> Iterator[Case]:
    """`setp` alone, and combined with a predicate, plain or negated: p from the comparison, q from its opposite."""
    results = "pp" if pair else "p"

    def alone(a: int, b: int) -> Row:
        return [int(holds(a, b)), int(not holds(a, b))][: len(results)]

    yield on_registers(f"setp.{name}{flush}.{kind}", results, of * 2, operands(kind, kind, count=192), alone)
    for combination, combine in _COMBINE.items():
        for negated in (False, True):

            def combined(a: int, b: int, c: int, f: Callable[[int, int], int] = combine, n: bool = negated) -> Row:
                return [f(int(holds(a, b)), c ^ n), f(int(not holds(a, b)), c ^ n)][: len(results)]

            full = f"setp.{name}{combination}{flush}.{kind}"
            text = f"{full} {'{d0}|{d1}' if pair else '{d0}'}, {{a0}}, {{a1}}, {'!' if negated else ''}{{a2}};"
            rows = operands(kind, kind, "pred", count=192)
            title = f"{full} with !" if negated else full
            yield on_registers(full, results, of * 2 + "p", rows, combined, text=text, title=title)


def setp() -> Iterator[Case]:
    for name, flush, kind, of, holds in comparisons():
        yield from predicates(name, flush, kind, of, holds)


def sets() -> Iterator[Case]:
    """All ones or 1.0 where it holds, else 0; also combined with a predicate."""
    for name, flush, kind, of, holds in comparisons():
        for to, truth in (("u32", 0xFFFFFFFF), ("s32", 0xFFFFFFFF), ("f32", F32.one)):

            def expected(a: int, b: int, t: int = truth, h: Holds = holds) -> Word:
                return t if h(a, b) else 0

            rows = operands(kind, kind, count=192)
            yield on_registers(f"set.{name}{flush}.{to}.{kind}", "r", of * 2, rows, expected)
        for combination, combine in _COMBINE.items():

            def combined(a: int, b: int, c: int, h: Holds = holds, f: Callable[[int, int], int] = combine) -> Word:
                return 0xFFFFFFFF if f(int(h(a, b)), c) else 0

            full = f"set.{name}{combination}{flush}.u32.{kind}"
            yield on_registers(full, "r", of * 2 + "p", operands(kind, kind, "pred", count=192), combined)


def selections() -> Iterator[Case]:
    for kind in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"):
        of = FLOAT_LETTER.get(kind) or letter(kind)
        rows = operands(kind, kind, "pred", count=128)
        yield on_registers(f"selp.{kind}", of, of * 2 + "p", rows, lambda a, b, c: a if c else b)
    rows = operands("b32", "b32", "pred", count=128)
    text = "selp.b32 {d0}, {a0}, {a1}, !{a2};"
    title = "selp.b32 with !"
    yield on_registers("selp.b32", "r", "rrp", rows, lambda a, b, c: b if c else a, text=text, title=title)
    for kind in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"):
        of = FLOAT_LETTER.get(kind) or letter(kind)
        for by in ("s32", "f32", "ftz.f32"):

            def chosen(a: int, b: int, c: int, sign: str = by) -> Word:
                if sign == "s32":
                    return a if signed("s32", c) >= 0 else b
                c = exact.flushed(F32, c) if sign.startswith("ftz") else c
                return a if (exact.compared(F32, c, 0) or 0) >= 0 and not exact.is_nan(F32, c) else b

            name = f"slct.{'ftz.' if by.startswith('ftz') else ''}{kind}.{by[-3:]}"
            rows = operands(kind, kind, by[-3:], count=128)
            yield on_registers(name, of, of * 2 + "r", rows, chosen)


CASES = [*setp(), *sets(), *selections()]
