"""Puzzle 9: the SGD step, from one weight a thread to a choice of kernels, and momentum."""

from grader.goals import coalesced, no_redundant_traffic, wide_accesses
from grader.launch_goals import kernel_chosen
from grader.puzzle import Case, DTypeBy, In, InOut, Part, Puzzle, Scalar, Tolerance, Work, f16, f32, i32

from .mistakes import (
    MISTAKES,
    MISTAKES_IN_HALF,
    MISTAKES_IN_PAIRS,
    MISTAKES_WITH_MOMENTUM,
    stepped,
    stepped_with_momentum,
)

LR = 0.1
LARGE = 300_007  # a prime, more than 1,024 blocks of 256
FAR, FAR_HALVES = (1 << 30) + 3, (3 << 29) + 1  # offsets past 2^31 bytes
F32, F16 = 0, 1  # dtype


# ---- tolerances ----


def roundings(w, g, lr):
    """What the two roundings in float are a share of: the product and the difference."""
    return (lr * g).abs() + stepped(w, g, lr).abs()


def roundings_in_half(w, g, lr):
    """The same in shares of a rounding to half, 2^13 times as coarse, and the result, which is rounded to half."""
    return stepped(w, g, lr).abs() + 2.0**-13 * roundings(w, g, lr)


def roundings_by_type(w, g, lr, dtype):
    """The one or the other, in shares of a rounding to float."""
    return 2.0**13 * roundings_in_half(w, g, lr) if dtype == F16 else roundings(w, g, lr)


def roundings_with_momentum(w, g, velocity, lr, momentum, weight_decay, dtype):
    """Magnitudes of all terms; of a weight in half also the result, and what a rounding is below 2^-14."""
    moved = (momentum * velocity).abs() + g.abs() + (weight_decay * w).abs()
    weight = w.abs() + abs(lr) * moved
    if dtype == F16:
        result, _ = stepped_with_momentum(w, g, velocity, lr, momentum, weight_decay)
        weight = weight + 2.0**10 * result.abs() + 2.0**-4
    return weight, moved


SINGLE = Tolerance(
    2.0**-22,
    2.0**-147,
    scale=roundings,
    why="a product and a difference, rounded apart or fused: 2^-24 of each, or 2^-150 below 2^-126; four times that is "
    "allowed, since PyTorch's own kernels fuse them on one machine and not on another",
)
HALF = Tolerance(
    2.0**-9,
    2.0**-23,
    scale=roundings_in_half,
    why="one rounding to half: 2^-11 of the result, or 2^-25 below 2^-14, and those of float before it: 2^-24 of the "
    "product and of the difference; four times that is allowed",
)
BY_TYPE = Tolerance(
    2.0**-22,
    lambda dtype: 2.0**-23 if dtype == F16 else 2.0**-147,
    scale=roundings_by_type,
    why="as in 9.1 for floats and as in 9.2 for halves: four times one rounding of the result",
)
WITH_MOMENTUM = Tolerance(
    2.0**-19,
    2.0**-145,
    scale=roundings_with_momentum,
    why="seven roundings in float at most: 5 · 2^-24 of the magnitudes of all terms; a weight in half is rounded once "
    "more, 2^-11 of it, or 2^-25 below 2^-14; four times that is allowed, and more in float",
)


# ---- cases ----


def sizes(*values, lr=LR, **more):
    return [Case(n=n, lr=lr, **more) for n in values]


def filled(w, g):
    return {"inputs": {"w": w, "g": g}}


def moved(w, g):
    return {"offset": {"w": w, "g": g}}


def whole_numbers(*values, **more):
    """Nothing is rounded, not even in half: what is wrong here has another weight, or another gradient."""
    return sizes(*values, lr=0.125, **filled("integers", "integers"), **more)


def small_rates(**more):
    """Rates that are 0 as a half, or have few bits there, with gradients that make something of them."""
    return [
        *sizes(1000, lr=1e-8, **filled("denormals", "overflowing_half"), **more),
        *sizes(1000, lr=2.5e-8, **filled("denormals", "overflowing_half"), **more),
        *sizes(1000, lr=1e-6, **filled("denormals", "overflowing_half"), **more),
    ]


def cancelling(**more):
    """A product that is nearly the weight: what is left shows every bit of the rate and of the product."""
    return sizes(1000, lr=1.0007, **filled("normal", "alike"), **more)


def beyond_half(**more):
    """Products past 65,504: with results that come back below it, and results that are infinite."""
    return [
        *sizes(1000, lr=8.9, **filled("overflowing_half", "alike"), **more),
        *sizes(1000, lr=8.9, **filled("overflowing_half", "cancelling"), **more),
    ]


