"""`grader debug` as it is typed: what it shows, and what it does where there is no story."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import cli
from tests.judging import ROOT

WRONG = ROOT / "tests" / "wrong" / "puzzle_01_vector_add"
STORY = """\
1.2 vector_add · n = 257 · seed 7

  No thread stored out[256], which should be 0.01448169. The nearest place of
  out that was stored is out[255], by thread 255 of block 1; this is what that
  thread did.

  vector_add_kernel<<<2, 256>>>(a, b, out, n = 257)

    forgets_the_block.cu
     5 │     const unsigned i = threadIdx.x;
       │         i = 255
  ▶  6 │     if (i < n) out[i] = a[i] + b[i];
       │         reads a[255] = -0.4067095, reads b[255] = -0.8282112,
       │         stores out[255] = -1.234921

  Next   grader check 1.2 --case n=257

"""


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("GRADER_DATA", str(tmp_path))
    monkeypatch.chdir(ROOT)


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.run(["debug", *arguments]) == code
    printed = capsys.readouterr()
    assert (printed.err == "") == (code != 2)
    return printed.err if code == 2 else printed.out


def test_the_story_of_the_smallest_case_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "1.2", "--file", str(WRONG / "forgets_the_block.cu"), "--seed", "7") == STORY


def test_a_case_that_is_named_is_the_one_that_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, "1.2", "--file", str(WRONG / "subtracts.cu"), "--case", "n=31", "--seed", "7")
    assert shown.startswith("1.2 vector_add · n = 31 · seed 7\n")
    assert "and should be" in shown


def test_what_is_right_has_no_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "1.1", "--solution") == "Nothing fails here, so there is no story to tell.\n"


def test_where_no_kernel_ran_the_finding_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, "1.3", "--file", str(WRONG / "waits_for_the_kernel.cu"))
    assert shown.startswith("No thread of a kernel is to blame for this: ")


def test_what_does_not_compile_is_left_to_check(capsys: pytest.CaptureFixture[str]) -> None:
    shown = told(capsys, "1.1", "--file", str(WRONG / "block_misspelt.cu"), code=1)
    assert shown.endswith("does not compile, so that no thread can run: grader check 1.1 says why.\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["1"], "say which: 1.1, 1.2, 1.3, 1.4, 1.5, 1.6"),
        (["1.2", "--file", "x.cu", "--solution"], "exclude each other"),
        (["1.2", "--file", "x.cu"], "no file x.cu"),
        (["1.2", "--solution", "--case", "m=3"], "n=…"),
    ],
)
def test_bad_usage_is_one_sentence(capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str) -> None:
    refused = told(capsys, *arguments, code=2)
    assert sentence in refused
    assert refused.count("\n") == 1
