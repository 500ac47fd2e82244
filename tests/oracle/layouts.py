"""The fragments whose places an H200 was asked for: tests/oracle/matrix.cu has a kernel `layout_NAME` for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Fragment:
    """A matrix of `rows` by `columns` elements of `bits`, in memory by rows or by columns, each 16 bytes long at
    least, as wmma wants it. An element's number is its place in memory.
    """

    rows: int
    columns: int
    bits: int
    by_rows: bool
    is_accumulator: bool

    @property
    def leading(self) -> int:
        """Elements from one row, or column, to the next."""
        return max(self.columns if self.by_rows else self.rows, 128 // self.bits)


def _fragments() -> Iterator[tuple[str, Fragment]]:
    for shape, (m, n, k) in {"m16n16k16": (16, 16, 16), "m8n32k16": (8, 32, 16), "m32n8k16": (32, 8, 16)}.items():
        for order in ("row", "col"):
            for kind, bits in (("f16", 16), ("bf16", 16), ("s8", 8), ("u8", 8)):
                yield f"{shape}_a_{kind}_{order}", Fragment(m, k, bits, order == "row", False)
                yield f"{shape}_b_{kind}_{order}", Fragment(k, n, bits, order == "row", False)
            for kind, bits in (("f16", 16), ("f32", 32), ("s32", 32)):
                yield f"{shape}_c_{kind}_{order}", Fragment(m, n, bits, order == "row", True)
    for order in ("row", "col"):
        yield f"m16n16k8_a_tf32_{order}", Fragment(16, 8, 32, order == "row", False)
        yield f"m16n16k8_b_tf32_{order}", Fragment(8, 16, 32, order == "row", False)
        yield f"m16n16k8_c_f32_{order}", Fragment(16, 16, 32, order == "row", True)
        yield f"m8n8k4_a_f64_{order}", Fragment(8, 4, 64, order == "row", False)
        yield f"m8n8k4_b_f64_{order}", Fragment(4, 8, 64, order == "row", False)
        yield f"m8n8k4_c_f64_{order}", Fragment(8, 8, 64, order == "row", True)


FRAGMENTS = dict(_fragments())

_LANES = np.arange(32, dtype=np.uint32)
LDMATRIX_ROWS = (_LANES, _LANES * 7 % 32, _LANES // 8 * 8, _LANES * 2 + 1)
"""Rows that the lanes of ldmatrix name, in shared memory of 64 rows: in order, scattered, many times the same, odd."""


def numbered(fragment: Fragment) -> NDArray[Any]:
    """A matrix whose elements number themselves, of 8 bits modulo 256."""
    kind = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[fragment.bits]
    return np.arange(fragment.leading * (fragment.rows if fragment.by_rows else fragment.columns)).astype(kind)


def in_words(fragment: Fragment) -> int:
    """The matrix in words of 32 bits."""
    return fragment.rows * fragment.columns * fragment.bits // 32
