"""The matrix products that an H200 was asked for: forms, fragments of `mma`, and operands from a seed.

A tile is one product D = A B + C. Matrices are arrays of bit patterns, uint32, with shapes (tiles, M, K), (tiles, K, N)
and (tiles, M, N). Every number comes from a counter through a mixing function, so that the same operands can be made
anywhere, at any time.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Number:
    """A format of floating-point numbers: bits of the fraction and of the exponent, and below them bits without a
    meaning. `bits` is the width in memory.
    """

    fraction: int
    exponent: int
    below: int = 0

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction + self.below

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1


NUMBERS = {"f16": Number(10, 5), "bf16": Number(7, 8), "tf32": Number(10, 8, below=13), "f32": Number(23, 8)}


@dataclass(frozen=True)
class Form:
    """A product of tiles: `kind` of A and B, `c` and `d` the kinds of C and D. With `wmma` the matrices lie in memory,
    A, C and D by rows and B by columns; otherwise in the registers of `mma`.
    """

    name: str
    m: int
    n: int
    k: int
    kind: str
    c: str
    d: str
    wmma: bool = False


FORMS = {
    form.name: form
    for form in (
        Form("m16n8k8_f32_f16", 16, 8, 8, "f16", "f32", "f32"),
        Form("m16n8k8_f16_f16", 16, 8, 8, "f16", "f16", "f16"),
        Form("m16n8k8_f32_bf16", 16, 8, 8, "bf16", "f32", "f32"),
        Form("m16n8k16_f32_f16", 16, 8, 16, "f16", "f32", "f32"),
        Form("m16n8k16_f16_f16", 16, 8, 16, "f16", "f16", "f16"),
        Form("m16n8k16_f32_bf16", 16, 8, 16, "bf16", "f32", "f32"),
        Form("m16n8k4_f32_tf32", 16, 8, 4, "tf32", "f32", "f32"),
        Form("m16n8k8_f32_tf32", 16, 8, 8, "tf32", "f32", "f32"),
        Form("wmma_m16n16k16_f32_f16_f32", 16, 16, 16, "f16", "f32", "f32", wmma=True),
        Form("wmma_m16n16k16_f16_f16_f16", 16, 16, 16, "f16", "f16", "f16", wmma=True),
        Form("wmma_m16n16k16_f32_f16_f16", 16, 16, 16, "f16", "f16", "f32", wmma=True),
        Form("wmma_m16n16k16_f16_f16_f32", 16, 16, 16, "f16", "f32", "f16", wmma=True),
        Form("wmma_m8n32k16_f32_f16_f32", 8, 32, 16, "f16", "f32", "f32", wmma=True),
        Form("wmma_m8n32k16_f16_f16_f16", 8, 32, 16, "f16", "f16", "f16", wmma=True),
        Form("wmma_m32n8k16_f32_f16_f32", 32, 8, 16, "f16", "f32", "f32", wmma=True),
        Form("wmma_m32n8k16_f16_f16_f16", 32, 8, 16, "f16", "f16", "f16", wmma=True),
        Form("wmma_m16n16k16_f32_bf16_f32", 16, 16, 16, "bf16", "f32", "f32", wmma=True),
        Form("wmma_m8n32k16_f32_bf16_f32", 8, 32, 16, "bf16", "f32", "f32", wmma=True),
        Form("wmma_m32n8k16_f32_bf16_f32", 32, 8, 16, "bf16", "f32", "f32", wmma=True),
        Form("wmma_m16n16k8_f32_tf32_f32", 16, 16, 8, "tf32", "f32", "f32", wmma=True),
    )
}


# ---- numbers by chance -----------------------------------------------------------------------------------------------


class Chance:
    """Numbers by splitmix64 (Steele, Lea, Flood 2014) of a counter that starts where the name says."""

    def __init__(self, name: str) -> None:
        self._next = np.uint64(zlib.crc32(name.encode()) << 32)

    def words(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """64 bits by chance each."""
        size = int(np.prod(shape))
        with np.errstate(over="ignore"):
            made = (self._next + np.arange(1, size + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            made = (made ^ made >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
            made = (made ^ made >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        self._next += np.uint64(size)
        return (made ^ made >> np.uint64(31)).reshape(shape)

    def below(self, limit: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Integers from 0 to limit - 1."""
        return ((self.words(shape) >> np.uint64(33)).astype(np.int64)) % limit

    def often(self, share: float, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """True in that share of the places."""
        return self.below(1 << 20, shape) < int(share * (1 << 20))


def encoded(kind: str, sign: NDArray[np.int64], exponent: NDArray[np.int64], fraction: NDArray[np.int64]) -> Words:
    """Bits of (-1)^sign 1.fraction 2^exponent; too small exponents give the subnormal with what is left of the
    significand, too large ones the largest number.
    """
    number = NUMBERS[kind]
    one = 1 << number.fraction
    biased = np.minimum(exponent + number.bias, 2 * number.bias)
    shift = np.clip(1 - biased, 0, number.fraction + 2)
    significand = (one | fraction) >> shift
    magnitude = np.where(biased >= 1, (np.maximum(biased, 1) << number.fraction) + fraction, significand)
    return ((sign << number.exponent + number.fraction | magnitude) << number.below).astype(np.uint32)


def drawn(chance: Chance, kind: str, shape: tuple[int, ...], least: int, most: int) -> Words:
    """Numbers of either sign whose exponents lie between `least` and `most`."""
    number = NUMBERS[kind]
    sign, fraction = chance.below(2, shape), chance.below(1 << number.fraction, shape)
    return encoded(kind, sign, least + chance.below(most - least + 1, shape), fraction)


# ---- operands, by what they are hard for -----------------------------------------------------------------------------

Shapes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
Operands = tuple[Words, Words, Words]


def _range(kind: str) -> tuple[int, int]:
    """Exponents of the smallest and largest normal numbers."""
    bias = NUMBERS[kind].bias
    return 1 - bias, bias


def _near_one(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    return (
        drawn(chance, form.kind, shapes[0], -3, 0),
        drawn(chance, form.kind, shapes[1], -3, 0),
        drawn(chance, form.c, shapes[2], -3, 2),
    )


def _whole(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """Small whole numbers: all sums are exact."""

    def some(kind: str, shape: tuple[int, ...], bits: int) -> Words:
        number, sign = chance.below(1 << bits, shape), chance.below(2, shape)
        exponent = np.where(number > 0, np.log2(np.maximum(number, 1)).astype(np.int64), 0)
        fraction = (number << NUMBERS[kind].fraction >> exponent) & ((1 << NUMBERS[kind].fraction) - 1)
        return np.where(number > 0, encoded(kind, sign, exponent, fraction), 0).astype(np.uint32)

    return some(form.kind, shapes[0], 3), some(form.kind, shapes[1], 3), some(form.c, shapes[2], 5)


def _wide(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """Exponents from everywhere, products of all sizes."""
    _, high = _range(form.kind)
    spread = min(high, 60) // 2
    return (
        drawn(chance, form.kind, shapes[0], -spread, spread - 1),
        drawn(chance, form.kind, shapes[1], -spread, spread - 1),
        drawn(chance, form.c, shapes[2], -min(2 * spread, 15), min(2 * spread, 15)),
    )


def _alignment(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """One large product, the others some 20 to 30 bits below it: what is cut off while they are lined up."""
    _, high = _range(form.kind)
    top = min(high, 14)
    a = drawn(chance, form.kind, shapes[0], -top // 2, -top // 2 + 4)
    place = chance.below(form.k, shapes[0][:2])
    big = drawn(chance, form.kind, shapes[0], top - 2, top)
    a = np.where(np.arange(form.k) == place[..., None], big, a).astype(np.uint32)
    b = drawn(chance, form.kind, shapes[1], -5, -2)
    return a, b, drawn(chance, form.c, shapes[2], -10, 12)


def _few_products(count: int) -> Callable[[Chance, Form, Shapes], Operands]:
    """All but `count` products of a sum are zero; C lies some 0 to 30 bits above or below."""

    def made(chance: Chance, form: Form, shapes: Shapes) -> Operands:
        a = drawn(chance, form.kind, shapes[0], -8, 3)
        kept = np.argsort(chance.words(shapes[0]), axis=-1) < count
        b = drawn(chance, form.kind, shapes[1], -8, 3)
        low = -12 if form.c == "f16" else -24
        return np.where(kept, a, 0).astype(np.uint32), b, drawn(chance, form.c, shapes[2], low, 12)

    return made


def _cancelling(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """Neighbouring products that nearly or quite cancel, and C that may be what is left."""
    number = NUMBERS[form.kind]
    a, b, _ = _near_one(chance, form, shapes)
    top = np.uint32(1 << number.bits - 1)
    step = np.where(chance.often(0.3, shapes[0]), 1 << number.below, 0).astype(np.uint32)
    a[..., 1::2] = a[..., 0::2] ^ top ^ step[..., 1::2]
    b[:, 1::2, :] = b[:, 0::2, :]
    return a, b, drawn(chance, form.c, shapes[2], -14 if form.c == "f16" else -26, -8)


def _against_c(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """C is much larger than the products, or next to a power of two, so that its last bit is what the products move."""
    a, b, _ = _near_one(chance, form, shapes)
    high = 6 if form.c == "f16" else 26
    c = drawn(chance, form.c, shapes[2], 0, high)
    fraction = NUMBERS[form.c].fraction
    round_ones = (c >> np.uint32(fraction)) << np.uint32(fraction)
    ones = chance.often(0.5, shapes[2])
    edge = np.where(chance.often(0.5, shapes[2]), round_ones, round_ones | np.uint32((1 << fraction) - 1))
    return a, b, np.where(ones, c, edge).astype(np.uint32)


def _ties(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """Products that are powers of two; sums that fall between two results."""
    fraction = NUMBERS[form.kind].fraction

    def powers(shape: tuple[int, ...], least: int, most: int) -> Words:
        some = drawn(chance, form.kind, shape, least, most)
        shift = np.uint32(fraction + NUMBERS[form.kind].below)
        return (some >> shift) << shift

    a, b = powers(shapes[0], -7, 0), powers(shapes[1], -6, 0)
    return a, b, drawn(chance, form.c, shapes[2], -2, 2 if form.c == "f16" else 14)


def _subnormal(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """Subnormal factors, products and sums."""
    low, _ = _range(form.kind)
    lift = 14 if form.kind == "f16" else 20
    a = drawn(chance, form.kind, shapes[0], low - 8, low + 1)
    b = drawn(chance, form.kind, shapes[1], -3, lift)
    c_low, _ = _range(form.c)
    c = drawn(chance, form.c, shapes[2], c_low - NUMBERS[form.c].fraction, c_low + 4)
    return a, b, np.where(chance.often(0.3, shapes[2]), 0, c).astype(np.uint32)


def _vanishing(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """Products about the smallest numbers that D has, and below them."""
    bottom = -24 if form.d == "f16" else -149
    low, _ = _range(form.kind)
    half = max(bottom // 2, low - 8)
    a = drawn(chance, form.kind, shapes[0], half - 5, half + 5)
    b = drawn(chance, form.kind, shapes[1], half - 5, half + 5)
    c = drawn(chance, form.c, shapes[2], max(bottom, -149 if form.c == "f32" else -24), bottom + 12)
    return a, b, np.where(chance.often(0.5, shapes[2]), 0, c).astype(np.uint32)


def _overflowing(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """Sums about the largest number of D, and products past it."""
    _, high = _range(form.kind)
    top = 15 if form.d == "f16" else 127
    half = min(high, (top + 1) // 2)
    a = drawn(chance, form.kind, shapes[0], half - 2, half)
    b = drawn(chance, form.kind, shapes[1], min(high, top - half) - 4, min(high, top - half))
    limit = _range(form.c)[1]
    c = drawn(chance, form.c, shapes[2], limit - 1, limit)
    thinned = np.where(chance.often(0.7, shapes[0]), 0, a).astype(np.uint32)
    return thinned, b, np.where(chance.often(0.3, shapes[2]), 0, c).astype(np.uint32)


def _special(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """Infinities, NaNs, zeros of both signs and the largest numbers, here and there."""

    def with_some(words: Words, kind: str, share: float) -> Words:
        number = NUMBERS[kind]
        infinity = ((1 << number.exponent) - 1) << number.fraction
        quiet = infinity | 1 << number.fraction - 1
        kinds = [0, infinity, infinity, quiet, quiet | 3, infinity | 1, infinity - 1, 0]
        chosen = np.array(kinds, np.uint32)[chance.below(len(kinds), words.shape)] << np.uint32(number.below)
        chosen |= (chance.below(2, words.shape) << number.bits - 1).astype(np.uint32)
        return np.where(chance.often(share, words.shape), chosen, words).astype(np.uint32)

    a, b, c = _near_one(chance, form, shapes)
    share = 0.5 / form.k
    return with_some(a, form.kind, share), with_some(b, form.kind, share), with_some(c, form.c, 0.2)


def _zeros(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """Zeros of both signs, and a few numbers that cancel to one."""

    def zeros(kind: str, shape: tuple[int, ...]) -> Words:
        return (chance.below(2, shape) << NUMBERS[kind].bits - 1).astype(np.uint32)

    a, b, c = zeros(form.kind, shapes[0]), zeros(form.kind, shapes[1]), zeros(form.c, shapes[2])
    near = _near_one(chance, form, shapes)
    same = chance.often(0.5, shapes[1])
    a_all = chance.often(0.3, shapes[0])
    return np.where(a_all, near[0], a).astype(np.uint32), np.where(same, near[1], b).astype(np.uint32), c


def _anything(chance: Chance, form: Form, shapes: Shapes) -> Operands:
    """Any bits at all, in which NaNs are kept rare."""

    def some(kind: str, shape: tuple[int, ...]) -> Words:
        number = NUMBERS[kind]
        words = (chance.words(shape) >> np.uint64(64 - number.bits)).astype(np.uint32)
        top = np.uint32(((1 << number.exponent) - 1) << number.fraction + number.below)
        rarely = chance.often(0.98, shape)
        return np.where((words & top == top) & rarely, words & ~top, words).astype(np.uint32)

    return some(form.kind, shapes[0]), some(form.kind, shapes[1]), some(form.c, shapes[2])


GROUPS: dict[str, Callable[[Chance, Form, Shapes], Operands]] = {
    "near one": _near_one,
    "whole": _whole,
    "wide": _wide,
    "alignment": _alignment,
    "one product": _few_products(1),
    "two products": _few_products(2),
    "three products": _few_products(3),
    "cancelling": _cancelling,
    "against c": _against_c,
    "ties": _ties,
    "subnormal": _subnormal,
    "vanishing": _vanishing,
    "overflowing": _overflowing,
    "special": _special,
    "zeros": _zeros,
    "anything": _anything,
}


def operands(form: Form, group: str, tiles: int) -> Operands:
    """A, B and C of that many tiles of one group, from the names alone; the first tiles of a longer list are those of a
    shorter one only if the list has the same length: each length is a list of its own.
    """
    shapes = ((tiles, form.m, form.k), (tiles, form.k, form.n), (tiles, form.m, form.n))
    a, b, c = GROUPS[group](Chance(f"{form.name} {group} {tiles}"), form, shapes)
    return a, b, c


_STORED = {"f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32, "f32": np.uint32}


def stored(form: Form, a: Words, b: Words, c: Words) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The matrices as they lie in memory for `wmma`: A and C by rows, B by columns."""
    by_columns = np.ascontiguousarray(np.swapaxes(b, 1, 2))
    return a.astype(_STORED[form.kind]), by_columns.astype(_STORED[form.kind]), c.astype(_STORED[form.c])


# ---- the registers of mma (PTX ISA 9.1, section 9.7.14.5) ------------------------------------------------------------


def _pairs(words: Words) -> Words:
    """16-bit elements along the last axis, two to a word, the first in the lower half."""
    return (words[..., 0::2] | words[..., 1::2] << np.uint32(16)).astype(np.uint32)


def fragments(form: Form, a: Words, b: Words, c: Words) -> Operands:
    """The words of the 32 lanes: arrays of shape (tiles, 32, registers)."""
    lane = np.arange(32)
    group, place = lane >> 2, lane & 3
    tiles = len(a)
    if form.kind == "tf32":  # a word an element: rows g and g + 8, columns t and t + 4
        columns = [place + 4 * half for half in range(form.k // 4)]
        a_words = [a[:, group + 8 * row, column] for column in columns for row in (0, 1)]
        b_words = [b[:, column, group] for column in columns]
    else:  # a word two neighbours: columns 2t, 2t + 1, and 8 further
        wide, tall = _pairs(a), _pairs(np.swapaxes(b, 1, 2))
        columns = [place + 4 * half for half in range(form.k // 8)]
        a_words = [wide[:, group + 8 * row, column] for column in columns for row in (0, 1)]
        b_words = [tall[:, group, column] for column in columns]
    c_words = (
        [_pairs(c)[:, group + 8 * row, place] for row in (0, 1)]
        if form.c == "f16"
        else [c[:, group + 8 * row, 2 * place + one] for row in (0, 1) for one in (0, 1)]
    )
    stacked = [np.ascontiguousarray(np.stack(words, axis=-1)) for words in (a_words, b_words, c_words)]
    assert stacked[0].shape[:2] == (tiles, 32)
    return stacked[0], stacked[1], stacked[2]


def assembled(form: Form, words: Words) -> Words:
    """D as a matrix, (tiles, M, N), of the words of its lanes."""
    lane = np.arange(32)
    group, place = lane >> 2, lane & 3
    d = np.zeros((len(words), form.m, form.n), np.uint32)
    for row in (0, 1):
        for one in (0, 1):
            if form.d == "f16":
                d[:, group + 8 * row, 2 * place + one] = words[..., row] >> np.uint32(16 * one) & np.uint32(0xFFFF)
            else:
                d[:, group + 8 * row, 2 * place + one] = words[..., 2 * row + one]
    return d
