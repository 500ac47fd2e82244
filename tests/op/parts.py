"""Parts whose entries the tests of grader/op call, and wrong ones among them."""

from __future__ import annotations

from grader.puzzle import Case, In, InOut, Out, Part, Scalar, Tolerance, Work, Workspace, f32, i32

EXACT = Tolerance(0.0, why="nothing is rounded")

SCALE = Part(
    "scale",
    params=[
        InOut("x", f32, "n"),
        Workspace("scratch", f32, 1),
        Scalar("n", i32),
        Scalar("factor", f32),
        Scalar("block", i32),
    ],
    reference=lambda x, factor: factor * x,
    groups={"small": [Case(n=100, factor=2.0, block=32)]},
    bench=Case(n=1 << 20, factor=2.0, block=256),
    work=lambda n: Work(bytes=8 * n, flops=n),
    tolerance=EXACT,
    lesson="Only for tests.",
)


def copy_part(name: str = "copy") -> Part:
    """An entry (const float* x, float* y, int n)."""
    return Part(
        name,
        params=[In("x", f32, "n"), Out("y", f32, "n"), Scalar("n", i32)],
        reference=lambda x: x,
        groups={"small": [Case(n=100)]},
        bench=Case(n=1 << 20),
        work=lambda n: Work(bytes=8 * n, flops=0),
        tolerance=EXACT,
        lesson="Only for tests.",
    )
