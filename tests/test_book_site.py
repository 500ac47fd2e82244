"""The book as a site and an EPUB: built without a warning, and opened without a network."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import pytest
from docutils.utils.math import MathError
from pygments.token import Generic, Token

from grader import cli
from grader.catalog import Catalog, load_catalog
from grader.cli.manual import help_texts
from grader.explain import KINDS
from grader.leaderboard.entry import results_text
from grader.publish import calls, frame
from grader.publish.boards import read_boards
from grader.publish.lexer import VerdictLexer
from grader.publish.mathml import breakable, mathml
from grader.publish.settings import Settings, book_of, read_settings
from grader.publish.site import Built, build
from grader.publish.style import trace_style
from tests import browser
from tests.book_site import (
    AFTER_SEARCH,
    PUZZLE,
    SETTINGS,
    TOO_WIDE,
    PageOf,
    broken,
    build_in,
    faults_of_epub,
    from_elsewhere,
    little_book,
    pages_of,
)
from tests.browser import Browser
from tests.judging import ROOT
from tests.results import few, with_hash

# What the libraries themselves still call is theirs to change; they are pinned.
pytestmark = pytest.mark.filterwarnings("ignore:.*Check CHANGES for Sphinx API modifications")
DESKTOP, PHONE = 1280, 375


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


@pytest.fixture(scope="module")
def built(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A little book, whole."""
    folder = tmp_path_factory.mktemp("book")
    return build_in(folder, catalog, epub=True)


@pytest.fixture(scope="module")
def pages(built: Built) -> Mapping[Path, PageOf]:
    return pages_of(built.index.parent)


def around(folder: Path, page: str) -> None:
    """Takes one of the book's pages that are no chapters into the little book in the folder."""
    target = folder / "en" / f"{page}.md.j2"
    target.parent.mkdir(parents=True, exist_ok=True)
    source = (ROOT / "book" / "en" / f"{page}.md.j2").read_text(encoding="utf-8")
    target.write_text(f"---\norphan: true\n---\n\n{source}", encoding="utf-8")


# ---- the site ----


def test_a_book_is_built_without_a_warning(built: Built) -> None:
    assert (built.warnings, built.notes) == ((), ())
    assert built.index.is_file()


def test_every_link_leads_somewhere(pages: Mapping[Path, PageOf]) -> None:
    assert not list(broken(pages))


def test_nothing_is_loaded_from_elsewhere(built: Built, pages: Mapping[Path, PageOf]) -> None:
    assert not list(from_elsewhere(built.index.parent, pages))


def test_formulas_are_elements_of_the_page(built: Built) -> None:
    page = PageOf(built.index.parent / "chapters" / "puzzle-01.html")
    assert page.elements.count("math") == 2
    assert {"mfrac", "msqrt", "mtable"} <= set(page.elements)
    assert (built.index.parent / "_static" / "STIXTwoMath-Regular.ttf").is_file()


def test_a_chapter_is_filled_in_and_its_verdicts_are_coloured(built: Built) -> None:
    text = (built.index.parent / "chapters" / "puzzle-01.html").read_text(encoding="utf-8")
    assert "42 is a number" in text
    assert '<span class="gd">✘</span>' in text


def test_a_build_without_a_chapter_takes_its_page_away(catalog: Catalog, tmp_path: Path) -> None:
    before = build_in(tmp_path, catalog)
    after = build_in(tmp_path, catalog, SETTINGS.replace('"puzzle-01"', ""), lanes="# Lanes\n\nAlone.\n")
    assert before.index == after.index
    assert not after.warnings
    assert [page.stem for page in sorted((after.index.parent / "chapters").glob("*.html"))] == ["lanes"]


