"""Atomics: atom and red (PTX ISA 9.1, sections 9.7.13.7 and 9.7.13.8).

A thread has a word of its own, so every result is known. What many threads do to one word is tested as their sum.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence

from tests import exact
from tests.exact import F32, F64, Format
from tests.instructions.case import Case, Row, Word, fixed
from tests.instructions.memory import GLOBAL, SHARED, TO_GLOBAL, TO_SHARED, Place
from tests.instructions.values import FORMATS, WIDTHS, kept, operands, signed
from tests.instructions.words import Word16, result

PLACES = (GLOBAL, SHARED, TO_GLOBAL, TO_SHARED)
_LETTER = {16: "h", 32: "r", 64: "d"}
Function = Callable[..., Word]  # of the word in memory and the operands: what memory holds afterwards


def width(kind: str) -> int:
    return 32 if kind.endswith("x2") else FORMATS[kind].bits if kind in FORMATS else WIDTHS[kind]


def _atomic(
    name: str, place: Place, kind: str, rows: Sequence[tuple[int, ...]], function: Function, *, title: str, red: bool
) -> Case:
    """A row holds the word in memory and the operands. Out come the old word, where there is a result, and the new one,
    with 4 bytes beside it that must not change.
    """
    bits, letter = width(kind), _LETTER[width(kind)]
    count = len(rows[0])
    loads = "\n".join(f"ld.global.b{bits} %{letter}{i}, [%in+{8 * i}];" for i in range(1, count))
    given = ", ".join(f"%{letter}{i}" for i in range(1, count))
    target = "" if red else f"%{letter}10, "
    old = (
        "mov.b64 %d10, 0;" if red else {"h": "cvt.u64.u16 %d10, %h10;", "r": "cvt.u64.u32 %d10, %r10;", "d": ""}[letter]
    )
    body = f"""{place.make}
