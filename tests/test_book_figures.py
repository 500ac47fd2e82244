"""Figures in chapters: drawn by hand with one kit, from results, and from runs on the software GPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from grader.catalog import UsageError
from grader.publish import figures, traced
from grader.publish.asked import Asked
from grader.publish.calls import functions
from grader.publish.context import BookError
from grader.publish.figure import inline
from grader.publish.numbers import TIMINGS, result
from grader.publish.plot import Plot
from grader.publish.sketch import Sketch
from grader.trace.svg import MARGIN, WIDTH, Drawing
from tests.book import edition
from tests.judging import ROOT

BOOK = edition()
CALLS: dict[str, Callable[..., Any]] = functions(BOOK, "puzzle-03")
WORDS = {"caption": "Told by `words`.", "alt": "What is to be seen"}
TURNED = "= tile[x][y]"
FILLED = "tile[y][x] ="


def svg_of(block: str) -> ElementTree.Element:
    """The drawing in a figure, which is well-formed, as an EPUB wants it."""
    found = re.search(r"<svg.*</svg>", block, re.DOTALL)
    assert found is not None
    return ElementTree.fromstring(found[0])  # noqa: S314 - our own


def elements(block: str, name: str) -> list[dict[str, str]]:
    """The attributes of all elements of this name."""
    return [element.attrib for element in svg_of(block).iter(f"{{http://www.w3.org/2000/svg}}{name}")]


def texts(block: str) -> list[str]:
    return ["".join(element.itertext()) for element in svg_of(block).iter("{http://www.w3.org/2000/svg}text")]


# ---- by hand ----


@pytest.fixture
def drawn(tmp_path: Path) -> Callable[[str], Callable[..., Any]]:
    """`drawing` of a chapter whose module of figures has this text."""

    def written(text: str) -> Callable[..., Any]:
        (tmp_path / "figures").mkdir()
        (tmp_path / "figures" / "first_kernel.py").write_text(text, encoding="utf-8")
        return functions(edition(tmp_path), "first-kernel")["drawing"]

    return written


MODULE = """
from grader.publish.sketch import Sketch

def warp():
    sketch = Sketch("A warp")
    sketch.box(10, 10, 100, 30, "32 < 64 & more", fill="load")
    return sketch.drawing()

def nothing():
    return Sketch("Nothing").drawing()

def words():
    return "a drawing"
