"""Logic, shifts, bit fields and permutations (PTX ISA 9.1, sections 9.7.1 and 9.7.8), in Python's integers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

from tests.instructions.case import Case, Word
from tests.instructions.integers import integer, letter
from tests.instructions.registers import on_registers
from tests.instructions.values import WIDTHS, integer_edges, kept, operands, signed
from tests.instructions.words import ANYTHING

PLAIN = ("b16", "b32", "b64")
_MASK = 0xFFFFFFFF


def logic() -> Iterator[Case]:
    functions: dict[str, Callable[[int, int], int]] = {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
    }
    bits = list(itertools.product((0, 1), repeat=2)) * 16
    for name, function in functions.items():
        for kind in PLAIN:
            yield integer(f"{name}.{kind}", kind, 2, function)
        yield on_registers(f"{name}.pred", "p", "pp", bits, function)
    for kind in PLAIN:
        yield integer(f"not.{kind}", kind, 1, lambda a: ~a)
        yield integer(f"cnot.{kind}", kind, 1, lambda a: int(a == 0))
    yield on_registers("not.pred", "p", "p", [(0,), (1,)] * 16, lambda a: 1 - a)


def shifts() -> Iterator[Case]:
    """An amount of the register's width or more shifts everything out."""

    def shifted(kind: str, left: bool) -> Callable[[int, int], Word]:
        width = WIDTHS[kind]
        if left:
            return lambda a, n: kept(kind, a << min(n, width))
        return lambda a, n: kept(kind, signed(kind, a) >> min(n, width))

    for kind in PLAIN:
        yield on_registers(
            f"shl.{kind}", letter(kind), letter(kind) + "r", operands(kind, "amount"), shifted(kind, True)
        )
    for kind in (*PLAIN, "u16", "u32", "u64", "s16", "s32", "s64"):
        rows = operands(kind, "amount")
        yield on_registers(f"shr.{kind}", letter(kind), letter(kind) + "r", rows, shifted(kind, False))
    for direction, mode in itertools.product("lr", ("wrap", "clamp")):

        def funnel(a: int, b: int, c: int, left: bool = direction == "l", wraps: bool = mode == "wrap") -> Word:
            n = c & 31 if wraps else min(c, 32)
            both = b << 32 | a
            return (both << n >> 32 if left else both >> n) & _MASK

        yield on_registers(f"shf.{direction}.{mode}.b32", "r", "rrr", operands("b32", "b32", "amount"), funnel)


def counts() -> Iterator[Case]:
    for kind in ("b32", "b64"):
        width = WIDTHS[kind]
        yield integer(f"popc.{kind}", kind, 1, lambda a: a.bit_count(), result="u32")
        yield integer(f"clz.{kind}", kind, 1, lambda a, w=width: w - a.bit_length(), result="u32")
        yield integer(f"brev.{kind}", kind, 1, lambda a, w=width: int(f"{a:0{w}b}"[::-1], 2))
    for kind in ("u32", "s32", "u64", "s64"):
        width = WIDTHS[kind]

        def highest(a: int) -> int:
            return (~a if a < 0 else a).bit_length() - 1

        def shift(a: int, w: int = width) -> int:
            place = highest(a)
            return place if place < 0 else w - 1 - place

        yield integer(f"bfind.{kind}", kind, 1, highest, result="u32")
        yield integer(f"bfind.shiftamt.{kind}", kind, 1, shift, result="u32")


def fields() -> Iterator[Case]:
    """Places and lengths are restricted to 255; what a larger one of 64 bits does, an H200 does not agree with."""
    places = (0, 1, 7, 31, 32, 33, 62, 63, 64, 200, 255, 256, 257, 0x12345620)
    lengths = (0, 1, 8, 31, 32, 33, 63, 64, 200, 255, 256, 0xFFFFFF08)
    rng = random.Random(31)

    def rows(count: int, width: int) -> list[tuple[int, ...]]:
        values = [tuple(rng.choice(integer_edges(width)) for _ in range(count)) for _ in places for _ in lengths]
        return [(*value, *pair) for value, pair in zip(values, itertools.product(places, lengths), strict=True)]

    for kind in ("u32", "s32", "u64", "s64"):
        width = WIDTHS[kind]

        def extracted(a: int, b: int, c: int, w: int = width, sign: bool = kind[0] == "s") -> Word:
            if w == 64 and max(b, c) > 255:
                return ANYTHING
            place, length = b & 255, c & 255
            filling = a >> min(place + length - 1, w - 1) & 1 if sign and length else 0
            bits = [a >> place + i & 1 if i < length and place + i < w else filling for i in range(w)]
            return sum(bit << i for i, bit in enumerate(bits))

        yield on_registers(f"bfe.{kind}", letter(kind), letter(kind) + "rr", rows(1, width), extracted)
    for kind in ("b32", "b64"):
        width = WIDTHS[kind]

        def inserted(a: int, b: int, c: int, d: int, w: int = width) -> Word:
            if w == 64 and max(c, d) > 255:
                return ANYTHING
            place, length = c & 255, d & 255
            field = ((1 << length) - 1) << place & ((1 << w) - 1)
            return b & ~field | a << place & field

        yield on_registers(f"bfi.{kind}", letter(kind), letter(kind) * 2 + "rr", rows(2, width), inserted)
    pairs = operands("b32", "amount")
    for mode in ("clamp", "wrap"):
        for kind in ("u32", "s32"):

            def extended(a: int, b: int, wraps: bool = mode == "wrap", sign: bool = kind[0] == "s") -> Word:
                length = b & 31 if wraps else min(b, 32)
                taken = a & ((1 << length) - 1)
                return kept("u32", taken - (1 << length) if sign and length and taken >> length - 1 else taken)

            yield on_registers(f"szext.{mode}.{kind}", "r", "rr", pairs, extended)

        def mask(a: int, b: int, wraps: bool = mode == "wrap") -> Word:
            place, length = (a & 31, b & 31) if wraps else (min(a, 32), min(b, 32))
            return ((1 << length) - 1) << place & _MASK

        yield on_registers(f"bmsk.{mode}.b32", "r", "rr", operands("amount", "amount"), mask)


