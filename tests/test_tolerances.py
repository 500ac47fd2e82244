"""The tolerance of each part lies where it should, and what only looks like a result is none.

A solution errs by a quarter of what is allowed at most (`test_puzzles.py`); the same arithmetic in a narrower type by
four times at least.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader.author.trials import SHARE_OF_NARROW, narrow_kernels, narrow_problems, worst_share
from grader.catalog import Located, load_catalog
from grader.compare import compare
from grader.inputs import memory_for
from grader.puzzle import element_count
from tests.conftest import SEED
from tests.judging import ROOT

WRONG = ROOT / "tests" / "wrong"
PARTS = [part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if not part.part.is_host]
NARROW = [part for part in PARTS if narrow_kernels(part)]
# Wrong kernels that compute in a narrower type, where they are written for another part or told as wrong values.
NORM = "puzzle_06_rmsnorm"
OTHERS = {
    "rmsnorm_naive": f"{NORM}/block_in_half",
    "rmsnorm": f"{NORM}/block_in_half",
    "rmsnorm_vec": f"{NORM}/block_in_half",
    "rmsnorm_f16": f"{NORM}/half_sum_in_half",
    "rmsnorm_bf16": f"{NORM}/brain_sum_in_bfloat16",
}


def by_label(part: Located) -> str:
    return str(part.label)


@pytest.mark.parametrize("part", NARROW, ids=by_label)
def test_a_narrower_type_errs_by_four_times_what_is_allowed(part: Located) -> None:
    assert [problem.sentence for problem in narrow_problems(part, SEED)] == []


@pytest.mark.parametrize("part", [part for part in PARTS if part.part.name in OTHERS], ids=by_label)
def test_so_does_one_that_is_written_for_another_part(part: Located, tmp_path: Path) -> None:
    text = (WRONG / f"{OTHERS[part.part.name]}.cu").read_text(encoding="utf-8")
    entry = re.search(r"cudaError_t (\w+)\(", text)
    assert entry is not None
    source = tmp_path / part.path.name
    source.write_text(text.replace(f" {entry[1]}(", f" {part.part.name}("), encoding="utf-8")
    assert worst_share(part, source, SEED) >= SHARE_OF_NARROW


def test_every_puzzle_with_arithmetic_has_some() -> None:
    exact = {part.puzzle.number for part in PARTS if part.part.tolerance.relative == 0 == part.part.tolerance.absolute}
    looked_at = {part.puzzle.number for part in NARROW} | {6}
    assert {part.puzzle.number for part in PARTS} - looked_at <= exact


@pytest.mark.parametrize("part", PARTS, ids=by_label)
def test_what_only_looks_like_a_result_is_wrong(part: Located) -> None:
    """Zeros, the mean, magnitudes, the neighbours' values, an input itself."""
    case = next(part.part.cases())
    memory = memory_for(part.part, case, SEED)
    inputs = {buffer.name: memory[buffer.name] for buffer in part.part.buffers if buffer.is_read}
    right = {buffer.buffer.name: buffer.expected for buffer in compare(part.part, case, inputs, memory).buffers}
    for result in part.part.results:
        values = right[result.name]
        for name, pretender in pretenders(values, memory[result.name].shape, inputs):
            got = {key: value.reshape(memory[key].shape).to(memory[key].dtype) for key, value in right.items()}
            got[result.name] = pretender.to(memory[result.name].dtype).contiguous()
            alone = element_count(result, case.params) == 1 and name in ("the mean", "neighbours")
            positive = bool((values >= 0).all()) and name == "magnitudes"
            assert alone or positive or compare(part.part, case, inputs, got).wrong, name


def pretenders(
    values: torch.Tensor, shape: torch.Size, inputs: dict[str, torch.Tensor]
) -> Iterator[tuple[str, torch.Tensor]]:
    yield "zeros", torch.zeros(shape)
    yield "the mean", values.mean().expand(shape)
    yield "magnitudes", values.abs().reshape(shape)
    yield "neighbours", values.roll(1).reshape(shape)
    for name, tensor in inputs.items():
        if tensor.shape == shape:
            yield name, tensor
