"""The streaming kernels that others are held against do what they are timed for: so many bytes each way, once."""

from __future__ import annotations

import pytest

from grader.author.trials import share_in
from grader.build import build
from grader.catalog import load_catalog
from grader.cuda.ceilings import READ, SOURCE, STREAM, ceiling_of, streams
from grader.inputs import memory_for
from grader.puzzle import Case, Part, Work, call_by_name, f16, shape_of
from grader.record import record
from tests.conftest import SEED
from tests.gpu.attention import COPY_FLOORS, FLASH_FLOORS, last_head
from tests.gpu.ceilings import YARDSTICKS
from tests.gpu.ceilings import ceiling_of as yardstick_of
from tests.gpu.solutions import FLOORS, parts_of
from tests.judging import ROOT

PARTS = {part.part.name: part.part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts}
ON_A_GPU = [part for part in PARTS.values() if not part.is_host]
H200 = 132  # multiprocessors


@pytest.mark.parametrize(
    ("part", "case"),
    [
        *(
            (STREAM, Case(reads=reads, writes=writes, quads=1025))
            for reads, writes in ((1, 1), (2, 1), (6, 5), (32, 1))
        ),
        *((READ, Case(quads=quads, blocks=blocks)) for quads, blocks in ((1024, 4), (3001, 3), (5, 1))),
    ],
)
def test_a_ceiling_computes_what_it_says(part: Part, case: Case) -> None:
    assert share_in(part, build(SOURCE), case, SEED) <= 1


@pytest.mark.parametrize("part", ON_A_GPU, ids=lambda part: str(part.name))
def test_a_ceiling_moves_as_many_bytes_as_the_part_has_to(part: Part) -> None:
    ceiling = ceiling_of(part, part.bench, H200)
    moved: Work = call_by_name(ceiling.part.work, ceiling.case.params)
    least: Work = call_by_name(part.work, part.bench.params)
    if part.name not in ("backward_linear", "backward_mlp", "train_step", "block_sum"):
        assert moved.bytes == pytest.approx(least.bytes, rel=0.01)
    assert moved.bytes <= 1.3 * least.bytes  # lists of ops read what they have written


def test_a_ceiling_reads_and_writes_in_the_proportion_of_the_part() -> None:
    names = {name: ceiling_of(PARTS[name], PARTS[name].bench, H200).name for name in PARTS if not PARTS[name].is_host}
    assert names["vector_add"] == names["sgd_f32"] == names["rmsnorm_backward"] == "stream_2_1"
    assert names["transpose_wide"] == names["rmsnorm_f16"] == names["row_softmax"] == "stream_1_1"
    assert names["reduce_sum"] == names["col_sum"] == names["flash_decode"] == "stream_read"
    assert (names["warp_sum"], names["adamw_step"], names["sgd_momentum"]) == (
        "stream_32_1",
        "stream_6_5",
        "stream_4_3",
    )


def test_a_few_streams_come_near_any_proportion() -> None:
    assert streams(200, 100) == streams(2001, 1000) == (2, 1)
    assert streams(0, 100) == (0, 1)
    for read, written in ((1, 3), (5, 7), (9, 10), (31, 2), (100, 7)):
        reads, writes = streams(read, written)
        assert reads / (reads + writes) == pytest.approx(read / (read + written), abs=0.04)


def test_what_is_timed_reads_scratch_and_is_recorded_like_any_part() -> None:
    ceiling = ceiling_of(PARTS["vector_add"], Case(n=1 << 12), H200)
    assert [buffer.role for buffer in ceiling.part.buffers] == ["workspace", "out"]
    recording = record(build(SOURCE), ceiling.part, ceiling.case)
    assert not recording.findings
    assert [buffer.bytes for buffer in recording.plan.buffers] == [8 << 12, 4 << 12]


def test_the_yardsticks_of_gpu_scripts_are_three_of_them() -> None:
    assert yardstick_of(PARTS["vector_add_float4"]) == "stream_add"
    assert yardstick_of(PARTS["transpose_wide"]) == "stream_copy"
    assert yardstick_of(PARTS["reduce_sum"]) == "stream_read"
    assert {yardstick_of(part) for name, part in PARTS.items() if name in FLOORS} == YARDSTICKS.keys()


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
