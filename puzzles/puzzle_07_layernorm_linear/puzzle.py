"""Puzzle 7: LayerNorm and the linear layer behind it, apart and in one kernel, forward and backward."""

from dataclasses import replace

from grader.cooperation import equal_bits
from grader.goals import coalesced, reuse, writes_results_only
from grader.puzzle import (
    Beside,
    Case,
    In,
    Mistake,
    Out,
    Part,
    Puzzle,
    Scalar,
    Tolerance,
    Work,
    Workspace,
    f16,
    f32,
    i32,
)
from grader.python_part import PythonPart, Source

from . import pytorch
from .backward import (
    CHAIN,
    GRADIENTS,
    MISTAKES_OF_CHAIN,
    MISTAKES_OF_DX,
    MISTAKES_OF_LINEAR,
    MISTAKES_OF_SUMS,
    PRODUCTS,
    SAVED,
    all_gradients,
    gradients,
    through_linear,
)
from .cases import EPS, aligned, at_least_one, back_layers, back_shapes, calls, filled, in_float4s, layers, shapes
from .forward import (
    LINEAR,
    LINEAR_MISTAKES,
    MISTAKES,
    SINGLE,
    fused,
    layernorm,
    normed_and_linear,
    sizes_step_by_step,
    step_by_step,
)
from .half import HALF, HALF_CASES, HALF_GOALS, HALF_MISTAKES, half_work

ROWS, COLS, OUT_FEATURES, EPSILON = (
    Scalar("rows", i32),
    Scalar("cols", i32),
    Scalar("out_features", i32),
    Scalar("eps", f32),
)


def matrix(role, name, dtype=f32):
    """A matrix of rows × cols."""
    return role(name, dtype, "rows", "cols")


def by_column(role, *names, dtype=f32):
    """A value for each column, by name."""
    return [role(name, dtype, "cols") for name in names]


def by_row(role, *names):
    """A float for each row, by name."""
    return [role(name, f32, "rows") for name in names]


# ---- parts: forward ----

X, GAMMA, BETA = matrix(In, "x"), *by_column(In, "gamma", "beta")
MEAN, RSTD = by_row(Out, "mean", "rstd")


LAYERNORM = Part(
    "layernorm",
    params=[X, GAMMA, BETA, matrix(Out, "y"), MEAN, RSTD, ROWS, COLS, EPSILON],
    reference=layernorm,
    pytorch=pytorch.layernorm,
    sampled=lambda at, i, _: (at.x[i, :], at.gamma[:], at.beta[:]),
    groups={
        "a block wide": shapes((4, 512), (2, 1024)),
        "large offset": filled("large_offset", (5, 300), (2, 4096)),
        "small rows": [*filled("small", (5, 300), (9, 7)), *filled("small", (5, 300), eps=1e-6)],
        "any width": shapes((3, 513), (9, 33), (300, 7), (7, 1), (5, 2), (3, 1021)),
        "hard numbers": [
            case
            for generator in ("mixed_magnitudes", "constant_rows", "denormals", "beyond_half")
            for case in filled(generator, (5, 300))
        ],
        "unaligned": shapes((5, 100), offset={"x": 4, "gamma": 8, "beta": 12, "y": 4, "mean": 8, "rstd": 12}),
        "wide": shapes((2, 65_536)),
        "more than 65,535 rows": shapes((65_537, 3)),
        "empty": shapes((0, 5)),
    },
    bench=Case(rows=1 << 16, cols=1 << 12, eps=EPS),
    far=Case(rows=(1 << 19) + 3, cols=4097, eps=EPS),  # more elements than an int can count
    work=lambda rows, cols: Work(bytes=8 * (rows * cols + cols + rows), flops=8 * rows * cols),
    tolerance=SINGLE,
    lesson="Two sums over a row: the mean, and the variance about it.",
    goals=[coalesced(), writes_results_only(lambda rows, cols: 4 * rows * (cols + 2))],
    valid=at_least_one,
    mistakes=MISTAKES,
)

