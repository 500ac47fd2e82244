"""Diagrams of the chapter on tensor cores."""

from __future__ import annotations

from pathlib import Path

from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing

_MATRICES = Path(__file__).resolve().parents[2] / "results" / "h200" / "matrices.npz"
_STORED = 520  # where a layout's record has what store_matrix_sync wrote (tests/oracle/matrix.cu)
_SIDE = 16
_SHOWN = {0: "load", 1: "w1", 17: "store"}  # lanes whose elements are painted


def one_product() -> Drawing:
    """What one call of mma_sync does."""
    sketch = Sketch("c = a · b + c, each 16 × 16")
    for place, (name, kind, fill) in enumerate(
        [("c", "float", "store-past"), ("a", "half", "load-past"), ("b", "half", "load-past"), ("c", "float", "empty")]
    ):
        x = 10 + 100 * place
        sketch.box(x, 34, 76, 76, f"{name}\n{kind}", fill=fill)
        sketch.text(x + 38, 26, "16 × 16", kind="small", align="middle")
        if place < 3:
            sketch.text(x + 88, 78, "=·+"[place], kind="head", align="middle")
    sketch.text(200, 134, "16 · 16 · 16 = 4,096 multiply-adds in one call", kind="soft", align="middle")
    return sketch.drawing()


def accumulator_lanes() -> Drawing:
    """Which lane holds which element of an accumulator of floats, as an H200 stored it."""
    import numpy

    with numpy.load(_MATRICES) as matrices:
        stored = matrices["layout_m16n16k16_c_f32_row"][_STORED : _STORED + _SIDE * _SIDE]
    lanes = [(int(word) - 1) // _SIDE for word in stored]  # an element is lane · 16 + its place there + 1
    places = {(index // _SIDE, index % _SIDE): lane for index, lane in enumerate(lanes)}
    sketch = Sketch("The lanes that hold an accumulator of 16 × 16 floats")
    sketch.cells(
        34, 22, rows=_SIDE, columns=_SIDE, size=22,
        painted={place: _SHOWN[lane] for place, lane in places.items() if lane in _SHOWN},
        words={place: str(lane) for place, lane in places.items()},
        across=[str(column) for column in range(_SIDE)],
        down=[str(row) for row in range(_SIDE)],
    )  # fmt: skip
    sketch.legend(34, 396, {fill: f"lane {lane}" for lane, fill in _SHOWN.items()})
    return sketch.drawing()


def block_and_warps() -> Drawing:
    """The 128 × 128 results of a block, and what its warps need of A and B in one round."""
    sketch = Sketch("A block's results, divided among its eight warps")
    left, top, wide, high = 132, 104, 58, 104
    for warp in range(8):
        down, right = divmod(warp, 4)
        fill = "store-past" if warp == 5 else "empty"
        words = f"warp {warp}\n64 × 32" if warp == 5 else f"warp {warp}"
        sketch.box(left + right * wide, top + down * high, wide, high, words, fill=fill)
    sketch.box(left, 34, 4 * wide, 46, fill="empty")
    sketch.box(left + wide, 34, wide, 46, "2 frag-\nments", fill="load-past")
    sketch.text(left + 4 * wide, 24, "Bs: 32 rows of B", kind="small", align="end")
    sketch.box(56, top, 56, 2 * high, fill="empty")
    sketch.box(56, top + high, 56, high, "4 frag-\nments", fill="load-past")
    sketch.text(56, top - 10, "As: 32 cols of A", kind="small", align="middle")
    sketch.text(48, top + high + 4, "128", kind="small", align="end")
    sketch.bracket(left, left + 4 * wide, top + 2 * high + 6, "128 columns of C")
    return sketch.drawing()


def formats() -> Drawing:
    """The bits of three formats, to scale."""
    sketch = Sketch("The bits of a float, a half and a bf16")
    bit = 11.5
    for place, (name, exponent, fraction) in enumerate([("float", 8, 23), ("half", 5, 10), ("bf16", 8, 7)]):
        y = 30 + 62 * place
        sketch.text(12, y - 6, f"{name}: {1 + exponent + fraction} bits", kind="small")
        sketch.box(12, y, bit, 26, fill="waste")
        sketch.box(12 + bit, y, exponent * bit, 26, f"{exponent}", fill="load-past")
        sketch.box(12 + bit + exponent * bit, y, fraction * bit, 26, f"{fraction}", fill="store-past")
    sketch.legend(12, 210, {"waste": "sign", "load-past": "exponent: range", "store-past": "fraction: precision"})
    return sketch.drawing()
