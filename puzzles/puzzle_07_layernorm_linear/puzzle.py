"""Puzzle 7: LayerNorm and the linear layer behind it, apart and in one kernel, forward and backward."""

from dataclasses import replace
from types import SimpleNamespace

from grader.cooperation import equal_bits
from grader.goals import coalesced, reuse, writes_results_only
from grader.puzzle import Beside, Case, In, Mistake, Out, Part, Puzzle, Scalar, Tolerance, Work, Workspace, f32, i32
from grader.python_part import Call, PythonPart, Source

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

# ---- what is right: backward ----

SAVED = {"mean": "mean_of_x", "rstd": "rstd_of_x"}  # what the forward pass has left, of the x that was drawn


def normalised(x, mean, rstd):
    return (x - mean[:, None]) * rstd[:, None]


def average(matrix):
    return matrix.mean(1, keepdim=True)


def added_up(matrix):
    return matrix.sum(1, keepdim=True)


def gradients(dy, x, gamma, mean, rstd):
    """By x, gamma and beta: what autograd makes of LayerNorm, with the statistics that were saved."""
    n, g = normalised(x, mean, rstd), gamma * dy
    dx = rstd[:, None] * (g - average(g) - n * average(g * n))
    return dx, (dy * n).sum(0), dy.sum(0)


def terms_of_gradients(dy, x, gamma, mean, rstd):
    """The three terms of dx without a sign, whose difference it is; the root of the sum of squares of the others'."""
    n, g = normalised(x, mean, rstd), gamma * dy
    dx = rstd[:, None] * (g.abs() + average(g.abs()) + n.abs() * average((g * n).abs()))
    return dx, (dy * n).square().sum(0).sqrt(), dy.square().sum(0).sqrt()


def through_linear(dy, input, W):
    """By input, W and bias: what autograd makes of input · Wᵀ + bias."""
    return dy @ W, dy.T @ input, dy.sum(0)


def terms_through_linear(dy, input, W, rows, out_features):
    """The roots of the sums of squares of their terms, √terms times: no sum of their magnitudes is more."""
    squares = through_linear(dy.square(), input.square(), W.square())
    return tuple((count * each).sqrt() for each, count in zip(squares, (out_features, rows, rows), strict=True))


def all_gradients(dy, x, gamma, beta, W, mean, rstd):
    """By x, gamma, beta, W and bias: the chain of both."""
    dnormed, *others = through_linear(dy, normalised(x, mean, rstd) * gamma + beta, W)
    return *gradients(dnormed, x, gamma, mean, rstd), *others


def terms_of_all(dy, x, gamma, beta, W, mean, rstd, rows, out_features):
    """The same chain of terms without signs."""
    normed = (normalised(x, mean, rstd) * gamma).abs() + beta.abs()
    dnormed, *others = terms_through_linear(dy, normed, W, rows, out_features)
    return *terms_of_gradients(dnormed, x, gamma, mean, rstd), *others


# ---- cases: backward ----


def backward(*values, offset=None, **generators):
    return [Case(rows=height, cols=width, inputs=generators, offset=offset) for height, width in values]


def sizes(*values, offset=None, **generators):
    """Cases of rows, cols and out_features."""
    return [
        Case(rows=rows, cols=cols, out_features=out, inputs=generators, offset=offset) for rows, cols, out in values
    ]


def in_float4s(case):
    """Whether every row of every matrix begins where 16 bytes can be loaded at once."""
    return case.params["cols"] % 4 == 0 and case.params["out_features"] % 4 == 0 and not case.offset


# ---- mistakes: backward ----


def mistaken(*, dx=None, sums=None):
    """The gradients with another dx, or with sums over the rows of other terms, made of what has a name in 7.5."""

    def results(dy, x, gamma, mean, rstd):
        names = SimpleNamespace(dy=dy, x=x, gamma=gamma, mean=mean[:, None], rstd=rstd[:, None])
        names.n, names.g = normalised(x, mean, rstd), gamma * dy
        right, *right_sums = gradients(dy, x, gamma, mean, rstd)
        added = right_sums if sums is None else [terms.sum(0) for terms in sums(names)]
        return right if dx is None else dx(names), *added

    return results


