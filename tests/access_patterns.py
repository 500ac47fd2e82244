"""What the counters are compared with a GPU's on: launches of tests/kernels/merged.cu, and tables of addresses for
tests/kernels/access_patterns.cu. Nothing here needs a package.
"""

from __future__ import annotations

import random

LANES = 32
AWAY = -1
BYTES = {"char": 1, "short": 2, "int": 4, "int2": 8, "int4": 16}
KERNELS = {
    **{
        f"{verb}_{space}_{kind}": size
        for verb in ("load", "store")
        for space in ("shared", "global")
        for kind, size in BYTES.items()
    },
    "add_shared_int": 4,
    "add_global_int": 4,
}
"""Kernels of access_patterns.cu, and the bytes of their elements."""


def tables(kernel: str) -> dict[str, list[int]]:
    """The tables that the kernel is launched with: 32 elements each, below 1024."""
    wide = KERNELS[kernel] > 4 and "shared" in kernel
    return _usual() | _that_may_merge() if wide else _usual()


def _usual() -> dict[str, list[int]]:
    lanes = range(LANES)
    chance = random.Random(7)
    found = {
        "linear": list(lanes),
        "reversed": [31 - lane for lane in lanes],
        "from element 1": [lane + 1 for lane in lanes],
        "from element 5": [lane + 5 for lane in lanes],
        "all the same": [3] * LANES,
        "neighbours the same": [lane & ~1 for lane in lanes],
        "neighbours at 2 the same": [lane & ~2 for lane in lanes],
        "neighbours at 4 the same": [lane & ~4 for lane in lanes],
        "halves the same": [lane % 16 for lane in lanes],
        "quarters the same": [lane % 8 for lane in lanes],
        "pairs": [lane // 2 for lane in lanes],
        "fours": [lane // 4 for lane in lanes],
        "eights": [lane // 8 for lane in lanes],
        "two elements": [lane % 2 for lane in lanes],
        "two elements far apart": [lane % 2 * 32 for lane in lanes],
        "halves apart": [lane // 16 * 32 for lane in lanes],
        "swapped": [lane ^ 1 for lane in lanes],
        "rotated": [(lane + 7) % 32 for lane in lanes],
        "a row of a swizzled tile": [6 * 32 + (lane ^ 6) for lane in lanes],
        "a column of a swizzled tile": [32 * lane + (lane ^ 6) for lane in lanes],
        "only even lanes": [lane if lane % 2 == 0 else AWAY for lane in lanes],
        "only every fourth lane": [lane if lane % 4 == 0 else AWAY for lane in lanes],
        "only the first eight": [lane if lane < 8 else AWAY for lane in lanes],
        "only the last sixteen": [lane if lane >= 16 else AWAY for lane in lanes],
        "only lane 9": [lane if lane == 9 else AWAY for lane in lanes],
        "only even lanes, neighbours at 2 the same": [lane & ~2 if lane % 2 == 0 else AWAY for lane in lanes],
        "nobody": [AWAY] * LANES,
    }
    found |= {f"every {stride}th": [stride * lane for lane in lanes] for stride in (2, 3, 4, 5, 8, 16, 32, 33)}
    for number in range(6):
        found[f"scattered {number}"] = [chance.randrange(1024) for _ in lanes]
        some = [chance.randrange(64) for _ in lanes]
        found[f"some scattered {number}"] = [place if chance.random() < 0.7 else AWAY for place in some]
    return found


def _that_may_merge() -> dict[str, list[int]]:
    """Tables in which lanes agree with their neighbours, at distance 1 or 2, everywhere or not: what decides whether
    the parts of a wide access go together.
    """
    chance = random.Random(8)
    found: dict[str, list[int]] = {}
    for number, most in enumerate((2, 4, 8, 12, 16, 32, 64, 1024)):
        one = _agreeing(chance, 1, most)
        two = _agreeing(chance, 2, most)
        neither = [chance.randrange(most) for _ in range(LANES)]
        early = _agreeing(chance, 1, 8)
        found |= {
            f"agree at 1, {number}": one,
            f"agree at 2, {number}": two,
            f"agree at 1, then at 2, {number}": one[:16] + two[16:],
            f"agree at 1, then not, {number}": one[:16] + neither[16:],
            f"agree at 2 in quarters 1 and 3, {number}": two[:8] + neither[8:16] + two[16:24] + neither[24:],
            f"few, then many, {number}": early[:16] + one[16:],
            f"agree at 1, some away, {number}": _thinned(chance, one),
            f"agree at 2, some away, {number}": _thinned(chance, two),
            f"agree where one of two is away, {number}": [
                place if chance.random() < 0.5 or lane % 2 else AWAY for lane, place in enumerate(one)
            ],
            f"away but for one of two, {number}": [
                place if (lane + chance.randrange(2)) % 2 else AWAY for lane, place in enumerate(neither)
            ],
        }
    return found


def _agreeing(chance: random.Random, distance: int, most: int) -> list[int]:
    """Places below `most`, the same for each lane and its neighbour at that distance."""
    places = [chance.randrange(most) for _ in range(LANES)]
    return [places[lane & ~distance] for lane in range(LANES)]


def _thinned(chance: random.Random, places: list[int]) -> list[int]:
    return [place if chance.random() < 0.7 else AWAY for place in places]


MERGED: dict[str, tuple[tuple[int, int, int], tuple[int, int, int], int | None]] = {
    "column": ((1, 1, 1), (32, 1, 1), None),
    "padded": ((1, 1, 1), (32, 1, 1), None),
    "gemm16": ((2, 2, 1), (16, 16, 1), 32),
    "gemm32": ((2, 2, 1), (32, 32, 1), 64),
    "transpose": ((2, 2, 1), (32, 8, 1), 64),
    "row_stores": ((1, 1, 1), (32, 1, 1), None),
    "backwards": ((1, 1, 1), (32, 1, 1), None),
    "with_a_gap": ((1, 1, 1), (32, 1, 1), None),
    "global_pairs": ((1, 1, 1), (32, 1, 1), None),
    "bytes": ((1, 1, 1), (32, 1, 1), None),
    "rolled": ((1, 1, 1), (32, 1, 1), 15),
    "array_in_registers": ((1, 1, 1), (32, 1, 1), 3),
    "calls": ((1, 1, 1), (32, 1, 1), None),
}
"""Launches of merged.cu: grid, block, and the scalar where the kernel takes one."""