ld.global.v2.b64 {{%d30, %d31}}, [%in];
{place.put("%d30", "%d31")}
{loads}
> {name} {target}[{place.base}], {given};
{old}
{place.get("%d30", "%d31")}
st.global.b64 [%out], %d10;
st.global.b64 [%out+8], %d30;"""
    above = 0x5EC0_0000_0000_0000 if bits < 64 else 0
    filled = [(row[0] | above, *row[1:], *[0] * (count & 1)) for row in rows]

    def expected() -> list[Row]:
        made: list[Row] = []
        for row in rows:
            new = function(*row)
            made.append((0 if red else row[0], new | above if isinstance(new, int) else _Above(new, above)))
        return made

    assert len(rows) % 64 == 0
    return Case(title, body, filled, 2, expected, before=place.before, block=64)


class _Above:
    """A word below bits that stay."""

    def __init__(self, word: Word, above: int) -> None:
        self.word, self.above = word, above

    def accepts(self, bits: int) -> bool:
        below = bits ^ self.above
        return self.word == below if isinstance(self.word, int) else self.word.accepts(below)


def everywhere(operation: str, kind: str, rows: Sequence[tuple[int, ...]], function: Function) -> Iterator[Case]:
    """In global and shared memory and by generic addresses of both, as `atom` and, where PTX has it, as `red`."""
    for place in PLACES:
        yield from _both(operation, kind, rows, function, place)


def _both(
    operation: str, kind: str, rows: Sequence[tuple[int, ...]], function: Function, place: Place
) -> Iterator[Case]:
    for verb in ("atom",) if operation in ("exch", "cas") else ("atom", "red"):
        name = f"{verb}{place.space}.{operation}.{kind}"
        title = name if place.space else f"{name} to {place.name}"
        yield _atomic(name, place, kind, rows, function, title=title, red=verb == "red")


def integers() -> Iterator[Case]:
    for kind in ("u32", "s32", "u64", "s64"):
        rows = operands(kind, kind)

        def least(a: int, b: int, k: str = kind) -> Word:
            return kept(k, min(signed(k, a), signed(k, b)))

        def most(a: int, b: int, k: str = kind) -> Word:
            return kept(k, max(signed(k, a), signed(k, b)))

        def total(a: int, b: int, k: str = kind) -> Word:
            return kept(k, a + b)

        yield from everywhere("min", kind, rows, least)
        yield from everywhere("max", kind, rows, most)
        if kind != "s64":  # PTX has no add.s64
            yield from everywhere("add", kind, rows, total)
    for kind in ("b32", "b64"):
        rows = operands(kind, kind)
        yield from everywhere("and", kind, rows, lambda a, b: a & b)
        yield from everywhere("or", kind, rows, lambda a, b: a | b)
        yield from everywhere("xor", kind, rows, lambda a, b: a ^ b)
        yield from everywhere("exch", kind, rows, lambda a, b: b)
    rows = operands("u32", "u32")
    yield from everywhere("inc", "u32", rows, lambda a, b: 0 if a >= b else a + 1)
    yield from everywhere("dec", "u32", rows, lambda a, b: b if a == 0 or a > b else a - 1)
    for kind in ("b16", "b32", "b64"):
        triples = operands(kind, kind, kind)
        same = [(a, a if i & 1 else b, c) for i, (a, b, c) in enumerate(triples)]
        yield from everywhere("cas", kind, same, lambda a, b, c: c if a == b else a)


def _sum(form: Format, *, flush: bool) -> Function:
    def expected(a: int, b: int) -> Word:
        if not flush:
            return result(form, exact.add(form, a, b, "rn"))
        a, b = exact.flushed(form, a), exact.flushed(form, b)
        bits = exact.add(form, a, b, "rn")
        return result(form, None if bits is None else exact.flushed(form, bits))

    return expected


def floats() -> Iterator[Case]:
    """In global memory a sum of f32 takes subnormals for zero, in shared memory it does not."""
    rows = (
        operands("f32", "f32")
        + [(1, 2), (0x00800000, 0x80000001), (0x80000001, 0x80000001), (0x00400000, 0x00400000)] * 16
    )
    for place in PLACES:
        flush = place.name == "global"
        yield from _both("add", "f32", rows, _sum(F32, flush=flush), place)
    yield from everywhere("add", "f64", operands("f64", "f64"), _sum(F64, flush=False))
    for kind in ("f16", "bf16"):
        add = _sum(FORMATS[kind], flush=False)
        yield from everywhere("add.noftz", kind, operands(kind, kind), add)

        def both(a: int, b: int, one: Function = add) -> Word:
            low, high = one(a & 0xFFFF, b & 0xFFFF), one(a >> 16, b >> 16)
            return Word16(low, high) if not isinstance(low, int) or not isinstance(high, int) else low | high << 16

        yield from everywhere("add.noftz", f"{kind}x2", operands(f"{kind}x2", f"{kind}x2"), both)


def orders() -> Iterator[Case]:
    """Orders and scopes change no value of one thread."""
    rows = operands("u32", "u32")
    for scope in ("cta", "gpu", "sys"):
        for order in ("relaxed", "acquire", "release", "acq_rel"):
            for place in (GLOBAL, SHARED):
                name = f"atom.{order}.{scope}{place.space}.add.u32"
                yield _atomic(name, place, "u32", rows, lambda a, b: kept("u32", a + b), title=name, red=False)
        for order in ("relaxed", "release"):
            name = f"red.{order}.{scope}.global.max.u32"
            yield _atomic(name, GLOBAL, "u32", rows, max, title=name, red=True)
    for name in ("atom.global.cta.add.u32", "atom.sys.global.add.u32", "atom.add.global.u32"):
        place = GLOBAL
        yield _atomic(name, place, "u32", rows, lambda a, b: kept("u32", a + b), title=name, red=False)


def unwanted() -> Iterator[Case]:
    """The old value goes nowhere."""
    functions: dict[str, Callable[[int, int], int]] = {
        "exch.b32": lambda a, b: b,
        "add.u32": lambda a, b: kept("u32", a + b),
    }
    for operation, function in functions.items():
        body = f"""ld.global.v2.b64 {{%d0, %d1}}, [%in];