_SELECTED = {
    "f4e": ((3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)),
    "b4e": ((5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)),
    "rc16": ((1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2)),
}  # by mode and the lower two bits of the selector: the source of each byte, highest first


def permutations() -> Iterator[Case]:
    def byte(a: int, b: int, place: int) -> int:
        return (b << 32 | a) >> 8 * place & 255

    def chosen(a: int, b: int, c: int) -> Word:
        made = 0
        for i in range(4):
            pick = c >> 4 * i
            taken = byte(a, b, pick & 7)
            made |= ((255 if taken & 128 else 0) if pick & 8 else taken) << 8 * i
        return made

    yield on_registers("prmt.b32", "r", "rrr", operands("b32", "b32", "b32"), chosen)
    for mode, table in _SELECTED.items():

        def by_mode(a: int, b: int, c: int, t: tuple[tuple[int, ...], ...] = table) -> Word:
            return int.from_bytes(bytes(byte(a, b, place) for place in t[c & 3]), "big")

        yield on_registers(f"prmt.b32.{mode}", "r", "rrr", operands("b32", "b32", "b32"), by_mode)


def _lop3() -> Case:
    """Ten tables in one kernel: all inputs, each alone, and what nvcc makes of common formulas."""
    tables = (0x00, 0xFF, 0xF0, 0xCC, 0xAA, 0x96, 0xE8, 0x1E, 0x40, 0xFE)
    text = "\n".join(f"lop3.b32 {{d{i}}}, {{a0}}, {{a1}}, {{a2}}, {table:#x};" for i, table in enumerate(tables))

    def expected(a: int, b: int, c: int) -> list[int]:
        rows = [(a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) for i in range(32)]
        return [sum((table >> row & 1) << i for i, row in enumerate(rows)) for table in tables]

    rows = operands("b32", "b32", "b32", count=128)
    return on_registers("lop3.b32", "r" * len(tables), "rrr", rows, expected, text=text)


def dot_products() -> Iterator[Case]:
    def parts(word: int, kind: str, width: int) -> list[int]:
        return [signed(f"{kind[0]}{width}", word >> width * i) for i in range(32 // width)]

    rows = operands("b32", "b32", "b32")
    for first, second in itertools.product(("u32", "s32"), repeat=2):
        result = "u32" if (first, second) == ("u32", "u32") else "s32"

        def four(a: int, b: int, c: int, x: str = first, y: str = second, z: str = result) -> Word:
            pairs = zip(parts(a, x, 8), parts(b, y, 8), strict=True)
            return kept(z, sum(p * q for p, q in pairs) + signed(z, c))

        yield on_registers(f"dp4a.{first}.{second}", "r", "rrr", rows, four)
        for half, start in (("lo", 0), ("hi", 2)):

            def two(a: int, b: int, c: int, x: str = first, y: str = second, s: int = start) -> Word:
                pairs = zip(parts(a, x, 16), parts(b, y, 8)[s : s + 2], strict=True)
                return kept("u32", sum(p * q for p, q in pairs) + c)

            yield on_registers(f"dp2a.{half}.{first}.{second}", "r", "rrr", rows, two)


def differences() -> Iterator[Case]:
    """|a - b| of each part, or with `.add` their sum on top of c."""
    for parts in (2, 4):
        width = 32 // parts

        def apart(a: int, b: int, w: int = width) -> list[int]:
            mask = (1 << w) - 1
            return [abs((a >> at & mask) - (b >> at & mask)) for at in range(0, 32, w)]

        def each(a: int, b: int, c: int, w: int = width, f: Callable[..., list[int]] = apart) -> Word:
            return sum(part << w * i for i, part in enumerate(f(a, b)))

        def total(a: int, b: int, c: int, f: Callable[..., list[int]] = apart) -> Word:
            return kept("u32", sum(f(a, b)) + c)

        rows = operands("b32", "b32", "b32")
        yield on_registers(f"vabsdiff{parts}.u32.u32.u32", "r", "rrr", rows, each)
        yield on_registers(f"vabsdiff{parts}.u32.u32.u32.add", "r", "rrr", rows, total)


def _find_set() -> Case:
    def found(mask: int, base: int, offset: int) -> Word:
        wanted = signed("s32", offset)
        if wanted == 0:
            return base if mask >> base & 1 else _MASK
        places = range(base, 32) if wanted > 0 else range(base, -1, -1)
        hits = [place for place in places if mask >> place & 1]
        return hits[abs(wanted) - 1] if abs(wanted) <= len(hits) else _MASK

    masks = (0, 1, _MASK, 0xAAAAAAAA, 0x80000001, 0x00F0F00F)
    offsets = (0, 1, 2, 5, 32, 33, _MASK, _MASK - 1, _MASK - 31, 0x80000000)
    rows = list(itertools.product(masks, (0, 1, 2, 15, 31), offsets))
    return on_registers("fns.b32", "r", "rrr", rows, found)


CASES = [
    *logic(),
    *shifts(),
    *counts(),
    *fields(),
    *permutations(),
    _lop3(),
    *dot_products(),
    *differences(),
    _find_set(),
]
