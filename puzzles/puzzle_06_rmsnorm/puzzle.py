"""Puzzle 6: RMSNorm, from one thread a row to half precision and both gradients."""

from grader.cooperation import equal_bits
from grader.goals import coalesced, reads_at_most, wide_accesses
from grader.puzzle import (
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
    bf16,
    f16,
    f32,
    i32,
)

from . import pytorch

HELD = 16_384  # floats that a block of 1,024 threads holds in registers, 16 a thread
EPS = 1e-5
SIZES = [Scalar("rows", i32), Scalar("cols", i32), Scalar("eps", f32)]
# More than 65,535 rows, which is where a grid ends along y and z.
FULL = Case(rows=1 << 16, cols=1 << 12, eps=EPS)
FAR = Case(rows=(1 << 19) + 3, cols=4097, eps=EPS)  # more elements than an int can count


# ---- what is right ----


def inverse_root(x, eps):
    return (x.square().mean(1, keepdim=True) + eps).rsqrt()


def rmsnorm(x, w, eps):
    return x * inverse_root(x, eps) * w


def gradients(x, w, dy, eps):
    x, w = x.detach().clone().requires_grad_(), w.detach().clone().requires_grad_()
    rmsnorm(x, w, eps).backward(dy)
    return x.grad, w.grad


def terms_of_dx(x, w, dy, eps):
    """The two terms of dx, whose difference it is, as they are without a sign."""
    r = inverse_root(x, eps)
    return r * (w * dy).abs() + x.abs() * r**3 * (w * dy * x).abs().mean(1, keepdim=True)


def terms_of_both(x, w, dy, eps):
    """The same, and the root of the sum of squares of the terms of dw."""
    return terms_of_dx(x, w, dy, eps), (dy * x * inverse_root(x, eps)).square().sum(0).sqrt()


def elements(rows, cols):
    return rows * cols


def work_of(element_bytes, matrices):
    return lambda rows, cols: Work(bytes=element_bytes * (matrices * rows + 1) * cols, flops=4 * rows * cols)


# ---- cases ----


def shapes(*values, eps=EPS, **places):
    return [Case(rows=height, cols=width, eps=eps, **places) for height, width in values]


def filled(generator):
    return {"inputs": {"x": generator}}


def hard_numbers(*generators):
    return [case for generator in generators for case in shapes((5, 300), **filled(generator))]


FORWARD = {
    "a block wide": shapes((4, 512), (2, 1024)),
    "small rows": [*shapes((5, 300), (9, 7), **filled("small")), *shapes((5, 300), eps=1e-6, **filled("small"))],
    "any width": shapes((3, 513), (9, 33), (300, 7), (7, 1), (5, 2), (3, 1021)),
    "hard numbers": hard_numbers("mixed_magnitudes", "constant_rows", "large_offset", "denormals", "beyond_half"),
    "unaligned": shapes((5, 100), offset={"x": 4, "w": 8, "y": 12}),
    "wide": shapes((2, 65_536)),
    "empty": shapes((0, 5)),
}
NARROW = {
    "a block wide": shapes((4, 512), (2, 1024)),
    "small rows": shapes((5, 300), (9, 7), **filled("small")),
    "any width": shapes((3, 513), (9, 33), (300, 7), (7, 1), (5, 2), (3, 1021)),
    "wide": shapes((3, 4096), (2, 65_536)),
    "unaligned": shapes((5, 100), offset={"x": 2, "w": 4, "y": 6}),
    "empty": shapes((0, 5)),
}
BACKWARD = {
    "a block wide": shapes((4, 512), (2, 1024)),
    "small rows": shapes((5, 300), (9, 7), **filled("small")),
    "any width": shapes((3, 513), (9, 33), (300, 7), (7, 1), (5, 2), (3, 1021), (1, 33)),
    "hard numbers": hard_numbers("mixed_magnitudes", "constant_rows", "large_offset"),
    "unaligned": shapes((5, 100), offset={"x": 4, "w": 8, "dy": 12, "dx": 4}),
}


def aligned(case):
    return case.params["cols"] % 4 == 0 and not case.offset


def held(case):
    return case.params["cols"] <= HELD


# ---- mistakes ----

