"""What verdicts say of mistakes that were once told wrongly: the reason that leads on, and not the one that misled."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from grader.catalog import load_catalog
from grader.check import Options, Submission, check_part
from grader.tools import TorchLoading, default_tools
from tests.judging import ROOT, Judge, shown

PARTS = {part.label: part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts}


@dataclass(frozen=True)
class Told:
    """A wrong kernel of a part, and what its first finding, or its values, say and do not say."""

    label: str
    file: str
    says: tuple[str, ...]
    never: tuple[str, ...] = ()


TOLD = [
    Told("5.3", "sum_zeroes_one_byte", ("set 1 of the 4 bytes of `out`", "counts bytes"), ("ahead of the launch;",)),
    Told("5.8", "columns_zeroed_bytes", ("set 256 of the 1,024 bytes of `out`", "counts bytes")),
    Told("5.8", "columns_zeroed_one", ("set 4 of the 1,024 bytes of `out`", "lies outside"), ("counts bytes",)),
    Told("5.8", "columns_not_zeroed", ("An atomic begins with what is there",), ("counts bytes",)),
    Told("5.3", "sum_zeroed_afterwards", ("The memset stands behind the launch",)),
    Told("5.4", "twice_a_launch_of_no_blocks", ("leave that launch out", "another launch"), ("launch nothing",)),
    Told("5.8", "columns_rows_rounded_down", ("as if only the first 6 of the 8 along rows counted", "smaller piece")),
    Told("3.2", "naive_threads_exchanged", ("is x, or y, of the thread the row?",), ("blockIdx.y",)),
    Told("3.3", "tiled_tile_not_turned", ("it was to move", "exchange made once"), ("whatever else should come in",)),
    Told("3.3", "tiled_returns_at_the_edge", ("returns before a barrier stores nothing behind it",)),
    Told("3.3", "tiled_loads_8_rows", ("go over all that is read",), ("changes no sum",)),
    Told("3.4", "padded_rows_overlap", ("rows that are shorter than what is stored in them overlap",)),
    Told("3.5", "swizzled_on_one_side", ("by the same swizzle",)),
    Told("3.6", "wide_swizzle_only_going_in", ("in its column", "by the same swizzle")),
    Told("3.6", "wide_swizzle_without_brackets", ("in its column", "brackets that group it alike")),
    Told("3.6", "wide_index_of_elements", ("an index counts groups of 4", "Is the index divided by 4")),
    Told("8.4", "flash_swizzled_on_one_side", ("swizzled on one side only", "has to ask there")),
    Told("3.6", "wide_four_stores", ("a `float4` 16",)),
]


@pytest.mark.parametrize("told", TOLD, ids=lambda told: told.file)
def test_a_verdict_tells_the_reason(told: Told, judge: Judge) -> None:
    part = PARTS[told.label]
    verdict = judge(part, ROOT / "tests" / "wrong" / part.puzzle.name / f"{told.file}.cu")
    first = verdict.findings[0]
    patterns = [case.pattern or "" for case in verdict.cases]
    text = " ".join((first.message, first.why, *patterns, *(text for _, text in first.marks)))
    assert all(said in text for said in told.says), f"{text}\n{shown(verdict)}"
    assert not any(said in text for said in told.never), text


def test_sizes_that_other_kernels_work_on_are_not_said_to_pass() -> None:
    part = PARTS["3.6"]  # what is no multiple of 4 goes through a kernel that is given, and is right
    source = ROOT / "tests" / "wrong" / part.puzzle.name / "wide_swizzle_without_brackets.cu"
    submission = Submission(part, source, source.name, is_solution=False)
    verdict = check_part(submission, Options(seed=7, shrink=60), default_tools(), TorchLoading())
    assert verdict.smallest is not None
    assert "passes" not in verdict.smallest.sentence
    assert all(size % 4 == 0 for size in verdict.smallest.params.values())
