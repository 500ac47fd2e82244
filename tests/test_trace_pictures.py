"""Pictures of traces: well-formed, small, escaped, and with as many marks as there is to show."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET  # what is parsed is our own
from collections.abc import Iterator
from dataclasses import replace

import pytest

from grader.explain import sentence
from grader.puzzle import Case
from grader.trace.accesses import Access, Array, Barrier, Shuffle, Trace
from grader.trace.banks import bank_map
from grader.trace.page import page
from grader.trace.sectors import sector_map
from grader.trace.served import sectors
from grader.trace.sheet import sheet
from grader.trace.steps import steps_of
from grader.trace.svg import Drawing, cells, document, text
from grader.trace.tiles import field_of, tiles, touched_by
from grader.trace.tree import shared_tree, warp_tree
from tests.traces import recorder

SVG = "{http://www.w3.org/2000/svg}"
LABELS = ["1.1", "2.3", "3.2", "3.3", "3.5", "4.2", "5.1", "5.2", "5.4", "8.5"]
LARGEST = 200_000
AREA = re.compile(r"M[\d.]+ [\d.]+h([\d.]+)v([\d.]+)h-[\d.]+z")


def parsed(drawing: Drawing) -> ET.Element:
    return ET.fromstring(document([drawing], drawing.title))  # noqa: S314


def paths(drawing: Drawing, *classes: str) -> Iterator[str]:
    for element in parsed(drawing).iter(f"{SVG}path"):
        if element.get("class") in classes:
            yield element.get("d", "")


def area(path: str) -> float:
    return sum(float(width) * float(height) for width, height in AREA.findall(path))


def shared(line: int) -> Access:
    accesses = recorder("3.3").trace(Case(rows=32, cols=32)).on(line)
    return next(access for access in accesses if access.space == "shared")


@pytest.fixture(scope="module", params=LABELS)
def trace(request: pytest.FixtureRequest) -> Trace:
    return recorder(request.param).typical()


def test_a_sheet_is_small_and_well_formed(trace: Trace) -> None:
    drawn = sheet(trace, "A heading")
    assert len(drawn.encode()) < LARGEST
    root = ET.fromstring(drawn)  # noqa: S314
    assert root.tag == f"{SVG}svg"
    assert "A heading" in [element.text for element in root.iter(f"{SVG}text")]
    assert "prefers-color-scheme: dark" in drawn


def test_a_page_is_small_and_reaches_for_nothing_outside(trace: Trace) -> None:
    drawn = page(trace, "A heading")
    assert len(drawn.encode()) < LARGEST
    assert not re.search(r"https?://|@import|url\(|src=", drawn)
    assert drawn.count("<script") == drawn.count("</script>") == 2


def test_every_sentence_of_the_pictures_is_there(trace: Trace) -> None:
    drawn = re.sub(r"<(style|script).*?</\1>", "", sheet(trace, "x") + page(trace, "x"), flags=re.DOTALL)
    assert "{" not in re.sub(r">[^<]*</li>", "", drawn)


def test_cells_cover_what_they_are_given_and_nothing_else() -> None:
    places = {(0, 0), (0, 1), (1, 0), (1, 1), (3, 1), (4, 7)}
    assert cells(places) == "M0 0h2v2h-2zM1 3h1v1h-1zM7 4h1v1h-1z"
    assert area(cells([(row, column) for row in range(9) for column in range(row + 1)])) == 45


@pytest.mark.parametrize(("stride", "told"), [(8, "waits for one wavefront"), (16, "waits, up to 3 wavefronts")])
def test_a_bank_map_says_how_long_the_last_lane_waits(stride: int, told: str) -> None:
    row = shared(26)
    first = row.lanes[0]
    assert first is not None
    strided = replace(row, lanes=tuple(first + stride * lane for lane in range(32)), array=None)
    assert told in bank_map(strided).body


def test_a_bank_map_has_a_cell_for_each_word_and_a_colour_for_each_wait() -> None:
    column = bank_map(shared(30))
    waiting = [parsed(column).findall(f".//{SVG}g/{SVG}g/{SVG}path[@class='w{shade}']") for shade in range(7)]
    assert [sum(area(path.get("d", "")) for path in found) for found in waiting] == [1, 6, 5, 5, 5, 5, 5]
    row = parsed(bank_map(shared(26)))
    assert sum(area(path.get("d", "")) for path in row.findall(f".//{SVG}g/{SVG}g/{SVG}path[@class='w0']")) == 32
    assert "32 wavefronts, where 1 would do" in [element.text for element in parsed(column).iter(f"{SVG}text")]


def test_sectors_that_are_moved_stand_behind_the_bytes_that_are_wanted() -> None:
    trace = recorder("3.2").typical()
    store = next(access for access in trace.accesses if access.kind == "store")
    drawing = sector_map(store)
    (moved,), wanted = paths(drawing, "waste"), list(paths(drawing, "load"))
    assert len(AREA.findall(moved)) == len(sectors(store)) == store.cost == 32
    assert sum(len(AREA.findall(path)) for path in wanted) == 32
    (loaded,) = paths(sector_map(next(one for one in trace.accesses if one.kind == "load")), "waste")
    assert len(AREA.findall(loaded)) == 4


def test_steps_hold_every_event_once_and_are_alike_in_themselves(trace: Trace) -> None:
    steps = steps_of(trace)
    for step in steps:
        kinds = {(event.line, event.kind if isinstance(event, Access) else "") for event in step.events}
        assert len(kinds) == 1
        assert len({event.warp for event in step.events}) == len(step.events)
    held = [event for step in steps for event in step.events]
    assert len(held) == sum(not isinstance(event, Barrier) for event in trace.events)
    assert [step.phase for step in steps] == sorted(step.phase for step in steps)


def test_steps_keep_the_order_of_every_warp_whose_lanes_stay_together() -> None:
    trace = recorder("2.3").typical()
    held = [event for step in steps_of(trace) for event in step.events]
    for warp in range(trace.warps):
        own = [event for event in trace.events if event.warp == warp and not isinstance(event, Barrier)]
        assert [event for event in held if event.warp == warp] == own


def test_a_tile_is_filled_row_by_row_and_emptied_column_by_column() -> None:
    trace = recorder("3.3").trace(Case(rows=32, cols=32))
    tile = trace.arrays[0]
    touched = [one for one in touched_by(steps_of(trace), tile) if one.loaded or one.stored]
    assert [len(one.stored) for one in touched] == [256] * 4 + [0] * 4
    assert sorted(touched[0].stored) == list(range(256))
    assert {index % 32 for index in touched[4].loaded} == set(range(8))
    assert len(touched[3].stored_before) == 768
    assert not touched[4].stored_before  # a barrier lies between
    drawn = tiles(trace, tile)
    assert drawn is not None
    assert sum(area(path) for path in paths(drawn, "store")) == 1024


def test_an_array_that_is_too_large_is_not_drawn() -> None:
    trace = recorder("3.3").trace(Case(rows=32, cols=32))
    tile = trace.arrays[0]
    tall = replace(tile, shape=(1 << 20, 1), bytes=4 << 20)
    far = replace(trace.accesses[1], array=tall, lanes=tuple(lane << 17 for lane in range(32)))
    assert field_of(replace(trace, events=[far]), tall) is None
    assert tiles(replace(trace, events=[far]), tall) is None


def test_a_warp_that_halves_with_shuffles_is_a_tree_of_31_sums_with_the_lanes_of_the_root_drawn_strong() -> None:
    drawn = warp_tree(recorder("5.2").typical())
    assert drawn is not None
    (strong,) = paths(drawn, "edge told")
    assert strong.count("L") == 2 * 31
    assert warp_tree(recorder("3.3").typical()) is None


def test_a_tree_ends_where_the_same_shuffles_begin_again() -> None:
    trace = recorder("5.2").typical()
    once = [event for event in trace.events if event.warp == 0]
    shuffles = [event for event in once if isinstance(event, Shuffle)]
    assert len(shuffles) == 5
    assert warp_tree(replace(trace, events=shuffles * 3)) == warp_tree(trace)
    assert warp_tree(replace(trace, events=shuffles[:1] * 3)) is None


def test_shuffles_of_single_lanes_are_no_tree_and_drawn_all_the_same() -> None:
    trace = recorder("5.2", "warp_mask_of_one").typical()
    assert warp_tree(trace) is None
    own = Shuffle(0, 20, 1, tuple(range(32)))
    assert warp_tree(replace(trace, events=[own, replace(own, instruction=2)])) is None
    assert sheet(trace, "x")
    assert page(replace(trace, events=[own, *trace.events]), "x")


def test_a_sum_in_shared_memory_is_a_tree_and_a_transpose_is_none() -> None:
    trace = recorder("5.1").typical()
    partial = next(array for array in trace.arrays if array.name == "partial")
    drawn = shared_tree(trace, partial)
    assert drawn is not None
    (strong,) = paths(drawn, "edge told")
    assert strong.count("L") == 2 * (16 + 8 + 4 + 2 + 1)
    transposed = recorder("3.3").typical()
    assert shared_tree(transposed, transposed.arrays[0]) is None


def test_what_a_kernel_is_called_cannot_leave_its_place() -> None:
    trace = recorder("5.2").typical()
    hostile = "</script><script>alert(1)</script>\"'&\x00\ud800"
    array = Array(hostile, "global", 0, 1 << 40, 4, (1 << 38,))
    events = [replace(one, array=array) if isinstance(one, Access) else one for one in trace.events]
    lines = trace.source.split("\n")
    source = "\n".join(line if number != 18 else hostile for number, line in enumerate(lines))
    named = replace(trace, kernel=hostile, events=events, source=source, arrays=[array])
    ET.fromstring(sheet(named, hostile).encode("utf-8"))  # noqa: S314
    drawn = page(named, hostile)
    assert "<script>alert" not in drawn
    assert drawn.count("</script>") == 2
    drawn.encode("utf-8")


def test_words_of_a_picture_are_escaped() -> None:
    assert text(1, 2, "a < b & c") == '<text x="1" y="2">a &lt; b &amp; c</text>'
    assert sentence("trace", "excess")
