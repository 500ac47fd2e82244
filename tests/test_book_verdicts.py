"""Verdicts in chapters are what the grader says: stored with what they were made of, and given again here."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader import smallest
from grader.catalog import UsageError, shown_path
from grader.publish import counts, verdicts
from grader.publish.asked import asked_for
from grader.publish.book_check import differing, requests_of
from grader.publish.calls import telling
from grader.publish.context import BookError
from grader.publish.requests import Request, check_request, command_request, counts_request
from grader.publish.settings import read_settings
from grader.publish.store import store, unwanted
from grader.publish.stored import is_fresh, stored_answer, stored_path, written
from grader.publish.transcripts import COLUMNS, Said, Workspace, answers, without_seconds
from grader.puzzle import Case
from tests.book import asked_in, edition
from tests.judging import ROOT
from tests.sampling import sampled

BOOK = edition()
PADDED_BY_TWO = "tests/wrong/puzzle_03_bank_conflicts/padded_by_two.cu"
GIVEN_AGAIN = 6  # stored answers, of two puzzles' chapters, at each commit
SETTINGS = read_settings(ROOT / "book" / "book.toml", BOOK.catalog)
CHAPTERS = [name for name in SETTINGS.chapters if name.startswith("puzzle") and SETTINGS.source(name).is_file()]
VERDICT = """Puzzle 3 Bank conflicts · part 4 of 6, transpose_padded

  ✔ compiles     rows cols   1.2 s
  ▶ 17 │     out[i] = a[i];
       │     └─ reads 1.5 s of nothing

  WRONG · 1 fault       1.0 s, seed 7
