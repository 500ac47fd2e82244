"""A course of one puzzle whose full size is small enough for a pretended GPU: part 1.1 `add`, of three buffers."""

from __future__ import annotations

from pathlib import Path

PUZZLE = """
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

puzzle = Puzzle(
    title="Sums",
    parts=[
        Part(
            "sum_two",
            params=[In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
            reference=lambda a, b: a + b,
            groups={"some": [Case(n=1), Case(n=257)]},
            bench=Case(n=4096),
            work=lambda n: Work(bytes=12 * n, flops=n),
            tolerance=Tolerance(2.0**-22, why="one rounded addition"),
            lesson="",
        ),
    ],
)
"""
KERNEL = """#include <cuda_runtime.h>

extern "C" __global__ void add(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // --- your code ---
    if (i < n) out[i] = a[i] + b[i];
    // --- end ---
}

extern "C" cudaError_t sum_two(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
"""
FILE = "1_sum_two.cu"


def make_course(root: Path) -> Path:
    """The course in `root`, with the solution for the learner's own file."""
    for folder in ("puzzles", "solutions"):
        place = root / folder / "puzzle_01_sums"
        place.mkdir(parents=True)
        (place / FILE).write_text(KERNEL)
    (root / "puzzles" / "puzzle_01_sums" / "puzzle.py").write_text(PUZZLE)
    (root / "puzzles" / "puzzle_01_sums" / "README.md").write_text("# Sums\n")
    return root
