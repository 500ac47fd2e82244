"""The page of a trace in a real browser: desktop and phone, light and dark, by hand and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.trace.page import page
from grader.trace.steps import steps_of
from tests.browser import Browser, needed, started
from tests.traces import recorder

pytestmark = needed

KEY = "document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}));"
NUMBER = "return +document.getElementById('step').value;"
CELLS = "return document.querySelectorAll('g.cells')[arguments[0]].querySelectorAll(arguments[1]).length;"
WIDTH = "return document.documentElement.scrollWidth;"  # clientWidth grows on a phone that shows what is too wide


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("browser")) as window:
        yield window


@pytest.fixture(scope="module", params=["2.3", "3.3", "5.1", "5.2", "8.5"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("page") / "block.html"
    path.write_text(page(recorder(request.param).typical(), f"{request.param} drawn"), encoding="utf-8")
    return path


@pytest.fixture
def transposed(tmp_path: Path, browser: Browser) -> Browser:
    """The page of a tile that is transposed, with the slider at the first access of line 30, open."""
    path = tmp_path / "block.html"
    path.write_text(page(recorder("3.3").typical(), "3.3 drawn", 30), encoding="utf-8")
    browser.open(path)
    return browser


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_a_page_fits_the_screen_at_every_step_and_the_console_stays_silent(
    browser: Browser, written: Path, width: int, dark: bool
) -> None:
    browser.open(written, width=width, dark=dark)
    last = browser.run("return +document.getElementById('step').max;")
    for step in range(0, last, max(1, last // 12)):
        browser.run(
            "const slider = document.getElementById('step'); slider.value = arguments[0];"
            "slider.dispatchEvent(new Event('input'));",
            step + 1,
        )
        assert browser.run(NUMBER) == step + 1
        assert browser.run("return document.getElementById('access').childElementCount;") > 0
        assert browser.run(WIDTH) <= width
    assert browser.said() == []


def test_light_and_dark_are_two_papers(browser: Browser, written: Path) -> None:
    papers = set()
    for dark in (False, True):
        browser.open(written, dark=dark)
        papers.add(browser.run("return getComputedStyle(document.body).backgroundColor;"))
    assert papers == {"rgb(255, 255, 255)", "rgb(20, 24, 29)"}


def test_keys_go_step_by_step_and_to_both_ends(transposed: Browser) -> None:
    assert transposed.run(NUMBER) == 9
    seen = []
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft", "Home", "ArrowLeft", "End", "ArrowRight"):
        transposed.run(KEY, key)
        seen.append(transposed.run(NUMBER))
    assert seen == [10, 9, 8, 1, 1, 16, 16]


def test_space_plays_and_stops(transposed: Browser) -> None:
    pressed = "return document.getElementById('play').getAttribute('aria-pressed');"
    transposed.run(KEY, " ")
    assert transposed.run(pressed) == "true"
    transposed.run(KEY, " ")
    assert transposed.run(pressed) == "false"


def test_a_click_on_a_line_goes_to_its_next_step(transposed: Browser) -> None:
    click = "document.querySelector('li[data-line=\"' + arguments[0] + '\"]').click();"
    transposed.run(click, 26)
    assert transposed.run(NUMBER) == 1  # the last ones of line 26 are past, so it begins again
    transposed.run(click, 30)
    assert transposed.run(NUMBER) == 9
    assert transposed.run("return document.querySelector('li.now').dataset.line;") == "30"
    transposed.run(click, 29)  # asks for no memory
    assert transposed.run(NUMBER) == 9


def test_what_was_touched_since_the_last_barrier_is_drawn_pale(transposed: Browser) -> None:
    assert transposed.run(CELLS, 0, ".past path") == 0  # a barrier was just passed
    assert transposed.run(CELLS, 0, "path.load") == 1
    transposed.run(KEY, "End")
    assert transposed.run(CELLS, 0, ".past path.load") == 4


def test_the_slider_has_words_for_those_who_do_not_see_it(transposed: Browser) -> None:
    said = transposed.run("return document.getElementById('step').getAttribute('aria-valuetext');")
    assert said == "Line 30: 8 warps load tile"
    assert "256 wavefronts, where 8 would do" in transposed.run("return document.getElementById('told').innerText;")


def test_every_step_of_a_short_block_is_on_its_page(transposed: Browser) -> None:
    assert transposed.run("return +document.getElementById('step').max;") == len(steps_of(recorder("3.3").typical()))


def test_a_page_that_is_broken_or_too_wide_would_be_seen(browser: Browser, written: Path, tmp_path: Path) -> None:
    path, whole = tmp_path / "broken.html", written.read_text(encoding="utf-8")
    path.write_text(whole.replace('getElementById("told")', 'getElementById("nobody")'), encoding="utf-8")
    browser.open(path)
    assert browser.said()
    path.write_text(whole.replace("<header>", '<header><p style="width: 2000px">wide</p>'), encoding="utf-8")
    browser.open(path, width=360)
    assert browser.run(WIDTH) > 360
    browser.said()
