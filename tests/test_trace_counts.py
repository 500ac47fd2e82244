"""What is drawn is what the software GPU counts: wavefronts and sectors, access by access and line by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from grader.puzzle import Case
from grader.trace.accesses import Access
from grader.trace.record import Recorder
from grader.trace.served import sectors, served, wavefronts
from tests.traces import Whole, recorder, whole

TRANSPOSED = Case(rows=33, cols=65)
KERNELS: list[tuple[str, str, Case]] = [
    ("3.2", "", TRANSPOSED),
    ("3.3", "", TRANSPOSED),
    ("3.4", "", TRANSPOSED),
    ("3.5", "", TRANSPOSED),
    ("3.6", "", Case(rows=68, cols=132)),
    ("5.1", "", Case(n=1000)),
    ("5.2", "", Case(rows=9)),
    ("5.3", "", Case(n=1025)),
    ("5.5", "", Case(rows=9, cols=257)),
    ("5.7", "", Case(rows=3, cols=257)),
    ("5.8", "", Case(rows=33, cols=257)),
    ("2.5", "", Case(M=65, N=33, K=17)),
    ("3.4", "padded_not_at_all", TRANSPOSED),
    ("3.4", "padded_by_four", TRANSPOSED),
    ("3.5", "swizzled_by_fours", TRANSPOSED),
    ("3.5", "swizzled_on_one_side", TRANSPOSED),
    ("3.3", "tiled_loads_down_a_column", TRANSPOSED),
    ("3.6", "wide_padded_by_one", Case(rows=68, cols=132)),
    ("5.1", "block_one_adds_for_all", Case(n=1000)),
]


@pytest.fixture(scope="module", params=KERNELS, ids=lambda kernel: f"{kernel[0]} {kernel[1] or 'solution'}")
def seen(request: pytest.FixtureRequest) -> Whole:
    label, wrong, case = request.param
    return whole(recorder(label, wrong), case)


def drawn(access: Access) -> int:
    """Wavefronts or sectors, as pictures count them."""
    return wavefronts(access) if access.space == "shared" else len(sectors(access))


def test_a_picture_has_as_many_wavefronts_and_sectors_as_the_machine_counts(seen: Whole) -> None:
    assert seen.accesses
    for access in seen.accesses:
        assert drawn(access) == access.cost, access


def test_the_accesses_of_all_blocks_add_up_to_the_counters_of_each_line(seen: Whole) -> None:
    added_up = seen.added_up()
    for line, costs in added_up.items():
        counted = seen.lines[str(line)]
        assert {name: counted[name] for name in costs} == dict(costs), line
    assert set(added_up) == {int(line) for line, counts in seen.lines.items() if asks_for_memory(counts)}


def asks_for_memory(counts: Mapping[str, Any]) -> bool:
    return any(name.endswith("_requests") for name in counts)


def test_no_trace_is_cut(seen: Whole) -> None:
    assert not any(trace.cut for trace in seen.traces)


def test_a_trace_says_whether_the_run_ended_at_a_fault() -> None:
    assert recorder("3.5", "swizzled_on_one_side").trace(TRANSPOSED).faulty
    assert not recorder("3.5").trace(TRANSPOSED).faulty


@pytest.fixture(scope="module")
def column() -> Access:
    """A load down a column of a tile of 32 x 32 words."""
    found = recorder("3.3").trace(Case(rows=32, cols=32)).on(30)
    return next(access for access in found if access.space == "shared")


def test_a_picture_of_other_addresses_has_other_numbers(column: Access) -> None:
    assert (column.cost, column.ideal) == (32, 1)
    moved = replace(column, lanes=tuple(132 * lane for lane in range(32)))
    assert drawn(moved) != column.cost
    assert drawn(replace(column, space="global", lanes=tuple(4 * lane for lane in range(32)))) == 4


def test_lanes_of_a_column_wait_one_after_the_other_in_one_bank(column: Access) -> None:
    assert {one.bank for one in served(column)} == {0}
    assert sorted(one.wait for one in served(column)) == list(range(32))


def test_lanes_that_want_one_word_are_served_together_unless_they_are_atomics(column: Access) -> None:
    same = replace(column, lanes=(0,) * 32)
    assert wavefronts(same) == 1
    assert wavefronts(replace(same, kind="atomic")) == 32


def test_the_elements_that_lanes_touch_have_the_names_of_the_source(column: Access) -> None:
    assert column.array is not None
    assert column.array.shape == (32, 32)
    assert [column.array.element(index) for index in column.elements()][:3] == [
        "tile[0][0]",
        "tile[1][0]",
        "tile[2][0]",
    ]


def test_a_typical_case_fills_the_block() -> None:
    found: Recorder = recorder("3.3")
    trace = found.typical()
    assert (trace.sizes["rows"], trace.sizes["cols"]) == (32, 32)
    assert {access.warp for access in trace.accesses} == set(range(8))


def test_loads_that_ptxas_made_into_one_are_one_access() -> None:
    wide = [access for access in recorder("2.3").typical().accesses if access.together > 1]
    assert {(access.array.name if access.array else "", access.bytes, access.together) for access in wide} == {
        ("As", 16, 4)
    }