def hard_numbers(**more):
    return [
        *cancelling(**more),
        *sizes(1000, lr=0.3, **filled("mixed_magnitudes", "mixed_magnitudes"), **more),
        *sizes(1000, lr=0.7, **filled("denormals", "denormals"), **more),
    ]


def with_momentum(*values, lr=LR, momentum=0.9, weight_decay=0.01, dtype=F32, **more):
    return [Case(n=n, lr=lr, momentum=momentum, weight_decay=weight_decay, dtype=dtype, **more) for n in values]


FIRST_STEP = {"inputs": {"velocity": "zeros"}}
IN_HALF = {
    "small rates": small_rates(),
    "hard numbers": hard_numbers(),
    "beyond half": beyond_half(),
}


# ---- goals ----


def fitting_kernel(case):
    if case.params["dtype"] == F32:
        return "sgd_step_f32_kernel"
    odd = case.params["n"] % 2 or any(offset % 4 for offset in case.offset.values())
    return "sgd_step_f16_kernel" if odd else "sgd_step_f16_half2_kernel"


# ---- mistakes ----


def parameters(dtype):
    return [InOut("w", dtype, "n"), In("g", dtype, "n"), Scalar("lr", f32), Scalar("n", i32)]


def stepped_in_place(w, g, lr):
    """`sub_`."""
    return w.sub_(g, alpha=lr)


def moved_in_place(w, g, velocity, lr, momentum, weight_decay):
    """`mul_`, `add_` and `sub_`."""
    velocity.mul_(momentum).add_(g).add_(w, alpha=weight_decay)
    return w.sub_(velocity, alpha=lr), velocity


def elements(at, i):
    return at.w[i], at.g[i]


def work(n):
    return Work(bytes=12 * n, flops=2 * n)


def work_in_half(n):
    return Work(bytes=6 * n, flops=2 * n)


def work_by_type(n, dtype):
    return work_in_half(n) if dtype == F16 else work(n)


def work_with_momentum(n, dtype):
    return Work(bytes=(14 if dtype == F16 else 20) * n, flops=6 * n)


def even(n):
    return n % 2 == 0


BY_DTYPE = DTypeBy("dtype", (f32, f16))
DTYPE = Scalar("dtype", i32)

