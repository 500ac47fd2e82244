"""Puzzles 5 and 6: the tolerance of each part lies where it should, and what only looks like a result is none.

Right is at least four times what the solution errs by, and a quarter of what the same errs by in a narrower type.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader.build import build
from grader.catalog import Located, load_catalog
from grader.compare import BufferComparison, compare
from grader.inputs import memory_for
from grader.puzzle import Case, element_count
from grader.tools import default_tools
from tests.conftest import SEED
from tests.judging import ROOT

WRONG = ROOT / "tests" / "wrong"
FIVE, SIX = "puzzle_05_reductions", "puzzle_06_rmsnorm"
LARGE = 1 << 16  # elements: one seed is enough

# The part's arithmetic in a narrower type, and the group in which it must be told; the first where none is named.
NARROW = {
    "reduce_sum_deterministic": (FIVE, "twice_in_half", None),
    "row_sum": (FIVE, "rows_in_half", None),
    "row_max": (FIVE, "max_in_half", None),
    "row_softmax": (FIVE, "softmax_in_half", None),
    "col_sum": (FIVE, "columns_in_half", None),
    "rmsnorm_naive": (SIX, "block_in_half", "wide"),
    "rmsnorm": (SIX, "block_in_half", "wide"),
    "rmsnorm_vec": (SIX, "block_in_half", "wide"),
    "rmsnorm_f16": (SIX, "half_sum_in_half", "squares beyond half"),
    "rmsnorm_backward_dx": (SIX, "dx_in_half", "wide"),
    "rmsnorm_backward": (SIX, "both_in_half", "many rows"),
    "rmsnorm_bf16": (SIX, "brain_sum_in_bfloat16", "wide"),
}
PARTS = [
    part
    for name in ("puzzle_5", "puzzle_6")
    for part in load_catalog(ROOT).resolve(name)[0].parts
    if part.part.name in NARROW
]
EACH_PART = pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.label))


def test_every_part_that_computes_in_floats_is_looked_at() -> None:
    assert {part.part.name for part in PARTS} == set(NARROW)


@EACH_PART
def test_the_solution_errs_by_a_quarter_of_what_is_allowed_at_most(part: Located) -> None:
    for case, share in shares(part, part.solution_path, list(part.part.cases())):
        print(f"{part.label} {dict(case.params)} {dict(case.inputs)}: {share:.3f} of the tolerance")
        assert share <= 1 / 4


@EACH_PART
def test_a_narrower_type_errs_by_four_times_what_is_allowed(part: Located, tmp_path: Path) -> None:
    puzzle, name, group = NARROW[part.part.name]
    text = (WRONG / puzzle / f"{name}.cu").read_text(encoding="utf-8")
    entry = text.split(":")[0].removeprefix("// ")
    source = tmp_path / part.path.name
    source.write_text(text.replace(f" {entry}(", f" {part.part.name}("), encoding="utf-8")
    cases = part.part.groups[group or next(iter(part.part.groups))]
    told = list(shares(part, source, list(cases)))
    for case, share in told:
        print(f"{part.label} {dict(case.params)} {dict(case.inputs)}: {share:.1f} times the tolerance")
    assert max(share for _, share in told) >= 4


@EACH_PART
def test_what_only_looks_like_a_result_is_wrong(part: Located) -> None:
    case = next(part.part.cases())
    memory = memory_for(part.part, case, SEED)
    inputs = {buffer.name: memory[buffer.name] for buffer in part.part.buffers if buffer.is_read}
    right = {buffer.buffer.name: buffer.expected for buffer in compare(part.part, case, inputs, memory).buffers}
    for result in part.part.results:
        shape, dtype = memory[result.name].shape, memory[result.name].dtype
        pretenders = {
            "zeros": torch.zeros(shape),
            "the mean": right[result.name].mean().expand(shape),
            "magnitudes": right[result.name].abs().reshape(shape),
            "neighbours": right[result.name].roll(1).reshape(shape),
            **{name: tensor for name, tensor in inputs.items() if tensor.shape == shape},
        }
        for name, pretender in pretenders.items():
            got = {key: value.reshape(memory[key].shape).to(memory[key].dtype) for key, value in right.items()}
            got[result.name] = pretender.to(dtype).contiguous()
            same = element_count(result, case.params) == 1 and name in ("the mean", "neighbours")
            positive = bool((right[result.name] >= 0).all()) and name == "magnitudes"
            assert same or positive or compare(part.part, case, inputs, got).wrong, name


def shares(part: Located, source: Path, cases: list[Case]) -> Iterator[tuple[Case, float]]:
    """For each case with a result, the largest error in shares of what is allowed."""
    built, tools = build(source), default_tools()
    gpu = tools.software_gpu(built)
    for case in cases:
        elements = sum(element_count(buffer, case.params) for buffer in part.part.buffers)
        if 0 in case.params.values():
            continue
        plan = tools.record(built, part.part, case, inject=False).plan
        largest = 0.0
        for seed in range(SEED, SEED + (1 if elements > LARGE else 3)):
            memory = memory_for(part.part, case, seed)
            inputs = {buffer.name: memory[buffer.name].clone() for buffer in part.part.buffers if buffer.is_read}
            gpu.run(plan, memory, roles={buffer.name: buffer.role for buffer in part.part.buffers})
            largest = max(largest, *map(share, compare(part.part, case, inputs, memory).buffers))
        yield case, largest


def share(compared: BufferComparison) -> float:
    error = (compared.got - compared.expected).abs().masked_fill(compared.got == compared.expected, 0.0)
    return float((error.nan_to_num(nan=torch.inf, posinf=torch.inf) / compared.allowed).max())
