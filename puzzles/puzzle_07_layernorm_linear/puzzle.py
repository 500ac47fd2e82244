"""Puzzle 7: LayerNorm and the linear layer behind it, apart and in one kernel, forward and backward."""

from grader.goals import coalesced
from grader.puzzle import Case, In, Mistake, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

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


# ---- cases ----


def shapes(*values, eps=EPS, **places):
    return [Case(rows=height, cols=width, eps=eps, **places) for height, width in values]


def filled(generator, *values, **further):
    return shapes(*values, inputs={"x": generator}, **further)


def at_least_one(cols):
    return cols >= 1


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

puzzle = Puzzle(
    title="LayerNorm + Linear",
    parts=[
        LAYERNORM,
    ],
)
