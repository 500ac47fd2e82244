"""The fragments whose places an H200 was asked for: tests/oracle/matrix.cu has a kernel `layout_NAME` for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fragment:
    """A matrix of `rows` by `columns` elements of `bits`, in memory by rows or by columns; without gaps, so that an
    element's number is its place in memory.
    """

    rows: int
    columns: int
    bits: int
    by_rows: bool
    is_accumulator: bool

    @property
    def leading(self) -> int:
        return self.columns if self.by_rows else self.rows


def _fragments() -> Iterator[tuple[str, Fragment]]:
    for shape, (m, n, k) in {"m16n16k16": (16, 16, 16), "m8n32k16": (8, 32, 16), "m32n8k16": (32, 8, 16)}.items():
        for order in ("row", "col"):
            for kind in ("f16", "bf16"):
                yield f"{shape}_a_{kind}_{order}", Fragment(m, k, 16, order == "row", False)
                yield f"{shape}_b_{kind}_{order}", Fragment(k, n, 16, order == "row", False)
            for kind, bits in (("f16", 16), ("f32", 32)):
                yield f"{shape}_c_{kind}_{order}", Fragment(m, n, bits, order == "row", True)
    for order in ("row", "col"):
        yield f"m16n16k8_a_tf32_{order}", Fragment(16, 8, 32, order == "row", False)
        yield f"m16n16k8_b_tf32_{order}", Fragment(8, 16, 32, order == "row", False)
        yield f"m16n16k8_c_f32_{order}", Fragment(16, 16, 32, order == "row", True)


FRAGMENTS = dict(_fragments())

_LANES = np.arange(32, dtype=np.uint32)
LDMATRIX_ROWS = (_LANES, _LANES * 7 % 32, _LANES // 8 * 8, _LANES * 2 + 1)
"""Rows that the lanes of ldmatrix name, in shared memory of 64 rows: in order, scattered, many times the same, odd."""


def in_words(fragment: Fragment) -> int:
    """The matrix in words of 32 bits."""
    return fragment.rows * fragment.columns * fragment.bits // 32
