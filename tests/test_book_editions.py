"""Editions of one book: what one leaves out, the next may have again, in the same folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog import Catalog, load_catalog
from grader.publish.settings import read_settings
from grader.publish.site import Built, build
from tests.book_site import PUZZLE, SETTINGS, little_book
from tests.judging import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:.*Check CHANGES for Sphinx API modifications")
GLOSSARY = "# Words\n\n```{glossary}\nwarp\n  32 threads.\n```\n"
WITH_GLOSSARY = SETTINGS.replace('"lanes"', '"lanes", "glossary"')


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


def edition(folder: Path, catalog: Catalog, settings: str) -> Built:
    path = little_book(folder, settings, glossary=GLOSSARY, puzzle_01=f"{PUZZLE}\nA {{term}}`warp`.\n")
    return build(read_settings(path, catalog), catalog, folder / "out", {}, epub=False, tell=lambda _: None)


def test_a_chapter_that_comes_back_is_linked_to_again(catalog: Catalog, tmp_path: Path) -> None:
    for settings in (SETTINGS.replace('"lanes"', ""), SETTINGS):
        made = edition(tmp_path, catalog, settings)
        assert made.warnings == ()
    assert 'href="lanes.html#a-lane"' in (made.index.parent / "chapters" / "puzzle-01.html").read_text(encoding="utf-8")


def test_a_term_of_a_glossary_that_is_left_out_is_a_word(catalog: Catalog, tmp_path: Path) -> None:
    linked, word = (
        'class="xref std std-term">warp</span></a>',
        '<span class="left-out"><span class="xref std std-term">',
    )
    for settings, shown in ((WITH_GLOSSARY, linked), (SETTINGS, word)):
        made = edition(tmp_path, catalog, settings)
        assert made.warnings == ()
        assert shown in (made.index.parent / "chapters" / "puzzle-01.html").read_text(encoding="utf-8")
