"""Puzzle 2: C = A · B, from one thread an element to tiles in shared memory at any size."""

from grader.goals import coalesced, reuse
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

PARAMS = [
    In("A", f32, "M", "K"),
    In("B", f32, "K", "N"),
    Out("C", f32, "M", "N"),
    Scalar("M", i32),
    Scalar("N", i32),
    Scalar("K", i32),
]
TOLERANCE = Tolerance(
    2.0**-22,
    absolute=lambda K: K * 2.0**-20,
    why="each of K sums is rounded by 2^-24 of its value, which is near the root of K: together at most about "
    "3 K * 2^-24 over millions of results; four times that and more is allowed",
)
BENCH = Case(M=4096, N=4096, K=4096)


def product(A, B):
    return A @ B


def row_and_column(at, i, j):
    return at.A[i, :], at.B[:, j]


def work(M, N, K):
    return Work(bytes=4 * (M * K + K * N + M * N), flops=2 * M * N * K)


def sizes(*values):
    return [Case(M=m, N=n, K=k) for m, n, k in values]


puzzle = Puzzle(
    title="Tiled GEMM",
    parts=[
        Part(
            "gemm_naive",
            params=PARAMS,
            reference=product,
            sampled=row_and_column,
            groups={
                "one tile": sizes((16, 16, 16)),
                "square": sizes((32, 32, 32), (64, 64, 64)),
                "ragged": sizes((17, 33, 15), (65, 33, 17), (1, 1, 1), (31, 47, 53)),
                "long and thin": sizes((1, 257, 40), (257, 1, 40), (3, 5, 1021)),
                "K = 0": sizes((5, 18, 0)),
                "empty": sizes((0, 5, 3), (5, 0, 3)),
            },
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="Rows, columns, and the index arithmetic of a matrix.",
        ),
        Part(
            "gemm_tiled_even",
            params=PARAMS,
            reference=product,
            sampled=row_and_column,
            groups={
                "one tile": sizes((16, 16, 16)),
                "several rounds": sizes((16, 16, 48), (16, 16, 256)),
                "several tiles": sizes((32, 48, 64), (96, 80, 112)),
                "long and thin": sizes((16, 256, 32), (256, 16, 32)),
                "K = 0": sizes((16, 32, 0)),
                "empty": sizes((0, 16, 16), (16, 0, 16)),
            },
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="Tiles in shared memory, and the two barriers.",
            goals=[reuse(work, 4)],
        ),
        Part(
            "gemm_tiled",
            params=PARAMS,
            reference=product,
            sampled=row_and_column,
            groups={
                "whole tiles": sizes((16, 16, 16), (32, 48, 64)),
                "ragged K": sizes((32, 16, 15), (16, 32, 1), (16, 16, 17), (32, 32, 40)),
                "ragged M and N": sizes((17, 33, 32), (15, 31, 16), (1, 1, 16)),
                "ragged": sizes((65, 33, 17), (1, 1, 1), (101, 89, 97)),
                "long and thin": sizes((1, 257, 40), (257, 1, 40), (3, 5, 1021)),
                "K = 0": sizes((5, 18, 0)),
                "empty": sizes((0, 5, 3), (5, 0, 3)),
            },
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="Tiles that hang over the edge: guards and zeros.",
            goals=[coalesced(), reuse(work, 4)],
        ),
    ],
)
