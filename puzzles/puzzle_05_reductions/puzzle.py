"""Puzzle 5: sums, from one block to the whole machine; maxima, a softmax, and sums down the columns."""

from grader.cooperation import (
    equal_bits,
    many_blocks,
    one_atomic_a_block,
    one_atomic_a_thread,
    registers_only,
    shared_work,
)
from grader.goals import coalesced, no_redundant_traffic, reads_at_most
from grader.puzzle import Case, In, Mistake, Out, Part, Puzzle, Scalar, Tolerance, Work, Workspace, f32, i32

WARP, BLOCK = 32, 256
LARGE = 300_007  # a prime, more than 1,056 blocks of 256: some threads have two elements
# Another, 15 or 16 elements a thread: where a thread takes eight at once, some have a second round and some have not.
LARGER = 4_100_011
MATRIX = [Scalar("rows", i32), Scalar("cols", i32)]
FULL = Case(rows=1 << 16, cols=1 << 12)  # more than 65,535 rows, which is where a grid ends along y and z
FAR = Case(rows=(1 << 19) + 3, cols=4097)  # more elements than an int can count


def total(x):
    return x.sum().reshape(1)


def root_of_squares(x):
    return x.square().sum().sqrt().reshape(1)


def softmax(x):
    return x.softmax(1)


def sum_work(n):
    return Work(bytes=4 * n + 4, flops=n)


def warp_work(rows):
    return Work(bytes=4 * (WARP + 1) * rows, flops=WARP * rows)


def row_work(rows, cols):
    return Work(
        bytes=4 * rows * (cols + 1), flops=rows * (cols + BLOCK)
    )  # however short a row is, a block may reduce it


def col_work(rows, cols):
    return Work(bytes=4 * (rows + 1) * cols, flops=(rows + BLOCK) * cols)  # the same, however low a column is


def softmax_work(rows, cols):
    return Work(bytes=8 * rows * cols, flops=4 * rows * cols)


def elements(rows, cols):
    return rows * cols


def sizes(*values, **places):
    return [Case(n=n, **places) for n in values]


def rows(*values, **places):
    return [Case(rows=value, **places) for value in values]


def shapes(*values, **places):
    return [Case(rows=height, cols=width, **places) for height, width in values]


def filled(generator):
    return {"inputs": {"x": generator}}


ROW_SUM = Tolerance(
    2.0**-15,
    scale=lambda x: x.square().sum(1).sqrt(),
    why="cols roundings, each of a sum about as large as the root of the sum of squares, make 2^-25·√cols of it, 2^-17 "
    "for 65,536 columns in one order or another; four times that is allowed",
)
COL_SUM = Tolerance(
    2.0**-15,
    scale=lambda x: x.square().sum(0).sqrt(),
    why="rows roundings, each of a sum about as large as the root of the sum of squares, make 2^-25·√rows of it, 2^-17 "
    "for 65,536 rows, in whatever order the pieces come; four times that is allowed",
)

