"""`grader trace` as it is typed: what it shows, what it draws, and one sentence for every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import cli
from tests.judging import ROOT

SHOWN = """\
3.3 transpose_tiled
  transpose_tiled_kernel<<<(1, 1), (32, 8)>>>, block (0, 0)
  rows = 32, cols = 32

  line 26  loads in     32 accesses  128 sectors in all, and no fewer would do
  line 26  stores tile  32 accesses  32 wavefronts in all, and no fewer would do
  line 30  loads tile   32 accesses  1024 wavefronts in all, where 32 would do
  line 30  stores out   32 accesses  128 sectors in all, and no fewer would do

  Drawn  grader trace 3.3 --out block.html, or --out block.svg

"""


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(ROOT)


def trace(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """What is printed; a refusal is one sentence on standard error."""
    assert cli.run(["trace", *arguments]) == code
    printed = capsys.readouterr()
    assert (printed.err != "") == (code != 0)
    if code:
        assert printed.out == ""
        assert printed.err.startswith("grader: ")
        assert printed.err.count("\n") == 1
    return printed.err or printed.out


def test_a_table_says_line_by_line_what_the_block_asks_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert trace(capsys, "3.3", "--solution") == SHOWN


def test_a_line_whose_lanes_meet_is_shown_bank_by_bank(capsys: pytest.CaptureFixture[str]) -> None:
    shown = trace(capsys, "3.3", "--solution", "--line", "30")
    assert "line 26" not in shown
    assert "Line 30: warp 0 loads tile" in shown
    assert "lanes   0   ·" in shown


def test_a_case_and_a_block_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    shown = trace(capsys, "3.3", "--solution", "--case", "rows=33,cols=65", "--block", "1")
    assert "block (1, 0)" in shown
    assert "rows = 33, cols = 65" in shown


def test_without_a_case_one_is_found_that_has_the_block(capsys: pytest.CaptureFixture[str]) -> None:
    assert "block (3, 0)" in trace(capsys, "3.3", "--solution", "--block", "3,0,0")


def test_pictures_and_pages_are_files_and_the_same_every_time(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("block.svg", "block.HTML"):
        drawn = [tmp_path / f"{number}-{name}" for number in range(2)]
        for path in drawn:
            assert trace(capsys, "5.2", "--solution", "--out", str(path)) == f"Drawn to {path}.\n"
        assert drawn[0].read_bytes() == drawn[1].read_bytes()
    assert "<svg" in (tmp_path / "0-block.svg").read_text(encoding="utf-8")
    assert "<!doctype html>" in (tmp_path / "0-block.HTML").read_text(encoding="utf-8")


def test_a_wrong_kernel_is_drawn_too_and_told_to_end_at_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ROOT / "tests" / "wrong" / "puzzle_03_bank_conflicts" / "tiled_no_barrier.cu"
    shown = " ".join(trace(capsys, "3.3", "--file", str(wrong)).split())
    assert "The run ended at a fault; grader check says more." in shown


def test_a_file_that_does_not_compile_is_left_to_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tmp_path / "broken.cu"
    source.write_text("__global__ void kernel( {\n", encoding="utf-8")
    said = trace(capsys, "3.3", "--file", str(source), code=1)
    assert said == f"grader: {source} does not compile; `grader check 3.3` says more.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["3.3", "--solution", "--file", "x.cu"], 2, "exclude each other"),
        (["3.3", "--solution", "--out", "block.pdf"], 2, "FILE.svg or FILE.html"),
        (["3.3", "--solution", "--out", "no/such/folder/block.svg"], 2, "cannot be written"),
        (["3.3", "--solution", "--block", "one"], 2, "whole numbers"),
        (["3.3", "--solution", "--block", "1,2,3,4"], 2, "whole numbers"),
        (["3.3", "--solution", "--block", "-1"], 2, "whole numbers"),
        (["3", "--solution"], 2, "looks at one part"),
        (["3.1", "--solution"], 2, "starts no kernel"),
        (["10.8", "--solution"], 2, "no kernel of its own"),
        (["7.7", "--solution"], 2, "no kernel of its own"),
        (["10.1", "--solution"], 2, "no kernel of its own"),
        (["3.3", "--solution", "--line", "2"], 1, "on line 2"),
        (["3.3", "--solution", "--line", "0"], 2, "--line"),
        (["3.3", "--solution", "--case", "rows=32,cols=32", "--block", "7"], 1, "block 7,0,0"),
        (["3.3", "--solution", "--case", "rows=0,cols=5"], 1, "touches memory"),
        (["3.3", "--solution", "--case", "rows=x"], 2, "--case"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_is_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    assert words in trace(capsys, *arguments, code=code)


def test_an_untouched_skeleton_is_told_of_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    skeleton = ROOT / "puzzles" / "puzzle_01_vector_add" / "1_vector_add_block.cu"
    assert "touches memory" in trace(capsys, "1.1", "--file", str(skeleton), code=1)
