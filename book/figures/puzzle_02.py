"""Diagrams of the chapter on puzzle 2: tiles, barriers, edges, registers, and the roofline of the solutions."""

from __future__ import annotations

from pathlib import Path

from grader.publish.numbers import TIMINGS, result
from grader.publish.plot import Plot
from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing

_ROOT = Path(__file__).parents[2]
_MULTIPROCESSORS, _LANES = 132, 128  # of an H200: multiprocessors, and multiply-adds of each in a cycle
_BYTES_PER_SECOND = 4.8e12  # of its memory, by NVIDIA's data sheet
_INTENSITY = {"2.1": 0.25, "2.3": 4, "2.4": 16, "2.5": 32}  # operations for a byte asked for: T / 4 with tiles of T × T


def product() -> Drawing:
    """A tile of C, and the bands of A and B that it needs."""
    sketch = Sketch("A tile of a product of matrices")
    a_left, c_left, b_top, c_top = 44, 200, 34, 184
    deep, high, wide = 130, 110, 160
    sketch.box(a_left, c_top, deep, high, fill="empty")
    sketch.box(c_left, b_top, wide, deep - 10, fill="empty")
    sketch.box(c_left, c_top, wide, high, fill="empty")
    row, col, tile, step = 40, 70, 32, 26
    sketch.box(a_left, c_top + row, deep, tile, fill="load-past")
    sketch.box(c_left + col, b_top, tile, deep - 10, fill="load-past")
    sketch.box(a_left + 2 * step, c_top + row, step, tile, fill="load")
    sketch.box(c_left + col, b_top + 2 * step - 5, tile, step, fill="load")
    sketch.box(c_left + col, c_top + row, tile, tile, fill="store")
    sketch.text(a_left, c_top - 8, "A [M, K]", kind="code")
    sketch.text(c_left, b_top - 8, "B [K, N]", kind="code")
    sketch.text(c_left, c_top - 8, "C [M, N]", kind="code")
    sketch.arrow(a_left + 8, c_top + high + 14, a_left + deep - 8, c_top + high + 14)
    sketch.text(a_left + deep / 2, c_top + high + 32, "k", align="middle", kind="code")
    sketch.arrow(c_left - 14, b_top + 8, c_left - 14, b_top + deep - 20)
    sketch.text(c_left - 28, b_top + deep / 2, "k", kind="code")
    return sketch.drawing()


def barriers() -> Drawing:
    """Two warps, two rounds: what each barrier is for."""
    sketch = Sketch("What the two barriers of a round are for")
    left, top, high, turn_wide = 50, 44, 34, 164
    store_wide, product_wide, first, second = (46, 62), (84, 66), 66, 156
    for warp in range(2):
        y = top + warp * (high + 22)
        sketch.text(left - 8, y + 21, f"warp {warp}", kind="small", align="end")
        for turn in range(2):
            start = left + turn * turn_wide
            sketch.box(start, y, store_wide[warp], high, "store", fill="store-past")
            sketch.box(start + first + 4, y, product_wide[warp], high, "multiply", fill="load-past")
    below = top + 2 * high + 22
    for turn in range(2):
        start = left + turn * turn_wide
        for place, words in ((first, "all stored"), (second, "all read")):
            sketch.line(start + place, top - 10, start + place, below + 10)
            sketch.text(start + place, top - 16, words, kind="small", align="middle")
    sketch.text(left, below + 26, "time →", kind="soft")
    return sketch.drawing()


def edges() -> Drawing:
    """Tiles that hang over the edges of A, B and C."""
    sketch = Sketch("M = 21, N = 37, K = 40 in tiles of 16")
    unit = 3.1
    rows, cols, deep, tile = 21, 37, 40, 16
    a_left, top_b = 16, 34
    a_wide = 3 * tile * unit
    c_left, c_top = a_left + a_wide + 24, top_b + 3 * tile * unit + 26
    sketch.text(a_left, c_top - 8, "A", kind="code")
    sketch.text(c_left, top_b - 8, "B", kind="code")
    sketch.text(c_left - 14, c_top - 8, "C", kind="code")
    _hanging(sketch, a_left, c_top, (rows, deep), (2, 3), tile * unit, unit, "load-past")
    _hanging(sketch, c_left, top_b, (deep, cols), (3, 3), tile * unit, unit, "load-past")
    _hanging(sketch, c_left, c_top, (rows, cols), (2, 3), tile * unit, unit, "store-past")
    meanings = {"load-past": "elements", "store-past": "results", "empty": "beyond the edge: zero"}
    sketch.legend(a_left, c_top + 2 * tile * unit + 24, meanings)
    return sketch.drawing()


def _hanging(
    sketch: Sketch,
    left: float,
    top: float,
    sizes: tuple[int, int],
    tiles: tuple[int, int],
    step: float,
    unit: float,
    fill: str,
) -> None:
    rows, columns = sizes
    sketch.box(left, top, tiles[1] * step, tiles[0] * step, fill="empty")
    sketch.box(left, top, columns * unit, rows * unit, fill=fill)
    for line in range(tiles[0] + 1):
        sketch.line(left, top + line * step, left + tiles[1] * step, top + line * step)
    for line in range(tiles[1] + 1):
        sketch.line(left + line * step, top, left + line * step, top + tiles[0] * step)


