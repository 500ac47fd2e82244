"""Puzzle 8: attention, from a matrix of scores in memory to one that is never stored."""

from grader.goals import coalesced, local_memory, reads_at_most, tensor_cores, wide_accesses, writes_results_only
from grader.launch_goals import shared_memory
from grader.puzzle import Case, In, Mistake, Out, Part, Puzzle, Scalar, Tolerance, Work, Workspace, f16, f32, i32

from . import pytorch
from .mistakes import IN_HALF, MASKING, OF_GRADIENTS, OF_LSE, RESCALING, SWIZZLED_ONCE, TAIL, WEIGHTING, as_in
from .reference import (
    TILE,
    attention,
    attention_and_lse,
    by_head,
    error_terms,
    first_of,
    gradients,
    half_error_terms,
    of_row,
    scaled_scores,
)
from .tolerances import GRADIENTS, HALF, SINGLE, SOFTMAX

BELOW = {"scale": -10.0, "inputs": {"q": "negative", "k": "negative"}}  # all scores are far below 0
SCALE = Scalar("scale", f32)
LENGTHS = [
    Scalar("bh", i32),
    Scalar("q_len", i32),
    Scalar("k_len", i32),
    Scalar("d", i32),
    SCALE,
    Scalar("causal", i32),
]
ROW_SIZES = [Scalar("bh", i32), Scalar("k_len", i32), Scalar("d", i32), SCALE]


# ---- work ----


def work_of(element_bytes):
    return lambda bh, q_len, k_len, d: Work(
        bytes=2 * element_bytes * bh * (q_len + k_len) * d, flops=4 * bh * q_len * k_len * d
    )


# ---- cases ----


def shapes(*values, names=("bh", "q_len", "k_len", "d"), inputs=None, **others):
    return [Case(**dict(zip(names, each, strict=True)), inputs=inputs, **others) for each in values]


def attend(*values, scale=0.125, causal=0, **places):
    return shapes(*values, scale=scale, causal=causal, **places)


def rows(*values, scale=0.125, **places):
    return shapes(*values, names=("bh", "k_len", "d"), scale=scale, **places)


def matrices(*values, x=None):
    return shapes(*values, names=("rows", "cols"), inputs={"x": x} if x else None)


# The first score is 8.34 above all others: each of them has less than 2^-12 of its weight, all together thrice as much.
SINK = {"scale": 8.34 / 128_000, "inputs": {"q": "large_offset", "k": "first_row", "v": "large_offset"}}
BEYOND_HALF = {"q": "overflowing_half", "k": "overflowing_half"}  # their products, by far


def operands(dtype):
    return [In("q", dtype, "bh", "q_len", "d"), In("k", dtype, "bh", "k_len", "d"), In("v", dtype, "bh", "k_len", "d")]


def keys_of_a_row(bh, k_len, d):
    return bh * k_len * d


