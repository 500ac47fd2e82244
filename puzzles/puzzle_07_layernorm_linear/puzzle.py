"""Puzzle 7: LayerNorm and the linear layer behind it, apart and in one kernel, forward and backward."""

from dataclasses import replace

from grader.goals import coalesced, reuse, writes_results_only
from grader.puzzle import Beside, Case, In, Mistake, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

EPS = 1e-5
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


# ---- what is right: forward ----


def statistics(x, eps):
    """Mean and one over the root of the biased variance, by row."""
    mean = x.mean(1)
    return mean, ((x - mean[:, None]).square().mean(1) + eps).rsqrt()


def layernorm(x, gamma, beta, eps):
    mean, rstd = statistics(x, eps)
    return (x - mean[:, None]) * rstd[:, None] * gamma + beta, mean, rstd


def linear(normed, W, bias):
    return normed @ W.T + bias


def step_by_step(layernorm):
    """Of a layer norm, right or mistaken, and the linear layer behind it: y, mean, rstd and normed."""

    def results(x, gamma, beta, W, bias, eps):
        normed, mean, rstd = layernorm(x, gamma, beta, eps)
        return linear(normed, W, bias), mean, rstd, normed

    return results


def fused(layernorm):
    """The same without normed."""
    return lambda x, gamma, beta, W, bias, eps: step_by_step(layernorm)(x, gamma, beta, W, bias, eps)[:3]


# ---- cases ----


def shapes(*values, eps=EPS, **places):
    return [Case(rows=height, cols=width, eps=eps, **places) for height, width in values]


def layers(*values, eps=EPS, **places):
    return [Case(rows=height, cols=width, out_features=out, eps=eps, **places) for height, width, out in values]


def filled(generator, *values, cases=shapes, **further):
    return cases(*values, inputs={"x": generator}, **further)


def at_least_one(cols):
    return cols >= 1


def aligned(case):
    return case.params["cols"] % 4 == 0 and not case.offset


# ---- mistakes: forward ----


def instead(normalised):
    """The results of `layernorm` with another rstd, or another y: what `normalised` gives of the row."""

    def results(x, gamma, beta, eps):
        mean, _ = statistics(x, eps)
        scaled, rstd = normalised(x, mean[:, None], eps)
        return scaled * gamma + beta, mean, rstd[:, 0]

    return results


def scaled_by(rstd):
    return instead(lambda x, mean, eps: ((x - mean) * rstd(x - mean, eps), rstd(x - mean, eps)))


def mean_square(centred):
    return centred.square().mean(1, keepdim=True)


MISTAKES_OF_STATISTICS = [
    Mistake(
        "the sum of squares had been divided by cols - 1",
        scaled_by(lambda d, eps: (d.square().sum(1, keepdim=True) / (d.shape[1] - 1) + eps).rsqrt()),
        why="A layer norm has the biased variance: the mean of the squared distances, over all cols of them.",
    ),
    Mistake(
        "eps stood outside the root",
        scaled_by(lambda d, eps: 1 / (mean_square(d).sqrt() + eps)),
        why="eps is added to the variance, and then comes the root: √(variance + eps), not √variance + eps.",
    ),
    Mistake(
        "eps were left out",
        scaled_by(lambda d, _: mean_square(d).rsqrt()),
        why="eps is added to the variance, inside the root. Without it a row of equal values is divided by 0.",
    ),
    Mistake(
        "the sum of the squared distances stood for their mean",
        scaled_by(lambda d, eps: (d.square().sum(1, keepdim=True) + eps).rsqrt()),
        why="Is the sum divided by cols, the number of columns?",
    ),
    Mistake(
        "rstd were the root, not one over it",
        scaled_by(lambda d, eps: (mean_square(d) + eps).sqrt()),
        why="rstd is one over the standard deviation: `rsqrtf`, not `sqrtf`.",
    ),
    Mistake(
        "rstd were the variance's inverse, without a root",
        scaled_by(lambda d, eps: 1 / (mean_square(d) + eps)),
        why="rstd is one over the root of the variance: `rsqrtf(variance + eps)`.",
    ),
    Mistake(
        "the variance were about 0, not about the mean",
        instead(lambda x, mean, eps: ((x - mean) * (mean_square(x) + eps).rsqrt(), (mean_square(x) + eps).rsqrt())),
        why="The variance is the mean of (x - mean)²: subtract the mean first, then square.",
    ),
]
MISTAKES = [
    *MISTAKES_OF_STATISTICS,
    Mistake(
        "the mean had not been subtracted",
        lambda x, gamma, beta, eps: (x * statistics(x, eps)[1][:, None] * gamma + beta, *statistics(x, eps)),
        why="A layer norm centres the row: x - mean is what is scaled, not x.",
    ),
]


