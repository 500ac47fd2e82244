"""Puzzle 10: one training step on operations of our own, from the gradient of the loss to ten steps in a graph."""

from grader.cooperation import equal_bits
from grader.goals import coalesced
from grader.launch_goals import kernel_chosen, kernels_only
from grader.puzzle import Case, DTypeBy, In, InOut, Mistake, Out, Part, Puzzle, Scalar, Tolerance, Work, f16, f32, i32

from . import pytorch
from .adamw import ADAMW
from .lists import BACKWARD_LINEAR, BACKWARD_MLP, READ_PLAN, TRAIN_STEP

F32, F16 = 0, 1  # dtype
MIXED = 2  # 10.5: halves, by a gradient in floats
RUNTIME = "runtime/*.hpp"
LR = 0.1

BY_DTYPE, DTYPE = DTypeBy("dtype", (f32, f16)), Scalar("dtype", i32)
N, ROWS, COLS = (Scalar(name, i32) for name in ("n", "rows", "cols"))


# ---- what is right ----


def mean_squared_gradient(y, target, rows, cols):
    return 2 * (y - target) / max(rows * cols, 1)


def through_relu(dy, x):
    return dy * (x > 0)


def bias_there_and_back(x, bias, dy):
    return x + bias, dy.sum(0)


def stepped(w, g, lr):
    """Only what lies at a multiple of `w_step` is a weight, the first column; and so with g."""
    moved = w.clone()
    moved[:, :1] -= lr * g[:, :1]
    return moved


# ---- tolerances: by type, as everything here is computed in float and rounded once to what is stored ----

HALF_STEP = 2.0**13  # a rounding to half, in shares of one to float
SMALLEST = {F32: 2.0**-147, F16: 2.0**-23, MIXED: 2.0**-23}  # four times half a step between denormals


def by_type(dtype, in_float, result):
    """Roundings in float are shares of `in_float`; one to half is a share of the result."""
    return in_float + HALF_STEP * result.abs() if dtype != F32 else in_float


def rounded_thrice(y, target, rows, cols, dtype):
    right = mean_squared_gradient(y, target, rows, cols)
    return by_type(dtype, 3 * right.abs(), right)


def rounded_sums(x, bias, dy, rows, dtype):
    """A sum of `rows` terms in 32 strands, which are added up: each term is rounded that many times at most."""
    there, back = bias_there_and_back(x, bias, dy)
    return by_type(dtype, there.abs(), there), by_type(dtype, (rows / 32 + 32) * dy.abs().sum(0), back)


def rounded_step(w, g, lr, dtype):
    right = stepped(w, g, lr)
    product = right.clone()
    product[:, :1] = lr * g[:, :1]
    return by_type(dtype, product.abs() + right.abs(), right)


def smallest(dtype):
    return SMALLEST[dtype]


def four_roundings(scale, why):
    return Tolerance(2.0**-22, smallest, scale=scale, why=f"{why}; four times that is allowed")


GRADIENT = four_roundings(
    rounded_thrice,
    "a difference, a product and a quotient in float, 2^-24 of the result each; a half is rounded once more, 2^-11",
)
SUMS = four_roundings(
    rounded_sums,
    "each term of a sum is rounded with at most rows / 32 + 32 others, 2^-24 of its size; a half once more, 2^-11",
)
UPDATE = four_roundings(
    rounded_step,
    "a product and a difference in float, 2^-24 of each; a half is rounded once more, 2^-11 of it",
)


# ---- cases ----


def both(*cases):
    """Each case with floats and with halves."""
    return [
        Case(**one.params, dtype=dtype, inputs=one.inputs, offset=one.offset) for one in cases for dtype in (F32, F16)
    ]


def matrices(*shapes, dtype=None, **more):
    cases = [Case(rows=rows, cols=cols, **more) for rows, cols in shapes]
    return both(*cases) if dtype is None else [Case(**one.params, dtype=dtype, inputs=one.inputs) for one in cases]


def vectors(*sizes, **more):
    return both(*(Case(n=n, **more) for n in sizes))