st.global.b64 [%out], %d0;
cvt.u32.u64 %r1, %d1;
> atom.global.{operation} _, [%out], %r1;"""
        rows = operands("u32", "u32")
        expected: list[Row] = [(function(*row),) for row in rows]
        yield Case(f"atom.global.{operation} without a result", body, rows, 1, fixed(expected), block=64)


def contended() -> Iterator[Case]:
    """All threads of a block at one word: nothing is lost, and every old value is seen once."""
    body = """mov.u64 %d12, counter;
> atom.global.add.u32 %r10, [%d12], 1;
mov.u64 %d10, seen;
mad.wide.u32 %d10, %r10, 4, %d10;
> red.global.add.u32 [%d10], 1;
bar.sync 0;
mov.u64 %d11, seen;
mad.wide.u32 %d11, %t, 4, %d11;
ld.global.b32 %r11, [%d11];
st.global.b32 [%out], %r11;"""
    before = ".global .align 4 .u32 counter;\n.global .align 4 .b8 seen[512];"
    yield Case("atom.global.add.u32 by all", body, [(0,)] * 128, 1, lambda: [(1,)] * 128, before=before)
    body = """.shared .align 4 .u32 most;
setp.eq.u32 %p1, %t, 0;
@%p1 st.shared.b32 [most], 0;
bar.sync 0;
ld.global.b32 %r1, [%in];
> red.shared.max.u32 [most], %r1;
bar.sync 0;
ld.shared.b32 %r2, [most];
st.global.b32 [%out], %r2;"""
    rows = [(17 * n % 128,) for n in range(128)]
    yield Case("red.shared.max.u32 by all", body, rows, 1, lambda: [(127,)] * 128)
    body = """.shared .align 4 .u32 turns;
setp.eq.u32 %p1, %t, 0;
@%p1 st.shared.b32 [turns], 0;
bar.sync 0;
> atom.shared.inc.u32 %r10, [turns], 99;
bar.sync 0;
ld.shared.b32 %r2, [turns];
st.global.b32 [%out], %r2;"""
    yield Case("atom.shared.inc.u32 by all", body, [(0,)] * 128, 1, lambda: [(28,)] * 128)


def vectors() -> Iterator[Case]:
    """Of a vector each element is added by itself, as sm_90 does it."""
    f32, f16x2 = (3.0, -1.5, 0.25, 64.0), (0x3C004000, 0xC0003800)  # (1, 2), (-2, 0.5)
    words = [int.from_bytes(struct.pack("<f", value), "little") for value in f32]
    doubled = [int.from_bytes(struct.pack("<f", 2 * value), "little") for value in f32]
    for verb, name, given, sums, load in (
        ("red", "add.v4.f32", words, doubled, "v4.b32"),
        ("atom", "add.v2.f32", words[:2], doubled[:2], "v2.b32"),
        ("red", "add.noftz.v2.f16x2", list(f16x2), [0x40004400, 0xC4003C00], "v2.b32"),
    ):
        count = len(given)
        values = ", ".join(f"%r{number}" for number in range(count))
        old = "{" + ", ".join(f"%r{10 + number}" for number in range(count)) + "}, " if verb == "atom" else ""
        body = f"""ld.global.{load} {{{values}}}, [%in];
st.global.{load} [%out], {{{values}}};
> {verb}.global.{name} {old}[%out], {{{values}}};"""
        if verb == "atom":
            body += f"\nst.global.{load} [%out+8], {{%r10, %r11}};"
        left = sums + given if verb == "atom" else sums
        rows, made = ([_words(numbers)] * 64 for numbers in (given, left))
        yield Case(f"{verb}.global.{name}", body, rows, len(made[0]), fixed(made), block=64)


def _words(numbers: Sequence[int]) -> tuple[int, ...]:
    """Pairs of 32-bit words as 64-bit ones."""
    return tuple(low | high << 32 for low, high in zip(numbers[::2], numbers[1::2], strict=True))


CASES = [*integers(), *floats(), *orders(), *unwanted(), *contended(), *vectors()]
