"""Lanes and banks: loads with a known answer, the picture of an access, the worst access of a learner's kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.banks.lanes import BankMap
from grader.banks.reads import measured
from grader.catalog import load_catalog
from grader.report.banks import answer_table, bank_picture
from grader.verdict import Finding, State
from tests.judging import ROOT, CommandLine, Judge, shown

PARTS = {part.part.name: part for part in load_catalog(ROOT).resolve("puzzle_3")[0].parts}
WRONG = ROOT / "tests" / "wrong" / "puzzle_03_bank_conflicts"
PASSES = [1, 2, 1, 32, 1, 1, 2, 4]


def test_the_software_gpu_counts_the_passes_of_each_load() -> None:
    assert [read.passes for read in measured()] == PASSES


def test_most_lanes_that_meet_in_a_bank_are_as_many_as_passes() -> None:
    assert [len(read.banks.fullest()[1]) for read in measured()] == PASSES


def test_a_picture_shows_each_lane_below_its_bank() -> None:
    stride_two = BankMap("load", 4, tuple(2 * lane for lane in range(32)))
    lines = list(bank_picture(stride_two))
    assert len(lines) == 6
    assert lines[0].split() == ["bank", *map(str, range(16))]
    assert lines[1].split() == ["lanes", *" · ".join(map(str, range(8))).split(), "·"]
    assert lines[2].split() == [*" · ".join(map(str, range(16, 24))).split(), "·"]
    assert lines[3].split() == ["bank", *map(str, range(16, 32))]
    assert max(map(len, lines)) <= 76


def test_a_stack_that_goes_on_ends_in_dots_and_banks_that_nobody_asks_for_are_left_out() -> None:
    column = BankMap("load", 4, tuple(32 * lane for lane in range(32)))
    lines = list(bank_picture(column))
    assert [line.split()[-16:][0] for line in lines[1:5]] == ["0", "1", "2", "3"]
    assert lines[5].strip() == "…"
    assert len(lines) == 6


def test_lanes_that_want_one_word_are_one_entry() -> None:
    lines = list(bank_picture(BankMap("load", 4, (0,) * 31 + (None,))))
    assert lines[1].split()[:3] == ["lanes", "0+", "·"]
    assert lines[-1].startswith("+ is a lane")


def test_a_wide_lane_stands_below_each_of_its_banks() -> None:
    lines = list(bank_picture(BankMap("load", 8, tuple(2 * lane for lane in range(32)))))
    assert lines[1].split()[:5] == ["lanes", "0", "0", "1", "1"]


def test_right_answers_are_shown_with_the_words_asked_of_each_bank() -> None:
    lines = list(answer_table(measured()))
    assert [int(line.split()[0]) for line in lines[1:]] == PASSES
    assert lines[2].endswith("2·" * 16)
    assert lines[4].endswith("+" + "·" * 31)


@pytest.fixture(scope="module")
def wrong_answers(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    source = tmp_path_factory.mktemp("answers") / "1_bank_answers.cu"
    lines = "\n".join(f"    ways[{index}] = {passes + 7};" for index, passes in enumerate(PASSES))
    source.write_text(f'extern "C" void bank_answers(int* ways) {{\n{lines}\n}}\n', encoding="utf-8")
    verdict = judge(PARTS["bank_answers"], source)
    assert verdict.state is State.wrong, shown(verdict)
    return list(verdict.findings)


def test_a_wrong_answer_is_named_with_its_reason_and_without_the_number(wrong_answers: list[Finding]) -> None:
    assert [finding.index for finding in wrong_answers] == list(range(8))
    assert [finding.line for finding in wrong_answers] == list(range(2, 10))
    for finding, read in zip(wrong_answers, measured(), strict=True):
        assert finding.banks == read.banks
        assert read.what in finding.message
        assert f"ways[{finding.index}]" in finding.message
        assert f" {read.passes} pass" not in finding.message + finding.why
    assert "Lanes 0 and 16 want different words of bank 0" in wrong_answers[1].why
    assert "Lanes 0, 1, 2 and more want" in wrong_answers[3].why
    assert "one and the same word" in wrong_answers[5].why


@pytest.mark.parametrize(
    ("file", "part", "lanes"),
    [
        ("swizzled_by_fours.cu", "transpose_swizzled", [0, 1, 2, 3]),
        ("padded_by_two.cu", "transpose_padded", [0, 16]),
        ("padded_not_at_all.cu", "transpose_padded", list(range(32))),
        ("wide_without_a_swizzle.cu", "transpose_wide", list(range(8))),
    ],
)
def test_the_worst_access_of_a_kernel_is_shown(file: str, part: str, lanes: list[int], judge: Judge) -> None:
    verdict = judge(PARTS[part], WRONG / file)
    finding = next(found for found in verdict.findings if found.kind == "bank_conflicts")
    assert finding.banks is not None
    assert finding.banks.fullest()[1] == lanes


def test_the_terminal_shows_lanes_and_banks(typed: CommandLine, tmp_path: Path) -> None:
    wrong = typed("check", "3.1", "--file", str(WRONG / "answers_no_conflict_at_two.cu"), COLUMNS="80").stdout
    assert "bank    0   1   2   3   4" in wrong
    assert "ways[1] is 1, and the software GPU" in wrong
    assert "+·······························" in typed("check", "3.1", "--solution").stdout
    story = typed("debug", "3.1", "--file", str(WRONG / "answers_no_conflict_at_two.cu"))
    assert (story.returncode, story.stderr.count("\n")) == (2, 1)