def updates(*sizes, dtype, steps=(1, 1), **more):
    return [Case(n=n, w_step=steps[0], g_step=steps[1], dtype=dtype, lr=LR, **more) for n in sizes]


def filled(*pair, names):
    return {"inputs": dict(zip(names, pair, strict=True))}


def moved(*pair, names=("w", "g")):
    return {"offset": dict(zip(names, pair, strict=True))}


ERROR, RELU = ("y", "target"), ("dy", "x")


# ---- goals ----


def fitting_kernel(case):
    n, dtype, *steps = (case.params[name] for name in ("n", "dtype", "w_step", "g_step"))
    if dtype == MIXED or (n > 1 and max(steps) > 1):
        return "sgd_step_any_kernel"
    if dtype == F32:
        return "sgd_step_f32_kernel"
    odd = n % 2 or any(offset % 4 for offset in case.offset.values())
    return "sgd_step_f16_kernel" if odd else "sgd_step_f16_half2_kernel"


# ---- mistakes ----

MISTAKES_OF_GRADIENT = [
    Mistake(
        "the loss had been a sum, not a mean",
        lambda y, target: 2 * (y - target),
        why="The loss is divided by the number of elements, and so is each of its gradients: 2 · (y - target) / count.",
    ),
    Mistake(
        "it had been divided by the rows alone",
        lambda y, target, rows: 2 * (y - target) / max(rows, 1),
        why="The mean goes over all elements: count is rows · cols.",
    ),
    Mistake(
        "the 2 of the square were left out",
        lambda y, target, rows, cols: (y - target) / max(rows * cols, 1),
        why="The derivative of a square is twice what was squared.",
    ),
    Mistake(
        "target and prediction had changed places",
        lambda y, target, rows, cols: mean_squared_gradient(target, y, rows, cols),
        why="The loss grows where y lies above the target: the gradient is y - target, not the other way round.",
    ),
]
MISTAKES_OF_RELU = [
    Mistake(
        "0 counted as positive",
        lambda dy, x: dy * (x >= 0),
        why="Where x is 0, the gradient is 0, as in PyTorch.",
    ),
    Mistake(
        "the sign of dy decided, not that of x",
        lambda dy: dy * (dy > 0),
        why="What passed on the way forward is told by x. A negative gradient is passed on as well as a positive one.",
    ),
    Mistake(
        "the slope alone were the answer",
        lambda x: (x > 0) * 1.0,
        why="The chain rule multiplies: the slope, 1 or 0, times the gradient that arrives.",
    ),
    Mistake(
        "everything were passed on",
        lambda dy: dy,
        why="Where x is not positive the ReLU gave 0 whatever x was, so that nothing comes back.",
    ),
]
MISTAKES_OF_BIAS = [
    Mistake(
        "the sum of the gradient were its mean",
        lambda x, bias, dy, rows: (x + bias, dy.sum(0) / max(rows, 1)),
        why="The bias is added to every row, and the gradients of all rows add up. The mean is in dy already.",
    ),
    Mistake(
        "the bias were left out",
        lambda x, dy: (x, dy.sum(0)),
        why="bias[c] is added to column c of every row; c is i % cols.",
    ),
    Mistake(
        "the first row alone had been added up",
        lambda x, bias, dy: (x + bias, dy[:1].sum(0)),
        why="Each of the 32 threads of a column has a sum of its own: all of them have to be added up.",
    ),
]
MISTAKES_OF_UPDATE = [
    Mistake(
        "the step had been taken where there are no weights",
        lambda w, g, lr: w - lr * g,
        why="A kernel that goes through memory from front to back was given a tensor with gaps: look at the strides.",
    ),
]

