"""Puzzle 4: C = A · B on tensor cores, from one tile to any size, in half precision and in bf16."""

from grader.goals import reuse, tensor_cores
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, bf16, f16, f32, i32

SIZES = [Scalar("M", i32), Scalar("N", i32), Scalar("K", i32)]
BENCH = Case(M=4096, N=4096, K=4096)
# More elements in A and in C than an int can count, and no more rows of tiles than a grid may have along y.
FAR = Case(M=1_048_560, N=2064, K=2064)
WHY = (
    "products of two halves are exact in single precision; tensor cores cut each partial sum off behind 24 binary "
    "digits, always toward zero, so that the error grows with K; four times what it reaches is allowed"
)


def params(kind):
    return [In("A", kind, "M", "K"), In("B", kind, "K", "N"), Out("C", f32, "M", "N"), *SIZES]


def product(A, B):
    return A @ B


def product_in_floats(A, B):
    """`mm` with `out_dtype=torch.float32`."""
    import torch  # not for those who only list puzzles

    return torch.mm(A, B, out_dtype=torch.float32)


def magnitudes(A, B):
    return A.abs() @ B.abs()


def row_and_column(at, i, j):
    return at.A[i, :], at.B[:, j]


def work(M, N, K):
    return Work(bytes=2 * (M * K + K * N) + 4 * M * N, flops=2 * M * N * K)


def tile_work():
    return Work(bytes=2 * 2 * 256 + 4 * 256, flops=2 * 16 * 16 * 16)


def sizes(*values):
    return [Case(M=m, N=n, K=k) for m, n, k in values]


TOLERANCE = Tolerance(2.0**-22, absolute=lambda K: K * 2.0**-19, why=WHY)

puzzle = Puzzle(
    title="Tensor cores",
    parts=[
        Part(
            "wmma_one_tile",
            params=[In("A", f16, 16, 16), In("B", f16, 16, 16), Out("C", f32, 16, 16)],
            reference=product,
            pytorch=product_in_floats,
            sampled=row_and_column,
            groups={
                "whole numbers": [Case(inputs={"A": "integers", "B": "integers"})],
                "any numbers": [Case()],
            },
            bench=Case(),
            work=tile_work,
            tolerance=Tolerance(2.0**-22, absolute=16 * 2.0**-19, why=WHY),
            lesson="Fragments: a matrix in the registers of a warp.",
            goals=[tensor_cores(tile_work)],
        ),
        Part(
            "gemm_wmma",
            params=params(f16),
            reference=product,
            pytorch=product_in_floats,
            sampled=row_and_column,
            groups={
                "one tile": sizes((16, 16, 16)),
                "along K": sizes((16, 16, 48), (16, 16, 256)),
                "several tiles": sizes((32, 48, 64), (96, 80, 112)),
                "long and thin": sizes((16, 256, 32), (256, 16, 32), (16, 32, 2048)),
            },
            bench=BENCH,
            far=FAR,
            work=work,
            tolerance=TOLERANCE,
            lesson="The loop over K, and three leading dimensions.",
            goals=[tensor_cores(work)],
        ),
        Part(
            "gemm_wmma_block",
            params=params(f16),
            reference=product,
            pytorch=product_in_floats,
            sampled=row_and_column,
            groups={
                "one block": sizes((128, 128, 32), (128, 128, 96)),
                "several blocks": sizes((256, 128, 64), (128, 256, 64), (256, 256, 128)),
                "part of a block": sizes((16, 16, 16), (48, 80, 112), (144, 272, 48)),
                "long and thin": sizes((16, 512, 32), (512, 16, 32), (16, 32, 2048)),
            },
            bench=BENCH,
            far=FAR,
            work=work,
            tolerance=TOLERANCE,
            lesson="Warps that share tiles in shared memory.",
            goals=[tensor_cores(work), reuse(work, 64, value_bytes=2)],
        ),
        Part(
            "gemm_wmma_any",
            params=params(f16),
            reference=product,
            pytorch=product_in_floats,
            sampled=row_and_column,
            groups={
                "whole tiles": sizes((128, 128, 32), (16, 16, 16)),
                "ragged K": sizes((128, 128, 40), (32, 32, 1), (16, 48, 17)),
                "ragged M and N": sizes((17, 45, 32), (129, 130, 16), (1, 1, 16)),
                "ragged": sizes((65, 33, 17), (1, 1, 1), (131, 149, 97)),
                "long and thin": sizes((1, 257, 40), (257, 1, 40), (3, 5, 1021)),
                "several blocks": sizes((256, 256, 64)),
                "K = 0": sizes((5, 18, 0)),
                "empty": sizes((0, 5, 3), (5, 0, 3)),
            },
            bench=BENCH,
            far=FAR,
            work=work,
            tolerance=TOLERANCE,
            lesson="Any size: zeros in K, and a way round for what hangs over the edge.",
            goals=[tensor_cores(work), reuse(work, 64, value_bytes=2)],
        ),
        Part(
            "gemm_wmma_bf16",
            params=params(bf16),
            reference=product,
            pytorch=product_in_floats,
            sampled=row_and_column,
            groups={
                "one tile": sizes((16, 16, 16)),
                "along K": sizes((16, 16, 48), (16, 16, 256)),
                "several tiles": sizes((32, 48, 64), (96, 80, 112)),
                "beyond a half": [
                    Case(M=32, N=32, K=32, inputs={"A": "large_offset"}),
                    Case(M=32, N=32, K=32, inputs={"A": "mixed_magnitudes", "B": "integers"}),
                ],
                "K = 0": sizes((16, 32, 0)),
                "empty": sizes((0, 16, 16), (16, 0, 16)),
            },
            bench=BENCH,
            far=FAR,
            work=work,
            tolerance=Tolerance(2.0**-17, scale=magnitudes, why=WHY),
            lesson="Range against precision: bf16.",
            goals=[tensor_cores(work)],
            extra=True,
        ),
    ],
)