MISTAKES = [
    Mistake(
        "eps stood outside the root",
        lambda x, w, eps: x / (x.square().mean(1, keepdim=True).sqrt() + eps) * w,
        why="eps is added to the mean of the squares, and then the root is taken: √(mean + eps), not √mean + eps. For "
        "rows as small as √eps that makes a difference of many times.",
    ),
    Mistake(
        "eps were left out",
        lambda x, w: x / x.square().mean(1, keepdim=True).sqrt() * w,
        why="eps is added to the mean of the squares, inside the root. Without it a row of zeros is divided by 0.",
    ),
    Mistake(
        "eps were added to the sum, before the division by cols",
        lambda x, w, eps, cols: x / ((x.square().sum(1, keepdim=True) + eps) / cols).sqrt() * w,
        why="Divide by cols first, then add eps: it belongs to the mean, not to the sum.",
    ),
    Mistake(
        "the sum of the squares stood for their mean",
        lambda x, w, eps: x * (x.square().sum(1, keepdim=True) + eps).rsqrt() * w,
        why="Is the sum divided by cols, the number of columns?",
    ),
    Mistake(
        "the mean were subtracted first",
        lambda x, w, eps: (x - x.mean(1, keepdim=True)) * (x.var(1, correction=0, keepdim=True) + eps).rsqrt() * w,
        why="That is LayerNorm. RMSNorm leaves the mean where it is.",
    ),
    Mistake(
        "the root were left out",
        lambda x, w, eps: x / (x.square().mean(1, keepdim=True) + eps) * w,
        why="The row is divided by the root of the mean: `rsqrtf` is one over the root.",
    ),
    Mistake(
        "x were multiplied by the root",
        lambda x, w, eps: x * (x.square().mean(1, keepdim=True) + eps).sqrt() * w,
        why="The row is divided by the root: `rsqrtf` is one over it, `sqrtf` is not.",
    ),
]
MISTAKES_IN_HALF = [
    Mistake(
        "the squares had been kept in half, and had overflowed",
        lambda x, w, eps: x * (x.half().square().double().mean(1, keepdim=True) + eps).rsqrt() * w,
        why="A half ends at 65,504: 300² is infinite in it, and one over an infinite root is 0. Turn each value into a "
        "float first, and square and add up floats.",
    ),
    Mistake(
        "the sum of the squares had overflowed in half",
        lambda x, w, eps, cols: x * (x.square().sum(1, keepdim=True).half().double() / cols + eps).rsqrt() * w,
        why="A half ends at 65,504, and a sum of squares soon passes that: it becomes infinite, and one over its root "
        "is 0. Keep the sum in a float.",
    ),
]
MISTAKES_IN_BFLOAT16 = [
    Mistake(
        "values had gone through half",
        lambda x, w, eps: x * (x.half().double().square().mean(1, keepdim=True) + eps).rsqrt() * w,
        why="A bfloat16 reaches as far as a float, and a half ends at 65,504: `__bfloat162float` keeps the range.",
    ),
]
MISTAKES_OF_DX = [
    Mistake(
        "the second term were left out",
        lambda x, w, dy, eps: inverse_root(x, eps) * w * dy,
        why="x also sits in the root, which all of the row shares: that is the term with x · r³ · m.",
    ),
    Mistake(
        "the second term were added",
        lambda x, w, dy, eps: (
            inverse_root(x, eps) * w * dy + x * inverse_root(x, eps) ** 3 * (w * dy * x).mean(1, keepdim=True)
        ),
        why="The second term is subtracted: a larger x makes the root larger, and y smaller.",
    ),
    Mistake(
        "m were the sum, not the mean",
        lambda x, w, dy, eps: (
            inverse_root(x, eps) * w * dy - x * inverse_root(x, eps) ** 3 * (w * dy * x).sum(1, keepdim=True)
        ),
        why="m is a mean: divide the sum by cols.",
    ),
    Mistake(
        "the second term had r², not r³",
        lambda x, w, dy, eps: (
            inverse_root(x, eps) * w * dy - x * inverse_root(x, eps) ** 2 * (w * dy * x).mean(1, keepdim=True)
        ),
        why="The second term has r three times: twice from the derivative of the root, once from y itself.",
    ),
    Mistake(
        "w were missing in m",
        lambda x, w, dy, eps: (
            inverse_root(x, eps) * w * dy - x * inverse_root(x, eps) ** 3 * (dy * x).mean(1, keepdim=True)
        ),
        why="m is the mean of w · dy · x, with w.",
    ),
]


