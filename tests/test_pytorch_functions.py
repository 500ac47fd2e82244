"""What a part has for PyTorch computes what the part asks for, by the part's own tolerance, and in its types.

It is timed on a GPU and tried on the CPU, where PyTorch rounds some things in another way, as said below.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
import torch

from grader.catalog import Located, load_catalog
from grader.compare import compare, reference_results
from grader.inputs import draw_inputs, torch_type
from grader.puzzle import Case, Part, PuzzleError, call_by_name, scalar_value, shape_of
from tests.conftest import SEED
from tests.judging import ROOT

PARTS = [part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if not part.part.is_host]
SWITCHES = {"causal", "dtype", "act", "alpha", "beta"}  # scalars that are 0 in ordinary cases
# What the CPU rounds to half where a GPU keeps a float: these are tried on floats, and their results rounded.
ROUNDED_ON_THE_CPU = {
    **dict.fromkeys(("9.2", "9.3", "9.4", "10.5"), "the product with the rate"),
    "7.8": "mean and rstd",
}


def ordinary_cases(part: Part) -> Iterator[Case]:
    """Cases of every group with usual inputs, nothing of size 0, rows with a variance, and no query without keys."""
    for case in part.cases():
        sizes = {name: value for name, value in case.params.items() if name not in SWITCHES}
        if not case.inputs and all(sizes.values()) and sizes.get("cols") != 1 and not _is_odd_mask(part, case):
            yield case


def _is_odd_mask(part: Part, case: Case) -> bool:
    """Whether a query sees no key, or the mask on PyTorch's way back, from the top left, is another than the part's."""
    ahead = case.params.get("q_len", 0) - case.params.get("k_len", 0)
    return bool(case.params.get("causal")) and (ahead > 0 or (ahead < 0 and part.name == "flash_attention_backward"))


def given_by_pytorch(part: Part, case: Case, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor | None]:
    """The results of these inputs, which may be changed by it."""
    assert part.in_pytorch is not None
    given = call_by_name(part.in_pytorch, inputs | {one.name: scalar_value(one, case.params) for one in part.scalars})
    results = given if isinstance(given, tuple) else (given,)
    return {buffer.name: result for buffer, result in zip(part.results, results, strict=True)}


@pytest.fixture(autouse=True)
def product_of_halves_in_floats() -> Iterator[None]:
    """`mm` with an out_dtype, which PyTorch has on GPUs only."""
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("mm.dtype", lambda a, b, dtype: a.to(dtype) @ b.to(dtype), "CPU")
        yield


@pytest.mark.parametrize("located", PARTS, ids=lambda located: str(located.label))
def test_pytorch_gives_what_the_part_asks_for(located: Located) -> None:
    part = located.part
    for case in ordinary_cases(part):
        inputs = draw_inputs(part, case, SEED)
        wide = located.label in ROUNDED_ON_THE_CPU
        given = given_by_pytorch(
            part, case, {name: one.to(torch.float32 if wide else one.dtype, copy=True) for name, one in inputs.items()}
        )
        expected, results = reference_results(part, case, inputs), {}
        for buffer in part.results:
            result, dtype = given[buffer.name], torch_type(buffer, case.params)
            result = expected[buffer.name].to(dtype) if result is None else result.to(dtype) if wide else result
            assert (result.dtype, tuple(result.shape)) == (dtype, shape_of(buffer, case.params)), buffer.name
            results[buffer.name] = result
        assert compare(part, case, inputs, results).wrong == 0, case


def test_every_part_that_runs_on_a_gpu_has_something_of_pytorch_to_be_timed_beside() -> None:
    assert {part.label for part in PARTS if part.part.in_pytorch is None} == set()
    assert all(next(ordinary_cases(part.part), None) is not None for part in PARTS)


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