WEIGHTS = [In("W", f32, "out_features", "cols"), In("bias", f32, "out_features")]
Y = Out("y", f32, "rows", "out_features")
LAYERS = {
    "whole tiles": layers((64, 128, 64), (128, 256, 64)),
    "any size": layers((65, 33, 17), (1, 1, 1), (7, 1, 5), (5, 2, 130), (130, 70, 100), (3, 1021, 66)),
    "large offset": filled("large_offset", (64, 256, 64), (5, 384, 7), cases=layers),
    "small rows": filled("small", (5, 300, 7), (64, 64, 64), cases=layers),
    "hard numbers": [
        case
        for generator in ("mixed_magnitudes", "constant_rows", "denormals")
        for case in filled(generator, (5, 300, 7), cases=layers)
    ],
    "unaligned": layers((66, 100, 65), offset={"x": 4, "gamma": 8, "beta": 12, "W": 4, "bias": 8, "y": 12}),
    "several tiles": layers((192, 256, 192)),
    "wide": layers((2, 4096, 3)),
    "empty": layers((0, 5, 3), (5, 7, 0)),
}
COUNTED = layers((256, 128, 64), (256, 128, 256), (256, 128, 1024))  # for both ways side by side
BENCH = Case(rows=1 << 16, cols=1024, out_features=256, eps=EPS)


def work_of_layers(rows, cols, out_features):
    moved = rows * (cols + out_features + 2) + 2 * cols + out_features * (cols + 1)
    return Work(bytes=4 * moved, flops=2 * rows * cols * out_features + 8 * rows * cols)


LAYERNORM_LINEAR_UNFUSED = Part(
    "layernorm_linear_unfused",
    params=[X, GAMMA, BETA, *WEIGHTS, Y, MEAN, RSTD, matrix(Out, "normed"), ROWS, COLS, OUT_FEATURES, EPSILON],
    reference=step_by_step(layernorm),
    pytorch=pytorch.step_by_step,
    groups=LAYERS,
    bench=BENCH,
    work=lambda rows, cols, out_features: Work(
        bytes=work_of_layers(rows, cols, out_features).bytes + 4 * rows * cols,
        flops=work_of_layers(rows, cols, out_features).flops,
    ),
    tolerance=replace(LINEAR, scale=sizes_step_by_step),
    lesson="A launch for each operation, and what lies in between in memory.",
    uses=["layernorm", "gemm_nt"],
    valid=at_least_one,
    mistakes=[Mistake(one.like, step_by_step(one.reference), why=one.why) for one in MISTAKES],
)

LAYERNORM_LINEAR = Part(
    "layernorm_linear",
    params=[X, GAMMA, BETA, *WEIGHTS, Y, MEAN, RSTD, ROWS, COLS, OUT_FEATURES, EPSILON],
    reference=fused(layernorm),
    pytorch=pytorch.layernorm_linear,
    sampled=lambda at, i, j: (at.x[i, :], at.gamma[:], at.beta[:], at.W[j, :], at.bias[j]),
    groups=LAYERS,
    bench=BENCH,
    far=Case(rows=(1 << 21) + 3, cols=1025, out_features=1030, eps=EPS),  # more elements than an int can count
    work=work_of_layers,
    tolerance=LINEAR,
    lesson="Normalised on the way into the tile: one kernel, and nothing kept in between.",
    goals=[
        writes_results_only(lambda rows, out_features: 4 * rows * (out_features + 2)),
        coalesced(only="load", where=aligned),
        reuse(work_of_layers, 8),
    ],
    valid=at_least_one,
    mistakes=LINEAR_MISTAKES,
    beside=Beside(["layernorm_linear_unfused"], by="out_features", cases=COUNTED),
)

# ---- parts: backward ----

LAYER_SIZES = [ROWS, COLS, OUT_FEATURES]
DY, W = In("dy", f32, "rows", "out_features"), WEIGHTS[0]
DW, DBIAS = Out("dW", f32, "out_features", "cols"), Out("dbias", f32, "out_features")


def products(rows, cols, out_features):
    return 4 * rows * cols * out_features


def work_of_linear(rows, cols, out_features):
    matrices = 2 * (rows * cols + out_features * cols) + rows * out_features
    return Work(bytes=4 * (matrices + out_features), flops=products(rows, cols, out_features) + rows * out_features)


def work_of_chain(rows, cols, out_features):
    matrices = 2 * (rows * cols + out_features * cols) + rows * out_features
    flops = products(rows, cols, out_features) + 16 * rows * cols
    return Work(bytes=4 * (matrices + 4 * cols + 2 * rows + out_features), flops=flops)


