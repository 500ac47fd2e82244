"""Numbers in chapters: from committed results alone, and as a sentence has them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.publish.calls import filters, functions
from grader.publish.context import BookError
from grader.publish.numbers import result
from tests.book import edition
from tests.judging import ROOT

BOOK = edition()
CALLS: dict[str, Callable[..., Any]] = functions(BOOK, "puzzle-03")
FILTERS: dict[str, Callable[..., Any]] = filters()
TIMINGS = {
    part["label"]: part
    for part in json.loads((ROOT / "results/h200/timings.json").read_text(encoding="utf-8"))["parts"]
}


def plain(text: str) -> str:
    """With ordinary spaces."""
    return text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("sig", (0.5604,), "0.560"),
        ("sig", (4357.2,), "4,360"),
        ("sig", (9.996,), "10.0"),
        ("sig", (0.00012345, 2), "0.00012"),
        ("sig", (0,), "0"),
        ("percent", (0.744,), "74 %"),
        ("thousands", (1234567.8,), "1,234,568"),
        ("ms", (0.6791,), "0.679 ms"),
        ("ms", (0.00366,), "3.66 µs"),
        ("us", (0.02,), "20.0 µs"),
        ("si", (2147483648, "B"), "2.15 GB"),
        ("si", (12.0,), "12.0"),
    ],
)
def test_a_filter_gives_a_number_as_a_sentence_has_it(name: str, arguments: tuple[Any, ...], shown: str) -> None:
    assert plain(FILTERS[name](*arguments)) == shown


def test_what_is_said_of_a_part_is_what_was_measured() -> None:
    part = TIMINGS["3.4"]
    rivals = {rival["name"]: rival for rival in part["rivals"]}
    assert plain(CALLS["ms"]("3.4")) == f"{part['ms']:.3f} ms"
    assert plain(CALLS["ms"]("3.4", of="ceiling")) == f"{rivals['ceiling']['ms']:.3f} ms"
    assert plain(CALLS["rate"]("3.4")) == f"{part['gb_per_s']:,.0f} GB/s"
    assert plain(CALLS["rate"]("2.5")).endswith("TFLOP/s")
    assert plain(CALLS["of_limit"]("3.4")) == f"{100 * rivals['ceiling']['times']:.0f} %"
    assert CALLS["times_pytorch"]("3.4") == f"{rivals['pytorch']['times']:.2f} times"
    assert CALLS["ratio"]("3.3", "3.4") == f"{TIMINGS['3.3']['ms'] / part['ms']:.2f} times"
    assert CALLS["sizes"]("3.4") == "rows = 16384, cols = 16384"


def test_a_table_has_a_row_for_each_timed_part_and_says_of_what_and_where() -> None:
    lines = CALLS["timings_table"](5).splitlines()
    rows = [line for line in lines if line.startswith("| [")]
    assert len(rows) == sum(label.startswith("5.") for label in TIMINGS)
    assert "puzzle 5" in lines[0]
    assert "H200" in lines[0]
    assert "| part | ms |  | of the limit | PyTorch takes | torch.compile takes |" in lines
    assert re.fullmatch(r"\| \[5.1\]\S+ `\w+` \| \S+ \| – \| – \| .* \| tie \|", rows[0])  # only its launch is measured


def test_results_are_read_as_they_are() -> None:
    measured = CALLS["result"]("h200/fusion.json")
    assert measured == json.loads((ROOT / "results/h200/fusion.json").read_text(encoding="utf-8"))


def test_results_are_read_again_when_they_change(tmp_path: Path) -> None:
    file = tmp_path / "results" / "one.json"
    file.parent.mkdir()
    for number in (1, 2):
        file.write_text(str(number), encoding="utf-8")
        os.utime(file, ns=(number, number))
        assert result(tmp_path, "one.json") == number


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("ms", ("3.1",), "3.1 has no time in results/h200/timings.json"),
        ("ms", ("3.4", "the reference"), "3.4 was not timed beside 'the reference'"),
        ("rate", ("1.1",), "only its launch is measured"),
        ("times_pytorch", ("3.9",), "There is no part '3.9'"),
        ("timings_table", (11,), "Puzzle 11 has no times"),
        ("result", ("h200/none.json",), "There is no results/h200/none.json"),
        ("result", ("../pyproject.toml",), "There is no results/"),
        ("result", ("../tests/cases/cases.json",), "There is no results/"),
        ("result", ("h200/counting.npz",), "There is no results/"),
    ],
)
def test_a_number_that_is_not_there_is_named(name: str, arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(BookError, match=said):
        CALLS[name](*arguments)


@pytest.mark.parametrize("value", ["0.5", None, True, [1]])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(BookError, match="is no number"):
        FILTERS["sig"](value)