puzzle = Puzzle(
    title="SGD",
    parts=[
        Part(
            "sgd_f32",
            params=parameters(f32),
            reference=stepped,
            pytorch=stepped_in_place,
            sampled=elements,
            groups={
                "full blocks": sizes(256, 1024, 65_536),
                "ragged end": sizes(257, 1, 255, 1021, 4095),
                "small rates": [
                    *sizes(1000, lr=1e-8, **filled("small", "overflowing_half")),
                    *sizes(1000, lr=1e-12, **filled("small", "beyond_half")),
                ],
                "hard numbers": hard_numbers(),
                "unaligned": sizes(1000, 33, **moved(4, 8)),
                "large": sizes(LARGE),
                "empty": sizes(0),
            },
            bench=Case(n=1 << 28, lr=LR),
            far=Case(n=FAR, lr=LR),
            work=work,
            tolerance=SINGLE,
            lesson="An update in place.",
            goals=[coalesced(), no_redundant_traffic(work)],
            mistakes=MISTAKES,
        ),
        Part(
            "sgd_f16",
            params=parameters(f16),
            reference=stepped,
            pytorch=stepped_in_place,
            sampled=elements,
            groups={
                "full blocks": whole_numbers(1024, 2048, 65_536),
                "ragged end": whole_numbers(257, 1, 255, 1021, 4095),
                **IN_HALF,
                "unaligned": [*sizes(1000, 33, **moved(2, 6)), *sizes(1000, **moved(0, 2))],
                "large": sizes(LARGE),
                "empty": sizes(0),
            },
            bench=Case(n=1 << 28, lr=LR),
            far=Case(n=FAR_HALVES, lr=LR),
            work=work_in_half,
            tolerance=HALF,
            lesson="Half in memory, float in registers, one rounding.",
            goals=[coalesced(), no_redundant_traffic(work_in_half)],
            mistakes=MISTAKES_IN_HALF,
        ),
        Part(
            "sgd_f16_half2",
            params=parameters(f16),
            reference=stepped,
            pytorch=stepped_in_place,
            sampled=elements,
            groups={
                "full blocks": whole_numbers(2048, 65_536),
                "ragged end": whole_numbers(1024, 2, 4, 254, 258, 1022, 2046, 2050, 4098),
                **IN_HALF,
                "4 bytes further": [*sizes(1000, 34, **moved(4, 8)), *sizes(1000, **moved(0, 12))],
                "large": sizes(LARGE - 1),
                "empty": sizes(0),
            },
            bench=Case(n=1 << 29, lr=LR),
            far=Case(n=FAR_HALVES + 1, lr=LR),
            work=work_in_half,
            tolerance=HALF,
            lesson="Two halves an access, and a rate that stays a float.",
            goals=[wide_accesses("load", bytes_a_lane=4), wide_accesses("store", bytes_a_lane=4), coalesced()],
            valid=even,
            mistakes=MISTAKES_IN_PAIRS,
        ),
        Part(
            "sgd_step",
            params=[*parameters(BY_DTYPE), DTYPE],
            reference=stepped,
            pytorch=stepped_in_place,
            sampled=elements,
            groups={
                "f32": [
                    *sizes(1024, 1000, 1, 257, 1021, dtype=F32),
                    *sizes(1000, 33, dtype=F32, **moved(4, 8)),
                ],
                "f16 even": [
                    *sizes(1024, 2, 258, 2046, 2050, dtype=F16),
                    *sizes(1000, 34, dtype=F16, **moved(4, 8)),
                ],
                "f16 odd": [*sizes(1023, 1, 3, 257, 2049, dtype=F16), *sizes(1021, dtype=F16, **moved(4, 4))],
                "f16 unaligned": [
                    *sizes(1024, 2, dtype=F16, **moved(2, 0)),
                    *sizes(1024, 258, dtype=F16, **moved(0, 2)),
                    *sizes(1024, 2050, dtype=F16, **moved(2, 2)),
                    *sizes(1024, dtype=F16, **moved(6, 4)),
                    *sizes(1023, dtype=F16, **moved(2, 2)),
                ],
                "small rates": [*small_rates(dtype=F16), *sizes(1000, lr=1e-8, dtype=F32, **filled("small", "normal"))],
                "hard numbers": [*hard_numbers(dtype=F16), *hard_numbers(dtype=F32), *beyond_half(dtype=F16)],
                "large": [*sizes(LARGE, dtype=F32), *sizes(LARGE, LARGE - 1, dtype=F16)],
                "empty": [*sizes(0, dtype=F32), *sizes(0, dtype=F16)],
            },
            bench=Case(n=1 << 28, lr=LR, dtype=F16),
            far=Case(n=FAR_HALVES, lr=LR, dtype=F16),
            work=work_by_type,
            tolerance=BY_TYPE,
            lesson="The kernel that fits: by type, number and address.",
            goals=[kernel_chosen(fitting_kernel), no_redundant_traffic(work_by_type)],
            mistakes=MISTAKES_IN_HALF,
        ),
        Part(
            "sgd_momentum",
            params=[
                InOut("w", BY_DTYPE, "n"),
                In("g", BY_DTYPE, "n"),
                InOut("velocity", f32, "n"),
                *(Scalar(name, f32) for name in ("lr", "momentum", "weight_decay")),
                Scalar("n", i32),
                DTYPE,
            ],
            reference=stepped_with_momentum,
            pytorch=moved_in_place,
            groups={
                "first step": [
                    *with_momentum(1024, **FIRST_STEP),
                    *with_momentum(1024, dtype=F16, **FIRST_STEP),
                ],
                "f32": with_momentum(1024, 1, 257, 1021),
                "f16": with_momentum(1024, 1, 257, 1021, dtype=F16),
                "momentum alone": [
                    *with_momentum(1000, weight_decay=0.0),
                    *with_momentum(1000, weight_decay=0.0, dtype=F16),
                ],
                "decay alone": [*with_momentum(1000, momentum=0.0), *with_momentum(1000, momentum=0.0, dtype=F16)],
                "small rates": with_momentum(
                    1000, lr=2.5e-8, dtype=F16, inputs={"w": "denormals", "g": "overflowing_half"}
                ),
                "hard numbers": [
                    *with_momentum(1000, lr=1.0007, dtype=F16, inputs={"g": "alike", "velocity": "small"}),
                    *with_momentum(1000, lr=1.0007, inputs={"g": "alike", "velocity": "small"}),
                    *with_momentum(1000, inputs={"w": "mixed_magnitudes", "g": "mixed_magnitudes"}),
                    *with_momentum(1000, inputs=dict.fromkeys(("w", "g", "velocity"), "denormals")),
                ],
                "unaligned": [
                    *with_momentum(1000, offset={"w": 4, "g": 8, "velocity": 12}),
                    *with_momentum(1000, dtype=F16, offset={"w": 2, "g": 6, "velocity": 4}),
                ],
                "large": with_momentum(LARGE, dtype=F16),
                "empty": with_momentum(0),
            },
            bench=with_momentum(1 << 27, dtype=F16)[0],
            far=with_momentum(FAR)[0],
            work=work_with_momentum,
            tolerance=WITH_MOMENTUM,
            lesson="PyTorch's formula: momentum and weight decay.",
            goals=[coalesced(), no_redundant_traffic(work_with_momentum)],
            extra=True,
            mistakes=MISTAKES_WITH_MOMENTUM,
        ),
    ],
)