def beside(wrong_dw):
    """Dx as it should be, and a dw that is not."""
    return lambda x, w, dy, eps: (gradients(x, w, dy, eps)[0], wrong_dw(x, dy, eps))


MISTAKES_OF_DW = [
    Mistake(
        "r were missing in dw",
        beside(lambda x, dy, _: (dy * x).sum(0)),
        why="y is x · r · w, so each row adds dy · x · r, with its own r.",
    ),
    Mistake(
        "dw had the last row of each block alone",
        beside(lambda x, dy, eps: (dy * x * inverse_root(x, eps))[-256:].sum(0)),
        why="Every row adds to dw: is the sum kept from row to row of a block, or set anew?",
    ),
]

# ---- tolerances ----

SINGLE = Tolerance(
    2.0**-15,
    why="cols roundings of a growing sum make about 2^-18 of the root for 65,536 columns added one after the other, "
    "2^-21 in a block; rsqrtf and three products add 2^-22: eight times that is allowed",
)
GRADIENT = Tolerance(
    2.0**-15,
    scale=terms_of_dx,
    why="each term of dx is right to about 2^-18 of itself, or of the sum of magnitudes that m is made of, and can "
    "cancel: eight times that of both terms is allowed",
)
GRADIENTS = Tolerance(
    2.0**-15,
    scale=terms_of_both,
    why="as for dx; dw is a sum over rows, of which rows roundings make 2^-25·√rows of the root of the sum of squares, "
    "2^-19 for 3,001 rows: eight times that is allowed",
)
HALF = Tolerance(
    0.002,
    2.0**-23,
    why="one rounding to half: 2^-11 of the value, or 2^-25 below 2^-14; four times that is allowed",
)
BFLOAT16 = Tolerance(0.016, why="one rounding to bfloat16: 2^-8 of the value; four times that is allowed")


def forward(dtype, result="y"):
    return [In("x", dtype, "rows", "cols"), In("w", dtype, "cols"), Out(result, dtype, "rows", "cols")]


def row_and_weights(at, i, _):
    return at.x[i, :], at.w[:]


def is_wide_enough(cols):
    return cols >= 1


X, W, DY, DX = forward(f32)[0], forward(f32)[1], In("dy", f32, "rows", "cols"), Out("dx", f32, "rows", "cols")

