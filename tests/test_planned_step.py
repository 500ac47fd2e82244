"""The plan of a step, read: launch by launch as a table, and by the part that asks about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.catalog import Located, load_catalog
from grader.list_part import ReadingPart
from grader.op_list.reading import planned_solution
from grader.verdict import State
from tests.judging import ROOT, CommandLine, Judge

OPS = (
    *("Gemm", "BiasAdd", "EltwiseRelu", "Gemm", "BiasAdd"),
    *("MseGrad", "Gemm", "ReduceSum", "Gemm", "ReluBwd", "Gemm", "ReduceSum"),
    *("SgdStep",) * 4,
)


@pytest.fixture(scope="module")
def reading() -> Located:
    found = load_catalog(ROOT).resolve("10.1")[1]
    assert found is not None
    return found


def test_each_launch_is_known_by_its_call_variant_kernel_bytes_and_operations() -> None:
    ops = planned_solution("train_step")
    assert tuple(one.call.op for one in ops) == OPS
    product = ops[0]
    assert (product.variant, product.kernel) == ("gemm_tiled", "gemm_tiled_kernel")
    assert (product.bytes, product.operations) == (4 * (4 * 3 + 3 * 5 + 4 * 5), 2 * 4 * 3 * 5)
    assert ops[1].variant == ops[1].kernel == "bias_add_kernel"
    assert [one.bytes for one in ops[12:]] == [12 * 10, 12 * 2, 12 * 15, 12 * 5]


def test_a_step_is_shown_as_a_table_and_as_json_where_that_is_asked_for(typed: CommandLine) -> None:
    table = typed("plan", "10", "--solution", "--case", "rows=33,features=17,hidden=20,outputs=5,dtype=1")
    assert table.returncode == 0, table.stderr
    lines = [" ".join(line.split()) for line in table.stdout.splitlines()]
    assert lines[0].startswith("10.8 train_step · rows = 33, ")
    assert [line.split()[0] for line in lines[2:-1]] == list(OPS)
    assert lines[10].startswith("Gemm dY, W2 → dH trans_a=0 trans_b=1 gemm_f16_tc_wmma_kernel ")
    assert lines[14].startswith("SgdStep W2, dW2 → W2 lr=lr sgd_step_f16_half2_kernel ")
    assert lines[15].startswith("SgdStep b2, db2 → b2 lr=lr sgd_step_f16_kernel ")  # b2 has 5 elements
    assert lines[-1].startswith("16 launches, ")
    document = typed("plan", "10.6", "--solution", "--json")
    assert len(json.loads(document.stdout)["operations"]) == 5


def test_the_table_of_nothing_has_no_rows(typed: CommandLine) -> None:
    table = typed("plan", "10.6", "--solution", "--case", "rows=3,features=2,outputs=0")
    assert table.stdout.splitlines()[-1].startswith("0 launches, 0 bytes, 0 operations")


def test_a_part_that_reads_a_plan_has_none_and_says_where_it_is(typed: CommandLine) -> None:
    refused = typed("plan", "10.1")
    assert refused.returncode == 2
    assert "`grader plan train_step`" in refused.stderr


def test_a_list_has_no_thread_to_tell_of_and_its_plan_is_named_instead(typed: CommandLine) -> None:
    refused = typed("debug", "10.6")
    assert refused.returncode == 2
    assert "`grader plan 10.6`" in refused.stderr


def test_answers_are_right_by_the_plan_and_told_apart_by_name(reading: Located, judge: Judge, tmp_path: Path) -> None:
    assert isinstance(reading.part, ReadingPart)
    solution = reading.solution_path.read_text(encoding="utf-8")
    file = tmp_path / "1_read_plan.py"
    file.write_text(solution.replace("launches = 16", "launches = 16.0"), encoding="utf-8")
    (finding,) = judge(reading, file).findings
    assert finding.message == "`launches` has no answer yet."
    file.write_text(solution.replace("launches = 16", "launches = 15"), encoding="utf-8")
    verdict = judge(reading, file)
    (finding,) = verdict.findings
    assert finding.message == "`launches` is 15, and the plan says something else."
    assert solution.splitlines()[(finding.line or 0) - 1].strip() == "launches = 16"
    assert (verdict.cases[0].checked, verdict.cases[0].wrong) == (3, 1)
    assert judge(reading, reading.solution_path).state is State.passed
