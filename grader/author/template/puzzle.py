"""Puzzle NUMBER: out = factor · x, to be made into what it is to teach."""

from grader.goals import coalesced
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32


def reference(x, factor):
    return factor * x


def element(at, i):
    return at.x[i]


def work(n):
    return Work(bytes=8 * n, flops=n)


puzzle = Puzzle(
    title="TITLE",
    parts=[
        Part(
            "ENTRY",
            params=[In("x", f32, "n"), Out("out", f32, "n"), Scalar("factor", f32), Scalar("n", i32)],
            reference=reference,
            sampled=element,
            groups={
                "full blocks": [Case(factor=2.0, n=256), Case(factor=-0.5, n=1024)],
                "ragged end": [Case(factor=3.0, n=1), Case(factor=1.7, n=257), Case(factor=0.1, n=1009)],
                "empty": [Case(factor=1.0, n=0)],
            },
            bench=Case(factor=1.7, n=1 << 28),
            work=work,
            tolerance=Tolerance(2.0**-22, why="one rounded product: half a unit in the last place, 2**-24"),
            goals=[coalesced()],
            lesson="One thread, one element.",
        ),
    ],
)
