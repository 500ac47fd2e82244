"""Puzzle 5: sums, from one block to the whole machine."""

from grader.cooperation import many_blocks, one_atomic_a_block, registers_only, shared_work
from grader.goals import coalesced, no_redundant_traffic
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

WARP = 32
LARGE = 300_007  # a prime, more than 1,056 blocks of 256: some threads have two elements


def total(x):
    return x.sum().reshape(1)


def root_of_squares(x):
    return x.square().sum().sqrt().reshape(1)


def sum_work(n):
    return Work(bytes=4 * n + 4, flops=n)


def row_work(rows):
    return Work(bytes=4 * (WARP + 1) * rows, flops=WARP * rows)


def sizes(*values, **places):
    return [Case(n=n, **places) for n in values]


def rows(*values, **places):
    return [Case(rows=value, **places) for value in values]


def filled(generator):
    return {"inputs": {"x": generator}}


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
            work=row_work,
            tolerance=Tolerance(
                2.0**-18,
                scale=lambda x: x.square().sum(1).sqrt(),
                why="five additions, each rounded by 2^-24 of a sum that is at most √32 times the root of the sum of "
                "squares: 2^-19.2 of it; twice that is allowed",
            ),
            lesson="Lanes read each other's registers: shuffles and masks.",
            goals=[registers_only(), coalesced(), no_redundant_traffic(row_work)],
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
                "large": sizes(LARGE, **filled("integers")),
                "empty": sizes(0),
            },
            bench=Case(n=1 << 28),
            work=sum_work,
            tolerance=Tolerance(
                2.0**-15,
                scale=root_of_squares,
                why="n roundings, each of a sum about as large as the root of the sum of squares, make 2^-25·√n of it, "
                "2^-16 for n = 300,007, in whatever order the blocks come; twice that is allowed",
            ),
            lesson="Warp, block, one atomic, and a result that starts at zero.",
            goals=[one_atomic_a_block(), many_blocks(132), coalesced(), no_redundant_traffic(sum_work)],
        ),
    ],
)