MISTAKES_OF_DX = [
    Mistake(
        "the mean had not been subtracted in n",
        mistaken(dx=lambda of: of.rstd * (of.g - average(of.g) - of.x * of.rstd * average(of.g * of.x * of.rstd))),
        why="n is (x - mean) · rstd.",
    ),
    Mistake(
        "mean and rstd did not depend on x",
        mistaken(dx=lambda of: of.rstd * of.g),
        why="x also sits in mean and in rstd, which all of the row shares: those are the terms that are subtracted.",
    ),
    Mistake(
        "the mean of g were left out",
        mistaken(dx=lambda of: of.rstd * (of.g - of.n * average(of.g * of.n))),
        why="x also sits in the mean of its row: the mean of g is subtracted as well.",
    ),
    Mistake(
        "the term with n were left out",
        mistaken(dx=lambda of: of.rstd * (of.g - average(of.g))),
        why="x also sits in rstd: n times the mean of g · n is subtracted as well.",
    ),
    Mistake(
        "the two terms were added",
        mistaken(dx=lambda of: of.rstd * (of.g + average(of.g) + of.n * average(of.g * of.n))),
        why="Both terms are subtracted: a larger x moves the mean up and makes rstd smaller.",
    ),
    Mistake(
        "sums stood for the means",
        mistaken(dx=lambda of: of.rstd * (of.g - added_up(of.g) - of.n * added_up(of.g * of.n))),
        why="Both are means: divide each sum by cols.",
    ),
    Mistake(
        "the factor rstd were missing",
        mistaken(dx=lambda of: of.g - average(of.g) - of.n * average(of.g * of.n)),
        why="n is made of (x - mean) · rstd, so all of dx has the factor rstd.",
    ),
    Mistake(
        "gamma were left out",
        mistaken(dx=lambda of: of.rstd * (of.dy - average(of.dy) - of.n * average(of.dy * of.n))),
        why="g is gamma · dy, in dx itself and in both means.",
    ),
    Mistake(
        "gamma were missing in the means",
        mistaken(dx=lambda of: of.rstd * (of.g - average(of.dy) - of.n * average(of.dy * of.n))),
        why="Both means are of g, which is gamma · dy.",
    ),
    Mistake(
        "the last term had x - mean, without rstd",
        mistaken(dx=lambda of: of.rstd * (of.g - average(of.g) - (of.x - of.mean) * average(of.g * of.n))),
        why="n is (x - mean) · rstd, in the term itself as in its mean.",
    ),
    Mistake(
        "the last mean were of g · (x - mean), without rstd",
        mistaken(dx=lambda of: of.rstd * (of.g - average(of.g) - of.n * average(of.g * (of.x - of.mean)))),
        why="n is (x - mean) · rstd, in the mean as in the term itself.",
    ),
]
MISTAKES_OF_SUMS = [
    Mistake(
        "x stood for n in dgamma",
        mistaken(sums=lambda of: (of.dy * of.x, of.dy)),
        why="y is n · gamma + beta, so each row adds dy · n to dgamma, where n is (x - mean) · rstd.",
    ),
    Mistake(
        "rstd were missing in dgamma",
        mistaken(sums=lambda of: (of.dy * (of.x - of.mean), of.dy)),
        why="Each row adds dy · n to dgamma, with its own rstd in n.",
    ),
    Mistake(
        "g stood for dy in dgamma and dbeta",
        mistaken(sums=lambda of: (of.g * of.n, of.g)),
        why="The sums are of dy · n and of dy: gamma is no factor of its own gradient.",
    ),
    Mistake(
        "dgamma and dbeta were exchanged",
        mistaken(sums=lambda of: (of.dy, of.dy * of.n)),
        why="dgamma is the sum of dy · n, dbeta that of dy.",
    ),
    Mistake(
        "dgamma and dbeta had the last row of each block alone",
        mistaken(sums=lambda of: ((of.dy * of.n)[-256:], of.dy[-256:])),
        why="Every row adds to both: is a sum kept from row to row of a block, or set anew?",
    ),
]

