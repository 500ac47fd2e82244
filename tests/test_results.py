"""What was measured on a GPU says where and when, found nothing wrong, and is listed in results/README.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.catalog import load_catalog
from tests.judging import ROOT

FOLDER = ROOT / "results" / "h200"
MEASURED = sorted(FOLDER.glob("*.json"))


def values_of(plain: Any, key: str) -> Iterator[Any]:
    """Whatever stands under this key, at any depth."""
    for name, value in plain.items() if isinstance(plain, dict) else enumerate(plain):
        if name == key:
            yield value
        if isinstance(value, dict | list):
            yield from values_of(value, key)


@pytest.mark.parametrize("file", MEASURED, ids=lambda file: str(file.stem))
def test_what_was_measured_says_where_and_how_and_found_nothing_wrong(file: Path) -> None:
    found = json.loads(file.read_text(encoding="utf-8"))
    assert {"device", "driver", "date", "command"} <= found["about"].keys()
    assert all(problems == [] for problems in values_of(found, "problems"))
    assert all(wrong == 0 for wrong in values_of(found, "wrong"))
    assert all(other == 0 for other in values_of(found, "with_other_bits"))


@pytest.mark.parametrize("file", sorted(FOLDER.iterdir()), ids=lambda file: str(file.name))
def test_the_page_of_results_lists_it(file: Path) -> None:
    page = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    assert f"`h200/{file.name}`" in page


def test_every_replay_of_a_small_case_was_right() -> None:
    for name in ("solutions", "solutions_7_8_9", "solutions_10"):
        for part in json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["parts"]:
            assert part["right"] == part["replays"] > 0, part["label"]


def test_every_timed_solution_was_judged() -> None:
    rows = json.loads((FOLDER / "timings.json").read_text(encoding="utf-8"))["parts"]
    located = [one for puzzle in load_catalog().puzzles for one in puzzle.parts]
    assert {row["label"] for row in rows} == {one.label for one in located if one.part.in_pytorch is not None}
    assert all(row["judged"] > 0 == row["wrong"] for row in rows)
