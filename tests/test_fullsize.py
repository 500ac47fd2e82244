"""The bench case without a GPU: faults that only a large case shows are found, and nothing is said of right kernels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from grader.build import Build, build
from grader.catalog import Located, load_catalog
from grader.compare import reference_results
from grader.fullsize import FullSize, value_at
from grader.indexed import Indexed, Inputs
from grader.inputs import draw_inputs
from grader.puzzle import (
    Buffer,
    Case,
    In,
    Out,
    Part,
    PuzzleError,
    Scalar,
    Tolerance,
    Work,
    call_by_name,
    f32,
    i32,
    shape_of,
)
from grader.record import record
from grader.simt.sampling import chosen_blocks
from grader.tools import default_tools
from grader.trial import Ran
from grader.verdict import BENCH_GROUP
from tests.judging import ROOT, Judge

SOURCE = Path(__file__).parent / "kernels" / "full_size.cu"
LARGE = Case(n=1 << 28)


def part_for(entry: str, **further: Any) -> Part:
    return Part(
        f"{entry}_entry",
        params=[In("x", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
        reference=lambda x: x,
        sampled=further.get("sampled", lambda at, i: at.x[i]),
        groups={"all": [Case(n=1)]},
        bench=LARGE,
        work=lambda n: Work(bytes=8 * n, flops=0),
        tolerance=Tolerance(0.0, why="nothing is computed"),
        lesson="",
    )


@pytest.fixture(scope="module")
def built() -> Build:
    return build(SOURCE)


def sampled(built: Build, entry: str, *, case: Case = LARGE, seed: int = 7, **further: Any) -> Ran | None:
    part = part_for(entry, **further)
    recording = record(built, part, case)
    assert not recording.findings
    return FullSize(part, case, built, recording.plan, seed).run(default_tools())


def entries() -> dict[str, set[tuple[str, int]]]:
    """Entry → the (kind, line) pairs that the file names for it: on its own line, or in the kernel that it launches."""
    marks: dict[str, set[tuple[str, int]]] = {}
    found: dict[str, set[tuple[str, int]]] = {}
    kernel = ""
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if match := re.match(r"__global__ void (\w+)", line):
            kernel = match[1]
            marks[kernel] = set()
        told = re.search(r"// -> ([\w, ]+)", line)
        kinds = {(kind.strip(), number) for kind in told[1].split(",")} if told else set()
        if match := re.match(r"ENTRY\((\w+), (\w+),", line):
            found[match[1]] = kinds | (marks[match[2]] if not match[1].endswith(("_ok", "_unknown")) else set())
        elif match := re.match(r'extern "C" cudaError_t (\w+)_entry\(', line):
            found[match[1]] = set()
        elif kernel and kinds:
            marks[kernel] |= kinds
    return found


ENTRIES = entries()
FAULTY = sorted(name for name, marks in ENTRIES.items() if marks)


@pytest.mark.parametrize("entry", FAULTY)
def test_a_fault_that_only_a_large_case_shows_is_found_at_its_line(built: Build, entry: str) -> None:
    for seed in (1, 2):
        ran = sampled(built, entry, seed=seed)
        assert ran is not None
        assert not ran.result.passed
        seen = {(observation.kind, observation.line) for observation in ran.observations}
        assert seen & ENTRIES[entry], seen
        assert {kind for kind, _ in seen} <= {kind for kind, _ in ENTRIES[entry]}


@pytest.mark.parametrize("entry", sorted(name for name in ENTRIES if name.endswith("_ok")))
def test_right_kernels_are_left_alone(built: Build, entry: str) -> None:
    for case in (LARGE, Case(n=(1 << 28) - 12_345), Case(n=777)):
        ran = sampled(built, entry, case=case)
        assert ran is not None
        assert ran.observations == []
        assert ran.result.passed


@pytest.mark.parametrize("entry", sorted(name for name in ENTRIES if name.endswith("_unknown")))
def test_nothing_is_said_where_a_sample_says_nothing(built: Build, entry: str) -> None:
    ran = sampled(built, entry)
    assert ran is None or (ran.observations == [] and ran.result.checked == 0)


def test_every_kernel_of_the_file_is_one_or_the_other() -> None:
    assert len(FAULTY) == 7
    assert all(name in FAULTY or name.endswith(("_ok", "_unknown")) for name in ENTRIES)


def test_the_verdict_says_how_much_was_looked_at(built: Build) -> None:
    ran = sampled(built, "one_each_ok")
    assert ran is not None
    assert ran.result.sampled is not None
    assert 8 <= ran.result.sampled.blocks <= 24
    assert ran.result.sampled.of == 1 << 20
    assert ran.result.checked > 100
    assert ran.result.wrong == 0
    whole = sampled(built, "one_each_ok", case=Case(n=777))
    assert whole is not None
    assert whole.result.sampled is None


def test_a_wrong_value_is_told_with_its_place(built: Build) -> None:
    ran = sampled(built, "place_in_float")
    assert ran is not None
    (seen,) = ran.observations
    assert seen.index is not None
    assert seen.index > 1 << 24
    assert ran.result.first_wrong is not None
    assert ran.result.first_wrong.index == (seen.index,)


def test_a_part_without_sampled_is_still_looked_at_for_faults_and_gaps(built: Build) -> None:
    right = sampled(built, "one_each_ok", sampled=None)
    assert right is not None
    assert (right.result.passed, right.result.checked) == (True, 0)
    for entry, kind in (("index_turns_negative", "out_of_bounds_read"), ("too_few_blocks", "never_written")):
        ran = sampled(built, entry, sampled=None)
        assert ran is not None
        assert ran.observations[0].kind == kind


# ---- what puzzles say of their elements -----------------------------------------------------------------------------

SAMPLED = [part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if part.part.sampled is not None]


@pytest.mark.parametrize("located", SAMPLED, ids=lambda part: str(part.label))
def test_an_element_made_of_its_inputs_is_that_of_the_whole_reference(located: Located) -> None:
    part = located.part
    chance = np.random.default_rng(1)
    for case in list(part.cases())[:8]:
        inputs = draw_inputs(part, case, 5)
        whole = reference_results(part, case, inputs)[part.results[0].name].flatten()

        def values(buffer: Buffer, held: dict[str, torch.Tensor] = inputs) -> Any:
            return lambda index: held[buffer.name].flatten()[torch.from_numpy(index)].double().numpy()

        at = Inputs(part, case, values)
        trial = FullSize(part, case, None, None, 5)  # type: ignore[arg-type]
        shape = shape_of(part.results[0], case.params)
        for element in chance.integers(0, max(len(whole), 1), min(len(whole), 5)):
            place = np.unravel_index([element], shape)
            one = value_at(call_by_name(part.reference, trial._made_of(at, place)), shape, place)
            assert one == pytest.approx(float(whole[element]), rel=1e-12, abs=1e-12)


def test_a_reference_gives_one_element_or_all_of_a_dimension() -> None:
    place = np.unravel_index([3 * 5 + 2], (7, 5))
    row = torch.arange(5.0).reshape(1, 5)
    assert value_at(row, (7, 5), place) == 2
    assert value_at(torch.arange(7.0).reshape(7, 1), (7, 5), place) == 3
    assert value_at(torch.tensor([[9.0]]), (7, 5), place) == 9
    assert value_at((row, row), (7, 5), place) == 2


def test_selections_keep_every_dimension() -> None:
    matrix = Indexed((1 << 20, 1 << 20), lambda index: index.astype(np.float64), is_float=True)
    assert matrix[3, :5].tolist() == [[3 * 2.0**20 + column for column in range(5)]]
    rows = matrix[np.array([1, 4]), np.array([7])]
    assert rows.tolist() == [[2.0**20 + 7], [4 * 2.0**20 + 7]]
    assert matrix.computed == 7
    assert Indexed((4,), lambda index: index.astype(np.float64), is_float=False)[1:].dtype == torch.int64


def test_a_puzzle_that_asks_for_too_much_is_told() -> None:
    matrix = Indexed((1 << 20, 1 << 20), lambda index: index.astype(np.float64), is_float=True)
    with pytest.raises(PuzzleError, match="values of one buffer at once"):
        matrix[:, :]
    with pytest.raises(PuzzleError, match="2 dimensions by 1"):
        matrix[1]
    with pytest.raises(PuzzleError, match="indices of an element"):
        part_for("x", sampled=lambda at, i, j: at.x[i])


# ---- which blocks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", [(1 << 20, 1, 1), (256, 256, 1), (7, 5, 3), (1, 65_535, 1), (3, 2, 40_000)])
def test_the_blocks_that_show_most_are_among_the_chosen(grid: tuple[int, int, int]) -> None:
    x, y, z = grid
    blocks = chosen_blocks(grid, most=24, seed=3, elements=1 << 28)
    assert len(blocks) == len(set(blocks)) == min(24, x * y * z)
    assert all(0 <= block < x * y * z for block in blocks)
    assert blocks[:2] == [0, x * y * z - 1]
    assert chosen_blocks(grid, most=24, seed=4, elements=1 << 28) != blocks
    assert chosen_blocks(grid, most=24, seed=3, elements=1 << 28) == blocks


def test_both_sides_of_a_power_of_two_are_among_them() -> None:
    blocks = chosen_blocks((1 << 20, 1, 1), most=24, seed=3, elements=1 << 28)
    for power in (24, 25, 26, 27):
        assert {(1 << power) // 256, (1 << power) // 256 - 1} <= set(blocks)


def test_a_small_grid_is_run_as_it_is() -> None:
    assert chosen_blocks((3, 2, 1), most=24, seed=3, elements=100) == list(range(6))


def test_a_block_that_takes_too_long_is_told_as_a_size_that_was_not_run(judge: Judge) -> None:
    located = load_catalog(ROOT).part_named("sgd_f16")
    verdict = judge(located, ROOT / "tests" / "wrong" / "puzzle_09_sgd" / "half_one_thread.cu")
    large = [case for case in verdict.cases if case.group == BENCH_GROUP]
    assert large
    for case in large:
        assert case.passed
        assert case.checked == 0
        assert case.sampled is not None
        assert case.sampled.blocks == 0 < case.sampled.of