def padded_to(width):
    """As if each row went on with zeros to a multiple of `width`, and they counted in the variance."""

    def rstd(d, mean, eps):
        cols = d.shape[1]
        return ((d.square().sum(1, keepdim=True) + -cols % width * mean.square()) / cols + eps).rsqrt()

    return instead(lambda x, mean, eps: ((x - mean) * rstd(x - mean, mean, eps), rstd(x - mean, mean, eps)))


LINEAR_MISTAKES = [
    *(
        Mistake(
            "what is past the end of a row had counted in the variance, as 0",
            fused(padded_to(width)),
            why="A 0 past the end is as far from the mean as the mean is large. `four` puts `fill` there: with m it "
            "adds nothing.",
        )
        for width in (128, 16)
    ),
    *(Mistake(mistake.like, fused(mistake.reference), why=mistake.why) for mistake in MISTAKES),
    Mistake(
        "x had been multiplied as it is, not normalised",
        lambda x, W, bias, eps: (linear(x, W, bias), *statistics(x, eps)),
        why="What goes into the tile is (x - mean) · rstd · gamma + beta.",
    ),
    Mistake(
        "bias had been added twice",
        lambda x, gamma, beta, W, bias, eps: fused(layernorm)(x, gamma, beta, W, 2 * bias, eps),
        why="One place adds bias: the given code does, after the loop.",
    ),
]

# ---- tolerances: forward ----


def sizes_of(x, gamma, beta, eps):
    """What the errors of y, mean and rstd go by: of y its terms, as they are without a sign and before they cancel."""
    mean, rstd = statistics(x, eps)
    around = (x - mean[:, None]).abs() + x.abs().mean(1, keepdim=True)
    return rstd[:, None] * around * gamma.abs() + beta.abs(), x.abs().mean(1), rstd


SINGLE = Tolerance(
    2.0**-17,
    scale=sizes_of,
    why="the sums of a row of 65,536 are right to about 2^-21 of the mean magnitude; y inherits the mean's error, and "
    "its own terms are rounded by 2^-23: sixteen times that is allowed",
)


def sizes_step_by_step(x, gamma, beta, W, bias, eps):
    """Of y the root of the sum of squares of its terms; of mean, rstd and normed as before."""
    normed, mean, rstd = sizes_of(x, gamma, beta, eps)
    return (normed.square() @ W.square().T).sqrt() + bias.abs(), mean, rstd, normed


LINEAR = Tolerance(
    2.0**-16,
    scale=lambda x, gamma, beta, W, bias, eps: sizes_step_by_step(x, gamma, beta, W, bias, eps)[:3],
    why="each of cols sums is rounded by 2^-25 of its value, together √(cols / 2) times that of the root s of the sum "
    "of squares, 2^-19.5 · s for 4,096; four times that and the layer norm's own 2^-19 are allowed; TF32 errs by 2^-12 "
    "of s",
)

# ---- parts: forward ----

X, GAMMA, BETA = matrix(In, "x"), *by_column(In, "gamma", "beta")
MEAN, RSTD = by_row(Out, "mean", "rstd")


LAYERNORM = Part(
    "layernorm",
    params=[X, GAMMA, BETA, matrix(Out, "y"), MEAN, RSTD, ROWS, COLS, EPSILON],
    reference=layernorm,
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
    goals=[coalesced()],
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

puzzle = Puzzle(
    title="LayerNorm + Linear",
    parts=[
        LAYERNORM,
        LAYERNORM_LINEAR_UNFUSED,
        LAYERNORM_LINEAR,
    ],
)
