"""A result that depends on which block comes first is non_deterministic: tests/kernels/order.cu, as a check judges."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import xor
from pathlib import Path

import pytest
import torch

from grader.build import Build, build
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, i32
from grader.record import record
from grader.tools import default_tools
from grader.trial import Trial
from tests.marked_kernels import MarkedKernel, marked_kernels

SOURCE = Path(__file__).parent / "kernels" / "order.cu"
N, BLOCKS, SEED = 128, 8, 6
KERNELS = marked_kernels(SOURCE)


def first_element(value: int) -> torch.Tensor:
    out = torch.zeros(N, dtype=torch.int64)
    out[0] = value
    return out


def in_their_places(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[: N - 1], torch.tensor([N])])


# What each kernel makes of x when its blocks start in order.
RIGHT: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "first_block_wins": lambda x: first_element(int(x[0])),
    "lowest_block_wins_ok": lambda x: first_element(int(x[0])),
    "last_block_wins": lambda x: first_element(int(x[BLOCKS - 1])),
    "largest_wins_ok": lambda x: first_element(max(0, int(x[:BLOCKS].amax()))),
    "place_by_ticket": in_their_places,
    "place_by_number_ok": in_their_places,
    "steps_in_any_order": lambda x: first_element(reduce(lambda seen, step: 3 * seen + step, x[:BLOCKS].tolist(), 0)),
    "steps_that_commute_ok": lambda x: first_element(reduce(xor, x[:BLOCKS].tolist())),
}


@pytest.fixture(scope="module")
def built() -> Build:
    return build(SOURCE)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_only_a_result_that_depends_on_the_order_is_told_as_such(built: Build, kernel: MarkedKernel) -> None:
    part = Part(
        f"{kernel.name}_entry",
        params=[In("x", i32, "n"), Out("out", i32, "n"), Scalar("n", i32)],
        reference=RIGHT[kernel.name],
        groups={"all": [Case(n=N)]},
        bench=Case(n=N),
        work=lambda n: Work(bytes=8 * n, flops=n),
        tolerance=Tolerance(0.0, why="whole numbers"),
        lesson="",
        default_inputs="integers",
    )
    case = Case(n=N)
    ran = Trial(part, "all", case, built, record(built, part, case).plan, SEED).run(default_tools())
    found = {(seen.line, seen.kind) for seen in ran.observations}
    assert found == {(line, kind) for line, kinds in kernel.marks.items() for kind in kinds}
