"""Puzzle 2: C = A · B, from one thread an element to 64 results a thread, with an epilogue and transposed inputs."""

from dataclasses import replace

from grader.cooperation import no_local_memory
from grader.goals import coalesced, reuse
from grader.puzzle import Case, In, InOut, Mistake, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

SIZES = [Scalar("M", i32), Scalar("N", i32), Scalar("K", i32)]
PARAMS = [In("A", f32, "M", "K"), In("B", f32, "K", "N"), Out("C", f32, "M", "N"), *SIZES]


def spread(A, B, K):
    """The root of the sum of squares of the K products, √K times: the sum of their magnitudes is never more."""
    return (K * (A.square() @ B.square())).sqrt()


TOLERANCE = Tolerance(
    2.0**-20,
    scale=spread,
    why="each of K sums is rounded by 2^-24 of its value, which is near the root of the sum of squares s: together at "
    "most about √K · 2^-22 · s over millions of results; four times that is allowed, and TF32 is off by 2^-12 · s",
)
BENCH = Case(M=4096, N=4096, K=4096)
FAR = {"M": 2_097_155, "N": 1031, "K": 1033}  # more elements in A and in C than an int can count


def product(A, B):
    return A @ B


def row_and_column(at, i, j):
    return at.A[i, :], at.B[:, j]


def layer(A, B, bias, C, alpha, beta, act):
    return activated(alpha * (A @ B) + bias + (beta * C if beta else 0), act)


def layer_spread(A, B, bias, C, K, alpha, beta):
    return abs(alpha) * spread(A, B, K) + bias.abs() + (abs(beta) * C.abs() if beta else 0)


def layer_in_pytorch(A, B, bias, C, alpha, beta, act):
    """`addmm_`, `add_` and `relu_`, in C."""
    C.addmm_(A, B, alpha=alpha, beta=beta).add_(bias)
    return C.relu_() if act else C


def work(M, N, K):
    return Work(bytes=4 * (M * K + K * N + M * N), flops=2 * M * N * K)


def activated(result, act):
    return result.clamp(min=0) if act else result


def first_tiles_again(A, B, K):
    again = [k % 8 for k in range(K)]
    return A[:, again] @ B[again, :]


def layer_work(M, N, K, beta):
    return Work(bytes=4 * (M * K + K * N + N + (2 if beta else 1) * M * N), flops=2 * M * N * K)


def sizes(*values, **places):
    return [Case(M=m, N=n, K=k, **places) for m, n, k in values]


def layers(*values, alpha=1.0, beta=0.0, act=0, **places):
    return [Case(M=m, N=n, K=k, alpha=alpha, beta=beta, act=act, **places) for m, n, k in values]


def filled(**generators):
    return {"inputs": generators}


