"""Diagrams of chapter puzzle-07: what fusing saves, what it costs, and what floats do to a variance and a gradient."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.publish.numbers import result
from grader.publish.plot import Curve, Plot
from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing

ROOT = Path(__file__).parents[2]

Floats = NDArray[Any]


def two_ways() -> Drawing:
    """7.2 beside 7.3: what is launched, and what goes through memory in between."""
    sketch = Sketch("In three kernels, normed and y go through memory; in one kernel they do not")
    sketch.text(16, 22, "7.2", kind="head")
    sketch.text(216, 22, "7.3", kind="head")
    _steps(sketch, 16, ("x", "layer norm", "normed", "product", "y", "+ bias", "y"))
    _steps(sketch, 216, ("x", "normalise,\nmultiply,\nadd bias", "y"))
    sketch.legend(216, 290, {"load-past": "in memory"})
    sketch.legend(216, 310, {"store": "a kernel"})
    return sketch.drawing()


def _steps(sketch: Sketch, left: float, names: tuple[str, ...]) -> None:
    """Buffers and kernels in turn, from top to bottom."""
    y = 36.0
    for place, name in enumerate(names):
        kernel = place % 2 == 1
        height = 26 + 16 * name.count("\n")
        sketch.box(left + (0 if kernel else 40), y, 160 if kernel else 80, height, name, fill=_fill(kernel))
        y += height
        if place < len(names) - 1:
            sketch.arrow(left + 80, y, left + 80, y + 16)
            y += 16


def _fill(kernel: bool) -> str:
    return "store" if kernel else "load-past"


def who_brings_what() -> Drawing:
    """Sixteen columns of a row of x are brought by four threads, four neighbours each."""
    sketch = Sketch("In each round a row of the tile is 16 columns, brought by four threads")
    fills, left, size, rows = ("load-past", "store-past", "waste", "empty"), 64, 19, 4
    painted = {(row, column): fills[column // 4] for row in range(rows) for column in range(16)}
    words = {(row, 4 * quad + 1): str(4 * row + quad) for row in range(rows) for quad in range(4)}
    sketch.bracket(left, left + 16 * size, 34, "columns k0 to k0 + 15", above=True)
    sketch.cells(left, 42, rows=rows, columns=16, size=size, painted=painted)
    for (row, column), name in words.items():
        sketch.text(left + (column + 1) * size, 42 + (row + 0.5) * size + 4, f"t {name}", kind="small", align="middle")
    for row in range(rows):
        sketch.text(left - 6, 42 + (row + 0.5) * size + 4, f"row {row}", kind="small", align="end")
    sketch.text(left, 140, "and so on, to threads 252 to 255 with row 63", kind="soft")
    return sketch.drawing()


def three_products() -> Drawing:
    """The product y = input · Wᵀ, and the two products that lead back, by their shapes."""
    sketch = Sketch("The shapes of the three products")
    rows, cols, outs = 74, 52, 32
    for y, name, shapes in (
        (24, "y  =  input · Wᵀ", ((outs, rows, "y"), (cols, rows, "input"), (outs, cols, "Wᵀ"))),
        (134, "dinput  =  dy · W", ((cols, rows, "dinput"), (outs, rows, "dy"), (cols, outs, "W"))),
        (244, "dW  =  dyᵀ · input", ((cols, outs, "dW"), (rows, outs, "dyᵀ"), (cols, rows, "input"))),
    ):
        sketch.text(16, y + 42, name, kind="soft")
        x = 150.0
        for place, (width, height, label) in enumerate(shapes):
            sketch.box(
                x, y + (rows - height) / 2, width, height, label, fill="store-past" if place == 0 else "load-past"
            )
            x += width
            if place < 2:
                sketch.text(x + 12, y + rows / 2 + 5, "=·"[place], align="middle")
                x += 24
    return sketch.drawing()


def workspace() -> Drawing:
    """Who has which piece of the workspace of 7.6."""
    sketch = Sketch("The workspace of 7.6: normed, dnormed, and the partial sums of 7.5")
    for x, width, name, size, fill in (
        (16, 130, "normed", "rows · cols", "load-past"),
        (146, 130, "dnormed", "rows · cols", "store-past"),
        (276, 108, "partial sums", "512 · cols", "waste"),
    ):
        sketch.box(x, 24, width, 40, name, fill=fill)
        sketch.bracket(x + 2, x + width - 2, 70, size)
    return sketch.drawing()


# ---- what was measured ----


def fusion_by_width() -> Drawing:
    """How many times as long the way in steps takes as the fused kernel, by width of the output."""
    widths = result(ROOT, "h200/fusion.json")["widths"]
    sketch = Sketch("The time in steps over the time in one kernel, by width of the output")
    plot = Plot(sketch, across=(56, 4700), up=(0.7, 3.2), log=True, x_title="out_features", left=44, height=220)
    claim = plot.y(1.5) - plot.y(2)
    sketch.box(plot.left, plot.y(2), plot.width, claim, fill="empty")
    sketch.text(plot.left + plot.width - 8, plot.y(1.73) + 4, "the claim: 1.5 to 2 times", kind="soft", align="end")
    for times in (2, 1.5, 0.8):
        sketch.text(plot.left - 7, plot.y(times) + 4, f"{times:g} ×", kind="small", align="end")
    plot.curve([(56, 1), (4700, 1)], "soft", dashed=True)
    ways: tuple[tuple[str, Curve], ...] = (("unfused", "store"), ("same_tile", "load"))
    for name, kind in ways:
        points = [(int(width), row[name]["ms"] / row["fused"]["ms"]) for width, row in widths.items()]
        plot.curve(points, kind)
        for width, times in points:
            plot.dot(width, times, "", kind)
    sketch.text(plot.x(150), plot.y(2.45), "7.2 as it is")
    sketch.text(plot.x(72), plot.y(0.93) + 4, "7.2 with 7.3's product")
    return sketch.drawing()


# ---- what is computed here ----


def cancellation() -> Drawing:
    """The error of a variance of 1 by how far the values lie from 0, computed in three ways in single precision."""
    sketch = Sketch("How wrong a variance of 1 comes out in floats, by the mean of the values")
    plot = Plot(
        sketch,
        across=(1, 1e5),
        up=(1e-9, 1e3),
        log=True,
        x_title="mean of the values",
        y_title="relative error",
        left=62,
        width=306,
    )
    means = [10 ** (step / 4) for step in range(21)]
    ways: tuple[tuple[Callable[[Floats], Floats], Curve], ...] = (
        (squares_minus_square, "store"),
        (two_passes, "load"),
        (welford, "good"),
    )
    for way, kind in ways:
        plot.curve([(mean, error_at(mean, way)) for mean in means], kind)
    sketch.text(plot.x(260), plot.y(1), "squares minus square", align="end")
    sketch.text(plot.x(8), plot.y(2e-6), "Welford", kind="good")
    sketch.text(plot.x(3), plot.y(5e-9) + 4, "two passes")
    return sketch.drawing()


LANES, COLS, ROWS = 512, 4096, 64  # threads of a block, and the rows that are tried


def error_at(mean: float, way: Callable[[Floats], Floats]) -> float:
    """The root of the mean square of the relative error, over some rows."""
    values = (np.random.default_rng(7).standard_normal((ROWS, COLS)) + mean).astype(np.float32)
    right = values.astype(np.float64).var(axis=1)
    return max(float(np.sqrt(np.mean((way(values) / right - 1) ** 2))), 1e-9)


def by_lane(values: Floats) -> Floats:
    """[rows, rounds, lanes]: what each thread of a block sees, round by round."""
    return values.reshape(len(values), -1, LANES)


def added_up(values: Floats) -> Floats:
    """Sums as a block makes them: each lane for itself, then the lanes in a tree, each addition rounded to a float."""
    sums = np.zeros((len(values), LANES), np.float32)
    for one in by_lane(values).transpose(1, 0, 2):
        sums = sums + one
    while sums.shape[1] > 1:
        sums = sums[:, ::2] + sums[:, 1::2]
    return sums[:, 0]


def two_passes(values: Floats) -> Floats:
    """The mean first, then the squared distances from it: 7.1."""
    distances = values - (added_up(values) / np.float32(COLS))[:, None]
    return added_up(distances * distances) / np.float32(COLS)


def squares_minus_square(values: Floats) -> Floats:
    """The mean of the squares minus the square of the mean."""
    mean = added_up(values) / np.float32(COLS)
    return added_up(values * values) / np.float32(COLS) - mean * mean


def welford(values: Floats) -> Floats:
    """A mean and a sum of squared distances that each value corrects, by lane, and then put together."""
    mean, squares = np.zeros((len(values), LANES), np.float32), np.zeros((len(values), LANES), np.float32)
    for seen, one in enumerate(by_lane(values).transpose(1, 0, 2), 1):
        before = one - mean
        mean = mean + before / np.float32(seen)
        squares = squares + before * (one - mean)
    seen_by_each = np.float32(COLS // LANES)
    apart = mean - (added_up(mean) / np.float32(LANES))[:, None]
    return added_up(squares + seen_by_each * apart * apart) / np.float32(COLS)


def differences() -> Drawing:
    """How far a gradient by differences is off, by the step, in double and in single precision."""
    sketch = Sketch("How far a gradient by differences is off, by the step")
    plot = Plot(
        sketch,
        across=(1e-8, 1),
        up=(1e-11, 10),
        log=True,
        x_title="step h",
        y_title="relative error",
        left=62,
        width=306,
    )
    steps = [10 ** (place / 4) for place in range(-32, 1)]
    kinds: tuple[tuple[type, Curve], ...] = ((np.float32, "store"), (np.float64, "load"))
    for precision, kind in kinds:
        plot.curve([(step, difference_error(step, precision)) for step in steps], kind)
    plot.curve([(1e-6, 1e-11), (1e-6, 10)], "soft", dashed=True)
    sketch.text(plot.x(1.5e-6), plot.y(1.5), "gradcheck's step", kind="soft")
    sketch.text(plot.x(3e-5), plot.y(3e-2), "float")
    sketch.text(plot.x(3e-6), plot.y(2e-9), "double")
    return sketch.drawing()


def difference_error(step: float, precision: type) -> float:
    """Of the derivatives of all y of a layer norm and a linear layer by all x of a row, in the Frobenius norm."""
    random, cols, outs = np.random.default_rng(7), 64, 16
    x, gamma, beta = random.standard_normal((3, cols))
    weights = random.standard_normal((outs, cols)) / cols**0.5
    exact = jacobian(x, gamma, weights)
    found = np.empty((outs, cols))
    for column in range(cols):
        moved = np.zeros(cols)
        moved[column] = step
        above, below = (layers(x + way * moved, gamma, beta, weights, precision) for way in (1, -1))
        found[:, column] = (above - below) / precision(2 * step)
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def layers(x: Floats, gamma: Floats, beta: Floats, weights: Floats, precision: type) -> Floats:
    """A row through both layers, all of it in this precision."""
    row: Floats = x.astype(precision)
    centred = row - row.mean(dtype=precision)
    scaled = centred / np.sqrt((centred * centred).mean(dtype=precision) + precision(1e-5))
    result: Floats = weights.astype(precision) @ (scaled * gamma.astype(precision) + beta.astype(precision))
    return result


def jacobian(x: Floats, gamma: Floats, weights: Floats) -> Floats:
    """The same derivatives by the formula, in double precision."""
    cols = len(x)
    rstd = 1 / np.sqrt(x.var() + 1e-5)
    n = (x - x.mean()) * rstd
    result: Floats = (weights * gamma) @ (rstd * (np.eye(cols) - 1 / cols - np.outer(n, n) / cols))
    return result
