"""Integer arithmetic (PTX ISA 9.1, section 9.7.1 and 9.7.2), in Python's integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.instructions.case import Case, Row, Word
from tests.instructions.registers import on_registers
from tests.instructions.values import WIDTHS, clamped, kept, operands, signed
from tests.instructions.words import ANYTHING

SIGNED_OR_NOT = ("u16", "s16", "u32", "s32", "u64", "s64")
LETTER = {8: "h", 16: "h", 32: "r", 64: "d"}
Function = Callable[..., int]


def letter(kind: str) -> str:
    return LETTER[WIDTHS[kind]]


def integer(name: str, kind: str, count: int, function: Function, *, result: str = "") -> Case:
    """An instruction whose sources all have the type `kind`; `function` takes numbers, the result wraps."""
    result = result or kind

    def expected(*words: int) -> Word:
        return kept(result, function(*(signed(kind, word) for word in words)))

    return on_registers(name, letter(result), letter(kind) * count, operands(*[kind] * count), expected)


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _division(name: str, kind: str, function: Function) -> Case:
    """PTX leaves a division by zero open, and one whose quotient the type does not have."""

    def expected(a: int, b: int) -> Word:
        left, right = signed(kind, a), signed(kind, b)
        if right == 0 or clamped(kind, quotient := _quotient(left, right)) != kept(kind, quotient):
            return ANYTHING
        return kept(kind, function(left, right))

    return on_registers(name, letter(kind), letter(kind) * 2, operands(kind, kind), expected)


def _wide(name: str, kind: str, function: Function, count: int) -> Case:
    """A result of twice the bits, and a third operand of as many."""
    wide = f"{kind[0]}{2 * WIDTHS[kind]}"
    kinds = [kind, kind, wide][:count]

    def expected(*words: int) -> Word:
        return kept(wide, function(*(signed(of, word) for of, word in zip(kinds, words, strict=True))))

    sources = "".join(letter(item) for item in kinds)
    return on_registers(name, letter(wide), sources, operands(*kinds), expected)


def _low24(kind: str, number: int) -> int:
    number &= 0xFFFFFF
    return number - (1 << 24) if kind[0] == "s" and number >> 23 else number


def _saturated(name: str, count: int, function: Function) -> Case:
    def expected(*words: int) -> Word:
        return clamped("s32", function(*(signed("s32", word) for word in words)))

    return on_registers(name, "r", "r" * count, operands(*["s32"] * count), expected)


def arithmetic() -> Iterator[Case]:
    for kind in SIGNED_OR_NOT:
        width = WIDTHS[kind]
        yield integer(f"add.{kind}", kind, 2, lambda a, b: a + b)
        yield integer(f"sub.{kind}", kind, 2, lambda a, b: a - b)
        yield integer(f"mul.lo.{kind}", kind, 2, lambda a, b: a * b)
        yield integer(f"mul.hi.{kind}", kind, 2, lambda a, b, w=width: a * b >> w)
        yield integer(f"mad.lo.{kind}", kind, 3, lambda a, b, c: a * b + c)
        yield integer(f"mad.hi.{kind}", kind, 3, lambda a, b, c, w=width: (a * b >> w) + c)
        yield integer(f"sad.{kind}", kind, 3, lambda a, b, c: c + abs(a - b))
        yield integer(f"min.{kind}", kind, 2, min)
        yield integer(f"max.{kind}", kind, 2, max)
        yield _division(f"div.{kind}", kind, _quotient)
        yield _division(f"rem.{kind}", kind, lambda a, b: a - b * _quotient(a, b))
        if width < 64:
            yield _wide(f"mul.wide.{kind}", kind, lambda a, b: a * b, 2)
            yield _wide(f"mad.wide.{kind}", kind, lambda a, b, c: a * b + c, 3)
        if kind[0] == "s":
            yield integer(f"abs.{kind}", kind, 1, abs)
            yield integer(f"neg.{kind}", kind, 1, lambda a: -a)
    for kind in ("u32", "s32"):
        yield integer(f"mul24.lo.{kind}", kind, 2, lambda a, b, k=kind: _low24(k, a) * _low24(k, b))
    yield _saturated("add.sat.s32", 2, lambda a, b: a + b)
    yield _saturated("sub.sat.s32", 2, lambda a, b: a - b)
    yield _saturated("mad.hi.sat.s32", 3, lambda a, b, c: (a * b >> 32) + c)


def _immediates() -> Iterator[Case]:
    """Numbers in the text: negative, hexadecimal, and of 64 bits."""
    rows = [(a,) for a in (0, 1, 5, 0x80000000, 0xFFFFFFFF)]
    for spelled, number in (("-1", -1), ("0x80000000", 0x80000000), ("4294967295U", -1)):
        text = f"add.s32 {{d0}}, {{a0}}, {spelled};"
        title = f"add.s32 with {spelled}"
        yield on_registers("add.s32", "r", "r", rows, lambda a, n=number: kept("s32", a + n), text=text, title=title)
    text = "add.s64 {d0}, {a0}, -9223372036854775808;"
    rows = [(a,) for a in (0, 1 << 63, (1 << 64) - 1)]
    yield on_registers(
        "add.s64",
        "d",
        "d",
        rows,
        lambda a: kept("s64", a - (1 << 63)),
        text=text,
        title="add.s64 with its least number",
    )
    text = "sub.s16 {d0}, 3, {a0};"
    rows = [(a,) for a in (0, 3, 4, 0x8000, 0xFFFF)]
    yield on_registers("sub.s16", "h", "h", rows, lambda a: kept("s16", 3 - a), text=text, title="sub.s16 from 3")


# ---- the condition code ----------------------------------------------------------------------------------------------


def _chain(name: str, kind: str, count: int, function: Callable[..., tuple[int, int]]) -> Case:
    """An instruction that reads the condition code, writes it, or both: the carry comes in as the last source, made by
    an addition, and what is left in it comes out as the second result, through another. Behind a subtraction and before
    one it is a borrow, made and read by subtractions.

    `function` gives the whole result, before it wraps, and the carry: of the operands and the carry that came in.
    """
    bits = WIDTHS[kind]
    ones = "0x" + "f" * (bits // 4)
    reads = name.startswith(("addc", "subc", "madc"))
    writes = ".cc." in name
    scratch = "%r20" if bits == 32 else "%d20"
    second = "%r21" if bits == 32 else "%d21"
    sources = ", ".join(f"{{a{i}}}" for i in range(count))
    made, read = f"add.cc.u{bits} {scratch}, {{a{count}}}, {ones};", f"addc.u{bits} {second}, 0, 0;"
    if name.startswith("sub"):
        made = f"sub.cc.u{bits} {scratch}, 0, {{a{count}}};"
        read = f"subc.u{bits} {second}, 0, 0;\nneg.s{bits} {second}, {second};"
    text = f"""{made}
{name} {{d0}}, {sources};
{read}
mov.b{bits} {{d1}}, {second};"""

    def expected(*words: int) -> Row:
        numbers = [signed(kind, word) for word in words[:count]]
        carry_in = words[count] if reads else 0
        whole, carry = function(*numbers, carry_in)
        return kept(kind, whole), carry if writes else words[count]

    rows = [(*row, index & 1) for index, row in enumerate(operands(*[kind] * count))]
    return on_registers(name, letter(kind) * 2, letter(kind) * (count + 1), rows, expected, text=text)


def carries() -> Iterator[Case]:
    for kind in ("u32", "s32", "u64", "s64"):
        width = WIDTHS[kind]
        modulus = 1 << width

        def add(a: int, b: int, carry: int, m: int = modulus) -> tuple[int, int]:
            return a + b + carry, int(a % m + b % m + carry >= m)

        def subtract(a: int, b: int, borrow: int, m: int = modulus) -> tuple[int, int]:
            return a - b - borrow, int(a % m < b % m + borrow)

        def low(a: int, b: int, c: int, carry: int, m: int = modulus) -> tuple[int, int]:
            return add(a * b % m, c, carry, m)

        def high(a: int, b: int, c: int, carry: int, m: int = modulus, w: int = width) -> tuple[int, int]:
            return add(a * b >> w, c, carry, m)

        for base, function in (("add", add), ("sub", subtract)):
            for name in (f"{base}.cc", f"{base}c", f"{base}c.cc"):
                yield _chain(f"{name}.{kind}", kind, 2, function)
        for half, product in (("lo", low), ("hi", high)):
            for name in (f"mad.{half}.cc", f"madc.{half}", f"madc.{half}.cc"):
                yield _chain(f"{name}.{kind}", kind, 3, product)


def mixed_chains() -> Iterator[Case]:
    """PTX does not tell a borrow from a carry; on an H200 one is the other's complement."""
    rows = [(*row, index & 1) for index, row in enumerate(operands("u32", "u32"))]
    text = "add.cc.u32 %r20, {a2}, 0xffffffff;\nsubc.u32 {d0}, {a0}, {a1};"
    title = "subc.u32 behind an addition"
    yield on_registers(
        title, "r", "rrr", rows, lambda a, b, carry: kept("u32", a - b - (1 - carry)), text=text, title=title
    )
    text = "sub.cc.u32 %r20, 0, {a2};\naddc.u32 {d0}, {a0}, {a1};"
    title = "addc.u32 behind a subtraction"
    yield on_registers(
        title, "r", "rrr", rows, lambda a, b, borrow: kept("u32", a + b + (1 - borrow)), text=text, title=title
    )


CASES = [*arithmetic(), *_immediates(), *carries(), *mixed_chains()]