"""


def calls(answered: str) -> dict[str, Callable[..., Any]]:
    """What a chapter calls, where the grader says the same to all."""
    return telling(verdicts.functions(BOOK, lambda request: answered))


# ---- what is shown ----


def test_what_changes_from_run_to_run_is_not_kept() -> None:
    slow = VERDICT.replace("1.2 s", "12.3 s").replace("       1.0 s", "      11.4 s")
    assert without_seconds(slow) == without_seconds(VERDICT)
    assert "reads 1.5 s of nothing" in without_seconds(VERDICT)
    assert without_seconds(VERDICT).splitlines()[-1] == f"{'  WRONG · 1 fault':<{COLUMNS - 6}}seed 7"


@pytest.mark.parametrize(("patience", "seconds"), [("", 2.0), ("60", 120.0), ("soon", 2.0)])
def test_the_smallest_case_is_looked_for_as_long_as_it_takes(
    monkeypatch: pytest.MonkeyPatch, patience: str, seconds: float
) -> None:
    given: list[float] = []
    monkeypatch.setenv("GRADER_PATIENCE", patience)
    monkeypatch.setattr(smallest, "shrink", lambda *_positional, **named: given.append(named["seconds"]))
    part, built = SimpleNamespace(), SimpleNamespace(cached=True)
    failing = smallest.Failing(Case(n=1), "wrong_values", [], [])
    smallest.smallest_case(part, "1.1", built, failing, 7, SimpleNamespace(), 2.0)  # type: ignore[arg-type]
    assert given == [seconds]


def test_a_part_is_shown_before_half_way_and_solved() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return request.name

    shown = str(verdicts.functions(BOOK, answer)["verdicts"]("3.4", halfway=PADDED_BY_TWO))
    assert re.findall(r"\{tab-item\} (.*)", shown) == ["Before", "Half-way", "Solved"]
    states = [request.name.split(".")[-2] for request in asked]
    assert states == ["before", "padded_by_two", "solved"]
    assert [request.place for request in asked] == ["", *2 * ["puzzles/puzzle_03_bank_conflicts/4_transpose_padded.cu"]]


def test_a_pitfall_written_on_its_own_shows_the_function_that_the_verdict_points_into() -> None:
    shown = calls(VERDICT)["pitfall"]("3.4", PADDED_BY_TWO, title="Two words", caller=lambda: "Why.")
    assert "{dropdown} Two words" in shown
    assert ":lineno-start: 6" in shown
    assert ":emphasize-lines: 12" in shown
    assert shown.rstrip(":\n").endswith("Why.")


def test_a_pitfall_near_the_solution_shows_what_differs() -> None:
    file = "tests/wrong/puzzle_10_train_step/error_without_the_two.cu"
    shown = calls(VERDICT)["pitfall"]("10.2", file, title="t", caller=lambda: "")
    changed = [line for line in shown.splitlines() if line.startswith(("+", "-"))]
    assert [line[0] for line in changed] == ["-", "+"]
    assert "2.0f" in changed[0]
    assert "2.0f" not in changed[1]


def test_lines_that_are_left_out_between_two_differences_are_told() -> None:
    file = "book/attempts/puzzle_02_tiled_gemm/5_gemm_register_tiled.squares_in_one_piece.cu"
    assert "\n …\n" in calls(VERDICT)["pitfall"]("2.5", file, title="t", caller=lambda: "")


def test_a_pitfall_that_shows_nothing_is_told_what_to_name() -> None:
    pitfall = calls("PASSED")["pitfall"]
    with pytest.raises(BookError, match="the verdict points at none; say which to show"):
        pitfall("3.4", PADDED_BY_TWO, title="t", caller=lambda: "")
    shown = pitfall("3.4", PADDED_BY_TWO, title="t", caller=lambda: "", show="function:transpose_padded")
    assert ":caption: tests/wrong" in shown


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("nvcc 3.4", "begins with grader"),
        ("grader", "begins with grader"),
        ("grader doctor", "tells of one machine"),
        ("grader check 3.4", "a check is repeated with --seed 7 --device software"),
        ("grader hint '3.4", "it cannot be typed"),
        ("grader hint 3.9", "There is no part '3.9'"),
    ],
)
def test_a_command_that_cannot_be_stored_is_refused(command: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        command_request(BOOK, command)


def test_a_verdict_is_of_a_file_or_of_the_solution() -> None:
    with pytest.raises(UsageError, match="name one of them"):
        check_request(BOOK, "3.4", PADDED_BY_TWO, solution=True)


# ---- what is stored ----


def test_a_request_has_another_key_when_its_file_or_the_puzzle_changes() -> None:
    request = check_request(BOOK, "3.4", PADDED_BY_TWO)
    assert request.key() == check_request(BOOK, "3.4", PADDED_BY_TWO).key()
    assert replace(request, text=request.text + "\n").key() != request.key()
    assert replace(request, made_of=request.made_of[1:]).key() != request.key()
    assert {"puzzle.py", "hints.md", "4_transpose_padded.cu"} == {path.name for path in request.made_of}


def test_a_verdict_is_made_of_the_headers_and_modules_that_its_part_needs() -> None:
    parts = [part for puzzle in BOOK.catalog.puzzles for part in puzzle.parts]
    with_headers = next(part for part in parts if part.headers)
    beside = next(part for part in parts if len(list(part.puzzle.directory.glob("[a-z]*.py"))) > 1)
    names = {path.name for path in check_request(BOOK, with_headers.label).made_of}
    assert {Path(header).name for header in with_headers.headers} <= names
    modules = {path.name for path in beside.puzzle.directory.glob("[a-z]*.py")}
    assert modules <= {path.name for path in check_request(BOOK, beside.label).made_of}


def test_what_a_command_says_is_made_of_the_file_that_it_names() -> None:
    request = command_request(BOOK, f"grader debug 3.3 --seed 7 --file {PADDED_BY_TWO}")
    assert ROOT / PADDED_BY_TWO in request.made_of


def test_a_part_that_needs_ones_own_parts_is_solved_after_them() -> None:
    assert check_request(BOOK, "10.8", solution=True).solved == ("10.2", "10.3", "10.4", "10.5", "10.6", "10.7")
    assert check_request(BOOK, "10.8").solved == ()
    assert check_request(BOOK, "7.3", solution=True).solved == ()


def test_what_is_missing_or_stale_is_not_shown(tmp_path: Path) -> None:
    book = edition(tmp_path)
    request = check_request(book, "3.4")
    with pytest.raises(UsageError, match="is not stored, or was made of other files; `python -m grader"):
        stored_answer(book, request)
    path = stored_path(book, request)
    path.parent.mkdir(parents=True)
    path.write_text(written(request, "said"), encoding="utf-8")
    assert stored_answer(book, request) == "said"
    assert not is_fresh(book, replace(request, text="another"))


def test_a_stored_answer_that_nobody_gives_or_wants_any_more_is_found(tmp_path: Path) -> None:
    page = "# C\n\n" + "".join(f'{{{{ transcript("grader hint 3.{part}") }}}}\n\n' for part in (3, 4, 5))
    book, asked = asked_in(tmp_path, {"c": page})
    requests = requests_of(asked)
    assert store(book, requests, jobs=1) == []
    _, changed, stale = (stored_path(book, request) for request in requests)
    changed.write_text(changed.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    stale.write_text("0123456789abcdef\nold\n", encoding="utf-8")
    left = stale.with_name("left.txt")
    left.touch()
    assert sorted(differing(book, requests, lambda name: None, jobs=1)) == [
        f"{shown_path(changed)}: `grader hint 3.4` says something else now.",
        f"{shown_path(stale)} is missing, or was made of files that have changed.",
    ]
    assert unwanted(book, asked) == [left]


def test_what_cannot_be_asked_is_said_and_the_rest_is_asked() -> None:
    kept: list[str] = []
    commands = ("grader hint --nonsense", "grader run nothing.cu", "grader explain data_race")
    asked = [command_request(BOOK, command) for command in commands]
    refused = answers(asked, BOOK.catalog, 1, lambda request, answer: kept.append(answer))
    assert len(refused) == 2
    assert "`grader hint --nonsense` says: grader: No such option" in refused[0]
    assert "`grader run nothing.cu` says: grader: There is no file nothing.cu" in refused[1]
    assert kept[0].lstrip().startswith("data_race")


def test_a_workspace_is_as_it_was_handed_out_after_each_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    request = replace(check_request(BOOK, "3.4", solution=True), solved=("3.2",))
    typed: list[tuple[str, ...]] = []
    texts: list[str] = []
    with Workspace(BOOK.catalog) as workspace:
        file = workspace.root / request.place

        def fake(arguments: Sequence[str]) -> Said:
            typed.append(tuple(arguments))
            texts.append(file.read_text(encoding="utf-8"))
            (workspace.root / ".grader").mkdir(exist_ok=True)
            return Said(0, "passed\n", "")

        monkeypatch.setattr(workspace, "typed", fake)
        handed_out = file.read_text(encoding="utf-8")
        assert workspace.answer(request) == "passed\n"
        assert typed == [("check", "3.2", "--device", "software"), request.arguments]
        assert texts[-1] == request.text != handed_out
        assert file.read_text(encoding="utf-8") == handed_out
        assert not (workspace.root / ".grader").exists()
        monkeypatch.setattr(workspace, "typed", lambda _: Said(0, f"in {workspace.root}\n", ""))
        with pytest.raises(UsageError, match="names a folder of this machine"):
            workspace.answer(request)


def test_counts_are_those_of_the_solution_or_of_a_file() -> None:
    answered: list[Request] = []

    def answer(request: Request) -> str:
        answered.append(request)
        shared = "memory_l1_wavefronts_shared"
        kernels = {"a": {"launches": 1, shared: 9, "compiled": {shared: 5}}, "b": {"launches": 2}}
        return json.dumps({"kernels": kernels})

    called = telling(counts.functions(BOOK, answer))
    assert called["count"]("3.3", "launches") == 3
    assert called["count"]("3.3", "shared_wavefronts", file=PADDED_BY_TWO) == 5
    assert "| `launches` | 3 |" in str(called["counters"]("3.3", "launches"))
    assert [request.name.split(".")[1] for request in answered] == ["solved", "padded_by_two", "solved"]
    with pytest.raises(BookError, match=r"nothing is counted under 'sectors'; there are launches, .*shared_wavefronts"):
        called["count"]("3.3", "sectors")


def test_a_check_is_counted_as_the_software_gpu_does() -> None:
    kept: list[str] = []
    request = counts_request(BOOK, "3.4", case="rows=32,cols=32")
    assert answers([request], BOOK.catalog, 1, lambda request, answer: kept.append(answer)) == []
    called = counts.functions(BOOK, lambda request: kept[0])
    assert called["count"]("3.4", "shared_wavefronts") == called["count"]("3.4", "shared_wavefronts_ideal") == 64


def test_stored_verdicts_are_what_the_grader_says() -> None:
    requests = requests_of(asked_for(BOOK, SETTINGS, sampled(CHAPTERS, 5)))
    chosen = sampled(requests, max(1, len(requests) // GIVEN_AGAIN))
    assert list(differing(BOOK, chosen, lambda name: None, jobs=1)) == []


def test_every_phrase_is_used_and_every_language_has_all() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "grader" / "publish").glob("*.py"))
    english = tomllib.loads((ROOT / "book/en/phrases.toml").read_text(encoding="utf-8"))
    for path in (ROOT / "book").glob("*/phrases.toml"):
        assert tomllib.loads(path.read_text(encoding="utf-8")).keys() == english.keys()
    made = ("takes_", "role_", "bars_")
    assert [key for key in english if not re.search(f"[\"']{key}[\"']", source) and not key.startswith(made)] == []
