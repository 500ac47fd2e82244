"""What the kernels of numbers.cu make."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_, xor

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)
WORD, DOUBLE_WORD = 1 << 32, 1 << 64


def signed(values: list[int], bits: int = 32) -> torch.Tensor:
    """Whole numbers of any size, cut to so many bits."""
    half, whole = 1 << (bits - 1), 1 << bits
    return torch.tensor([(v + half) % whole - half for v in values], dtype=torch.int64 if bits == 64 else torch.int32)


@kernels.entry(whole_numbers(100, dtype=torch.int8, low=-128, high=127))
def bytes_backwards(x: torch.Tensor) -> torch.Tensor:
    return torch.div(x.flip(0), 2, rounding_mode="trunc")


@kernels.entry(whole_numbers(127, dtype=torch.int16))
def shorts_from_two_blocks(x: torch.Tensor) -> torch.Tensor:
    return x * x


@kernels.entry(whole_numbers(64))
def long_sums(x: torch.Tensor) -> torch.Tensor:
    return x.sum() << 40


@kernels.entry(whole_numbers(64))
def double_sums(x: torch.Tensor) -> torch.Tensor:
    return x.sum().double() / 8


@kernels.entry(whole_numbers(64))
def packed_bytes(x: torch.Tensor) -> torch.Tensor:
    def word(value: int, i: int) -> int:
        a = (value * 2654435761 % WORD).to_bytes(4, "little")
        b = (i * 0x01030507 % WORD).to_bytes(4, "little")
        added = bytes((p + q) % 256 for p, q in zip(a, b, strict=True))
        most = bytes(max(p, q) for p, q in zip(a, b, strict=True))
        mixed = bytes((a + b)[k] for k in (0, 2, 4, 6))
        return reduce(xor, (int.from_bytes(part, "little") for part in (added, most, mixed)))

    return signed([word(value, i) for i, value in enumerate(x.tolist())])


def counts(value: int, bits: int) -> int:
    value %= 1 << bits
    first = (value & -value).bit_length()
    return value.bit_count() + 100 * (bits - value.bit_length()) + 10000 * first


@kernels.entry(whole_numbers(64))
def bit_counts(x: torch.Tensor) -> torch.Tensor:
    values = x.tolist()
    return signed([counts(v, 32) for v in values] + [counts(v << 20, 64) for v in values])


@kernels.entry(whole_numbers(64))
def bits_reversed_and_shifted(x: torch.Tensor) -> torch.Tensor:
    def backwards(value: int) -> int:
        return int(f"{value % WORD:032b}"[::-1], 2)

    def shifted(value: int, i: int) -> int:
        both = i << 32 | value % WORD
        return (both << i % 32) >> 32 & WORD - 1 ^ both >> (i + 3) % 32 & WORD - 1

    values = list(enumerate(x.tolist()))
    first = [backwards(v) ^ shifted(v, i) for i, v in values]
    return signed(first + [backwards(v) ^ v >> 3 for _, v in values])


@kernels.entry(whole_numbers(64))
def high_halves(x: torch.Tensor) -> torch.Tensor:
    def remainder(value: int) -> int:
        return abs(value) % 5 * (1 if value > 0 else -1)

    values = list(enumerate(x.tolist()))
    high = [((v << 20) * (3000 + i) >> 32) + (v % WORD * 0x80000001 >> 32) + v * i for i, v in values]
    mixed = [abs(v - i) + 7 + abs(v) // 7 * 3 + remainder(v) + abs(3 - i) + (v + i >> 1) for i, v in values]
    return signed(high + mixed)


@kernels.entry(whole_numbers(128))
def each_atomic_on_int(x: torch.Tensor) -> torch.Tensor:
    values = x.tolist()
    bits = reduce(or_, (1 << (v & 15) for v in values))
    return signed([sum(values), -sum(values), min(values), max(values), 0, bits, reduce(xor, values)])


@kernels.entry(whole_numbers(100))
def each_atomic_in_shared(x: torch.Tensor) -> torch.Tensor:
    values = x.tolist()
    kept = reduce(and_, (v | 0xF0F0 for v in values))
    cells = [sum(values), -sum(values), min(values), max(values), kept, reduce(or_, values), reduce(xor, values)]
    return signed([*cells, (5 + 100) % 9, (5 - 100) % 11])


@kernels.entry(whole_numbers(1), in_any_order=True)
def tickets(x: torch.Tensor) -> torch.Tensor:
    drawn = torch.arange(16, dtype=torch.int32).repeat(4)
    return torch.cat([drawn, 100 + drawn])


@kernels.entry(whole_numbers(128))
def wide_atomics(x: torch.Tensor) -> torch.Tensor:
    values = [(v + 100) << 30 | i for i, v in enumerate(x.tolist())]
    least = min(DOUBLE_WORD - 1 - v for v in values)
    return signed([sum(values), max(values), least, DOUBLE_WORD - 1, reduce(xor, values)], 64)


@kernels.entry(whole_numbers(250))
def largest_with_its_place(x: torch.Tensor) -> torch.Tensor:
    first = int((x == x.amax()).nonzero()[0, 0])
    return signed([(int(x.amax()) + (1 << 31)) << 32 | (WORD - 1 - first)], 64)


@kernels.entry(whole_numbers(128))
def any_operation_by_compare_and_swap(x: torch.Tensor) -> torch.Tensor:
    value = torch.tensor(0.0)
    for _ in range(128):
        value = value * 0.5 + 1
    return torch.stack([x.amax() * 0.5, value])


@kernels.entry(whole_numbers(1))
def compare_and_swap_of_16_and_64_bits(x: torch.Tensor) -> torch.Tensor:
    even, odd = sum(range(0, 64, 2)), sum(range(1, 64, 2))
    return signed([(64 << 33) + even + odd, odd << 16 | even], 64)


@kernels.entry(whole_numbers(64), in_any_order=True)
def exchanged(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, torch.tensor([1000], dtype=torch.int32)])


@kernels.entry(whole_numbers(192))
def scopes_of_atomics(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x.sum()[None], x.view(3, 64).sum(1)]).int()


@kernels.entry(whole_numbers(300), in_any_order=True)
def positives_gathered(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(min=0)


@kernels.entry(whole_numbers(250))
def counted_by_key(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x & 7, minlength=8).int()
