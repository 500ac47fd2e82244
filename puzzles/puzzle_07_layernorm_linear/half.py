"""Puzzle 7 in half precision: the cases of 7.8, its mistakes, and how far a half may be off."""

from grader.goals import coalesced, reuse, tensor_cores, writes_results_only
from grader.puzzle import Mistake, Tolerance, Work

from .cases import filled, layers
from .forward import MISTAKES, fused, layernorm, linear, padded_to, scaled_by, statistics

# ---- cases ----

RISING = {"x": "rising", "gamma": "negative", "beta": "zeros", "W": "negative"}  # terms of y: first one sign, then both
HALF_CASES = {
    "whole tiles": layers((128, 64, 128), (128, 192, 128)),
    "any size": layers((65, 33, 17), (1, 1, 1), (7, 1, 5), (5, 2, 130), (130, 70, 100), (3, 1021, 66)),
    "large offset": filled("large_offset", (64, 256, 64), (5, 384, 7), cases=layers),
    "small rows": filled("small", (5, 300, 7), (64, 64, 64), cases=layers),
    "squares beyond half": filled("overflowing_half", (5, 300, 7), (9, 7, 3), cases=layers),
    "sums that rise and fall": layers((3, 4096, 5), inputs=RISING),
    "hard numbers": [
        *(
            case
            for generator in ("mixed_magnitudes", "constant_rows", "denormals")
            for case in filled(generator, (5, 300, 7), cases=layers)
        ),
        *layers((9, 5, 20), inputs={"W": "overflowing_half"}),
    ],
    "unaligned": layers((66, 104, 65), offset={"x": 2, "gamma": 4, "beta": 6, "W": 8, "bias": 2, "y": 2, "rstd": 4}),
    "several tiles": layers((256, 256, 256)),
    "narrow and wide": layers((40, 72, 1), (3, 40, 1000)),
    "empty": layers((0, 5, 3), (5, 7, 0)),
}


def in_eights(case):
    """Whether every row of x and W begins where 16 bytes can be loaded at once."""
    return case.params["cols"] % 8 == 0 and not case.offset


# ---- work and goals ----


def products(rows, cols, out_features):
    """The product of normed and W alone."""
    return Work(bytes=2 * (rows + out_features) * cols, flops=2 * rows * cols * out_features)


def half_work(rows, cols, out_features):
    least = products(rows, cols, out_features)
    beside = 2 * (2 * cols + out_features + rows * out_features) + 8 * rows
    return Work(bytes=least.bytes + beside, flops=least.flops + 8 * rows * cols)


def results(rows, out_features):
    """Bytes of y, mean and rstd."""
    return 2 * rows * out_features + 8 * rows


HALF_GOALS = [
    tensor_cores(products),
    writes_results_only(results),
    coalesced(where=in_eights),
    reuse(products, 32, value_bytes=2),
]

# ---- mistakes ----


def with_mean(mean):
    """The results with another mean, by row, and the variance about that."""

    def of(x, gamma, beta, eps):
        m = mean(x)
        rstd = ((x - m[:, None]).square().mean(1) + eps).rsqrt()
        return (x - m[:, None]) * rstd[:, None] * gamma + beta, m, rstd

    return of


MISTAKES_IN_HALF = [
    Mistake(
        "the mean had been rounded to half",
        fused(with_mean(lambda x: x.mean(1).half().double())),
        why="Near 1000 halves lie half a unit apart: the mean is a float, and so is x minus the mean.",
    ),
    Mistake(
        "the sum of the row had been kept in half",
        fused(with_mean(lambda x: x.half().cumsum(1).select(1, -1).double() / x.shape[1])),
        why="A half ends at 65,504, and has 11 bits: add up floats, `__half2float(value)`.",
    ),
    Mistake(
        "the squared distances had been kept in half, and had overflowed",
        fused(scaled_by(lambda d, eps: (d.half().square().double().mean(1, keepdim=True) + eps).rsqrt())),
        why="A half ends at 65,504, and 300² is more: turn each value into a float first, then subtract and square.",
    ),
]
HALF_MISTAKES = [
    *MISTAKES_IN_HALF,
    Mistake(
        "what `eight` puts past the end of a row had counted in the variance",
        fused(padded_to(8)),
        why="A 0 past the end is as far from the mean as the mean is large: add up the columns that there are.",
    ),
    *(Mistake(mistake.like, fused(mistake.reference), why=mistake.why) for mistake in MISTAKES),
    Mistake(
        "x had been multiplied as it is, not normalised",
        lambda x, W, bias, eps: (linear(x, W, bias), *statistics(x, eps)),
        why="What goes into the tile is (x - mean) · rstd · gamma + beta.",
    ),
]

# ---- tolerance ----


def sizes(x, gamma, beta, W, bias, eps):
    """What the errors of y, mean and rstd go by, as shares of 2^-9: half's roundings of y, single's of the others.

    Of y: its own rounding, those of the normalised values, and the mean's error, which a whole row has in common.
    """
    normed, _, rstd = layernorm(x, gamma, beta, eps)
    y, of_mean = linear(normed, W, bias).abs(), x.abs().mean(1)
    common = (rstd * of_mean)[:, None] * linear(gamma, W, 0).abs()
    of_y = y + 2.5 * (normed.square() @ W.square().T).sqrt() + 2.0**-8 * common
    return of_y, 2.0**-8 * of_mean, 2.0**-8 * rstd


HALF = Tolerance(
    2.0**-9,
    scale=sizes,
    why="each normalised value is rounded to half, by 2^-12.2 of itself on average, and six deviations of the sum are "
    "2.5 · 2^-11 of the root of the sum of squares; y is rounded by 2^-11 of itself; four times both is allowed; mean "
    "and rstd are floats, as in 7.1",
)