puzzle = Puzzle(
    title="Train step",
    parts=[
        READ_PLAN,
        Part(
            "mse_grad",
            params=[
                In("y", BY_DTYPE, "rows", "cols"),
                In("target", BY_DTYPE, "rows", "cols"),
                Out("dy", BY_DTYPE, "rows", "cols"),
                ROWS,
                COLS,
                DTYPE,
            ],
            reference=mean_squared_gradient,
            pytorch=pytorch.mean_squared_gradient,
            sampled=lambda at, i, j: (at.y[i, j], at.target[i, j]),
            groups={
                "full blocks": matrices((16, 64), (32, 256)),
                "ragged end": matrices((1, 1), (5, 7), (257, 1), (3, 341), (31, 33)),
                "hard numbers": [
                    *matrices((10, 100), **filled("normal", "alike", names=ERROR)),
                    *matrices((10, 100), **filled("mixed_magnitudes", "mixed_magnitudes", names=ERROR)),
                    *matrices((10, 100), **filled("overflowing_half", "cancelling", names=ERROR)),
                    *matrices((1, 3), **filled("denormals", "denormals", names=ERROR)),
                ],
                "unaligned": [
                    Case(rows=9, cols=37, dtype=F32, offset={"y": 4, "target": 8, "dy": 12}),
                    Case(rows=9, cols=37, dtype=F16, offset={"y": 2, "target": 6, "dy": 4}),
                ],
                "large": matrices((601, 503)),
                "empty": matrices((0, 5), (5, 0)),
            },
            bench=Case(rows=1 << 14, cols=1 << 14, dtype=F32),
            far=Case(rows=(1 << 16) + 1, cols=(1 << 15) + 1, dtype=F16),  # more elements than an int can count
            work=lambda rows, cols, dtype: Work(bytes=(6 if dtype == F16 else 12) * rows * cols, flops=3 * rows * cols),
            tolerance=GRADIENT,
            lesson="The first gradient: 2 · (y - target) / count.",
            goals=[coalesced()],
            headers=[RUNTIME],
            mistakes=MISTAKES_OF_GRADIENT,
        ),
        Part(
            "relu_bwd",
            params=[In("dy", BY_DTYPE, "n"), In("x", BY_DTYPE, "n"), Out("dx", BY_DTYPE, "n"), N, DTYPE],
            reference=through_relu,
            pytorch=pytorch.through_relu,
            sampled=lambda at, i: (at.dy[i], at.x[i]),
            groups={
                "full blocks": vectors(1024, 4096),
                "zeros": vectors(1000, **filled("normal", "integers", names=RELU)),
                "ragged end": vectors(1, 7, 255, 257, 1021),
                "hard numbers": [
                    *vectors(1000, **filled("mixed_magnitudes", "denormals", names=RELU)),
                    *vectors(1000, **filled("denormals", "normal", names=RELU)),
                ],
                "unaligned": [
                    Case(n=333, dtype=F32, offset={"dy": 4, "x": 8, "dx": 12}),
                    Case(n=333, dtype=F16, offset={"dy": 2, "x": 6, "dx": 4}),
                ],
                "large": vectors(300_007),
                "empty": vectors(0),
            },
            bench=Case(n=1 << 28, dtype=F32),
            far=Case(n=(3 << 29) + 1, dtype=F16),  # offsets past 2^31 bytes
            work=lambda n, dtype: Work(bytes=(6 if dtype == F16 else 12) * n, flops=n),
            tolerance=Tolerance(0.0, why="a gradient is passed on as it is, or it is 0"),
            lesson="What the ReLU stopped on the way forward is stopped on the way back.",
            goals=[coalesced()],
            headers=[RUNTIME],
            mistakes=MISTAKES_OF_RELU,
        ),
        Part(
            "bias_grad",
            params=[
                In("x", BY_DTYPE, "rows", "cols"),
                In("bias", BY_DTYPE, "cols"),
                In("dy", BY_DTYPE, "rows", "cols"),
                Out("y", BY_DTYPE, "rows", "cols"),
                Out("dbias", BY_DTYPE, "cols"),
                ROWS,
                COLS,
                DTYPE,
            ],
            reference=bias_there_and_back,
            groups={
                "whole blocks": matrices((32, 32), (64, 128)),
                "any size": matrices((1, 1), (5, 7), (33, 31), (100, 65), (1, 300), (300, 1)),
                "hard numbers": [
                    *matrices((65, 40), inputs={"x": "normal", "bias": "normal", "dy": "cancelling"}),
                    *matrices((65, 40), inputs={"x": "mixed_magnitudes", "bias": "mixed_magnitudes"}),
                    *matrices((65, 40), inputs={"dy": "mixed_magnitudes"}),
                    *matrices((65, 40), inputs={"dy": "overflowing_half"}, dtype=F32),
                ],
                "unaligned": [
                    Case(rows=9, cols=37, dtype=F32, offset={"x": 4, "bias": 8, "dy": 12, "y": 8, "dbias": 4}),
                    Case(rows=9, cols=37, dtype=F16, offset={"x": 2, "bias": 6, "dy": 4, "y": 10, "dbias": 2}),
                ],
                "many rows": matrices((1500, 33), inputs={"dy": "large_offset"}, dtype=F32) + matrices((1500, 33)),
                "wide": matrices((3, 9001)),
                "empty": matrices((0, 5), (5, 0)),
            },
            bench=Case(rows=1 << 12, cols=1 << 16, dtype=F32),
            far=Case(rows=(1 << 11) + 1, cols=(1 << 20) + 1, dtype=F16),  # more elements than an int can count
            work=lambda rows, cols, dtype: Work(
                bytes=(2 if dtype == F16 else 4) * (3 * rows * cols + 2 * cols), flops=2 * rows * cols
            ),
            tolerance=SUMS,
            lesson="What is copied to all rows on the way forward is added up over them on the way back.",
            goals=[equal_bits(), kernels_only(), coalesced()],
            headers=[RUNTIME],
            mistakes=MISTAKES_OF_BIAS,
        ),
        Part(
            "sgd_supported",
            params=[
                InOut("w", DTypeBy("dtype", (f32, f16, f16)), "n", "w_step"),
                In("g", DTypeBy("dtype", (f32, f16, f32)), "n", "g_step"),
                Scalar("lr", f32),
                N,
                Scalar("w_step", i32),
                Scalar("g_step", i32),
                DTYPE,
            ],
            reference=stepped,
            pytorch=pytorch.stepped,
            groups={
                "f16 even": [
                    *updates(1024, 2, 258, 2046, 2050, dtype=F16),
                    *updates(1000, 34, dtype=F16, **moved(4, 8)),
                ],
                "f32": [*updates(1024, 2, 257, dtype=F32), *updates(1000, 33, dtype=F32, **moved(4, 8))],
                "f16 odd": [*updates(1023, 1, 3, 257, dtype=F16), *updates(1021, dtype=F16, **moved(4, 4))],
                "f16 unaligned": [
                    *updates(1024, 2, dtype=F16, **moved(2, 0)),
                    *updates(1024, 258, dtype=F16, **moved(0, 2)),
                    *updates(1024, dtype=F16, **moved(2, 2)),
                    *updates(1024, dtype=F16, **moved(6, 4)),
                ],
                "with gaps": [
                    *updates(64, 2, 33, dtype=F16, steps=(2, 2)),
                    *updates(100, dtype=F16, steps=(3, 1)),
                    *updates(100, dtype=F16, steps=(1, 3)),
                    *updates(64, 33, dtype=F32, steps=(2, 1)),
                    *updates(1, dtype=F16, steps=(5, 5)),
                ],
                "two types": [*updates(64, 33, dtype=MIXED), *updates(64, dtype=MIXED, steps=(1, 2))],
                "empty": [*updates(0, dtype=F32), *updates(0, dtype=F16)],
            },
            bench=updates(1 << 28, dtype=F16)[0],
            work=lambda n, dtype: Work(bytes=(6 if dtype == F16 else 12) * n, flops=2 * n),
            tolerance=UPDATE,
            lesson="A variant says what it can do: no more, and no less.",
            goals=[kernel_chosen(fitting_kernel)],
            uses=["sgd_f32", "sgd_f16", "sgd_f16_half2"],
            headers=[RUNTIME, "runtime/variants/sgd_step_*.cu"],
            mistakes=MISTAKES_OF_UPDATE,
        ),
        BACKWARD_LINEAR,
        BACKWARD_MLP,
        TRAIN_STEP,
        ADAMW,
    ],
)
