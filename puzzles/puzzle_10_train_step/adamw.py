"""10.9: AdamW, an update that keeps two floats for each weight."""

from grader.goals import coalesced
from grader.puzzle import Case, DTypeBy, In, InOut, Mistake, Part, Scalar, Tolerance, Work, f16, f32, i32

F32, F16 = 0, 1
BY_DTYPE = DTypeBy("dtype", (f32, f16))
NUMBERS = ("lr", "beta1", "beta2", "eps", "weight_decay")
FIRST_STEP = {"m": "zeros", "v": "zeros"}


# ---- what is right ----


def moments(g, m, v, beta1, beta2):
    return beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g


def corrected(m, v, beta1, beta2, step):
    """Means that began at 0 are too small at first, by what their weights lack to 1."""
    return m / (1 - beta1**step), v / (1 - beta2**step)


def stepped(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step):
    m, v = moments(g, m, v, beta1, beta2)
    mean, square = corrected(m, v, beta1, beta2, step)
    return w - lr * weight_decay * w - lr * mean / (square.sqrt() + eps), m, v


def stepped_in_place(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step):
    """`lerp_`, `addcmul_`, `addcdiv` and `sub_`."""
    g = g.float()
    m.lerp_(g, 1 - beta1)
    v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    mean, square = corrected(m, v, beta1, beta2, step)
    moved = (weight_decay * w).addcdiv(mean, square.sqrt_().add_(eps))
    return w.sub_(moved, alpha=lr), m, v


# ---- tolerance ----


def roundings(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step, dtype):
    """What four roundings in float are a share of. The terms of m may cancel, those of v do not: its root and the
    quotient add roundings of the move itself. A weight in half is rounded once more, which is 2^13 of those in float.
    """
    weight, new_m, new_v = stepped(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step)
    terms = (beta1 * m).abs() + ((1 - beta1) * g).abs()
    _, square = corrected(new_m, new_v, beta1, beta2, step)
    move = lr / (1 - beta1**step) * terms / (square.sqrt() + eps)
    half = 2.0**13 * weight.abs() if dtype == F16 else weight.new_zeros(weight.shape)
    return w.abs() + 3 * move + half, terms, new_v


TOLERANCE = Tolerance(
    2.0**-20,
    lambda dtype: 2.0**-23 if dtype == F16 else 2.0**-145,
    scale=roundings,
    why="up to ten roundings in float of the move, 2^-24 of it each, two of the weight, three of each mean; a weight "
    "in half is rounded once more, 2^-11 of it, or 2^-25 below 2^-14; more than four times that is allowed",
)


# ---- cases ----


def squares(m, w):
    """A mean of squares that could be one: never below 0, and now and then far smaller than the others."""
    return (0.5 * m) ** 2 + (0.1 * w) ** 4


def steps(*sizes, step=7, dtype=F32, lr=1e-3, weight_decay=0.01, eps=1e-8, beta1=0.9, beta2=0.999, **more):
    numbers = dict(zip(NUMBERS, (lr, beta1, beta2, eps, weight_decay), strict=True))
    return [Case(n=n, **numbers, step=step, dtype=dtype, **more) for n in sizes]


def both(*sizes, **more):
    return [case for dtype in (F32, F16) for case in steps(*sizes, dtype=dtype, **more)]


# ---- mistakes ----


def told(like, reference, why):
    return Mistake(like, reference, why=why)


MISTAKES = [
    told(
        "the means had not been corrected",
        lambda w, g, m, v, lr, beta1, beta2, eps, weight_decay: stepped(
            w, g, m, v, lr, beta1, beta2, eps, weight_decay, 10**6
        ),
        "In the first steps both means are too small, as they began at 0: divide them by the corrections.",
    ),
    told(
        "the decay went through the gradient",
        lambda w, g, m, v, lr, beta1, beta2, eps, weight_decay, step: stepped(
            w, g + weight_decay * w, m, v, lr, beta1, beta2, eps, 0.0, step
        ),
        "That is Adam with L2. The W of AdamW: the weight decays apart, lr · weight_decay · w, and g stays what it is.",
    ),
    told(
        "the weight followed the old means",
        lambda w, g, m, v, lr, beta1, beta2, eps, weight_decay, step: (
            w - lr * weight_decay * w - lr * corrected(m, v, beta1, beta2, step)[0]
            / (corrected(m, v, beta1, beta2, step)[1].sqrt() + eps),
            *moments(g, m, v, beta1, beta2),
        ),
        "First the new means, then the weight by them.",
    ),
    told(
        "eps stood inside the root",
        lambda w, g, m, v, lr, beta1, beta2, eps, weight_decay, step: (
            w - lr * weight_decay * w
            - lr * corrected(*moments(g, m, v, beta1, beta2), beta1, beta2, step)[0]
            / (corrected(*moments(g, m, v, beta1, beta2), beta1, beta2, step)[1] + eps).sqrt(),
            *moments(g, m, v, beta1, beta2),
        ),
        "eps is added to the root, not to what the root is taken of.",
    ),
    told(
        "the decay were left out",
        lambda w, g, m, v, lr, beta1, beta2, eps, step: stepped(w, g, m, v, lr, beta1, beta2, eps, 0.0, step),
        "Besides the move, the weight loses lr · weight_decay of itself.",
    ),
]  # fmt: skip

ADAMW = Part(
    "adamw_step",
    number=9,
    params=[
        InOut("w", BY_DTYPE, "n"),
        In("g", BY_DTYPE, "n"),
        InOut("m", f32, "n"),
        InOut("v", f32, "n"),
        *(Scalar(name, f32) for name in NUMBERS),
        Scalar("step", i32),
        Scalar("n", i32),
        Scalar("dtype", i32),
    ],
    reference=stepped,
    pytorch=stepped_in_place,
    sampled=lambda at, i: (at.w[i], at.g[i], at.m[i], at.v[i]),
    groups={
        "first step": both(1024, step=1, inputs=FIRST_STEP),
        "f32": steps(1024, 1, 257, 1021),
        "f16": steps(1024, 1, 257, 1021, dtype=F16),
        "later": [*both(1000, step=1000), *both(1000, step=3, beta1=0.0), *both(1000, step=2, beta2=0.5)],
        "decay alone": both(1000, lr=0.1, weight_decay=0.5, inputs={"g": "zeros", "m": "zeros"}),
        "large eps": both(1000, lr=0.1, eps=0.5),
        "hard numbers": [
            *both(1000, inputs={"g": "mixed_magnitudes", "w": "small"}),
            *steps(1000, inputs={"m": "cancelling", "g": "small"}, lr=0.5),
            *both(1000, eps=1e-4, inputs={"g": "denormals", "m": "zeros", "v": "zeros"}),
            *both(1000, inputs={"g": "overflowing_half"}),
        ],
        "unaligned": [
            *steps(1000, offset={"w": 4, "g": 8, "m": 12, "v": 4}),
            *steps(1000, dtype=F16, offset={"w": 2, "g": 6, "m": 4, "v": 12}),
        ],
        "large": steps(300_007, dtype=F16),
        "empty": both(0),
    },
    bench=steps(1 << 27, dtype=F16)[0],
    far=steps((1 << 30) + 3)[0],
    work=lambda n, dtype: Work(bytes=(22 if dtype == F16 else 28) * n, flops=14 * n),
    tolerance=TOLERANCE,
    lesson="AdamW: two means for each weight, corrected, and a decay that stands apart.",
    goals=[coalesced()],
    default_inputs={"v": squares},
    extra=True,
    mistakes=MISTAKES,
)
