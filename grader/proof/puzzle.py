"""The part that the kernels of this folder are judged as: out = a + b."""

from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

puzzle = Puzzle(
    title="Proof",
    parts=[
        Part(
            "proof",
            params=[In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
            reference=lambda a, b: a + b,
            groups={"whole blocks": [Case(n=1024)], "ragged": [Case(n=1000)]},
            bench=Case(n=1 << 20),
            work=lambda n: Work(bytes=12 * n, flops=n),
            tolerance=Tolerance(2.0**-22, why="one rounded addition is off by 2^-24 of the sum at most"),
            lesson="The grader judges what it claims to judge.",
        )
    ],
)