# ---- in a browser ----


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser.started(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@browser.needed
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_pages_open_from_the_disk_without_a_complaint_and_no_wider_than_the_window(
    built: Built, pages: Mapping[Path, PageOf], window: Browser, width: int
) -> None:
    for page in pages:
        for dark in (False, True):
            window.open(page, width=width, dark=dark)
            assert window.run("return document.documentElement.scrollWidth") <= width, page
            assert window.run(TOO_WIDE, width) == [], page
    assert window.said() == []


@browser.needed
def test_the_search_finds_a_word_without_a_server(built: Built, window: Browser) -> None:
    window.open(built.index.parent / "search.html")
    window.run("location.search = '?q=zebra'")
    found = window.run(AFTER_SEARCH)
    assert found in (["A lane"], ["Lanes"])
    assert window.said() == []


@browser.needed
def test_the_switch_for_light_and_dark_is_followed_by_figures(built: Built, window: Browser) -> None:
    window.open(built.index, dark=False)
    paper = """
    document.body.dataset.theme = arguments[0];
    const figure = document.body.appendChild(document.createElement("div"));
    figure.className = "trace";
    const colour = getComputedStyle(figure).getPropertyValue("--paper");
    figure.remove();
    return colour;
    """
    assert [window.run(paper, theme) for theme in ("auto", "light", "dark")] == ["#ffffff", "#ffffff", "#14181d"]


@browser.needed
def test_one_gets_to_the_text_by_keyboard(built: Built, window: Browser) -> None:
    window.open(built.index.parent / "chapters" / "puzzle-01.html")
    assert window.run("return document.querySelector('a.skip-to-content').hash") == "#furo-main-content"
    focused = "const fold = document.querySelector('summary'); fold.focus({focusVisible: true});"
    outline = window.run(f"{focused} return getComputedStyle(fold).outlineStyle")
    assert outline == "solid"


# ---- the EPUB ----


def test_the_epub_is_whole(built: Built) -> None:
    assert built.epub is not None
    assert list(faults_of_epub(built.epub)) == []


def test_what_lies_behind_tabs_stands_below_each_other_in_the_epub(built: Built) -> None:
    assert built.epub is not None
    with zipfile.ZipFile(built.epub) as packed:
        page = packed.read("chapters/puzzle-01.xhtml").decode()
    assert re.search(r">Before</p>\s*<p[^>]*>Not passed.</p>\s*<p[^>]*>Solved</p>\s*<p[^>]*>Passed.</p>", page)
    assert "<input" not in page


# ---- what is left out ----


def test_a_link_to_a_chapter_that_is_left_out_becomes_its_words(catalog: Catalog, tmp_path: Path) -> None:
    made = build_in(tmp_path, catalog, SETTINGS.replace('"lanes"', ""))
    assert made.warnings == ()
    text = (made.index.parent / "chapters" / "puzzle-01.html").read_text(encoding="utf-8")
    assert '<span class="left-out"><span class="xref myst">its chapter</span></span>' in text


def test_chapters_of_puzzles_that_the_course_leaves_out_are_left_out(catalog: Catalog, tmp_path: Path) -> None:
    settings = read_settings(little_book(tmp_path, f"puzzles = [2]\n{SETTINGS}"), catalog)
    assert settings.chapters == ("lanes",)


def test_an_excerpt_has_one_chapter_and_tells_of_links_that_lead_out_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    path = little_book(tmp_path, puzzle_01=f"{PUZZLE}\n[Nowhere](#nowhere), [a lane](#a-lane).\n")
    assert cli.run(["book", "build", "--settings", str(path), "--out", str(tmp_path), "--only", "puzzle-01"]) == 0
    said = capsys.readouterr()
    assert "'nowhere'" in said.err
    assert "a-lane" not in said.err
    assert [page.stem for page in (tmp_path / "html" / "chapters").glob("*.html")] == ["puzzle-01"]
    assert not (tmp_path / "epub").exists()


# ---- the leaderboard ----


def test_results_of_a_class_become_pages_of_the_site(catalog: Catalog, tmp_path: Path) -> None:
    part = catalog.puzzles[0].parts[1]
    entries = [kept.entry for kept in few(part)]
    (tmp_path / "ours.json").write_text(results_text(entries), encoding="utf-8")
    stale = [with_hash(entries[0], statement="0" * 32)]
    (tmp_path / "stale.json").write_text(results_text(stale), encoding="utf-8")
    settings = f'leaderboard = ["ours.json", "stale.json"]\n{SETTINGS}'
    around(tmp_path, "leaderboard")
    made = build_in(tmp_path, catalog, settings)
    assert made.warnings == ()
    assert any(note.startswith("stale.json, result 1") for note in made.notes)
    site = made.index.parent
    boards = pages_of(site / "leaderboard")
    assert len(boards) == 2
    assert all("../leaderboard.html" in board.links for board in boards.values())
    assert not list(broken(pages_of(site)))
    assert entries[0].player.name in (site / "leaderboard.html").read_text(encoding="utf-8")


def test_boards_of_puzzles_that_the_course_leaves_out_are_left_out(catalog: Catalog, tmp_path: Path) -> None:
    entries = [kept.entry for kept in few(catalog.puzzles[0].parts[1])]
    (tmp_path / "ours.json").write_text(results_text(entries), encoding="utf-8")
    for puzzles, count in (([1], 1), ([2], 0)):
        path = little_book(tmp_path, f'puzzles = {puzzles}\nleaderboard = ["ours.json"]\n{SETTINGS}')
        known, _ = read_boards(read_settings(path, catalog), catalog, lambda _: None)
        assert len(known) == count


# ---- pieces ----


def test_formulas_that_cannot_be_set_are_refused() -> None:
    with pytest.raises(MathError):
        mathml(r"\nosuchthing", block=False)


@pytest.mark.parametrize(
    ("tex", "piece"),
    [
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", '<mtable class="ams-align" displaystyle="true">'),
        (r"\Bigl( x \Bigr)", "<mo"),
        (r"\Big( x \Big)", "<mo"),
        (r"\operatorname{softmax} x", "&#x2061;"),
    ],
)
def test_formulas_are_xml_of_the_size_that_is_meant(tex: str, piece: str) -> None:
    assert piece in mathml(tex, block=True)


@pytest.mark.parametrize(
    ("tex", "pieces"),
    [
        ("a = b", ["a = b"]),
        (r"\frac{\partial L}{\partial x} = y = z", [r"\frac{\partial L}{\partial x} ", "= y ", "= z"]),
        (r"\sum_{i=0}^{n} \left( a = b \right) \{ c\}", [r"\sum_{i=0}^{n} \left( a = b \right) \{ c\}"]),
    ],
)
def test_long_formulas_in_a_line_may_be_broken_before_an_equals_sign(tex: str, pieces: list[str]) -> None:
    assert breakable(tex) == pieces


def test_verdicts_are_read_line_by_line() -> None:
    text = "  ✔ compiles\n  ▶ 7 │ x = 1;\n      │ └─ here\n  NOT PASSED · 1 fault\n  Why    Because.\n"
    found = [(kind, word) for kind, word in VerdictLexer().get_tokens(text) if kind is not Token.Text]
    marked = {word for kind, word in found if kind in (Generic.Inserted, Generic.Deleted, Generic.Error)}
    assert marked == {"✔", "▶", "└─ here", "NOT PASSED"}
    assert "".join(word for _, word in VerdictLexer().get_tokens(text)) == text


def test_colours_of_figures_follow_the_system_and_the_switch() -> None:
    style = trace_style()
    assert 'body[data-theme="dark"] .trace {' in style
    assert 'body[data-theme="auto"] .trace {' in style
    assert style.count("{") == style.count("}")


def test_every_command_and_every_kind_of_finding_has_its_place(catalog: Catalog, tmp_path: Path) -> None:
    path = little_book(tmp_path)
    around(tmp_path, "reference/commands")
    around(tmp_path, "reference/findings")
    helps = help_texts(cli.app)
    made = build(read_settings(path, catalog), catalog, tmp_path / "out", helps, epub=False, tell=lambda _: None)
    assert made.warnings == ()
    commands = PageOf(made.index.parent / "reference" / "commands.html")
    names = {command.name for command in cli.app.registered_commands} | {"book build", "book serve", "author new"}
    assert {f"command-{name.replace(' ', '-')}" for name in names if name} <= commands.places
    findings = PageOf(made.index.parent / "reference" / "findings.html")
    assert {f"finding-{kind.replace('_', '-')}" for kind in KINDS} <= findings.places


def test_all_that_a_chapter_can_call_is_told(catalog: Catalog) -> None:
    told = (ROOT / "docs" / "writing-chapters.md").read_text(encoding="utf-8")
    settings = read_settings(ROOT / "book" / "book.toml", catalog)
    book = book_of(settings, catalog, ROOT / "build" / "book", {})
    names = {**calls.functions(book, "puzzle-01"), **frame.functions(settings, book)}
    assert [name for name in names if f"{name}(" not in told] == []
    assert [name for name in calls.filters() if f"`{name}" not in told] == []


def test_every_setting_is_told(catalog: Catalog) -> None:
    told = (ROOT / "docs" / "publishing.md").read_text(encoding="utf-8")
    keys = {field.name for field in fields(Settings)} - {"path", "is_excerpt"}
    assert [key for key in keys if f"`{key}`" not in told and f"`[[{key}]]`" not in told] == []
