"""The streaming kernels that solutions are measured against on a GPU do what they are measured for."""

from __future__ import annotations

import pytest

from grader.author.trials import share_in
from grader.build import build
from grader.catalog import load_catalog
from grader.inputs import memory_for
from grader.puzzle import Case, Part, f16, shape_of
from tests.conftest import SEED
from tests.gpu.attention import COPY_FLOORS, FLASH_FLOORS, last_head
from tests.gpu.ceilings import ADD, COPY, READ, SOURCE, SUMS, ceiling_of
from tests.gpu.solutions import FLOORS, parts_of
from tests.judging import ROOT

PARTS = {part.part.name: part.part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts}


@pytest.mark.parametrize("part", [COPY, ADD, READ], ids=lambda part: str(part.name))
@pytest.mark.parametrize("n", [4096, 4 * SUMS + 4096])
def test_a_ceiling_computes_what_it_says(part: Part, n: int) -> None:
    assert share_in(part, build(SOURCE), Case(n=n), SEED) <= 1


def test_a_part_is_held_against_a_kernel_with_as_many_reads_a_write() -> None:
    assert ceiling_of(PARTS["vector_add_float4"]) is ADD
    assert ceiling_of(PARTS["transpose_wide"]) is COPY
    assert ceiling_of(PARTS["reduce_sum"]) is READ
    assert all(ceiling_of(part) is not None for name, part in PARTS.items() if name in FLOORS)


def test_puzzles_and_parts_are_taken_by_name() -> None:
    assert [part.label for part in parts_of(["3.5", "3"])] == ["3.5", "3.2", "3.3", "3.4", "3.6"]


def test_attention_is_held_against_pytorch_without_a_mask_and_with_one() -> None:
    for name in FLASH_FLOORS:
        part = PARTS[name]
        sizes = part.bench.params
        assert (sizes["q_len"], sizes["causal"]) == (sizes["k_len"], 0)
        assert part.buffers[0].dtype == f16
    assert set(COPY_FLOORS) <= set(PARTS)


def test_the_last_head_of_a_case_is_a_case_of_one_head() -> None:
    for name in (*FLASH_FLOORS, *COPY_FLOORS):
        part = PARTS[name]
        case = next(case for case in part.cases() if case.params["bh"] == 2)
        memory = last_head(memory_for(part, case, SEED))
        alone = Case.of({**case.params, "bh": 1})
        assert all(memory[buffer.name].shape == shape_of(buffer, alone.params) for buffer in part.buffers)