MIXED = filled(A="mixed_magnitudes", B="mixed_magnitudes")
NO_C = filled(C="not_a_number")
THIN = ((1, 257, 40), (257, 1, 40), (3, 5, 1021))
SAME_TILES = "every round used the tiles of the first"
SAME_TILES_WHY = (
    "Which tiles a round takes depends on k0. If the next ones are loaded ahead, each round has to do it, after these "
    "have gone into shared memory."
)
LAYER_MISTAKES = [
    Mistake(
        "C were read although beta is 0",
        lambda A, B, bias, C, alpha, beta, act: activated(alpha * (A @ B) + bias + beta * C, act),
        why="0 · NaN is NaN. Where beta is 0, C holds nothing yet, and must not be read: ask before you multiply.",
    ),
    Mistake(
        "the activation came before the bias and the old C",
        lambda A, B, bias, C, alpha, beta, act: activated(alpha * (A @ B), act) + bias + (beta * C if beta else 0),
        why="The activation is the last step: it gets the whole sum.",
    ),
    Mistake(
        "the activation came before the old C",
        lambda A, B, bias, C, alpha, beta, act: activated(alpha * (A @ B) + bias, act) + (beta * C if beta else 0),
        why="The activation is the last step: it gets the whole sum.",
    ),
    Mistake(
        "alpha multiplied the bias as well",
        lambda A, B, bias, C, alpha, beta, act: activated(alpha * (A @ B + bias) + (beta * C if beta else 0), act),
        why="alpha belongs to the product A · B alone, beta to the old C, and the bias has no factor.",
    ),
    Mistake(
        "beta multiplied the bias as well",
        lambda A, B, bias, C, alpha, beta, act: activated(alpha * (A @ B) + beta * (C + bias), act),
        why="alpha belongs to the product A · B alone, beta to the old C, and the bias has no factor.",
    ),
    Mistake(
        "beta multiplied the new C",
        lambda A, B, bias, alpha, beta, act: activated((1 + beta) * alpha * (A @ B) + bias, act),
        why="What C held is lost once something else is stored there. Add up in a register, and store once.",
    ),
]
TRANSPOSED = {
    "whole tiles": sizes((128, 128, 8), (128, 128, 40), (256, 128, 64)),
    "ragged": sizes((129, 127, 9), (37, 101, 23), (130, 6, 7), (1, 1, 1)),
    "hard numbers": [*sizes((33, 17, 65), **MIXED), *sizes((17, 33, 65), **filled(A="large_offset"))],
    "long and thin": sizes(*THIN),
    "views": sizes((64, 132, 20), offset={"A": 4, "B": 8, "C": 12}),
    "K = 0": sizes((5, 18, 0)),
    "empty": sizes((0, 5, 3), (5, 0, 3)),
}


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
        Part(
            "gemm_thread_column",
            params=PARAMS,
            reference=product,
            sampled=row_and_column,
            groups={
                "one tile": sizes((64, 64, 8), (64, 64, 64)),
                "several tiles": sizes((128, 192, 96)),
                "ragged K": sizes((64, 64, 7), (64, 64, 1), (64, 64, 9)),
                "ragged": sizes((65, 63, 17), (1, 1, 1), (101, 89, 97), (7, 66, 20)),
                "hard numbers": [*sizes((33, 17, 65), **MIXED), *sizes((17, 33, 65), **filled(A="large_offset"))],
                "long and thin": sizes(*THIN),
                "K = 0": sizes((5, 18, 0)),
                "empty": sizes((0, 5, 3), (5, 0, 3)),
            },
            bench=BENCH,
            far=Case(**FAR),
            work=work,
            tolerance=TOLERANCE,
            lesson="Several results a thread: read once, use eight times.",
            mistakes=[Mistake(SAME_TILES, first_tiles_again, why=SAME_TILES_WHY)],
            goals=[coalesced(), reuse(work, 32), reuse(work, 1.5, of="shared")],
        ),
        Part(
            "gemm_register_tiled",
            params=PARAMS,
            reference=product,
            sampled=row_and_column,
            groups={
                "one tile": sizes((128, 128, 8)),
                "several rounds": sizes((128, 128, 16), (128, 128, 136)),
                "several tiles": sizes((256, 384, 32)),
                "ragged": sizes((129, 127, 9), (68, 60, 12), (37, 101, 23), (1, 1, 1)),
                "hard numbers": [*sizes((33, 17, 65), **MIXED), *sizes((17, 33, 65), **filled(A="large_offset"))],
                "long and thin": sizes(*THIN),
                "views": sizes((64, 132, 20), offset={"A": 4, "B": 8, "C": 12}),
                "K = 0": sizes((5, 18, 0)),
                "empty": sizes((0, 5, 3), (5, 0, 3)),
            },
            bench=BENCH,
            far=Case(**FAR),
            work=work,
            tolerance=TOLERANCE,
            lesson="A square of results in registers, 16-byte loads, the next tiles on their way.",
            mistakes=[Mistake(SAME_TILES, first_tiles_again, why=SAME_TILES_WHY)],
            goals=[coalesced(only="load"), reuse(work, 64), reuse(work, 4, of="shared"), no_local_memory()],
        ),
        Part(
            "gemm_bias_act",
            params=[
                In("A", f32, "M", "K"),
                In("B", f32, "K", "N"),
                In("bias", f32, "N"),
                InOut("C", f32, "M", "N"),
                *SIZES,
                Scalar("alpha", f32),
                Scalar("beta", f32),
                Scalar("act", i32),
            ],
            reference=layer,
            pytorch=layer_in_pytorch,
            sampled=lambda at, i, j: (at.A[i, :], at.B[:, j], at.bias[j], at.C[i, j]),
            groups={
                "bias": layers((128, 128, 8), (32, 48, 16)),
                "alpha": layers((48, 32, 16), alpha=-0.3),
                "relu": layers((48, 32, 16), act=1) + layers((64, 64, 24), alpha=0.5, act=1),
                "beta": layers((48, 32, 16), beta=1.0) + layers((32, 48, 16), alpha=0.7, beta=-1.3, act=1),
                "beta = 0, NaN in C": layers((32, 48, 16), **NO_C) + layers((48, 32, 16), alpha=2.0, act=1, **NO_C),
                "ragged": layers((129, 127, 9), (37, 101, 23), (1, 1, 1), alpha=0.7, beta=0.4, act=1),
                "hard numbers": [
                    *layers((33, 17, 65), alpha=-3.0, beta=2.0, **MIXED),
                    *layers((17, 33, 65), beta=1.0, act=1, **filled(A="large_offset", bias="large_offset")),
                ],
                "several tiles": layers((256, 384, 32), alpha=0.5, beta=0.5, act=1),
                "long and thin": layers(*THIN, alpha=1.5, beta=0.5),
                "K = 0": layers((5, 18, 0), alpha=2.0, beta=0.5, act=1) + layers((5, 18, 0), **NO_C),
                "empty": layers((0, 5, 3), (5, 0, 3), beta=1.0),
            },
            bench=Case(M=4096, N=4096, K=4096, alpha=0.5, beta=0.5, act=1),
            far=Case(**FAR, alpha=0.5, beta=0.5, act=1),
            work=layer_work,
            tolerance=Tolerance(
                2.0**-20,
                scale=layer_spread,
                why="that of the product, times alpha; bias and beta · C are rounded a few times by 2^-24 of their own "
                "sizes, and sixteen times that is allowed",
            ),
            lesson="The epilogue: bias, activation and the old C while the sums are in registers.",
            mistakes=LAYER_MISTAKES,
            goals=[reuse(layer_work, 16), reuse(layer_work, 4, of="shared")],
        ),
        Part(
            "gemm_nt",
            params=[In("A", f32, "M", "K"), In("B", f32, "N", "K"), Out("C", f32, "M", "N"), *SIZES],
            reference=lambda A, B: A @ B.T,
            sampled=lambda at, i, j: (at.A[i, :], at.B[j, :]),
            groups=TRANSPOSED,
            bench=BENCH,
            far=Case(**FAR),
            work=work,
            tolerance=replace(TOLERANCE, scale=lambda A, B, K: spread(A, B.T, K)),
            lesson="B transposed by its strides, without a copy.",
            mistakes=[Mistake(SAME_TILES, lambda A, B, K: first_tiles_again(A, B.T, K), why=SAME_TILES_WHY)],
            goals=[coalesced(only="load"), reuse(work, 64)],
        ),
        Part(
            "gemm_tn",
            params=[In("A", f32, "K", "M"), In("B", f32, "K", "N"), Out("C", f32, "M", "N"), *SIZES],
            reference=lambda A, B: A.T @ B,
            sampled=lambda at, i, j: (at.A[:, i], at.B[:, j]),
            groups=TRANSPOSED,
            bench=BENCH,
            far=Case(**FAR),
            work=work,
            tolerance=replace(TOLERANCE, scale=lambda A, B, K: spread(A.T, B, K)),
            lesson="A transposed by its strides: the gradient of the weights.",
            mistakes=[Mistake(SAME_TILES, lambda A, B, K: first_tiles_again(A.T, B, K), why=SAME_TILES_WHY)],
            goals=[coalesced(only="load"), reuse(work, 64)],
        ),
    ],
)