def register_tile() -> Drawing:
    """The tile of a block, what it takes of A and B in a round, and the 64 results of one thread."""
    sketch = Sketch("Tiles of a block and of a thread in 2.5")
    size, left, top, cells, ty, tx = 7.6, 92, 62, 32, 1, 2  # a cell is 4 × 4 values
    own_rows, own_columns = (ty, cells // 2 + ty), (tx, cells // 2 + tx)
    side = cells * size
    of_a = {(row, place): "load" for row in own_rows for place in range(2)}
    of_b = {(place, column): "load" for column in own_columns for place in range(2)}
    of_c = {(row, column): "store" for row in own_rows for column in own_columns}
    sketch.cells(left - 44, top, rows=cells, columns=2, size=size, painted=of_a)
    sketch.cells(left, top - 30, rows=2, columns=cells, size=size, painted=of_b)
    sketch.cells(left, top, rows=cells, columns=cells, size=size, painted=of_c)
    sketch.text(left - 46, top - 8, "A", kind="code")
    sketch.text(left - 14, top - 20, "B", kind="code")
    sketch.bracket(left - 44, left - 44 + 2 * size, top + side + 6, "BK = 8")
    sketch.bracket(left, left + side, top + side + 6, "BN = 128")
    sketch.text(left + side + 8, top + side / 2, "BM =\n128", kind="soft")
    sketch.legend(left - 44, top + side + 52, {"load": "what a thread reads of A and B", "store": "its 8 × 8 results"})
    return sketch.drawing()


def ahead() -> Drawing:
    """Loads that wait, and loads that are sent off a round early."""
    sketch = Sketch("Loading a round ahead")
    left, high = 14, 30
    sketch.text(left, 30, "plain", kind="soft")
    x = left
    for turn in range(2):
        for words, wide, fill in ((f"load {turn}", 78, "waste"), ("put", 30, "store-past"), (f"× {turn}", 76, "load")):
            sketch.box(x, 38, wide, high, words, fill=fill)
            x += wide + 1
    top = 106
    sketch.text(left, top - 8, "a round ahead", kind="soft")
    sketch.box(left, top + high + 3, 78, high, "load 0", fill="waste")
    x = left + 79
    for turn in range(2):
        sketch.box(x, top, 30, high, "put", fill="store-past")
        sketch.box(x + 31, top, 80, high, f"× {turn}", fill="load")
        sketch.box(x + 31, top + high + 3, 78, high, f"load {turn + 1}", fill="waste")
        x += 112
    meanings = {"waste": "on the way from memory", "store-past": "put down in the tiles", "load": "products"}
    sketch.legend(left, top + 2 * high + 30, meanings)
    return sketch.drawing()


def forms() -> Drawing:
    """NN, NT and TN: which way the rows of A and B lie in memory."""
    sketch = Sketch("Three forms of a product")
    for place, (name, part, a_down, b_down) in enumerate(
        (("NN", "2.5", False, False), ("NT", "2.7", False, True), ("TN", "2.8", True, False))
    ):
        top = 34 + place * 104
        sketch.text(14, top + 34, name, kind="head")
        sketch.text(14, top + 52, part, kind="soft")
        _matrix(sketch, 80, top + 8, 84, 60, ("rows of C", "k"), down=a_down, put="along" if a_down else "down")
        _matrix(sketch, 258, top, 84, 72, ("k", "columns of C"), down=b_down, put="down" if b_down else "along")
        if place == 0:
            sketch.text(80, top - 14, "A", kind="code")
            sketch.text(258, top - 14, "B", kind="code")
    return sketch.drawing()


def _matrix(
    sketch: Sketch, left: float, top: float, wide: float, high: float, sides: tuple[str, str], *, down: bool, put: str
) -> None:
    sketch.box(left, top, wide, high, fill="load-past")
    for lane in (0.25, 0.5, 0.75):
        if down:
            sketch.arrow(left + wide * lane, top + 6, left + wide * lane, top + high - 6)
        else:
            sketch.arrow(left + 8, top + high * lane, left + wide - 8, top + high * lane)
    sketch.text(left - 5, top + high / 2 - 6, sides[0].replace(" ", "\n"), kind="small", align="end")
    sketch.text(left + wide / 2, top + high + 14, sides[1], kind="small", align="middle")
    sketch.text(left + wide + 6, top + high / 2 - 2, f"put\n{put}", kind="small")


def roofline() -> Drawing:
    """Operations for a byte asked for, and what the solutions reached."""
    parts = {part["label"]: part for part in result(_ROOT, TIMINGS)["parts"]}
    peak = 2 * _LANES * _MULTIPROCESSORS * parts["2.5"]["sensors"]["sm_mhz"] / 1e6  # TFLOP/s
    knee = peak * 1e12 / _BYTES_PER_SECOND
    sketch = Sketch("Roofline of an H200 in single precision")
    plot = Plot(
        sketch,
        across=(0.1, 200),
        up=(0.4, 100),
        log=True,
        x_title="operations for a byte asked of global memory",
        y_title="TFLOP/s",
        top=34,
    )
    plot.curve([(0.1, 0.1 * _BYTES_PER_SECOND / 1e12), (knee, peak), (200, peak)], "soft")
    sketch.text(plot.x(0.42), plot.y(0.62), "device memory", kind="small")
    sketch.text(plot.x(190), plot.y(peak) - 7, "arithmetic", kind="small", align="end")
    for label, intensity in _INTENSITY.items():
        plot.dot(intensity, parts[label]["tflop_per_s"], label)
    library = next(rival for rival in parts["2.5"]["rivals"] if rival["name"] == "pytorch")
    speed = 2 * 4096**3 / library["ms"] / 1e9
    plot.curve([(0.1, speed), (200, speed)], "load", dashed=True)
    sketch.text(plot.x(0.12), plot.y(speed) - 7, "cuBLAS", kind="small")
    return sketch.drawing()
