"""The way there: a layer norm and the linear layer behind it, their mistakes, and how far a float may be off."""

from grader.puzzle import Mistake, Tolerance

# ---- what is right ----


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


def normed_and_linear(x, ln_weight, ln_bias, linear_weight, linear_bias, eps):
    """The same of x [batch, seq, hidden], in operations that autograd knows the way back of."""
    centred = x - x.mean(-1, keepdim=True)
    rstd = ((centred * centred).mean(-1, keepdim=True) + eps).rsqrt()
    return linear(centred * rstd * ln_weight + ln_bias, linear_weight, linear_bias)


# ---- mistakes ----


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

# ---- tolerances ----


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