LINEAR_BACKWARD = Part(
    "linear_backward",
    params=[DY, matrix(In, "input"), W, matrix(Out, "dinput"), DW, DBIAS, *LAYER_SIZES],
    uses=("gemm_register_tiled", "gemm_tn", "col_sum"),
    reference=through_linear,
    groups={
        "square": back_layers((64, 64, 64)),
        "any size": back_layers((33, 65, 130), (130, 3, 40), (7, 129, 5), (1, 1, 1)),
        "long and thin": back_layers((1, 300, 2), (300, 1, 7), (515, 4, 1)),
        "hard numbers": [
            *back_layers((40, 33, 20), dy="mixed_magnitudes"),
            *back_layers((40, 33, 20), input="large_offset"),
        ],
        "unaligned": back_layers(
            (20, 36, 12), offset={"dy": 4, "input": 8, "W": 12, "dinput": 4, "dW": 8, "dbias": 12}
        ),
        "empty": back_layers((0, 5, 7), (5, 7, 0)),
    },
    bench=Case(rows=4096, cols=4096, out_features=4096),
    work=work_of_linear,
    tolerance=PRODUCTS,
    lesson="Two products and a sum: which matrix goes where.",
    goals=[coalesced(only="load", where=in_float4s), reuse(work_of_linear, 8)],
    valid=at_least_one,
    mistakes=MISTAKES_OF_LINEAR,
)

LAYERNORM_BACKWARD = Part(
    "layernorm_backward",
    params=[
        matrix(In, "dy"),
        X,
        GAMMA,
        *by_row(In, "mean", "rstd"),
        matrix(Out, "dx"),
        *by_column(Out, "dgamma", "dbeta"),
        Workspace("workspace", f32, 512, "cols"),
        ROWS,
        COLS,
    ],
    reference=gradients,
    pytorch=pytorch.gradients,
    groups={
        "a block wide": back_shapes((4, 512), (2, 1024)),
        "any width": back_shapes((3, 513), (9, 33), (300, 7), (7, 1), (5, 2), (3, 1021)),
        "hard numbers": [
            *back_shapes((5, 300), x="large_offset"),
            *back_shapes((5, 300), x="mixed_magnitudes", dy="mixed_magnitudes"),
            *back_shapes((5, 300), x="constant_rows"),
            *back_shapes((5, 300), (9, 7), x="small"),
            *back_shapes((6, 64), dy="constant_rows"),
        ],
        "many rows": back_shapes((256, 5), (257, 65), (700, 33), (3001, 5)),
        "unaligned": back_shapes(
            (5, 100), offset={"dy": 4, "x": 8, "gamma": 12, "mean": 4, "rstd": 8, "dx": 4, "dgamma": 12}
        ),
        "wide": back_shapes((3, 4097), (1, 65_536)),
        "empty": back_shapes((0, 5), (0, 300)),
    },
    bench=Case(rows=(1 << 16) + 1, cols=1 << 12),
    work=lambda rows, cols: Work(bytes=4 * cols * (3 * rows + 3) + 8 * rows, flops=12 * rows * cols),
    tolerance=GRADIENTS,
    default_inputs=SAVED,
    lesson="Three gradients in one pass over the rows, the same bits every time.",
    goals=[equal_bits(), coalesced()],
    valid=at_least_one,
    mistakes=[*MISTAKES_OF_DX, *MISTAKES_OF_SUMS],
)