"""


def test_a_function_of_the_chapters_module_draws(drawn: Callable[[str], Callable[..., Any]]) -> None:
    shown = drawn(MODULE)("warp", **WORDS)
    assert texts(shown) == ["32 < 64 & more"]
    assert svg_of(shown).attrib["class"] == "trace sketch"
    assert "\n\nTold by `words`.\n\n" in shown
    assert "<title>What is to be seen</title>" in shown


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("lane", WORDS, "figures/first_kernel.py has no function 'lane'"),
        ("words", WORDS, r"words in .*figures/first_kernel\.py returns no Drawing"),
        ("nothing", WORDS, "The drawing 'Nothing' has nothing in it"),
        ("warp", {**WORDS, "alt": " "}, "A figure needs its alt"),
        ("warp", {"alt": "x"}, "missing a required argument: 'caption'"),
    ],
)
def test_a_drawing_that_is_none_is_named(
    drawn: Callable[[str], Callable[..., Any]], name: str, words: dict[str, str], said: str
) -> None:
    with pytest.raises(BookError, match=said):
        drawn(MODULE)(name, **words)


def test_a_chapter_without_a_module_of_figures_is_told_so() -> None:
    with pytest.raises(BookError, match=r"There is no book/figures/no_chapter.py that could draw 'x'"):
        functions(BOOK, "no-chapter")["drawing"]("x", **WORDS)


def test_the_kit_refuses_what_it_does_not_have() -> None:
    with pytest.raises(UsageError, match="'blue' is no fill"):
        Sketch("t").box(0, 0, 1, 1, fill="blue")
    plot = Plot(Sketch("t"), across=(1, 10), up=(1, 10), log=True)
    with pytest.raises(UsageError, match="lies outside the axes"):
        plot.dot(11, 5)
    with pytest.raises(UsageError, match="begins above 0"):
        Plot(Sketch("t"), across=(0, 1), up=(1, 2), log=True)


def test_a_plot_has_round_numbers_along_its_axes() -> None:
    sketch = Sketch("t")
    plot = Plot(sketch, across=(0.1, 1000), up=(0, 5), x_title="FLOP per byte")
    plot.curve([(0.1, 0), (5000, 9)])
    straight = texts(inline(sketch.drawing(), "x"))
    assert {"0", "200", "1,000", "5", "FLOP per byte"} <= set(straight)
    rising = Sketch("t")
    Plot(rising, across=(0.1, 100_000), up=(1, 100), log=True)
    assert {"0.1", "1", "100 k", "100"} <= set(texts(inline(rising.drawing(), "x")))


def test_a_plot_places_what_is_larger_further_right_and_higher_up() -> None:
    straight = Plot(Sketch("t"), across=(0, 10), up=(0, 10), left=0, top=0, width=100, height=100)
    assert [straight.x(place) for place in (0, 5, 10)] == pytest.approx([0, 50, 100])
    assert [straight.y(place) for place in (0, 5, 10)] == pytest.approx([100, 50, 0])
    powers = Plot(Sketch("t"), across=(1, 100), up=(1, 100), log=True, left=0, top=0, width=100, height=100)
    assert [powers.x(place) for place in (1, 10, 100)] == pytest.approx([0, 50, 100])
    assert [powers.y(place) for place in (1, 10, 100)] == pytest.approx([100, 50, 0])


def test_a_curve_is_cut_at_the_edge_of_its_plot() -> None:
    sketch = Sketch("t")
    Plot(sketch, across=(0, 10), up=(0, 10), left=0, top=0, width=100, height=100).curve([(-5, 5), (20, 30)])
    curve = next(path for path in elements(inline(sketch.drawing(), "x"), "path") if "curve" in path["class"])
    assert curve["d"] == "M0 50L100 0"


def test_words_of_an_arrow_stand_above_it_where_it_lies_level_and_else_beside_it() -> None:
    level, upright = Sketch("t"), Sketch("t")
    level.arrow(0, 50, 100, 50, "words")
    upright.arrow(50, 0, 50, 100, "words")
    above, beside = (elements(inline(sketch.drawing(), "x"), "text")[0] for sketch in (level, upright))
    assert (above["x"], above["y"], above["class"]) == ("50", "44", "soft middle")
    assert (beside["x"], beside["y"], beside["class"]) == ("57", "54", "soft")


def test_words_stand_out_on_dark_fills_and_a_legend_stays_inside() -> None:
    sketch = Sketch("t")
    sketch.box(0, 0, 80, 20, "on dark", fill="load")
    sketch.box(0, 30, 80, 20, "on pale", fill="load-past")
    sketch.legend(
        10, 70, {"load": "what is loaded for the first time", "store": "what is stored", "waste": "what is not needed"}
    )
    drawn = inline(sketch.drawing(), "x")
    assert [words.get("class", "") for words in elements(drawn, "text")][:2] == ["middle strong", "middle"]
    patches = [(float(patch["x"]), float(patch["y"])) for patch in elements(drawn, "rect") if patch["width"] == "11"]
    assert len({y for _, y in patches}) == 2
    assert patches[-1][0] == 10


def test_a_drawing_is_as_high_as_what_is_in_it() -> None:
    sketch = Sketch("t")
    sketch.cells(40, 30, rows=4, columns=8, size=10, painted={(1, 1): "load"}, words={(0, 0): "a"}, down=["r"] * 4)
    sketch.arrow(0, 0, 100, 200, "down")
    assert isinstance(sketch.drawing(), Drawing)
    assert 200 < sketch.drawing().height < 230


# ---- from results ----


def test_bars_show_each_timed_part_that_is_more_than_its_launch() -> None:
    shown = texts(CALLS["bars"](5))
    assert "5.3 reduce_sum" in shown
    assert not any(text.startswith("5.1") for text in shown)
    assert {"limit", "PyTorch", "torch.compile"} <= set(shown)


def test_a_bar_is_as_long_as_its_share_of_the_limit_and_marks_stand_where_others_come() -> None:
    parts = [part for part in result(ROOT, TIMINGS)["parts"] if part["label"].startswith("3.")]
    times = [{rival["name"]: rival["times"] for rival in part["rivals"]} for part in parts]
    shown, whole = CALLS["bars"](3), (WIDTH - 2 * MARGIN) / 1.1
    bars = [float(bar["width"]) / whole for bar in elements(shown, "rect") if bar["class"] == "load"]
    assert bars[:-1] == pytest.approx([one["ceiling"] for one in times], abs=0.01)  # the last explains the others
    rings = [(float(ring["cx"]) - MARGIN) / whole for ring in elements(shown, "circle")]
    assert rings[:-1] == pytest.approx([min(one["ceiling"] / one["compiled"], 1.1) for one in times], abs=0.01)
    marks = [path["d"] for path in elements(shown, "path") if path["class"] == "store outline"]
    middles = [(float(mark[1:].split()[0]) + 6 - MARGIN) / whole for mark in marks]
    assert middles[:-1] == pytest.approx([min(one["ceiling"] / one["pytorch"], 1.1) for one in times], abs=0.01)


def test_bars_of_nothing_are_refused() -> None:
    with pytest.raises(BookError, match="Puzzle 12 has no times"):
        CALLS["bars"](12)


# ---- from runs ----


def test_banks_of_a_tile_with_and_without_padding_are_counted() -> None:
    assert "32 wavefronts, where 1 would do" in texts(CALLS["trace"]("3.3", kind="bank", line=TURNED, **WORDS))
    assert "1 wavefront, and no fewer would do" in texts(CALLS["trace"]("3.3", kind="bank", line=FILLED, **WORDS))
    padded = CALLS["trace"]("3.4", kind="bank", line=TURNED, case="rows=32,cols=32", **WORDS)
    assert "1 wavefront, and no fewer would do" in texts(padded)
    assert svg_of(padded).attrib["class"] == "trace"


@pytest.mark.parametrize(
    ("kind", "more", "shown"),
    [
        ("sectors", {"line": TURNED, "access": "store"}, "4 sectors, and no fewer would do"),
        ("tiles", {"array": "tile"}, "tile, step by step"),
        ("tiles", {"array": "tile", "step": 2}, "tile, step 2, line 26"),
        ("sheet", {}, "3.3 transpose_tiled"),
    ],
)
def test_a_block_is_drawn_as_was_asked(kind: str, more: dict[str, Any], shown: str) -> None:
    assert shown in texts(CALLS["trace"]("3.3", kind=kind, **more, **WORDS))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"kind": "banks"}, "there is no picture 'banks'; there are bank, sectors, tiles, tree, sheet"),
        ({"kind": "tree"}, "has no tree to draw"),
        ({"kind": "bank", "line": "no such text"}, "has no line with 'no such text'"),
        ({"kind": "bank", "line": 3}, "No access to memory stands on line 3"),
        ({"kind": "bank", "access": "atomic"}, "has no bank to draw"),
        ({"kind": "tiles", "array": "title"}, "There is no array 'title' that could be drawn; there are tile, in, out"),
        ({"kind": "bank", "step": 99}, "takes 16 steps, and none is number 99"),
        ({"kind": "sheet", "case": "rows=x"}, "rows is a number, not 'x'"),
        ({"kind": "sheet", "block": (99, 0, 0)}, "99,0,0"),
    ],
)
def test_nothing_to_draw_is_said_in_a_sentence(more: dict[str, Any], said: str) -> None:
    with pytest.raises(BookError, match=said) as raised:
        CALLS["trace"]("3.3", **more, **WORDS)
    assert str(raised.value).startswith("trace('3.3', ")


def test_a_page_lies_beside_the_site_and_is_left_out_of_the_epub(tmp_path: Path) -> None:
    book = edition(build=tmp_path)
    shown = str(functions(book, "puzzle-03")["trace_page"]("3.3", **WORDS))
    assert "{only} not epub" in shown
    address = re.search(r'src="\.\./traces/(3-3-\w{8}\.html)"', shown)
    assert address is not None
    assert (tmp_path / "traces" / address[1]).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_what_is_in_the_cache_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked("puzzle-03")
    given: tuple[dict[str, object], ...] = (
        {"kind": "bank", "line": TURNED},
        {"kind": "tiles", "array": "tile"},
        {"kind": "bank", "line": "no such text"},
    )
    asked.calls += [("trace", ("3.3",), {**one, **WORDS}) for one in given]
    for one in given[:2]:
        CALLS["trace"]("3.3", **one, **WORDS)
    monkeypatch.setattr(traced, "prepare", lambda wanted: pytest.fail(f"{wanted} was there"))
    figures.prepare(BOOK, [asked])


def test_a_picture_has_another_key_when_its_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "4.cu"
    file.write_text("one", encoding="utf-8")
    wanted = traced.Wanted(BOOK.root, "3.4", file, "bank")
    before = wanted.key
    assert traced.Wanted(BOOK.root, "3.4", file, "bank", line=3).key != before
    file.write_text("two", encoding="utf-8")
    assert wanted.key != before
