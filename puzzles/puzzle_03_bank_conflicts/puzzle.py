"""Puzzle 3: out = inᵀ, from scattered stores to tiles in shared memory without bank conflicts."""

from grader.goals import coalesced, no_bank_conflicts, wide_accesses
from grader.launch_goals import shared_memory
from grader.puzzle import Case, HostOut, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

PARAMS = [In("in", f32, "rows", "cols"), Out("out", f32, "cols", "rows"), Scalar("rows", i32), Scalar("cols", i32)]
TOLERANCE = Tolerance(0.0, why="nothing is computed: every value arrives with the bits that it left with")
BENCH = Case(rows=16_384, cols=16_384)


def answers():
    from grader.banks.reads import measured

    return measured()


def passes():
    from torch import tensor

    return tensor([read.passes for read in answers()])


def turned(in_):
    return in_.T


def turned_in_memory(in_):
    """`in.T.contiguous()`."""
    return in_.T.contiguous()


def element(at, i, j):
    return at.in_[j, i]


def work(rows, cols):
    return Work(bytes=8 * rows * cols, flops=0)


def sizes(*values):
    return [Case(rows=rows, cols=cols) for rows, cols in values]


GROUPS = {
    "one tile": sizes((32, 32)),
    "square": sizes((64, 64), (128, 128)),
    "oblong": sizes((32, 96), (384, 512)),
    "ragged": sizes((33, 65), (1, 1), (31, 2), (67, 41), (509, 127)),
    "long and thin": sizes((1, 1021), (1021, 1), (5, 2053)),
    "over 65,535": sizes((70_001, 2), (2, 70_001)),
    "empty": sizes((0, 5), (5, 0)),
}

QUADS = {
    "one tile": sizes((64, 64)),
    "several tiles": sizes((128, 192), (512, 384)),
    "multiples of 4": sizes((68, 132), (4, 4), (60, 8)),
    "any size": sizes((33, 65), (1, 1), (66, 64), (64, 66), (509, 127)),
    "long and thin": sizes((4, 4096), (4096, 4), (1, 1021), (1021, 1)),
    "over 65,535": sizes((70_004, 4), (70_001, 2), (2, 70_001)),
    "empty": sizes((0, 8), (8, 0)),
}


def in_quads(case):
    return case.params["rows"] % 4 == 0 and case.params["cols"] % 4 == 0


puzzle = Puzzle(
    title="Bank conflicts",
    parts=[
        Part(
            "bank_answers",
            params=[HostOut("ways", i32, 8)],
            reference=passes,
            answers=answers,
            groups={"eight loads": [Case()]},
            bench=Case(),
            work=lambda: Work(bytes=0, flops=0),
            tolerance=Tolerance(0.0, why="a count is right or wrong"),
            lesson="How many passes over the banks a load takes.",
        ),
        Part(
            "transpose_naive",
            params=PARAMS,
            reference=turned,
            pytorch=turned_in_memory,
            sampled=element,
            groups=GROUPS,
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="One side scattered: what 32 sectors a store cost.",
        ),
        Part(
            "transpose_tiled",
            params=PARAMS,
            reference=turned,
            pytorch=turned_in_memory,
            sampled=element,
            groups=GROUPS,
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="Through shared memory: coalesced on both sides.",
            goals=[coalesced()],
        ),
        Part(
            "transpose_padded",
            params=PARAMS,
            reference=turned,
            pytorch=turned_in_memory,
            sampled=element,
            groups=GROUPS,
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="One float of padding: no bank conflicts.",
            goals=[coalesced(), no_bank_conflicts()],
        ),
        Part(
            "transpose_swizzled",
            params=PARAMS,
            reference=turned,
            pytorch=turned_in_memory,
            sampled=element,
            groups=GROUPS,
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="A swizzle: no bank conflicts, and no word of padding.",
            goals=[coalesced(), no_bank_conflicts(), shared_memory(4 * 32 * 32)],
        ),
        Part(
            "transpose_wide",
            extra=True,
            params=PARAMS,
            reference=turned,
            pytorch=turned_in_memory,
            sampled=element,
            groups=QUADS,
            bench=BENCH,
            work=work,
            tolerance=TOLERANCE,
            lesson="16 bytes a lane on both sides.",
            goals=[
                wide_accesses("load", where=in_quads),
                wide_accesses("store", where=in_quads),
                coalesced(where=in_quads),
                no_bank_conflicts(),
            ],
        ),
    ],
)
