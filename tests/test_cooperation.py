"""Goals on how threads work together, on counters made up for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from grader.cooperation import (
    equal_bits,
    many_blocks,
    no_local_memory,
    one_atomic_a_block,
    one_atomic_a_thread,
    registers_only,
    shared_work,
)
from grader.evidence import CaseEvidence, Evidence, Goal, KernelFact, LaunchFact, Shortfall, Varied
from grader.puzzle import Case

Lines = Mapping[int, Mapping[str, Any]]
KERNEL = "_Z3sumPKfPfi"


def launch(blocks: int, *, shared: int = 0) -> LaunchFact:
    return LaunchFact(KERNEL, (blocks, 1, 1), (256, 1, 1), shared, 40)


def ran(n: int, lines: Lines, *, blocks: int = 4, shared: int = 0, barriers: int = 0) -> CaseEvidence:
    counted = {str(line): dict(counts) for line, counts in lines.items()}
    counters = {"kernels": {KERNEL: {"barriers": barriers}}, "lines": counted}
    return CaseEvidence("group", Case(n=n), (launch(blocks, shared=shared),), counters, {})


def missed(goal: Goal, *cases: CaseEvidence, full: Sequence[LaunchFact] = (), static: int = 0) -> Shortfall | None:
    bench = CaseEvidence("bench", Case(n=1 << 28), full, {}, {})
    shortfall = goal.check(Evidence([*cases, bench], {KERNEL: KernelFact(16, static, 0)}))
    assert not isinstance(shortfall, str)
    return shortfall


# ---- shared work ----


@pytest.mark.parametrize(
    ("lines", "reached"),
    [
        ({7: {"global_load_requests": 32}, 9: {"shared_load_requests": 500, "shared_store_requests": 491}}, True),
        ({7: {"global_load_requests": 32}, 9: {"shared_load_requests": 1024}}, False),
        ({7: {"global_load_requests": 1024}}, False),
        ({7: {"global_load_requests": 32}, 9: {"shared_atomic_requests": 32, "shared_atomic_lanes": 1024}}, False),
        ({7: {"local_load_requests": 1024}}, False),
    ],
)
def test_shared_work_asks_for_fewer_requests_than_elements(lines: Lines, reached: bool) -> None:
    shortfall = missed(shared_work("n"), ran(3, {7: {"global_load_requests": 40}}), ran(1024, lines))
    assert (shortfall is None) is reached
    if shortfall is not None:
        assert shortfall.line == max(lines)


# ---- registers only ----


def test_registers_only_lets_loads_shuffles_and_stores_pass() -> None:
    assert missed(registers_only(), ran(8, {7: {"global_load_requests": 8}, 9: {"global_store_requests": 8}})) is None


@pytest.mark.parametrize(("static", "dynamic"), [(1024, 0), (0, 1024)])
def test_registers_only_refuses_shared_memory_at_the_line_that_uses_it_most(static: int, dynamic: int) -> None:
    lines = {7: {"shared_store_requests": 8}, 9: {"shared_load_requests": 80}}
    shortfall = missed(registers_only(), ran(8, lines, shared=dynamic), static=static)
    assert shortfall is not None
    assert shortfall.line == 9
    assert "1,024 bytes" in shortfall.sentence


def test_registers_only_refuses_a_barrier_and_an_atomic() -> None:
    barrier = missed(registers_only(), ran(8, {7: {"global_load_requests": 8}}, barriers=5))
    atomic = missed(registers_only(), ran(8, {7: {"global_atomic_requests": 8}}))
    assert barrier is not None
    assert barrier.line == 40
    assert atomic is not None
    assert atomic.line == 7


# ---- one atomic a block ----


@pytest.mark.parametrize(("atomics", "reached"), [(0, True), (4, True), (5, False), (1024, False)])
def test_one_atomic_a_block_counts_lanes(atomics: int, reached: bool) -> None:
    counts = {"global_atomic_requests": max(atomics // 32, 1), "global_atomic_lanes": atomics}
    shortfall = missed(one_atomic_a_block(), ran(1024, {7: {"global_load_requests": 99}, 9: counts}))
    assert (shortfall is None) is reached
    if shortfall is not None:
        assert shortfall.line == 9
        assert f"{atomics:,} atomics from 4 blocks" in shortfall.sentence


# ---- one atomic a thread ----


@pytest.mark.parametrize(("lanes", "reached"), [(1024, True), (1025, False)])
def test_a_thread_may_have_one_atomic(lanes: int, reached: bool) -> None:
    judged = ran(8, {9: {"global_atomic_lanes": lanes - 1}, 11: {"global_atomic_lanes": 1}}, blocks=4)
    shortfall = missed(one_atomic_a_thread(), judged)
    assert (shortfall is None) is reached
    if shortfall is not None:
        assert shortfall == Shortfall("For n = 8 there are 1,025 atomics from 1,024 threads.", 9)


# ---- no local memory ----


@pytest.mark.parametrize("access", ["load", "store"])
def test_one_access_to_local_memory_is_one_too_many(access: str) -> None:
    assert missed(no_local_memory(), ran(8, {7: {"global_load_requests": 8}})) is None
    shortfall = missed(no_local_memory(), ran(8, {7: {f"local_{access}_requests": 1}}))
    assert shortfall is not None
    assert shortfall.line == 7


# ---- many blocks ----


@pytest.mark.parametrize(("grids", "reached"), [((132,), True), ((1, 500), True), ((131,), False), ((1,), False)])
def test_many_blocks_looks_at_the_largest_grid_at_full_size(grids: Sequence[int], reached: bool) -> None:
    shortfall = missed(many_blocks(132), ran(3, {}, blocks=1), full=[launch(blocks) for blocks in grids])
    assert (shortfall is None) is reached
    if shortfall is not None:
        assert shortfall.line == 40


# ---- equal bits ----


def test_equal_bits_tells_what_came_out_differently_and_where_it_was_written() -> None:
    same, differs = ran(3, {}), replace(ran(1024, {}), varied=Varied("`out[0]`", (1.5, 1.25), 20))
    assert missed(equal_bits(), same) is None
    shortfall = missed(equal_bits(), same, differs)
    assert shortfall is not None
    assert shortfall.line == 20
    assert shortfall.sentence == "For n = 1,024, `out[0]` is 1.5 in one order and 1.25 in another."
    assert equal_bits().every_order
