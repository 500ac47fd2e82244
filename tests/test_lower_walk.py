"""Optimisation keeps the meaning: a lane does the same things in the same order in both forms of a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.simt.lower import lower
from tests.lane_walk import result_shapes, straight, walk_program, walk_straight
from tests.ptx_snippets import FIXTURES

WALKS = 24


def assert_same_walks(text: str) -> tuple[int, int]:
    """Walks through every function; returns the longest list of effects and how many met an undefined value."""
    program = lower(text, "x.cu")
    longest = undefined = 0
    for code, function in zip(straight(text), program.functions, strict=True):
        shapes = result_shapes(code)
        for seed in range(WALKS):
            expected = walk_straight(code, seed)
            got = walk_program(program, function, shapes, seed)
            where = f"{function.name}, seed {seed}"
            length = min(len(expected.done), len(got.done))
            assert got.done[:length] == expected.done[:length], where
            if (expected.ended or expected.undefined) and (got.ended or got.undefined):
                assert (len(got.done), got.undefined) == (len(expected.done), expected.undefined), where
            undefined += bool(expected.undefined)
            longest = max(longest, length)
    return longest, undefined


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.ptx")), ids=lambda path: path.stem)
def test_a_lane_does_the_same_before_and_after_optimisation(path: Path) -> None:
    longest, undefined = assert_same_walks(path.read_text())
    assert longest > 3
    assert undefined or path.stem != "uninitialised"