puzzle = Puzzle(
    title="RMSNorm",
    parts=[
        Part(
            "rmsnorm_naive",
            params=[*forward(f32), *SIZES],
            reference=rmsnorm,
            pytorch=pytorch.rmsnorm,
            sampled=row_and_weights,
            groups={
                "a row": shapes((1, 64), (1, 1000)),
                "small rows": FORWARD["small rows"],
                "many rows": shapes((256, 32), (300, 7), (1021, 3)),
                **{name: FORWARD[name] for name in ("any width", "hard numbers", "unaligned", "wide")},
                "more than 65,535 rows": shapes((65_537, 3)),
                "empty": FORWARD["empty"],
            },
            bench=FULL,
            far=FAR,
            work=work_of(4, 2),
            tolerance=SINGLE,
            lesson="One thread a row: right, and slow.",
            valid=is_wide_enough,
            mistakes=MISTAKES,
        ),
        Part(
            "rmsnorm",
            params=[*forward(f32), *SIZES],
            reference=rmsnorm,
            pytorch=pytorch.rmsnorm,
            sampled=row_and_weights,
            groups=FORWARD,
            bench=FULL,
            far=FAR,
            work=work_of(4, 2),
            tolerance=SINGLE,
            lesson="One block a row: a reduction, and coalesced accesses.",
            goals=[coalesced()],
            valid=is_wide_enough,
            mistakes=MISTAKES,
        ),
        Part(
            "rmsnorm_vec",
            params=[*forward(f32), *SIZES],
            reference=rmsnorm,
            pytorch=pytorch.rmsnorm,
            sampled=row_and_weights,
            groups={
                "whole float4s": shapes((4, 512), (2, 1024), (9, 4)),
                "small rows": FORWARD["small rows"],
                "as wide as is held": shapes((2, HELD), (2, 4096)),
                "any width": FORWARD["any width"] + shapes((2, HELD + 1), (2, HELD - 1), (3, 3)),
                **{name: FORWARD[name] for name in ("hard numbers", "unaligned")},
                "wide": [*shapes((2, 65_536)), *shapes((1, 50_001), **filled("large_offset"))],
                "empty": FORWARD["empty"],
            },
            bench=FULL,
            far=FAR,
            work=work_of(4, 2),
            tolerance=SINGLE,
            lesson="16 bytes at a time, and every row read once.",
            goals=[
                wide_accesses("load", where=aligned),
                wide_accesses("store", where=aligned),
                reads_at_most("x", 1, elements, where=held),
            ],
            valid=is_wide_enough,
            mistakes=MISTAKES,
        ),
        Part(
            "rmsnorm_f16",
            params=[*forward(f16), *SIZES],
            reference=rmsnorm,
            pytorch=pytorch.rmsnorm,
            sampled=row_and_weights,
            groups={
                **NARROW,
                "squares beyond half": shapes((5, 300), (9, 7), (3, 1), **filled("overflowing_half")),
                "hard numbers": hard_numbers("mixed_magnitudes", "constant_rows", "large_offset", "denormals"),
            },
            bench=Case(rows=1 << 17, cols=1 << 12, eps=EPS),
            far=FAR,
            work=work_of(2, 2),
            tolerance=HALF,
            lesson="Half in memory, float in registers.",
            goals=[coalesced()],
            valid=is_wide_enough,
            mistakes=[*MISTAKES_IN_HALF, *MISTAKES],
        ),
        Part(
            "rmsnorm_backward_dx",
            params=[X, W, DY, DX, *SIZES],
            reference=lambda x, w, dy, eps: gradients(x, w, dy, eps)[0],
            pytorch=pytorch.gradient_by_x,
            sampled=lambda at, i, _: (at.x[i, :], at.w[:], at.dy[i, :]),
            groups={
                **BACKWARD,
                "wide": shapes((2, 65_536)),
                "empty": shapes((0, 5)),
            },
            bench=FULL,
            far=FAR,
            work=work_of(4, 3),
            tolerance=GRADIENT,
            lesson="The gradient by x: two sums in one pass.",
            goals=[coalesced()],
            valid=is_wide_enough,
            mistakes=MISTAKES_OF_DX,
        ),
        Part(
            "rmsnorm_backward",
            params=[X, W, DY, DX, Out("dw", f32, "cols"), Workspace("workspace", f32, 256, "cols"), *SIZES],
            reference=gradients,
            pytorch=pytorch.gradients,
            groups={
                **BACKWARD,
                "many rows": shapes((257, 65), (1021, 40), (3001, 5)),
                "wide": shapes((5, 16_384)),
                "empty": shapes((0, 5)),
            },
            bench=Case(rows=1 << 14, cols=1 << 12, eps=EPS),
            work=work_of(4, 3),
            tolerance=GRADIENTS,
            lesson="The gradient by w: a sum over rows, with equal bits every time.",
            goals=[equal_bits(), coalesced()],
            valid=is_wide_enough,
            mistakes=MISTAKES_OF_DW,
        ),
        Part(
            "rmsnorm_bf16",
            params=[*forward(bf16), *SIZES],
            reference=rmsnorm,
            pytorch=pytorch.rmsnorm,
            sampled=row_and_weights,
            groups={
                **NARROW,
                "beyond half": shapes((5, 300), (9, 7), (3, 1), **filled("beyond_half")),
                "hard numbers": hard_numbers("mixed_magnitudes", "constant_rows", "large_offset"),
            },
            bench=Case(rows=1 << 17, cols=1 << 12, eps=EPS),
            far=FAR,
            work=work_of(2, 2),
            tolerance=BFLOAT16,
            lesson="The range of a float, the precision of 8 bits.",
            goals=[coalesced()],
            valid=is_wide_enough,
            extra=True,
            mistakes=[*MISTAKES_IN_BFLOAT16, *MISTAKES],
        ),
    ],
)