def keys_of_tiles(bh, q_len, k_len, d, causal):
    """Elements of k when each tile of queries reads the tiles of keys that one of its queries sees."""
    ends = [first + TILE + k_len - q_len if causal else k_len for first in range(0, q_len, TILE)]
    return bh * d * sum(min(k_len, -(-max(end, 0) // TILE) * TILE) for end in ends)


puzzle = Puzzle(
    title="Flash attention",
    parts=[
        Part(
            "attention_naive",
            params=[
                *operands(f32),
                Out("o", f32, "bh", "q_len", "d"),
                Workspace("scores", f32, "bh", "q_len", "k_len"),
                *LENGTHS,
            ],
            reference=attention,
            pytorch=pytorch.attention,
            sampled=lambda at, b, i, c: (at.q[b, i, :], at.k[b, :, :], at.v[b, :, c]),
            groups={
                "a square": attend((1, 32, 32, 32), (2, 64, 64, 64)),
                "any length": attend((2, 5, 33, 40), (1, 33, 7, 128), (3, 1, 130, 1), (1, 3, 1, 200), (1, 2, 700, 9)),
                "large scores": [
                    *attend((2, 7, 60, 64), scale=10.0),
                    *attend((1, 5, 40, 32), scale=-10.0),
                    *attend((1, 5, 70, 64), scale=4096.0),
                ],
                "scores far below 0": attend((2, 5, 20, 64), **BELOW),
                "causal": attend((2, 33, 33, 40), (1, 64, 64, 64), causal=1),
                "more keys than queries": attend((2, 5, 37, 40), (1, 1, 70, 64), causal=1),
                "rows that see nothing": attend((2, 37, 5, 40), causal=1) + attend((2, 3, 0, 40)),
                "empty": attend((0, 5, 5, 64), (2, 0, 5, 64)),
            },
            bench=attend((16, 2048, 2048, 64))[0],
            far=attend((64, 8192, 8192, 64))[0],
            work=work_of(4),
            tolerance=Tolerance(**SINGLE, scale=first_of(error_terms)),
            lesson="Scores, softmax, weighted sum: right, and with a matrix of scores in memory.",
            valid=lambda d: d >= 1,
            mistakes=as_in(first_of, *MASKING, *WEIGHTING),
        ),
        Part(
            "online_softmax",
            params=[
                In("x", f32, "rows", "cols"),
                Out("y", f32, "rows", "cols"),
                Scalar("rows", i32),
                Scalar("cols", i32),
            ],
            reference=lambda x: x.softmax(1),
            sampled=lambda at, i, _: at.x[i, :],
            groups={
                "a block wide": matrices((4, 256), (2, 1024)),
                "any width": matrices((3, 257), (9, 33), (7, 1), (5, 2), (3, 1021)),
                "rising rows": matrices((5, 300), (2, 1024), (3, 33), x="rising"),
                "one huge value": matrices((5, 300), (2, 1024), (9, 33), x="one_huge"),
                "large offset": [*matrices((5, 300), x="large_offset"), *matrices((5, 300), (3, 1), x="far_below")],
                "hard numbers": [
                    *matrices((5, 300), (2, 1024), x="minus_infinity_mask"),
                    *matrices((5, 1000), x="mixed_magnitudes"),
                    *matrices((5, 300), x="constant_rows"),
                    *matrices((5, 300), x="negative"),
                ],
                "unaligned": [Case(rows=5, cols=100, offset={"x": 4, "y": 12})],
                "wide": matrices((2, 65_536)),
                "empty": matrices((0, 5)),
            },
            bench=Case(rows=1 << 16, cols=1 << 12),  # more than 65,535 rows, which is where a grid ends along y and z
            far=Case(rows=(1 << 19) + 3, cols=4097),
            work=lambda rows, cols: Work(bytes=8 * rows * cols, flops=4 * rows * cols),
            tolerance=SOFTMAX,
            lesson="The maximum and the sum in one pass: rescale what there is when the maximum grows.",
            valid=lambda cols: cols >= 1,
            goals=[
                reads_at_most("x", 2, lambda rows, cols: rows * cols),
                writes_results_only(lambda rows, cols: 4 * rows * cols),
                coalesced(),
            ],
            mistakes=[
                Mistake(
                    "sums were put together as they are, whatever their maxima",
                    lambda x: (x - x.amax(1, keepdim=True)).exp() / x.shape[1],
                    why="A sum of exp(x - its own maximum) has to be multiplied by exp(its maximum - the common one) "
                    "before it is added to another.",
                ),
                Mistake(
                    "the maximum were not subtracted",
                    lambda x: x.float().exp() / x.float().exp().sum(1, keepdim=True),
                    why="exp(89) is more than a float holds: it becomes infinite, and ∞ / ∞ is not a number.",
                ),
                Mistake(
                    "the sum were not divided by",
                    lambda x: (x - x.amax(1, keepdim=True)).exp(),
                    why="The exponentials have to be divided by the sum over the row.",
                ),
            ],
        ),
        Part(
            "attention_row",
            params=[
                In("q", f32, "bh", "d"),
                *operands(f32)[1:],
                Out("o", f32, "bh", "d"),
                *ROW_SIZES,
            ],
            reference=of_row(attention_and_lse),
            pytorch=pytorch.attention_of_a_row,
            sampled=lambda at, b, c: (at.q[b, :], at.k[b, :, :], at.v[b, :, c]),
            groups={
                "whole warps": rows((4, 32, 32), (8, 64, 128)),
                "any length": rows((1, 7, 64), (5, 33, 64), (3, 1, 32), (2, 257, 64)),
                "any d": rows((3, 20, 1), (2, 30, 40), (5, 20, 80), (2, 20, 100), (1, 20, 33)),
                "large scores": [
                    *rows((3, 100, 64), scale=10.0),
                    *rows((3, 50, 32), scale=-10.0),
                    *rows((3, 50, 64), scale=4096.0),
                ],
                "scores far below 0": rows((3, 50, 64), **BELOW),
                "a long cache": rows((2, 15_000, 16)),
                "no keys": rows((3, 0, 40)),
                "empty": rows((0, 5, 64)),
            },
            bench=rows((4096, 1024, 128))[0],
            far=rows(((1 << 17) + 3, 129, 128))[0],
            work=lambda bh, k_len, d: Work(bytes=8 * bh * (k_len + 1) * d, flops=4 * bh * k_len * d),
            tolerance=Tolerance(**SINGLE, scale=of_row(error_terms)),
            lesson="One query, all keys once: what was added up is rescaled when the largest score grows.",
            valid=lambda d: 1 <= d <= 128,
            goals=[
                reads_at_most("k", 1, keys_of_a_row),
                reads_at_most("v", 1, keys_of_a_row),
                writes_results_only(lambda bh, d: 4 * bh * d),
                shared_memory(16_384),
                local_memory(1024),
            ],
            mistakes=as_in(of_row, *WEIGHTING[:2], *RESCALING[:3]),
        ),
        Part(
            "flash_attention_f32",
            params=[
                *operands(f32),
                Out("o", f32, "bh", "q_len", "d"),
                Out("lse", f32, "bh", "q_len"),
                *LENGTHS,
            ],
            reference=by_head(attention_and_lse),
            pytorch=pytorch.attention_without_lse,
            sampled=lambda at, b, i, c: (at.q[b, i, :], at.k[b, :, :], at.v[b, :, c]),
            groups={
                "full tiles": attend((1, 32, 32, 64), (2, 64, 64, 128)),
                "any length": attend((2, 33, 70, 64), (1, 5, 7, 128), (1, 1, 1, 64), (1, 40, 130, 32)),
                "any d": attend((1, 20, 40, 1), (2, 33, 20, 40), (1, 20, 33, 80), (1, 7, 40, 100)),
                "large scores": [
                    *attend((1, 20, 70, 64), scale=10.0),
                    *attend((1, 20, 40, 32), scale=-10.0),
                    *attend((1, 20, 70, 64), scale=4096.0),
                ],
                "scores far below 0": attend((1, 20, 40, 64), **BELOW),
                "causal": attend((1, 64, 64, 64), (2, 33, 33, 40), causal=1),
                "prefill": attend((2, 96, 96, 128), causal=1),
                "prefill after cached keys": attend((2, 20, 90, 64), (1, 40, 41, 128), causal=1),
                "decode": attend((3, 1, 200, 64), (1, 2, 700, 40), causal=1) + attend((2, 1, 100, 128)),
                "rows that see nothing": [
                    *attend((2, 70, 5, 40), (1, 64, 63, 64), (1, 32, 1, 64), causal=1),
                    *attend((2, 3, 0, 40)),
                    *attend((1, 3, 0, 40), causal=1),
                ],
                "empty": attend((0, 5, 5, 64), (2, 0, 5, 64)),
            },
            bench=attend((64, 4096, 4096, 128))[0],
            far=attend(((1 << 16) + 3, 257, 257, 128))[0],
            work=work_of(4),
            tolerance=Tolerance(**SINGLE, scale=by_head(error_terms)),
            lesson="A tile of queries shares each tile of keys, and no score is ever stored.",
            valid=lambda d: 1 <= d <= 128,
            goals=[
                reads_at_most("k", 1, keys_of_tiles, of=f" for every {TILE} queries, as far as one of them sees"),
                reads_at_most("v", 1, keys_of_tiles, of=f" for every {TILE} queries, as far as one of them sees"),
                writes_results_only(lambda bh, q_len, d: 4 * bh * q_len * (d + 1)),
                shared_memory(49_152),
                local_memory(1024),
            ],
            mistakes=[*MASKING, *WEIGHTING, *RESCALING, TAIL, SWIZZLED_ONCE, *OF_LSE],
        ),
        Part(
            "flash_attention",
            params=[*operands(f16), Out("o", f16, "bh", "q_len", "d"), Out("lse", f32, "bh", "q_len"), *LENGTHS],
            reference=by_head(attention_and_lse),
            pytorch=pytorch.attention_without_lse,
            sampled=lambda at, b, i, c: (at.q[b, i, :], at.k[b, :, :], at.v[b, :, c]),
            groups={
                "full tiles": attend((1, 64, 64, 64), (1, 128, 192, 128), (5, 128, 64, 64)),
                "large scores": [
                    *attend((1, 64, 64, 64), (1, 20, 130, 128), scale=2.0),
                    *attend((1, 33, 64, 64), scale=-1.0),
                    *attend((1, 33, 70, 64), scale=4096.0),
                    *attend((1, 64, 128, 64), scale=2.0**-22, inputs=BEYOND_HALF),
                ],
                "any length": attend((2, 5, 33, 64), (1, 67, 130, 128), (1, 65, 1, 64)),
                "causal": attend((1, 128, 128, 64), (2, 33, 33, 128), causal=1),
                "prefill": attend((1, 150, 150, 128), causal=1),
                "prefill after cached keys": attend((2, 5, 77, 64), (1, 70, 200, 64), causal=1),
                "decode": attend((3, 1, 130, 64), causal=1) + attend((2, 1, 70, 128)),
                "rows that see nothing": [
                    *attend((1, 150, 70, 64), (2, 37, 5, 128), (1, 64, 1, 64), causal=1),
                    *attend((2, 3, 0, 64)),
                    *attend((1, 3, 0, 64), causal=1),
                ],
                "empty": attend((0, 5, 5, 64), (2, 0, 5, 64)),
            },
            bench=attend((64, 4096, 4096, 128), scale=2.0**-3.5)[0],
            far=attend((16_500, 2048, 1024, 128), scale=2.0**-3.5)[0],
            work=work_of(2),
            tolerance=Tolerance(**HALF, scale=by_head(half_error_terms)),
            lesson="Both products on tensor cores, and what lies between them in registers.",
            valid=lambda d: d in (64, 128),
            goals=[tensor_cores(work_of(2)), writes_results_only(lambda bh, q_len, d: bh * q_len * (2 * d + 4))],
            mistakes=[*MASKING, *OF_LSE, *IN_HALF, *WEIGHTING],
        ),
        Part(
            "flash_decode",
            params=[
                In("q", f16, "bh", "d"),
                *operands(f16)[1:],
                Out("o", f16, "bh", "d"),
                Workspace("workspace", f32, "bh", 64, "d + 2"),
                *ROW_SIZES,
            ],
            reference=of_row(by_head(attention_and_lse)),
            pytorch=pytorch.attention_of_a_row,
            groups={
                "many keys": rows((1, 2048, 64), (1, 12_800, 128)),
                "all keys alike": rows((1, 12_800, 128), scale=0.0, inputs={"v": "large_offset"}),
                "any length": rows((3, 1021, 64), (5, 333, 128), (2, 129, 128)),
                "large scores": [
                    *rows((2, 700, 64), scale=4.0),
                    *rows((2, 700, 64), scale=1500.0, inputs={"q": "negative", "k": "negative"}),
                    *rows((2, 700, 64), scale=2.0**-22, inputs=BEYOND_HALF),
                ],
                "the largest score first or last": [
                    *rows((2, 300, 64), inputs={"q": "negative", "k": "rising"}),
                    *rows((2, 300, 64), inputs={"k": "one_huge"}),
                    *rows((1, 12_800, 128), **SINK),
                ],
                "fewer keys than splits": rows((2, 5, 64), (1, 1, 128), (3, 63, 128)),
                "any width": rows((2, 300, 8), (2, 77, 40), (3, 150, 120)),
                "many queries": rows((300, 40, 64), (2100, 9, 64)),
                "no keys": rows((2, 0, 64)),
                "empty": rows((0, 5, 64)),
            },
            bench=rows((512, 8192, 128), scale=2.0**-3.5)[0],
            far=rows((2100, 8192, 128), scale=2.0**-3.5)[0],
            work=lambda bh, k_len, d: Work(bytes=4 * bh * (k_len + 1) * d, flops=4 * bh * k_len * d),
            tolerance=Tolerance(**HALF, scale=of_row(by_head(half_error_terms))),
            lesson="One query against a cache: split along the keys, and merged.",
            valid=lambda d: d in range(8, 129, 8),
            goals=[
                reads_at_most("k", 1, keys_of_a_row),
                reads_at_most("v", 1, keys_of_a_row),
                wide_accesses("load", where=lambda case: case.params["k_len"] > 2000),
            ],
            mistakes=as_in(of_row, *WEIGHTING[:2], *IN_HALF),
        ),
        Part(
            "flash_attention_backward",
            params=[
                *operands(f16),
                In("o", f16, "bh", "q_len", "d"),
                In("dout", f16, "bh", "q_len", "d"),
                In("lse", f32, "bh", "q_len"),
                Out("dq", f16, "bh", "q_len", "d"),
                Out("dk", f16, "bh", "k_len", "d"),
                Out("dv", f16, "bh", "k_len", "d"),
                Workspace("workspace", f32, "bh", "q_len", "d + 1"),
                *LENGTHS,
            ],
            default_inputs={
                "o": attention,
                "lse": lambda q, k, scale, causal: scaled_scores(q, k, scale, causal).logsumexp(2),
            },
            reference=gradients,
            pytorch=pytorch.gradients,
            groups={
                "full tiles": attend((1, 32, 32, 32), (2, 64, 64, 64)),
                "large scores": [
                    *attend((1, 33, 40, 64), scale=2.0),
                    *attend((1, 20, 40, 32), scale=-10.0, inputs={"q": "negative", "k": "negative"}),
                ],
                "any length": attend((2, 5, 33, 40), (1, 33, 7, 128), (3, 1, 70, 1), (1, 65, 1, 99)),
                "causal": attend((2, 33, 33, 40), (1, 64, 64, 64), causal=1),
                "more keys than queries": attend((2, 5, 37, 40), (1, 1, 70, 64), causal=1),
                "rows that see nothing": [
                    *attend((2, 37, 5, 40), (1, 70, 33, 64), (1, 32, 1, 64), causal=1),
                    *attend((2, 3, 0, 40)),
                ],
                "many queries": attend(
                    (1, 3000, 2, 32), inputs={"q": "negative", "v": "first_row", "dout": "negative"}
                ),
                "no queries": attend((2, 0, 5, 40)),
                "empty": attend((0, 5, 5, 64)),
            },
            bench=attend((64, 1024, 1024, 64))[0],
            far=attend((140_000, 128, 128, 128), scale=2.0**-3.5)[0],
            work=lambda bh, q_len, k_len, d: Work(
                bytes=bh * (8 * (q_len + k_len) * d + 4 * q_len), flops=10 * bh * q_len * k_len * d
            ),
            tolerance=GRADIENTS,
            lesson="The gradients, with weights that are made once more.",
            extra=True,
            valid=lambda d: 1 <= d <= 128,
            mistakes=OF_GRADIENTS,
        ),
    ],
)
