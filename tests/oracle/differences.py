"""Where the software GPU gives other bits than an H200, with the reason and how far: everything that is not listed here
is equal to the bit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.instructions.case import Case

Words = NDArray[np.uint64]
_WIDTHS = {"f16": 16, "bf16": 16, "f16x2": 16, "bf16x2": 16, "f32": 32, "f64": 64}


@dataclass(frozen=True)
class Difference:
    """`cases`: what the whole name of a case matches; `shown`: that in words. `kind`: "approximate", where PTX gives an
    error that both keep; "open", where PTX leaves the result open; "other", where the GPU does not do what PTX says.

    `units`: how many units in the last place lie between the two at most; `apart`: how far they are apart at most,
    where the error of PTX is no relative one.
    """

    cases: str
    kind: str
    reason: str
    shown: str
    units: int = 0
    apart: float = 0.0

    def covers(self, case: Case) -> bool:
        return re.fullmatch(self.cases, case.name) is not None

    def allows(self, case: Case, theirs: Words, ours: Words) -> bool:
        """Whether these words, of the GPU and of the software GPU, are as near as is said here."""
        if self.apart:
            return bool(np.all(np.abs(_floats(theirs) - _floats(ours)) <= self.apart))
        if not self.units:
            return True
        kind = case.name.split(".")[-1]
        pairs = [(theirs, ours)]
        if kind.endswith("x2"):
            low, sixteen = np.uint64(0xFFFF), np.uint64(16)
            pairs = [(theirs & low, ours & low), (theirs >> sixteen, ours >> sixteen)]
        return all(bool(np.all(np.abs(_order(a, kind) - _order(b, kind)) <= self.units)) for a, b in pairs)


def _floats(words: Words) -> NDArray[np.float64]:
    return words.astype(np.uint32).view(np.float32).astype(np.float64)


def _order(words: Words, kind: str) -> NDArray[np.int64]:
    """Numbers that stand in the order of the values, one apart for neighbours; of an f64 made of its upper word, of
    neighbours among those.
    """
    width = _WIDTHS[kind]
    magnitude = (words & np.uint64((1 << width - 1) - 1)).astype(np.int64)
    return np.where(words >> np.uint64(width - 1) != 0, -magnitude, magnitude)


_NEAREST = "computed to the nearest number here"
DIFFERENCES = (
    Difference(r"(rcp|sqrt|rsqrt)\.approx(\.ftz)?\.f32", "approximate", _NEAREST, "rcp, sqrt, rsqrt of f32", units=1),
    Difference(r"div\.(approx|full)(\.ftz)?\.f32", "approximate", _NEAREST, "div.approx and div.full of f32", units=1),
    Difference(r"ex2\.approx(\.ftz)?\.f32", "approximate", _NEAREST, "ex2 of f32", units=2),
    Difference(r"lg2\.approx(\.ftz)?\.f32", "approximate", _NEAREST, "lg2 of f32", apart=2.0**-17),
    Difference(r"(sin|cos)\.approx(\.ftz)?\.f32", "approximate", _NEAREST, "sin, cos of f32", apart=2.0**-14.7),
    Difference(r"tanh\.approx\.f32", "approximate", _NEAREST, "tanh of f32", units=128),
    Difference(r"ex2\.approx(\.ftz)?\.b?f16(x2)?", "approximate", _NEAREST, "ex2 of f16 and bf16", units=1),
    Difference(r"tanh\.approx\.f16(x2)?", "approximate", _NEAREST, "tanh of f16", units=1),
    Difference(
        r"tanh\.approx\.bf16(x2)?",
        "other",
        "the GPU cuts off instead of rounding, which at ±0.746 is 1.00007 times the error of 2^-8 that PTX gives",
        "tanh of bf16",
        units=1,
    ),
    Difference(r"rsqrt\.approx\.f64", "approximate", _NEAREST, "rsqrt of f64", units=1),
    Difference(
        r"(rcp|rsqrt)\.approx\.ftz\.f64",
        "approximate",
        "only the upper word is made, cut off here; one unit of it",
        "rcp, rsqrt of f64 with .ftz",
        units=1 << 32,
    ),
    Difference(
        r"mov\.u32 of %(nwarpid|smid|nsmid)",
        "open",
        "what the GPU has and where it puts a block",
        "%nwarpid, %smid, %nsmid",
    ),
    Difference(
        r"mov\.u32 of %warpid", "other", "where a GPU puts a warp; here warps are numbered in their block", "%warpid"
    ),
    Difference(
        r"(atom|red)(\.global|\.shared)?\.add\.f64( to \w+)?",
        "open",
        "which NaN comes of a NaN",
        "atom.add, red.add of f64",
    ),
    Difference(
        r"bfe\.[us]64|bfi\.b64",
        "open",
        "places and lengths above 255, to which PTX restricts them",
        "bfe, bfi of 64 bits",
    ),
    Difference(r"fns\.b32", "other", "an offset of -2^31 finds nothing by PTX; the GPU gives 0", "fns"),
    Difference(
        r"st(\.\w+)?(\.v[24])?\.f32( to \w+)? and a register of 64 bits",
        "other",
        "PTX cuts the register off; ptxas converts it from an unsigned integer",
        "st.f32 of a register of 64 bits",
    ),
)


def listed(case: Case) -> list[Difference]:
    """What covers the case: none, if all must be equal."""
    return [difference for difference in DIFFERENCES if difference.covers(case)]
