"""The tolerance of each part lies where it should, and what only looks like a result is none.

A solution errs by a quarter of what is allowed at most (`test_puzzles.py`); the same arithmetic in a narrower type by
four times at least. An ordinary run measures that of a tenth of the parts, which change with the commit.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest
import torch

from grader.author.trials import SHARE_OF_NARROW, narrow_kernels, narrow_problems, share_in, worst_share
from grader.build import build
from grader.catalog import Located, load_catalog
from grader.compare import compare
from grader.inputs import memory_for
from grader.puzzle import Case, element_count
from tests.conftest import SEED
from tests.judging import ROOT
from tests.sampling import sampled

SEEDS = 5
WRONG = ROOT / "tests" / "wrong"
PARTS = [part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if not part.part.is_host]
NARROW = [part for part in PARTS if narrow_kernels(part)]
# Wrong kernels that compute in a narrower type, where they are written for another part or told as wrong values.
NORM = "puzzle_06_rmsnorm"
VECTORS = "puzzle_01_vector_add/sum_in_half"
OTHERS = {
    **dict.fromkeys(("vector_add_launch", "vector_add_stride", "vector_add_float4", "vector_add_wide"), VECTORS),
    "rmsnorm_naive": f"{NORM}/block_in_half",
    "rmsnorm": f"{NORM}/block_in_half",
    "rmsnorm_vec": f"{NORM}/block_in_half",
    "rmsnorm_f16": f"{NORM}/half_sum_in_half",
    "rmsnorm_bf16": f"{NORM}/brain_sum_in_bfloat16",
    "layernorm": "puzzle_07_layernorm_linear/norm_in_half",
    "layernorm_linear": "puzzle_07_layernorm_linear/fused_in_half",
    "layernorm_linear_f16": "puzzle_07_layernorm_linear/tensor_sum_in_half",
    "flash_decode": "puzzle_08_flash_attention/decode_in_half",
    "flash_attention_backward": "puzzle_08_flash_attention/backward_sums_in_half",
    "sgd_f16_half2": "puzzle_09_sgd/pairs_product_in_half",
}
# Parts whose arithmetic is that of others, and of which.
THE_SAME = {
    "wmma_one_tile": "one step of 4.2's",
    "gemm_wmma_any": "4.3's, with zeros behind the end",
    "layernorm_linear_unfused": "that of 7.1 and 2.7, which it calls",
    "layernorm_linear_backward": "that of 7.4 and 7.5, which it calls",
    "sgd_step": "that of 9.1 to 9.3, whose kernels it chooses from",
    "sgd_supported": "that of 9.1 to 9.3, which its variants call",
    **dict.fromkeys(
        ("backward_linear", "backward_mlp", "train_step"),
        "that of the ops it calls; test_train_step_references.py measures what a narrower type does",
    ),
}


def by_label(part: Located) -> str:
    return str(part.label)


@pytest.mark.parametrize("part", sampled(NARROW, 10), ids=by_label)
def test_a_narrower_type_errs_by_four_times_what_is_allowed(part: Located) -> None:
    assert [problem.sentence for problem in narrow_problems(part, SEED)] == []


@pytest.mark.parametrize("part", sampled([part for part in PARTS if part.part.name in OTHERS], 10), ids=by_label)
def test_so_does_one_that_is_written_for_another_part(part: Located, tmp_path: Path) -> None:
    text = (WRONG / f"{OTHERS[part.part.name]}.cu").read_text(encoding="utf-8")
    entry = re.search(r"cudaError_t (\w+)\(", text)
    assert entry is not None
    source = tmp_path / part.path.name
    source.write_text(text.replace(f" {entry[1]}(", f" {part.part.name}("), encoding="utf-8")
    assert worst_share(part, source, SEED) >= SHARE_OF_NARROW


def usual_shares(part: Located) -> Iterator[tuple[Case, float]]:
    """By case that can tell, the median over some seeds of the narrower type's error, in shares of what is allowed."""
    (wrong, *_) = narrow_kernels(part)
    built = build(wrong.source)
    for case in part.part.cases():
        if 0 in case.params.values() or "integers" in case.inputs.values():
            continue  # half precision has whole numbers up to 2,048
        first = share_in(part.part, built, case, SEED)
        rest = (share_in(part.part, built, case, SEED + number) for number in range(1, SEEDS))
        yield case, first if first >= SHARE_OF_NARROW else statistics.median([first, *rest])


# Products and sums, whose every case is to tell; elsewhere a row of one element, say, is exact in any type.
EVERY_CASE = [part for part in NARROW if part.puzzle.number <= 4 or part.label in ("5.1", "5.2", "5.3")]


@pytest.mark.parametrize("part", sampled(EVERY_CASE, 10), ids=by_label)
def test_of_a_product_or_a_sum_each_case_can_tell(part: Located) -> None:
    for case, share in usual_shares(part):
        single = all(element_count(result, case.params) == 1 for result in part.part.results)
        relu = single and case.params.get("act") == 1  # its 0 is one whatever it was made of
        assert relu or share >= SHARE_OF_NARROW, case


def test_every_part_with_arithmetic_is_looked_at() -> None:
    exact = {part.part.name for part in PARTS if part.part.tolerance.relative == 0}
    seen = {part.part.name for part in NARROW} | set(OTHERS)
    assert {part.part.name for part in PARTS} - exact - seen == set(THE_SAME)


def test_a_result_that_is_no_number_is_past_every_tolerance(tmp_path: Path) -> None:
    part = next(part for part in PARTS if part.part.name == "vector_add")
    text = part.solution_path.read_text(encoding="utf-8")
    source = tmp_path / part.path.name
    source.write_text(text.replace("a[i] + b[i]", "(a[i] + b[i]) * (0.0f / 0.0f)"), encoding="utf-8")
    assert worst_share(part, source, SEED) == inf


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
