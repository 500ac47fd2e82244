"""The whole book, built as an instructor builds it: once, and then looked at from all sides, in a browser too."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import cli
from grader.catalog import load_catalog
from grader.cli.manual import help_texts
from grader.publish.settings import read_settings
from grader.publish.site import Built, build
from tests import browser
from tests.book_site import AFTER_SEARCH, TOO_WIDE, broken, faults_of_epub, from_elsewhere, pages_of
from tests.judging import ROOT

pytestmark = [
    pytest.mark.whole_book,
    pytest.mark.filterwarnings("ignore:.*Check CHANGES for Sphinx API modifications"),
    pytest.mark.timeout(900),  # on a machine that never built a figure
]
DESKTOP, PHONE = 1280, 375


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Built:
    catalog = load_catalog(ROOT)
    settings = read_settings(ROOT / "book" / "book.toml", catalog)
    out = tmp_path_factory.mktemp("book")
    return build(settings, catalog, out, help_texts(cli.app), epub=True, tell=lambda _: None)


def test_the_whole_book_is_built_and_sound(book: Built) -> None:
    assert (book.warnings, book.notes) == ((), ())
    site = book.index.parent
    pages = pages_of(site)
    assert list(broken(pages)) == []
    assert list(from_elsewhere(site, pages)) == []
    for page in (page for page in pages.values() if page.path.parent.name == "chapters"):
        assert page.elements.count("h1") == 1, page.path
    assert book.epub is not None
    assert list(faults_of_epub(book.epub)) == []


@browser.needed
def test_every_page_opens_at_both_widths_light_and_dark_and_a_word_is_found(book: Built, tmp_path: Path) -> None:
    site = book.index.parent
    with browser.started(tmp_path) as window:
        for page in sorted(pages_of(site)):
            for width in (DESKTOP, PHONE):
                for dark in (False, True):
                    window.open(page, width=width, dark=dark)
                    assert window.run("return document.documentElement.scrollWidth") <= width, page
                    assert window.run(TOO_WIDE, width) == [], page
        window.open(site / "search.html")
        window.run("location.search = '?q=swizzle'")
        assert len(window.run(AFTER_SEARCH)) > 1
        assert window.said() == []