MISTAKES_OF_LINEAR = [
    Mistake(
        "W were transposed on the way to dinput",
        lambda dy, input, W: (dy @ W.T, *through_linear(dy, input, W)[1:]),
        why="dinput[r][c] sums over o: dy · W, and W is [out_features, cols] as it lies there.",
    ),
    Mistake(
        "dW were input · dy, transposed",
        lambda dy, input, W: (dy @ W, (input.T @ dy).reshape(W.shape), dy.sum(0)),
        why="dW[o][c] sums over the rows: dyᵀ · input, with dy first, so that o numbers its rows.",
    ),
    Mistake(
        "dbias were summed along the rows",
        lambda dy, input, W: (dy @ W, dy.T @ input, dy.sum(1)),
        why="dbias[o] is the sum down column o of dy, over all rows.",
    ),
    Mistake(
        "rows and out_features of dy were exchanged for dbias",
        lambda dy, input, W: (dy @ W, dy.T @ input, dy.reshape(dy.shape[1], dy.shape[0]).sum(0)),
        why="dy has rows rows and out_features columns: `col_sum` is told both, in this order.",
    ),
    Mistake(
        "dbias were the sum of input",
        lambda dy, input, W: (dy @ W, dy.T @ input, input.sum(0)),
        why="The bias is added to y, so its gradient is the sum of dy.",
    ),
    Mistake(
        "dinput stood for input in dW",
        lambda dy, W: (dy @ W, dy.T @ (dy @ W), dy.sum(0)),
        why="W was multiplied by input, so dW is dyᵀ · input.",
    ),
]


def with_normed(normed):
    """All gradients, where the linear layer's input was recomputed as something else."""

    def results(dy, x, gamma, beta, W, mean, rstd):
        *others, _, dbias = all_gradients(dy, x, gamma, beta, W, mean, rstd)
        names = SimpleNamespace(x=x, gamma=gamma, beta=beta, n=normalised(x, mean, rstd), dnormed=dy @ W)
        return *others, dy.T @ normed(names), dbias

    return results


def with_dx(wrong):
    """All gradients, where the norm's were taken of other matrices: a dnormed, and an x."""

    def results(dy, x, gamma, beta, W, mean, rstd):
        normed = normalised(x, mean, rstd) * gamma + beta
        names = SimpleNamespace(dy=dy, x=x, normed=normed, dnormed=dy @ W)
        return *gradients(*wrong(names), gamma, mean, rstd), *through_linear(dy, normed, W)[1:]

    return results


MISTAKES_OF_CHAIN = [
    Mistake(
        "dW were dyᵀ · x",
        with_normed(lambda of: of.x),
        why="The linear layer has seen normed, not x: compute that once more, (x - mean) · rstd · gamma + beta.",
    ),
    Mistake(
        "dW were dyᵀ · n, without gamma and beta",
        with_normed(lambda of: of.n),
        why="normed is (x - mean) · rstd · gamma + beta.",
    ),
    Mistake(
        "beta were missing in normed",
        with_normed(lambda of: of.n * of.gamma),
        why="normed is (x - mean) · rstd · gamma + beta.",
    ),
    Mistake(
        "gamma were missing in normed",
        with_normed(lambda of: of.n + of.beta),
        why="normed is (x - mean) · rstd · gamma + beta.",
    ),
    Mistake(
        "dnormed stood in normed's place",
        with_normed(lambda of: of.dnormed),
        why="Both need a piece of the workspace of their own: rows · cols floats for normed, then as many for dnormed.",
    ),
    Mistake(
        "the norm's gradients were taken of normed",
        with_dx(lambda of: (of.normed, of.x)),
        why="What comes back to the norm is dnormed, which `linear_backward` gives as its dinput.",
    ),
    Mistake(
        "the norm's gradients were taken of dy",
        with_dx(lambda of: (of.dy, of.x)),
        why="Between dy and the norm lies the linear layer: what comes back to the norm is dnormed.",
    ),
    Mistake(
        "normed stood for x in the norm's gradients",
        with_dx(lambda of: (of.dnormed, of.normed)),
        why="`layernorm_backward` makes (x - mean) · rstd by itself, of the x that the norm was given.",
    ),
]

