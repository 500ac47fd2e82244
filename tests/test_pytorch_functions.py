"""What a part has for PyTorch computes what the part asks for, by the part's own tolerance, and in its types.

It is timed on a GPU and tried on the CPU, where PyTorch rounds some things in another way, as said below.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
import torch

from grader.catalog import Located, load_catalog
from grader.inputs import draw_inputs
from grader.puzzle import PuzzleError
from tests.conftest import SEED
from tests.judging import ROOT
from tests.pytorch_cases import given_by_pytorch, ordinary_cases, share_of_tolerance

PARTS = [part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if not part.part.is_host]
# What the CPU rounds to half where a GPU keeps a float: these are tried on floats, and their results rounded.
ROUNDED_ON_THE_CPU = {
    **dict.fromkeys(("9.2", "9.3", "9.4", "10.5"), "the product with the rate"),
    "7.8": "mean and rstd",
}


@pytest.fixture(autouse=True)
def product_of_halves_in_floats() -> Iterator[None]:
    """`mm` with an out_dtype, which PyTorch has on GPUs only."""
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("mm.dtype", lambda a, b, dtype: a.to(dtype) @ b.to(dtype), "CPU")
        yield


@pytest.mark.parametrize("located", PARTS, ids=lambda located: str(located.label))
def test_pytorch_gives_what_the_part_asks_for(located: Located) -> None:
    part = located.part
    in_floats = located.label in ROUNDED_ON_THE_CPU
    for case in ordinary_cases(part):
        assert share_of_tolerance(part, case, draw_inputs(part, case, SEED), in_floats=in_floats) <= 1, case


def test_every_part_that_runs_on_a_gpu_has_something_of_pytorch_to_be_timed_beside() -> None:
    assert {part.label for part in PARTS if part.part.in_pytorch is None} == set()
    assert all(next(ordinary_cases(part.part), None) is not None for part in PARTS)


def test_a_result_of_another_type_or_shape_is_past_every_tolerance() -> None:
    part = next(located.part for located in PARTS if located.label == "1.2")
    case = next(ordinary_cases(part))
    inputs = draw_inputs(part, case, SEED)
    for function in (lambda a, b: (a + b).double(), lambda a, b: (a + b)[:, None], lambda a, b: a - b):
        assert share_of_tolerance(dataclasses.replace(part, pytorch=function), case, inputs) > 1


def test_only_the_logarithms_of_attention_are_left_out() -> None:
    missing = set()
    for located in PARTS:
        case = next(ordinary_cases(located.part))
        given = given_by_pytorch(located.part, case, draw_inputs(located.part, case, SEED))
        missing |= {(located.label, name) for name, result in given.items() if result is None}
    assert missing == {("8.4", "lse"), ("8.5", "lse")}


def test_a_part_has_the_reference_for_pytorch_unless_it_says_otherwise() -> None:
    parts = {located.label: located.part for located in PARTS}
    assert parts["1.2"].in_pytorch is parts["1.2"].reference
    assert parts["6.2"].in_pytorch is not parts["6.2"].reference
    assert dataclasses.replace(parts["1.2"], pytorch=None).in_pytorch is None


def test_a_part_of_host_code_has_none() -> None:
    host = [part.part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if part.part.is_host]
    assert host
    assert all(part.in_pytorch is None for part in host)


def test_a_function_for_pytorch_asks_for_parameters_only() -> None:
    with pytest.raises(PuzzleError, match="asks for y, which is no parameter"):
        dataclasses.replace(PARTS[0].part, pytorch=lambda y: y)
