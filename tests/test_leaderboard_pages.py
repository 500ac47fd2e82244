"""The board's web pages: what they say, that nothing from a file leaves its place, and how a browser shows them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from grader import cli
from grader.catalog import Catalog, Located, load_catalog
from grader.identity import statement_hash
from grader.leaderboard.charts import history, intervals
from grader.leaderboard.pages import page_name, standings, write_pages
from grader.leaderboard.ranking import Board, PartBoards, part_boards
from grader.leaderboard.scales import DayScale, LogScale
from grader.leaderboard.shown import TimeUnit
from grader.leaderboard.store import Kept, Leaderboard
from tests import browser
from tests.browser import Browser
from tests.judging import ROOT
from tests.results import BEGUN, H200, L4, few, player, result, season, with_hash

PUZZLES = ("puzzle_01_vector_add", "puzzle_02_tiled_gemm")
HOSTILE = "</title><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">'\"&"
Known = list[tuple[Located, PartBoards]]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    course = tmp_path_factory.mktemp("course")
    for folder, name in ((folder, name) for folder in ("puzzles", "solutions") for name in PUZZLES):
        shutil.copytree(ROOT / folder / name, course / folder / name)
    return load_catalog(course)


def boards_of(part: Located, results: Sequence[Kept]) -> PartBoards:
    return part_boards(sorted(results, key=lambda kept: kept.entry.when), statement_hash(part))


@pytest.fixture(scope="module")
def known(catalog: Catalog) -> Known:
    """What a class leaves: two devices, a result of an earlier statement, a part that one person has timed."""
    add, gemm, alone = catalog.puzzles[0].parts[1], catalog.puzzles[1].parts[2], catalog.puzzles[1].parts[7]
    of_add = [*season(add, H200, limit=0.738, players=18), *season(add, L4, limit=11.2, players=5)]
    of_add.append(Kept(with_hash(result(add, 0.7, "ada"), statement="0" * 32)))
    noisy = Kept(result(gemm, 3.1, "noisy", width=0.2))
    return [
        (add, boards_of(add, of_add)),
        (gemm, boards_of(gemm, [*season(gemm, H200, limit=2.67, players=7), noisy])),
        (alone, boards_of(alone, [Kept(result(alone, 3.0, "ada"))])),
    ]


@pytest.fixture(scope="module")
def site(known: Known, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "not" / "there yet"
    write_pages(folder, known)
    return folder


class _Elements(HTMLParser):
    """Every element's name and attributes, and whether tags are closed in order."""

    _WITHOUT_END = frozenset({"meta", "link", "img", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self._WITHOUT_END:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def pages(site: Path) -> list[Path]:
    return sorted(site.glob("*.html"))


# ---- what stands there ----


def test_there_is_an_index_and_a_page_for_each_part(site: Path, known: Known) -> None:
    assert {page.name for page in pages(site)} == {"index.html", *(page_name(part) for part, _ in known)}
    index = (site / "index.html").read_text(encoding="utf-8")
    assert all(f'href="{page_name(part)}#' in index for part, _ in known)


def test_pages_are_whole_and_ask_for_nothing(site: Path) -> None:
    for page in pages(site):
        elements = _Elements(page.read_text(encoding="utf-8")).found
        links = [attributes.get("href") or attributes.get("src") for _, attributes in elements]
        assert all(
            link.startswith(("#", "data:")) or (site / link.split("#")[0]).is_file()
            for link in links
            if link is not None
        )


def test_a_page_tells_of_players_and_rivals(site: Path, known: Known) -> None:
    part, boards = known[0]
    text = (site / page_name(part)).read_text(encoding="utf-8")
    for row in boards.boards[0].rows:
        assert row.entry.player.name in text
    for words in ("NVIDIA H200", "NVIDIA L4", "torch.compile", "a kernel that only streams", "earlier statement"):
        assert words in text
    assert "noisy" in (site / page_name(known[1][0])).read_text(encoding="utf-8")


def rows_of(page: Path) -> list[str]:
    """Each row of each table of a page as a line of its words."""
    rows = re.findall(r"<tr.*?</tr>", page.read_text(encoding="utf-8"), re.DOTALL)
    return [" ".join(unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in rows]


def test_a_page_has_one_row_for_each_player_and_rival(catalog: Catalog, tmp_path: Path) -> None:
    part = catalog.puzzles[0].parts[1]
    index = write_pages(tmp_path, [(part, boards_of(part, few(part)))])
    ada, bob, cy, eve = (player(who).name for who in ("ada", "bob", "cy", "eve"))
    assert [row for row in rows_of(tmp_path / page_name(part)) if not row.startswith(("rank", "who"))] == [
        "limit a kernel that only streams 0.7200 ± 0.0007 ms 4,474 GB/s 100.0 %",
        f"=1 gold {ada} you 0.9000 ± 0.0009 ms 3,579 GB/s 80.0 % 1.02 1.10 2024-11-02",
        f"=1 no medal {bob} 0.9020 ± 0.0009 ms 3,571 GB/s 2024-11-05",
        "reference the course's solution 0.9180 ± 0.0009 ms 3,509 GB/s 78.4 %",
        "PyTorch torch.add 0.9900 ± 0.0010 ms 3,254 GB/s 72.7 %",
        "limit a kernel that only streams 11.20 ± 0.01 ms 287.6 GB/s 100.0 %",
        f"1 no medal {cy} 12.00 ± 0.01 ms 268.4 GB/s 93.3 % 2024-11-02",
        f"1 no medal {cy} NVIDIA L4 93.3 % 268.4 GB/s 2024-11-02",
        f"2 gold {ada} you NVIDIA H200 80.0 % 3,579 GB/s 2024-11-02",
        f"{eve} NVIDIA H200 0.5000 ± 0.0005 ms 2024-11-02",
    ]
    assert [row for row in rows_of(index) if not row.startswith(("who", "part"))] == [
        f"{ada} you 1 – – 1",
        f"{bob} – – – 1",
        f"{cy} – – – 1",
        f"1.2 vector_add NVIDIA H200 gold {ada} you 0.9000 ± 0.0009 ms 3,579 GB/s 80.0 % 1.10 2",
        f"1.2 vector_add NVIDIA L4 no medal {cy} 12.00 ± 0.01 ms 268.4 GB/s 93.3 % 1",
    ]


def test_a_page_leads_to_the_parts_before_and_after(site: Path, known: Known) -> None:
    names = [page_name(part) for part, _ in known]
    turns = [re.findall(r'href="(\d[^"#]*)"', (site / name).read_text(encoding="utf-8")) for name in names]
    assert turns == [[names[1]], [names[0], names[2]], [names[1]]]


def test_no_source_reaches_a_page(catalog: Catalog, tmp_path: Path) -> None:
    part = catalog.puzzles[0].parts[1]
    entry = replace(result(part, 0.9), source="__global__ void secret()", uses={"x": "secret too"})
    write_pages(tmp_path, [(part, boards_of(part, [Kept(entry)]))])
    assert all("secret" not in page.read_text(encoding="utf-8") for page in pages(tmp_path))


def test_pages_are_the_same_whenever_they_are_written(known: Known, site: Path, tmp_path: Path) -> None:
    write_pages(tmp_path, known)
    assert [page.read_bytes() for page in pages(tmp_path)] == [page.read_bytes() for page in pages(site)]


def test_an_empty_board_is_a_page_too(tmp_path: Path) -> None:
    index = write_pages(tmp_path, [])
    assert "Nothing was timed here yet" in index.read_text(encoding="utf-8")
    _Elements(index.read_text(encoding="utf-8"))


def hostile(part: Located) -> list[Kept]:
    """A result in which everything that a file may choose freely is hostile."""
    entry = result(part, 0.9, "eve", rivals={"reference": 0.9, "ceiling": 0.7}, device=f"GPU {HOSTILE}")
    rivals = tuple(replace(one, what=HOSTILE) for one in entry.timing.rivals)
    hashes = {**entry.hashes, "driver": HOSTILE, "nvcc": HOSTILE}
    timing = replace(entry.timing, rivals=rivals, slowed=HOSTILE, hashes=hashes)
    named = replace(entry, timing=timing, player=replace(entry.player, name=HOSTILE), file=HOSTILE)
    return [Kept(named), Kept(with_hash(named, statement="0" * 32)), Kept(result(part, 0.95, "bob"))]


def test_nothing_hostile_becomes_an_element_or_an_attribute(catalog: Catalog, tmp_path: Path) -> None:
    part = catalog.puzzles[0].parts[1]
    write_pages(tmp_path / "hostile", [(part, boards_of(part, hostile(part)))])
    for page in pages(tmp_path / "hostile"):
        elements = _Elements(page.read_text(encoding="utf-8")).found
        assert [name for name, _ in elements].count("script") == 1
        assert not [name for name, attributes in elements if name == "img" or "onerror" in attributes]
        assert HOSTILE not in page.read_text(encoding="utf-8")


# ---- charts ----


def board_of(part: Located, results: Sequence[Kept]) -> Board:
    return boards_of(part, results).boards[0]


@pytest.mark.parametrize("width", [500, 311])
def test_charts_keep_inside_their_frames(known: Known, width: int) -> None:
    for board in (board for _, boards in known for board in boards.boards):
        best, spans = history(board, width), intervals(board, width)
        for dot in best.dots:
            assert best.frame.left <= dot.x <= best.frame.right
            assert best.frame.top <= dot.y <= best.frame.bottom
        for span in spans.spans:
            assert spans.frame.left <= span.low <= span.middle <= span.high <= spans.frame.right
        assert len(spans.spans) + spans.hidden == len(board.rows)
        assert best.times
        assert spans.times


def test_the_line_of_the_best_only_falls(known: Known) -> None:
    path = history(known[0][1].boards[0], 500).path
    heights = [float(height) for height in re.findall(r"V([\d.]+)", path)]
    places = [float(place) for place in re.findall(r"H([\d.]+)", path)]
    assert heights == sorted(heights)
    assert places == sorted(places)
    assert len(heights) > 1


def test_noise_is_never_the_best(known: Known) -> None:
    board = known[1][1].boards[0]
    chart = history(board, 500)
    noisy = next(dot for dot in chart.dots if player("noisy").name in dot.text)
    assert not chart.path.startswith(f"M{noisy.x} {noisy.y}")
    assert min(dot.y for dot in chart.dots) < noisy.y


def test_labels_of_rivals_do_not_touch(catalog: Catalog) -> None:
    part = catalog.puzzles[0].parts[1]
    rivals = {"reference": 0.9, "pytorch": 0.9001, "compiled": 0.9002, "ceiling": 0.899}
    board = board_of(part, [Kept(result(part, 0.9, rivals=rivals))])
    heights = sorted(level.label for level in history(board, 500).levels)
    assert all(later - earlier >= 14 for earlier, later in pairwise(heights))
    assert len({level.line for level in intervals(board, 500).levels}) == 4


def test_a_rival_far_away_does_not_flatten_the_picture(catalog: Catalog) -> None:
    part = catalog.puzzles[0].parts[1]
    board = board_of(part, [Kept(result(part, 0.9, rivals={"reference": 0.9, "pytorch": 90.0}))])
    assert [level.name for level in intervals(board, 500).levels] == ["reference"]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0.74, 2.1), ["1.0", "1.5", "2.0"]),
        ((0.9, 0.95), ["0.90", "0.92", "0.94", "0.96"]),
        ((1.0, 800.0), ["1", "10", "100", "1000"]),
        ((0.9, 0.9), ["0.89", "0.90", "0.91"]),
    ],
)
def test_axes_have_round_numbers(values: tuple[float, float], texts: list[str]) -> None:
    ticks = LogScale(values, 0, 300).ticks(TimeUnit([0.5]), most=6)
    assert [tick.text for tick in ticks] == texts
    assert [tick.at for tick in ticks] == sorted(tick.at for tick in ticks)