# ---- tolerances: backward ----

GRADIENTS = Tolerance(
    2.0**-15,
    scale=terms_of_gradients,
    why="each term of dx is right to about 2^-18 of itself, or of the sum of magnitudes that its mean is made of, and "
    "can cancel; dgamma and dbeta are sums over rows, of which rows roundings make 2^-25·√rows of the root of the sum "
    "of squares, 2^-19 for 3,001 rows: eight times that is allowed",
)

PRODUCTS = Tolerance(
    2.0**-19,
    scale=terms_through_linear,
    why="as in puzzle 2: a sum of K terms is right to about √K · 2^-22 of the root of the sum of squares; eight times "
    "that is allowed",
)
CHAIN = Tolerance(
    2.0**-17,
    scale=terms_of_all,
    why="dnormed and dW are sums of products, right to 2^-22 of √K times the root of the sum of squares; dx is three "
    "terms of dnormed, which can cancel, dgamma and dbeta are sums of it: 2^-20 in all; eight times that is allowed",
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
        "square": sizes((64, 64, 64)),
        "any size": sizes((33, 65, 130), (130, 3, 40), (7, 129, 5), (1, 1, 1)),
        "long and thin": sizes((1, 300, 2), (300, 1, 7), (515, 4, 1)),
        "hard numbers": [*sizes((40, 33, 20), dy="mixed_magnitudes"), *sizes((40, 33, 20), input="large_offset")],
        "unaligned": sizes((20, 36, 12), offset={"dy": 4, "input": 8, "W": 12, "dinput": 4, "dW": 8, "dbias": 12}),
        "empty": sizes((0, 5, 7), (5, 7, 0)),
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
    groups={
        "a block wide": backward((4, 512), (2, 1024)),
        "any width": backward((3, 513), (9, 33), (300, 7), (7, 1), (5, 2), (3, 1021)),
        "hard numbers": [
            *backward((5, 300), x="large_offset"),
            *backward((5, 300), x="mixed_magnitudes", dy="mixed_magnitudes"),
            *backward((5, 300), x="constant_rows"),
            *backward((5, 300), (9, 7), x="small"),
            *backward((6, 64), dy="constant_rows"),
        ],
        "many rows": backward((256, 5), (257, 65), (700, 33), (3001, 5)),
        "unaligned": backward(
            (5, 100), offset={"dy": 4, "x": 8, "gamma": 12, "mean": 4, "rstd": 8, "dx": 4, "dgamma": 12}
        ),
        "wide": backward((3, 4097), (1, 65_536)),
        "empty": backward((0, 5), (0, 300)),
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
    groups={
        "square": sizes((64, 64, 64)),
        "any size": sizes((33, 65, 130), (130, 3, 40), (7, 129, 5), (5, 300, 9), (1, 1, 1)),
        "many rows": sizes((300, 20, 12)),
        "hard numbers": [
            case
            for generator in ("large_offset", "small", "constant_rows", "mixed_magnitudes")
            for case in sizes((20, 33, 12), x=generator)
        ],
        "unaligned": sizes((20, 36, 12), offset={"dy": 4, "x": 8, "W": 12, "dx": 4, "dW": 8, "workspace": 4}),
        "empty": sizes((0, 5, 7), (5, 7, 0)),
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
        cases=sizes((256, 128, 64), (256, 128, 256), (256, 128, 1024)),
        same={"layernorm_backward.dy": "linear_backward.dinput"},
    ),
)

# ---- parts: in Python ----


def calls(*values, eps=EPS, **further):
    sizes = (dict(zip(("batch", "seq", "hidden", "out_features"), value, strict=True)) for value in values)
    return [Call(**size, eps=eps, **further) for size in sizes]


def normed_and_linear(x, ln_weight, ln_bias, linear_weight, linear_bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    rstd = ((centred * centred).mean(-1, keepdim=True) + eps).rsqrt()
    return linear(centred * rstd * ln_weight + ln_bias, linear_weight, linear_bias)


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
    ],
)
