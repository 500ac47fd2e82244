"""Measured numbers in the pages are those of `results/`."""

from __future__ import annotations

import pytest

from tests.bench.tables import ROOT, TABLES, written


@pytest.mark.parametrize("page", sorted({page for page, *_ in TABLES}))
def test_a_page_shows_the_results_as_measured(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for other, marker, *_ in TABLES:
        assert other != page or f"<!-- {marker} -->" in text
    assert text == written(page), "python tests/bench/tables.py writes them anew"