def test_days_are_named_as_people_say_them() -> None:
    scale = DayScale([BEGUN, BEGUN], 0, 300)
    assert [tick.text for tick in scale.ticks(5)] == ["2 Nov"]
    year = DayScale([BEGUN, BEGUN.replace(year=2028)], 0, 300).ticks(3)
    assert [tick.text for tick in year] == ["Sep 2024", "Sep 2026", "Sep 2028"]


def test_medals_are_counted_over_parts_and_devices(known: Known) -> None:
    found = standings(known)
    counted = sum(sum(standing.medals.values()) for standing in found)
    rows = [row for _, boards in known for board in boards.boards for row in board.rows]
    assert counted == sum(row.entry.timing.medal is not None for row in rows)
    won = [(*(standing.medals[medal] for medal in ("gold", "silver", "bronze")), standing.firsts) for standing in found]
    assert won == sorted(won, reverse=True)
    assert len({gold for gold, *_ in won}) < len(set(won)), "gold alone would not tell"
    assert sum(first for *_, first in won) == sum(row.rank == 1 for row in rows)


# ---- the command ----


def test_the_command_writes_them(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRADER_DATA", str(tmp_path / "notes"))
    monkeypatch.chdir(catalog.root)
    with Leaderboard(catalog.root) as board:
        board.note(replace(result(catalog.puzzles[0].parts[1], 0.9), player=board.player))
    assert cli.run(["leaderboard", "--html", str(tmp_path / "site")]) == 0
    assert str(tmp_path / "site" / "index.html") in capsys.readouterr().out
    assert len(pages(tmp_path / "site")) == 2


# ---- in a browser ----

SIZES = [(1280, 900), (1024, 768), (768, 1024), (375, 800), (320, 700)]


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser.started(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


OVERFLOWING = """
    const wide = document.documentElement.clientWidth;
    const out = [...document.body.querySelectorAll("*")].filter((one) => {
        const box = one.getBoundingClientRect();
        const inside = one.closest(".unseen") || one.parentElement.closest("svg");
        return box.width && !inside && (box.right > wide + 0.5 || box.left < -0.5);
    });
    return [document.documentElement.scrollWidth - wide, out.map((one) => one.outerHTML.slice(0, 100))];
"""
OVERLAPPING = """
    const boxes = [...document.querySelectorAll("td")].flatMap((cell) => {
        const words = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
        for (let node; (node = words.nextNode());) {
            const range = document.createRange();
            range.selectNodeContents(node);
            const box = range.getBoundingClientRect();
            if (box.width > 1 && node.textContent.trim() && !node.parentElement.closest(".unseen"))
                found.push({cell, box, text: node.textContent.trim()});
        }
        return found;
    });
    const touch = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return boxes.flatMap((one, i) => boxes.slice(i + 1, i + 20)
        .filter((other) => one.cell !== other.cell && touch(one.box, other.box))
        .map((other) => one.text + " | " + other.text));
"""


@browser.needed
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_pages_fit_every_screen_without_a_word_on_the_console(
    window: Browser, site: Path, width: int, height: int
) -> None:
    for page in pages(site):
        window.open(page, width=width, height=height)
        assert window.run(OVERFLOWING) == [0, []], page.name
        assert window.run(OVERLAPPING) == [], page.name
        assert window.said() == []


@browser.needed
def test_a_name_as_long_as_may_be_fits_too(window: Browser, catalog: Catalog, tmp_path: Path) -> None:
    part = catalog.puzzles[0].parts[1]
    entry = result(part, 0.9, device="NVIDIA " + "H200" * 20, rivals={"reference": 0.9, "ceiling": 0.7})
    long = replace(entry, player=replace(entry.player, name="W" * 40))
    write_pages(tmp_path, [(part, boards_of(part, [Kept(long, own=True, rebuilt=True), Kept(result(part, 1.0))]))])
    for page, (width, height) in ((page, size) for page in pages(tmp_path) for size in SIZES):
        window.open(page, width=width, height=height)
        assert window.run(OVERFLOWING) == [0, []]


COLOURS = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number);"


@browser.needed
def test_the_theme_is_the_systems_until_the_button_is_used(window: Browser, site: Path) -> None:
    page = site / "index.html"
    window.open(page, dark=False)
    light = window.run(COLOURS)
    window.open(page, dark=True)
    dark = window.run(COLOURS)
    assert min(light) > 200
    assert max(dark) < 60
    window.run("document.getElementById('theme').click()")
    assert window.run(COLOURS) == light
    window.open(page, dark=True)
    assert window.run(COLOURS) == light  # it is remembered
    window.run("document.getElementById('theme').click(); localStorage.clear()")
    assert window.run(COLOURS) == dark


CONTRAST = """
    const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const parse = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data]; };
    const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (one) => { for (; one; one = one.parentElement) {
        const colour = parse(getComputedStyle(one).backgroundColor); if (colour[3] === 255) return colour; } };
    return [...document.querySelectorAll("main *, footer *")].filter((one) => one.getClientRects().length
        && !one.closest(".unseen")
        && [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
        .map((one) => { const style = getComputedStyle(one);
            const [a, b] = [luminance(parse(one.closest("svg") ? style.fill : style.color)), luminance(behind(one))];
            return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), one.outerHTML.slice(0, 90)]; })
        .filter(([ratio]) => ratio < 4.5);
"""


@browser.needed
@pytest.mark.parametrize("dark", [False, True])
def test_all_words_can_be_read_in_both_themes(window: Browser, site: Path, dark: bool) -> None:
    """A contrast of 4.5 to 1 at least, as WCAG's level AA asks."""
    for page in pages(site):
        window.open(page, dark=dark)
        assert window.run(CONTRAST) == []


@browser.needed
def test_a_heading_sorts_by_its_column(window: Browser, site: Path, known: Known) -> None:
    window.open(site / page_name(known[0][0]))
    cells = "return [...document.querySelectorAll('#device-1 tbody tr')].map((row) => row.cells[{}].dataset.value);"
    click = "[...document.querySelectorAll('#device-1 th')][{}].click();"
    shown = [float(value) for value in window.run(cells.format(2))]
    assert shown == sorted(shown)
    window.run(click.format(2) * 2)
    assert [float(value) for value in window.run(cells.format(2))] == sorted(shown, reverse=True)
    window.run(click.format(1))
    names = window.run(cells.format(1))
    assert names == sorted(names, key=str.lower)


@browser.needed
def test_without_scripts_everything_is_there(window: Browser, site: Path, known: Known) -> None:
    part, boards = known[0]
    window.without_scripts(off=True)
    try:
        window.open(site / page_name(part))
        html = window.source()
    finally:
        window.without_scripts(off=False)
    assert all(row.entry.player.name in html for row in boards.boards[0].rows)
    assert 'id="theme" type="button" hidden' in html


@browser.needed
def test_a_hostile_result_runs_nothing(window: Browser, catalog: Catalog, tmp_path: Path) -> None:
    part = catalog.puzzles[0].parts[1]
    write_pages(tmp_path, [(part, boards_of(part, hostile(part)))])
    for page in pages(tmp_path):
        window.open(page)
        assert window.run("return document.title") != "taken"
        assert window.run("return document.images.length") == 0
        assert HOSTILE in window.run("return document.body.innerText")
        assert window.said() == []


@browser.needed
def test_the_policy_stops_what_the_templates_would_let_through(window: Browser, site: Path, tmp_path: Path) -> None:
    """The second lock: a script that stands in the page all the same does not run."""
    text = (site / "index.html").read_text(encoding="utf-8")
    (tmp_path / "broken.html").write_text(text.replace("</main>", f"{HOSTILE}</main>"), encoding="utf-8")
    window.open(tmp_path / "broken.html")
    assert window.run("return document.title") != "taken"
    assert any("Content Security Policy" in line for line in window.said())


def pictures(window: Browser, site: Path, folder: Path) -> Any:
    """For people to look at: each page at two sizes, in both themes."""
    for page in pages(site):
        for width, dark in ((width, dark) for width in (1280, 375) for dark in (False, True)):
            window.open(page, width=width, dark=dark)
            window.picture(folder / f"{page.stem}-{width}-{'dark' if dark else 'light'}.png")


@browser.needed
def test_a_picture_of_a_page_is_as_long_as_the_page(window: Browser, site: Path, tmp_path: Path) -> None:
    pictures(window, site, tmp_path)
    assert len(list(tmp_path.glob("*.png"))) == 4 * len(pages(site))