puzzle = Puzzle(
    title="Reductions",
    parts=[
        Part(
            "block_sum",
            params=[In("x", f32, "n"), Out("out", f32, 1), Scalar("n", i32)],
            reference=total,
            groups={
                "a full block": sizes(1024),
                "powers of two": sizes(512, 32, 2, 1),
                "any n": sizes(1000, 3, 31, 33, 509, 1023),
                "hard numbers": [
                    *sizes(1000, **filled("cancelling")),
                    *sizes(257, **filled("large_offset")),
                    *sizes(1000, **filled("mixed_magnitudes")),
                ],
                "empty": sizes(0),
            },
            bench=Case(n=1024),
            work=sum_work,
            tolerance=Tolerance(
                2.0**-16,
                scale=root_of_squares,
                why="n roundings, each of a sum about as large as the root of the sum of squares, make 2^-25·√n of it, "
                "2^-20 for n = 1024; terms of one sign have larger sums, so sixteen times that is allowed",
            ),
            lesson="A tree in shared memory, and n no power of two.",
            valid=lambda n: n <= 1024,
            goals=[shared_work("n")],
        ),
        Part(
            "warp_sum",
            params=[In("x", f32, "rows", WARP), Out("out", f32, "rows"), Scalar("rows", i32)],
            reference=lambda x: x.sum(1),
            sampled=lambda at, i: at.x[i, :],
            groups={
                "whole blocks": rows(8, 64),
                "any number of rows": rows(1, 7, 9, 1021),
                "hard numbers": [
                    *rows(100, **filled("cancelling")),
                    *rows(100, **filled("large_offset")),
                    *rows(100, **filled("mixed_magnitudes")),
                ],
                "many rows": rows(10_007),
                "empty": rows(0),
            },
            bench=Case(rows=1 << 23),
            work=warp_work,
            tolerance=Tolerance(
                2.0**-18,
                scale=lambda x: x.square().sum(1).sqrt(),
                why="five additions, each rounded by 2^-24 of a sum that is at most √32 times the root of the sum of "
                "squares: 2^-19.2 of it; twice that is allowed",
            ),
            lesson="Lanes read each other's registers: shuffles and masks.",
            goals=[registers_only(), coalesced(), no_redundant_traffic(warp_work)],
        ),
        Part(
            "reduce_sum",
            params=[In("x", f32, "n"), Out("out", f32, 1), Scalar("n", i32)],
            reference=total,
            groups={
                "one block": sizes(256, 32),
                "many blocks": sizes(1024, 65_536),
                "ragged end": sizes(257, 1, 31, 33, 255, 1021, 4099),
                "hard numbers": [
                    *sizes(1000, **filled("cancelling")),
                    *sizes(257, **filled("large_offset")),
                    *sizes(1000, **filled("mixed_magnitudes")),
                ],
                "large": [*sizes(LARGE, **filled("integers")), *sizes(LARGER)],
                "empty": sizes(0),
            },
            bench=Case(n=1 << 28),
            work=sum_work,
            tolerance=Tolerance(
                2.0**-15,
                scale=root_of_squares,
                why="n roundings, each of a sum about as large as the root of the sum of squares, make 2^-25·√n of it, "
                "2^-16 for n = 300,007, in whatever order the blocks come, and less for 4,100,011, of which 132 blocks "
                "or more have a part each; twice that is allowed",
            ),
            lesson="Warp, block, one atomic, and a result that starts at zero.",
            goals=[one_atomic_a_block(), many_blocks(132), coalesced(), no_redundant_traffic(sum_work)],
        ),
        Part(
            "reduce_sum_deterministic",
            params=[In("x", f32, "n"), Out("out", f32, 1), Workspace("workspace", f32, 1024), Scalar("n", i32)],
            reference=total,
            groups={
                "one block": sizes(256, 32),
                "many blocks": sizes(1024, 65_536),
                "ragged end": sizes(257, 1, 31, 33, 255, 1021, 4099, offset={"x": 4}),
                "hard numbers": [
                    *sizes(9001, **filled("cancelling")),
                    *sizes(257, **filled("large_offset")),
                    *sizes(9001, **filled("mixed_magnitudes")),
                ],
                "large": sizes(LARGE, LARGER),
                "empty": sizes(0),
            },
            bench=Case(n=1 << 28),
            work=sum_work,
            tolerance=Tolerance(
                2.0**-15,
                scale=root_of_squares,
                why="n roundings, each of a sum about as large as the root of the sum of squares, make 2^-25·√n of it, "
                "2^-16 for n = 300,007, and less for 4,100,011, of which 132 blocks or more have a part each; twice "
                "that is allowed",
            ),
            lesson="Two passes in a fixed order: equal bits every time.",
            goals=[equal_bits(), many_blocks(132), coalesced(), no_redundant_traffic(sum_work)],
        ),
        Part(
            "row_sum",
            params=[In("x", f32, "rows", "cols"), Out("out", f32, "rows"), *MATRIX],
            reference=lambda x: x.sum(1),
            sampled=lambda at, i: at.x[i, :],
            groups={
                "a warp wide": shapes((8, 32), (64, 64)),
                "any width": shapes((9, 33), (7, 1), (13, 31), (101, 509), (1, 1)),
                "hard numbers": [
                    *shapes((20, 1000), **filled("cancelling")),
                    *shapes((20, 257), **filled("large_offset")),
                    *shapes((20, 1000), **filled("mixed_magnitudes")),
                    *shapes((20, 100), **filled("constant_rows")),
                ],
                "unaligned": shapes((5, 100), offset={"x": 4, "out": 12}),
                "wide": shapes((3, 65_536)),
                "more than 65,535 rows": shapes((65_543, 5)),
                "empty": shapes((0, 5), (5, 0)),
            },
            bench=FULL,
            far=FAR,
            work=row_work,
            tolerance=ROW_SUM,
            lesson="Many small sums: a warp or a block for each row.",
            goals=[coalesced(), reads_at_most("x", 1, elements)],
        ),
        Part(
            "row_max",
            params=[In("x", f32, "rows", "cols"), Out("out", f32, "rows"), *MATRIX],
            reference=lambda x: x.amax(1) if x.shape[1] else x.new_full((len(x),), float("-inf")),
            sampled=lambda at, i: at.x[i, :],
            groups={
                "a warp wide": shapes((8, 32), (64, 64)),
                "any width": shapes((9, 33), (7, 1), (13, 31), (101, 509)),
                "negative rows": shapes((20, 100), (9, 33), (5, 7), (7, 1), **filled("negative")),
                "hard numbers": [
                    *shapes((20, 1000), **filled("mixed_magnitudes")),
                    *shapes((20, 257), **filled("large_offset")),
                    *shapes((20, 100), **filled("minus_infinity_mask")),
                    *shapes((20, 100), **filled("denormals")),
                ],
                "unaligned": shapes((5, 100), offset={"x": 4, "out": 12}),
                "wide": shapes((3, 65_536), **filled("negative")),
                "more than 65,535 rows": shapes((65_543, 5)),
                "empty": shapes((0, 5), (5, 0)),
            },
            bench=FULL,
            far=FAR,
            work=row_work,
            tolerance=Tolerance(0.0, why="the largest value is one of the row: nothing is rounded"),
            lesson="Another operation, another neutral element: −∞.",
            goals=[coalesced(), reads_at_most("x", 1, elements)],
            mistakes=[
                Mistake(
                    "the maximum began at 0",
                    lambda x: x.amax(1).clamp(min=0),
                    why="0 is larger than all of a row of negative values. A maximum begins at −∞, which is "
                    "`-INFINITY` from <cmath>; lanes without an element bring that too.",
                ),
                Mistake(
                    "the maximum began at the smallest positive float",
                    lambda x: x.amax(1).clamp(min=2.0**-126),
                    why="FLT_MIN is the smallest *positive* float, not the lowest: that is -FLT_MAX, and lower still "
                    "is `-INFINITY`.",
                ),
                Mistake(
                    "the largest magnitude were asked for",
                    lambda x: x.abs().amax(1),
                    why="Is there an `abs` on the way? −3 is smaller than 1.",
                ),
                Mistake(
                    "the smallest value were asked for",
                    lambda x: x.amin(1),
                    why="Is it `fmaxf` everywhere, and `>` where values are compared?",
                ),
            ],
        ),
        Part(
            "row_softmax",
            params=[In("x", f32, "rows", "cols"), Out("y", f32, "rows", "cols"), *MATRIX],
            reference=softmax,
            sampled=lambda at, i, _: at.x[i, :],
            groups={
                "a block wide": shapes((4, 256), (2, 1024)),
                "any width": shapes((3, 257), (9, 33), (7, 1), (5, 2), (3, 1021)),
                "large offset": [
                    *shapes((5, 300), (3, 1), **filled("large_offset")),
                    *shapes((5, 300), (3, 1), **filled("far_below")),
                ],
                "hard numbers": [
                    *shapes((5, 1000), **filled("mixed_magnitudes")),
                    *shapes((5, 300), **filled("minus_infinity_mask")),
                    *shapes((5, 300), **filled("constant_rows")),
                    *shapes((5, 300), **filled("negative")),
                ],
                "unaligned": shapes((5, 100), offset={"x": 4, "y": 12}),
                "wide": shapes((2, 65_536)),
                "empty": shapes((0, 5)),
            },
            bench=FULL,
            far=FAR,
            work=softmax_work,
            tolerance=Tolerance(
                2.0**-16,
                2.0**-40,
                why="expf is right to 2^-22 and the sum to about 2^-21; x - largest is rounded by 2^-24 of itself, "
                "which changes its exponential by as much: 2^-20 of it down to e^-16 and less than 2^-42 in all below",
            ),
            lesson="Subtract the maximum, or large scores overflow.",
            valid=lambda cols: cols >= 1,
            goals=[reads_at_most("x", 3, elements), coalesced()],
            mistakes=[
                Mistake(
                    "the maximum had begun at 0",
                    lambda x: (
                        (x - x.amax(1, keepdim=True).clamp(min=0)).exp()
                        / (x - x.amax(1, keepdim=True).clamp(min=0)).exp().sum(1, keepdim=True)
                    ),
                    why="0 is larger than all of a row of negative values, and then every exponential may be 0, and "
                    "0 / 0 is not a number. A maximum begins at −∞, which is `-INFINITY`.",
                ),
                Mistake(
                    "the maximum were not subtracted",
                    lambda x: x.float().exp() / x.float().exp().sum(1, keepdim=True),
                    why="exp(89) is more than a float holds: it becomes infinite, and ∞ / ∞ is not a number. Subtract "
                    "the row's largest value first: the quotients stay the same, and no exponent is above 0.",
                ),
                Mistake(
                    "the sum were not divided by",
                    lambda x: (x - x.amax(1, keepdim=True)).exp(),
                    why="The exponentials have to be divided by their sum over the row.",
                ),
                Mistake(
                    "the maximum were subtracted in the sum alone",
                    lambda x: x.exp() / (x - x.amax(1, keepdim=True)).exp().sum(1, keepdim=True),
                    why="The maximum has to be subtracted in both: above the line and below.",
                ),
                Mistake(
                    "one sum were used for all rows",
                    lambda x: (x - x.amax(1, keepdim=True)).exp() / (x - x.amax(1, keepdim=True)).exp().sum(),
                    why="Each row has a sum of its own.",
                ),
            ],
        ),
        Part(
            "col_sum",
            params=[In("x", f32, "rows", "cols"), Out("out", f32, "cols"), *MATRIX],
            reference=lambda x: x.sum(0),
            groups={
                "one block": shapes((8, 256), (16, 32)),
                "many blocks": shapes((64, 512), (1000, 64)),
                "any shape": shapes((33, 257), (1, 7), (7, 1), (509, 3), (3, 1021)),
                "hard numbers": [
                    *shapes((1000, 20), **filled("mixed_magnitudes")),
                    *shapes((257, 20), **filled("large_offset")),
                ],
                "unaligned": shapes((100, 5), offset={"x": 4, "out": 12}),
                "wide": shapes((3, 65_536)),
                "more than 65,535 rows": shapes((65_543, 5)),
                "empty": shapes((5, 0), (0, 5)),
            },
            bench=Case(rows=1 << 15, cols=1 << 13),
            far=FAR,
            work=col_work,
            tolerance=COL_SUM,
            lesson="Down the columns, with coalesced loads: the gradient of a bias.",
            goals=[coalesced(), reads_at_most("x", 1, elements), many_blocks(132), one_atomic_a_thread()],
        ),
    ],
)