LAYERNORM_LINEAR_BACKWARD = Part(
    "layernorm_linear_backward",
    params=[
        DY,
        X,
        GAMMA,
        BETA,
        W,
        *by_row(In, "mean", "rstd"),
        matrix(Out, "dx"),
        *by_column(Out, "dgamma", "dbeta"),
        DW,
        DBIAS,
        Workspace("workspace", f32, "2 * rows + 512", "cols"),
        *LAYER_SIZES,
    ],
    uses=("linear_backward", "layernorm_backward"),
    reference=all_gradients,
    pytorch=pytorch.all_gradients,
    groups={
        "square": back_layers((64, 64, 64)),
        "any size": back_layers((33, 65, 130), (130, 3, 40), (7, 129, 5), (5, 300, 9), (1, 1, 1)),
        "many rows": back_layers((300, 20, 12)),
        "hard numbers": [
            case
            for generator in ("large_offset", "small", "constant_rows", "mixed_magnitudes")
            for case in back_layers((20, 33, 12), x=generator)
        ],
        "unaligned": back_layers((20, 36, 12), offset={"dy": 4, "x": 8, "W": 12, "dx": 4, "dW": 8, "workspace": 4}),
        "empty": back_layers((0, 5, 7), (5, 7, 0)),
    },
    bench=Case(rows=1 << 14, cols=1 << 12, out_features=1 << 10),
    work=work_of_chain,
    tolerance=CHAIN,
    default_inputs=SAVED,
    lesson="The chain rule, as a chain of calls.",
    goals=[coalesced(only="load", where=in_float4s)],
    valid=at_least_one,
    mistakes=MISTAKES_OF_CHAIN,
    beside=Beside(
        ["linear_backward", "layernorm_backward"],
        by="out_features",
        cases=back_layers((256, 128, 64), (256, 128, 256), (256, 128, 1024)),
        same={"layernorm_backward.dy": "linear_backward.dinput"},
    ),
)

# ---- parts: in Python ----

TENSORS = ["x", "ln_weight", "ln_bias", "linear_weight", "linear_bias"]
AUTOGRAD = PythonPart(
    "autograd",
    entry="fused_layernorm_linear",
    uses=["layernorm_linear", "layernorm_linear_backward"],
    params=[*(Scalar(name, i32) for name in ("batch", "seq", "hidden", "out_features")), EPSILON],
    tensors=[
        In("x", f32, "batch", "seq", "hidden"),
        In("ln_weight", f32, "hidden"),
        In("ln_bias", f32, "hidden"),
        In("linear_weight", f32, "out_features", "hidden"),
        In("linear_bias", f32, "out_features"),
    ],
    numbers=["eps"],
    reference=normed_and_linear,
    result=Source("layernorm_linear", "y"),
    gradients={
        name: Source("layernorm_linear_backward", buffer)
        for name, buffer in zip(TENSORS, ["dx", "dgamma", "dbeta", "dW", "dbias"], strict=True)
    },
    groups={
        "forward": calls((2, 3, 8, 5), needs=()),
        "gradients": calls((2, 3, 8, 5), (1, 7, 33, 20)),
        "some of them": [call for name in TENSORS for call in calls((2, 2, 6, 4), needs=[name])],
        "another eps": calls((2, 3, 8, 5), eps=0.5),
        "not contiguous": calls((2, 3, 8, 5), strided=["dy"]) + calls((2, 3, 8, 5), strided=["x"]),
        "empty": calls((0, 3, 8, 5), needs=()),
        "training": calls((4, 4, 8, 8), steps=4, rate=0.2),
    },
    tolerance=Tolerance(2.0**-14, why="sums of up to 33 terms, each rounded to 24 bits; arithmetic in half has 11"),
    lesson="torch.autograd.Function: what forward keeps for backward, and training through kernels of one's own.",
)

# ---- parts: in half precision ----

LAYERNORM_LINEAR_F16 = Part(
    "layernorm_linear_f16",
    params=[
        matrix(In, "x", f16),
        *by_column(In, "gamma", "beta", dtype=f16),
        In("W", f16, "out_features", "cols"),
        In("bias", f16, "out_features"),
        Out("y", f16, "rows", "out_features"),
        MEAN,
        RSTD,
        *LAYER_SIZES,
        EPSILON,
    ],
    reference=fused(layernorm),
    pytorch=pytorch.layernorm_linear,
    groups=HALF_CASES,
    bench=Case(rows=1 << 16, cols=1024, out_features=1024, eps=EPS),
    far=LAYERNORM_LINEAR.far,
    work=half_work,
    tolerance=HALF,
    lesson="Tensor cores for the products, floats for the statistics.",
    goals=HALF_GOALS,
    extra=True,
    valid=at_least_one,
    mistakes=HALF_MISTAKES,
)

puzzle = Puzzle(
    title="LayerNorm + Linear",
    parts=[
        LAYERNORM,
        LAYERNORM_LINEAR_UNFUSED,
        LAYERNORM_LINEAR,
        LINEAR_BACKWARD,
        LAYERNORM_BACKWARD,
        LAYERNORM_LINEAR_BACKWARD,
        AUTOGRAD,
        LAYERNORM_LINEAR_F16,
    ],
)
