"""Operands for tests: the edges of a type, all together where they are few, and random ones."""

from __future__ import annotations

import functools
import itertools
import random

from tests.exact import BF16, F16, F32, F64, Format

FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
WIDTHS = {f"{sign}{bits}": bits for sign in "sub" for bits in (8, 16, 32, 64)}


def signed(kind: str, bits: int) -> int:
    """The number behind the lower bits of a word, by type: s32, u16, b64."""
    width = WIDTHS[kind]
    bits &= (1 << width) - 1
    return bits - (1 << width) if kind[0] == "s" and bits >> (width - 1) else bits


def kept(kind: str, number: int) -> int:
    """The bits of a number in a type: it wraps."""
    return number & ((1 << WIDTHS[kind]) - 1)


def limits(kind: str) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    width = WIDTHS[kind]
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)


def clamped(kind: str, number: int) -> int:
    """The bits of the nearest number that the type has."""
    low, high = limits(kind)
    return kept(kind, min(max(number, low), high))


def float_edges(form: Format) -> list[int]:
    """Zeros, subnormals, the smallest and largest normal numbers, ties, infinities and NaNs, both signs."""
    one, top, smallest = form.one, form.infinity, form.smallest
    positive = [0, 1, smallest - 1, smallest, smallest + 1, one - 1, one, one + 1, one + 3, top - 1, top, top | 1]
    positive += [one + smallest, top | smallest >> 1]
    positive += [(form.bias + form.significand - 1) << (form.significand - 1)] if form.exponent > 5 else []
    positive += [(one | (smallest - 1)) - 5]
    return positive + [form.sign | bits for bits in positive]


def integer_edges(width: int) -> list[int]:
    top = 1 << (width - 1)
    small = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 127, 128, 255]
    return [*small, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, 2 * top - 128, 0x5A5A5A5A5A5A5A5A % (2 * top)]


_AMOUNTS = [0, 1, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 0x80000000, 0xFFFFFFFF]


def edges(kind: str) -> list[int]:
    """`kind`: a PTX type, "pred", or "amount": 32-bit numbers about the widths of registers."""
    if kind == "pred":
        return [0, 1]
    if kind == "amount":
        return _AMOUNTS
    if kind.endswith("x2"):
        halves = float_edges(FORMATS[kind[:-2]])
        return [low | high << 16 for low, high in zip(halves, halves[5:] + halves[:5], strict=True)]
    if kind in FORMATS:
        return float_edges(FORMATS[kind])
    return integer_edges(WIDTHS[kind])


def _drawn(kind: str, rng: random.Random) -> int:
    if kind == "pred":
        return rng.getrandbits(1)
    if kind == "amount":
        return rng.randrange(70)
    if kind.endswith("x2"):
        return _drawn(kind[:-2], rng) | _drawn(kind[:-2], rng) << 16
    if kind not in FORMATS:
        return rng.getrandbits(WIDTHS[kind])
    form = FORMATS[kind]
    if rng.random() < 0.4:
        return rng.getrandbits(form.bits)
    # near one, where sums cancel and products neither overflow nor vanish
    near = form.one + rng.randrange(-8, 8) * form.smallest + rng.getrandbits(form.significand - 1)
    return near | (form.sign * rng.getrandbits(1))


@functools.cache
def operands(*kinds: str, count: int = 256) -> list[tuple[int, ...]]:
    """`count` tuples, one operand of each kind: half of them edges, or all combinations of edges where they are few."""
    rng = random.Random(repr(kinds))
    lists = [edges(kind) for kind in kinds]
    combinations = 1
    for values in lists:
        combinations *= len(values)
    if combinations <= count * 2 // 3:
        rows = list(itertools.product(*lists))
    else:
        rows = [tuple(rng.choice(values) for values in lists) for _ in range(count * 2 // 3)]
    return rows + [tuple(_drawn(kind, rng) for kind in kinds) for _ in range(count - len(rows))]
