"""Puzzle 1: out = a + b, from one block to 16-byte accesses at any alignment."""

from grader.cooperation import shared_work
from grader.goals import coalesced, no_redundant_traffic, wide_accesses
from grader.launch_goals import fixed_grid
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

PARAMS = [In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)]
TOLERANCE = Tolerance(
    2.0**-22, why="one rounded addition is off by 2^-24 of the sum at most; four times that is allowed"
)
LARGE = 300_007  # a prime, more than 1,024 blocks of 256
BENCH = Case(n=1 << 28)
APART = {"a": 4, "b": 8, "out": 12}


def add(a, b):
    return a + b


def elements(at, i):
    return at.a[i], at.b[i]


def work(n):
    return Work(bytes=12 * n, flops=n)


def sizes(*values, **places):
    return [Case(n=n, **places) for n in values]


def aligned_alike(case):
    return len({case.offset.get(name, 0) % 16 for name in ("a", "b", "out")}) == 1


puzzle = Puzzle(
    title="Vector add",
    parts=[
        Part(
            "vector_add_block",
            params=PARAMS,
            reference=add,
            sampled=elements,
            groups={
                "a full block": sizes(1024),
                "fewer elements": sizes(1023, 1, 31, 33, 509, 1000),
                "empty": sizes(0),
            },
            bench=Case(n=1024),
            work=work,
            tolerance=TOLERANCE,
            lesson="The threads of one block, and the guard.",
            goals=[shared_work("n")],
        ),
        Part(
            "vector_add",
            params=PARAMS,
            reference=add,
            sampled=elements,
            groups={
                "full blocks": sizes(256, 1024, 65_536),
                "ragged end": sizes(257, 1, 255, 1021, 4095),
                "hard numbers": [
                    *sizes(1000, inputs={"a": "mixed_magnitudes", "b": "cancelling"}),
                    *sizes(1000, inputs={"a": "denormals", "b": "denormals"}),
                ],
                "large": sizes(LARGE),
                "empty": sizes(0),
            },
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="Many blocks, and a ragged end.",
            goals=[coalesced()],
        ),
        Part(
            "vector_add_launch",
            params=PARAMS,
            reference=add,
            sampled=elements,
            groups={
                "full blocks": sizes(1024, 65_536),
                "ragged end": sizes(1, 31, 257, 1021, 4097),
                "large": sizes(LARGE),
                "empty": sizes(0),
            },
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="The other half of the program: grid, stream, launch error.",
            same_program_as="vector_add",
        ),
        Part(
            "vector_add_stride",
            params=PARAMS,
            reference=add,
            sampled=elements,
            groups={
                "one round": sizes(1024, 1, 257),
                "several rounds": sizes(LARGE, 600_011),
                "empty": sizes(0),
            },
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="A grid that does not grow with n.",
            goals=[fixed_grid(65_535), coalesced(), no_redundant_traffic(work)],
        ),
        Part(
            "vector_add_float4",
            params=PARAMS,
            reference=add,
            sampled=elements,
            groups={
                "whole float4s": sizes(4, 1024, 4096),
                "n mod 4": sizes(1023, 1025, 1, 2, 3, 5, 1026, 4099),
                "large": sizes(LARGE),
                "empty": sizes(0),
            },
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="16 bytes an access, and what n mod 4 leaves.",
            goals=[wide_accesses("load"), wide_accesses("store")],
        ),
        Part(
            "vector_add_wide",
            params=PARAMS,
            reference=add,
            sampled=elements,
            groups={
                "aligned": sizes(1024, 1023),
                "shifted alike": [
                    *sizes(1024, 1, 2, 3, 4, 5, offset={"a": 4, "b": 4, "out": 4}),
                    *sizes(1021, 7, offset={"a": 8, "b": 24, "out": 40}),
                    *sizes(1027, 6, offset={"a": 12, "b": 12, "out": 12}),
                ],
                "each its own way": [
                    *sizes(1024, 1, 2, 3, 509, offset=APART),
                    *sizes(1023, 5, offset={"a": 12, "b": 0, "out": 4}),
                    *sizes(4099, 9, offset={"a": 0, "b": 4, "out": 8}),
                    *sizes(257, offset={"a": 8, "b": 12}),
                ],
                "large": [*sizes(LARGE, offset={"a": 4, "b": 4, "out": 4}), *sizes(LARGE, offset=APART)],
                "empty": sizes(0, offset=APART),
            },
            bench=Case(n=1 << 28, offset=APART),
            work=work,
            tolerance=TOLERANCE,
            lesson="Wide accesses at any alignment: peel off the ends.",
            goals=[wide_accesses("store"), wide_accesses("load", where=aligned_alike)],
            extra=True,
        ),
    ],
)
