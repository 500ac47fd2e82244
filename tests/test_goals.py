"""Goals, on counters made up for them: what reaches a goal, what just misses it, and which line is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from grader.catalog import load_catalog
from grader.evidence import CaseEvidence, Evidence, Goal, KernelFact, LaunchFact, Shortfall
from grader.explain import Observation, Setting, say
from grader.goals import (
    coalesced,
    local_memory,
    no_bank_conflicts,
    no_redundant_traffic,
    reads_at_most,
    reuse,
    tensor_cores,
    wide_accesses,
    writes_results_only,
)
from grader.judged_goals import judged_goals
from grader.launch_goals import kernel_chosen
from grader.puzzle import Case, Work

Lines = Mapping[int, Mapping[str, Any]]


def work(n: int) -> Work:
    return Work(bytes=8 * n, flops=2 * n)


def missed(goal: Goal, *cases: tuple[int, Lines]) -> Shortfall | None:
    """What the goal says of cases given as n and their counters by line."""
    judged = [
        CaseEvidence("group", Case(n=n), (), {"kernels": {}, "lines": {str(line): counts[line] for line in counts}}, {})
        for n, counts in cases
    ]
    shortfall = goal.check(Evidence([*judged, CaseEvidence("bench", Case(n=1 << 28), (), {}, {})], {}))
    assert not isinstance(shortfall, str)
    return shortfall


def loads(requests: int, *, lanes: int = 32, sectors: int = 4, bytes_a_lane: int = 4) -> dict[str, Any]:
    return {
        "global_load_requests": requests,
        "global_load_lanes": requests * lanes,
        "global_load_requests_by_bytes": {str(bytes_a_lane): requests},
        "global_load_sectors": requests * sectors,
        "global_load_sectors_ideal": requests * lanes * bytes_a_lane // 32,
    }


def shared(access: str, requests: int, passes: int, fewest: int) -> dict[str, Any]:
    return {
        f"shared_{access}_requests": requests,
        f"shared_{access}_wavefronts": passes,
        f"shared_{access}_wavefronts_ideal": fewest,
    }


def stores(requests: int) -> dict[str, Any]:
    return {name.replace("load", "store"): count for name, count in loads(requests).items()}


# ---- nothing in between ----


def test_what_is_written_beside_the_results_is_told_at_the_line_that_writes_most() -> None:
    goal, requests = writes_results_only(lambda n: 4 * n), (1 << 20) // 32
    assert missed(goal, (1 << 20, {7: stores(requests), 9: loads(5 * requests)})) is None
    shortfall = missed(goal, (1 << 20, {7: stores(requests), 9: stores(2 * requests)}))
    assert shortfall is not None
    assert (shortfall.line, shortfall.sentence) == (9, "3.0 times as many bytes are written as the results have.")
    assert shortfall.facts == {"cause": "stored"}
    assert missed(goal, (1 << 10, {7: stores(requests)})) is not None, "small cases weigh as much"
    assert missed(goal, (0, {7: stores(0)})) is None


# ---- bytes that move for nothing ----


@pytest.mark.parametrize(
    ("counts", "cause"),
    [
        (loads(3 * 4096), None),  # read three times
        (loads(4096, sectors=32), "jumps"),
        (loads(32 * 4096, lanes=1, sectors=1) | {"global_load_sectors_ideal": 32 * 4096}, "few_lanes"),
        (loads(4096) | stores(5 * 4096), "same_work"),
    ],
)
def test_too_many_bytes_are_told_with_what_moves_them(counts: dict[str, Any], cause: str | None) -> None:
    shortfall = missed(no_redundant_traffic(work), (32 * 4096, {7: counts}))
    assert shortfall is not None
    assert shortfall.facts.get("cause") == cause


def test_what_is_told_of_too_many_bytes_fits_their_cause() -> None:
    facts = {"variant": "goal", "goal": "…", "reason": "…"}
    plain = say(Observation("redundant_traffic", facts=facts), Setting("k")).why
    assert "Device memory is the narrow road" in plain
    for cause, words in (("jumps", "Nothing has to be loaded twice"), ("shared", "registers are nearer")):
        assert words in say(Observation("redundant_traffic", facts={**facts, "cause": cause}), Setting("k")).why


# ---- reuse ----


@pytest.mark.parametrize(("requests", "reached"), [(8, True), (9, False), (64, False)])
def test_reuse_asks_for_so_many_operations_a_loaded_value(requests: int, reached: bool) -> None:
    assert (missed(reuse(work, 8), (1024, {7: loads(requests)})) is None) is reached


def test_reuse_names_the_line_that_loads_most_and_how_often_a_value_is_used() -> None:
    shortfall = missed(reuse(work, 8), (1024, {7: loads(10), 9: loads(22)}))
    assert shortfall is not None
    assert shortfall.line == 9
    assert "used 2.0 times" in shortfall.sentence


def test_reuse_counts_values_and_not_instructions() -> None:
    assert missed(reuse(work, 8), (1024, {7: loads(2, bytes_a_lane=16)})) is None
    assert missed(reuse(work, 8), (1024, {7: loads(3, bytes_a_lane=16)})) is not None
    assert missed(reuse(work, 8), (1024, {7: loads(64, lanes=1)})) is None


def test_reuse_looks_at_the_case_with_most_operations() -> None:
    small, large = (16, {7: loads(4)}), (1024, {7: loads(8)})
    assert missed(reuse(work, 8), small, large) is None
    assert missed(reuse(work, 8), small) is not None


def read_back(requests: int, *, bytes_a_lane: int = 4) -> dict[str, Any]:
    return {
        "shared_load_requests": requests,
        "shared_load_lanes": 32 * requests,
        "shared_load_requests_by_bytes": {str(bytes_a_lane): requests},
    }


@pytest.mark.parametrize(
    ("counts", "reached"),
    [(read_back(16), True), (read_back(17), False), (read_back(4, bytes_a_lane=16), True), ({}, True)],
)
def test_shared_reuse_counts_what_is_read_from_shared_memory(counts: dict[str, Any], reached: bool) -> None:
    lines = {7: loads(64), 9: counts}
    shortfall = missed(reuse(work, 4, of="shared"), (1024, lines))
    assert (shortfall is None) is reached
    if shortfall is not None:
        assert shortfall.line == 9
        assert "used 3.8 times before it is read again" in shortfall.sentence


# ---- tensor cores ----


def issued(threads: int, flops: int = 0) -> dict[str, Any]:
    made = {"warp_instructions": threads // 32, "thread_instructions": threads}
    return made | {"matrix_flops": flops} if flops else made


def test_all_products_have_to_be_made_on_tensor_cores() -> None:
    goal = tensor_cores(work)
    assert missed(goal, (4096, {7: issued(320), 8: issued(32, 8192)})) is None
    half = missed(goal, (4096, {7: issued(320), 8: issued(32, 4096)}))
    assert half is not None
    assert half.line == 7
    assert half.sentence == "50 % of the multiplications ran on tensor cores."


def test_a_kernel_without_matrix_instructions_is_told_where_it_works_most() -> None:
    none = missed(tensor_cores(work), (4096, {7: issued(320), 9: issued(640)}))
    assert none is not None
    assert none.line == 9
    assert none.sentence == "No multiplication ran on tensor cores."


def test_tensor_cores_are_asked_for_in_the_largest_case() -> None:
    assert missed(tensor_cores(work), (16, {7: issued(32)}), (4096, {7: issued(32, 8192)})) is None


# ---- how often an input is read ----


def reading(n: int, times: float) -> CaseEvidence:
    counted = {"lines": {"7": loads(int(n * times) // 32)}, "reads": {"buffers": {"x": {"elements": n * times}}}}
    return CaseEvidence("group", Case(n=n), (), counted, {})


@pytest.mark.parametrize(("times", "reached"), [(1, True), (3, True), (3.05, True), (4, False)])
def test_reads_are_counted_in_the_largest_case(times: float, reached: bool) -> None:
    goal = reads_at_most("x", 3, lambda n: n)
    evidence = Evidence([reading(4, 9), reading(4096, times), reading(64, 9)], {})
    shortfall = goal.check(evidence)
    assert (shortfall is None) is reached
    if isinstance(shortfall, Shortfall):
        assert (shortfall.line, shortfall.sentence) == (7, "It is read 4.0 times.")


def test_how_often_is_told_and_what_is_best() -> None:
    goal = reads_at_most("x", 3, lambda n: n)
    assert goal.sentence == "`x` is read three times at most."
    assert goal.measured is not None
    assert goal.measured(Evidence([reading(4096, 3)], {})) == "read 3.0 times; 3 are allowed, best: once"
    assert goal.measured(Evidence([reading(4096, 1)], {})) == "read 1.0 times"


def test_cases_that_a_goal_leaves_out_may_read_more() -> None:
    goal = reads_at_most("x", 1, lambda n: n, where=lambda case: case.params["n"] <= 4096)
    assert goal.check(Evidence([reading(4096, 1), reading(8192, 2)], {})) is None
    assert goal.check(Evidence([reading(4096, 2), reading(8192, 1)], {})) is not None


# ---- bank conflicts ----


def test_as_many_passes_as_needed_are_no_conflict() -> None:
    counts = {5: shared("store", 10, 10, 10), 8: shared("load", 10, 40, 40)}
    assert missed(no_bank_conflicts(), (64, counts)) is None


@pytest.mark.parametrize("access", ["load", "store"])
def test_one_pass_too_many_in_any_case_is_a_conflict(access: str) -> None:
    shortfall = missed(
        no_bank_conflicts(), (1 << 20, {5: shared(access, 100, 100, 100)}), (3, {5: shared(access, 10, 11, 10)})
    )
    assert shortfall is not None
    assert shortfall.line == 5
    assert f"A warp's {access} takes 1.1 passes" in shortfall.sentence


def test_the_worst_line_is_named_with_the_passes_of_one_access() -> None:
    counts = {5: shared("store", 100, 200, 100), 8: shared("load", 10, 320, 10), 9: shared("load", 10, 160, 40)}
    shortfall = missed(no_bank_conflicts(), (64, counts))
    assert shortfall is not None
    assert shortfall.line == 8
    assert "takes 32 passes over shared memory, and 1 would do" in shortfall.sentence


# ---- coalesced ----


def test_coalesced_looks_at_the_case_in_which_most_lanes_ask() -> None:
    thin, full = (4, {7: loads(100, lanes=2, sectors=2)}), (1024, {7: loads(8, sectors=32)})
    shortfall = missed(coalesced(), thin, full)
    assert shortfall is not None
    assert "moves 32 sectors, and 4 would hold" in shortfall.sentence


def test_a_row_that_begins_inside_a_sector_is_still_coalesced() -> None:
    assert missed(coalesced(), (1024, {7: loads(8, sectors=5)})) is None


def test_coalesced_may_look_at_loads_alone() -> None:
    stores = {name.replace("load", "store"): count for name, count in loads(8, sectors=32).items()}
    assert missed(coalesced(), (1024, {5: loads(8), 7: stores})) is not None
    assert missed(coalesced(only="load"), (1024, {5: loads(8), 7: stores})) is None
    assert missed(coalesced(only="load"), (1024, {5: loads(8, sectors=32)})) is not None


# ---- the width of accesses ----


@pytest.mark.parametrize(("narrow", "bytes_a_lane", "reached"), [(10, 4, True), (11, 4, False), (0, 16, False)])
def test_nine_in_ten_accesses_are_as_wide_as_asked_for_or_wider(narrow: int, bytes_a_lane: int, reached: bool) -> None:
    lines = {7: loads(50, bytes_a_lane=4), 8: loads(50 - narrow, bytes_a_lane=8)}
    lines |= {9: loads(narrow, bytes_a_lane=2)} if narrow else {}
    shortfall = missed(wide_accesses("load", bytes_a_lane=bytes_a_lane), (1024, lines))
    assert (shortfall is None) is reached
    if narrow and shortfall is not None:
        assert shortfall.line == 9
        assert shortfall.sentence == "11 % of the loads move fewer than 4 bytes a lane."


# ---- the kernel chosen ----


def launched(kernel: str, n: int, **offset: int) -> CaseEvidence:
    launch = LaunchFact(f"_Z{len(kernel)}{kernel}Pfi", (1, 1, 1), (32, 1, 1), 0, 12)
    return CaseEvidence("group", Case(n=n, offset=offset), [launch], {}, {})


def test_every_launch_of_a_case_is_of_the_kernel_that_fits() -> None:
    goal = kernel_chosen(lambda case: "plain" if case.params["n"] % 2 or case.offset else "pairs")
    nothing_to_do = CaseEvidence("empty", Case(n=0), (), {}, {})
    right = [launched("pairs", 4), launched("plain", 3), launched("plain", 4, x=2), nothing_to_do]
    assert goal.check(Evidence(right, {})) is None
    shortfall = goal.check(Evidence([*right, launched("pairs", 1002, x=2)], {}))
    assert isinstance(shortfall, Shortfall)
    assert shortfall.line == 12
    assert shortfall.sentence == "For n = 1,002, x moved by 2 bytes you launch pairs; plain was made for it."


# ---- as written and as compiled ----


@pytest.mark.parametrize("goal", [coalesced(), no_bank_conflicts()])
def test_what_is_no_fault_as_compiled_is_none(goal: Goal) -> None:
    written = loads(8, sectors=32) | shared("load", 8, 32, 8)
    mended = loads(2, sectors=16, bytes_a_lane=16) | shared("load", 2, 8, 8)
    assert missed(goal, (1024, {7: written})) is not None
    assert missed(goal, (1024, {7: written | {"compiled": written}})) is not None
    assert missed(goal, (1024, {7: written | {"compiled": mended}})) is None
    assert missed(goal, (1024, {7: written | {"compiled": {}}})) is None


@pytest.mark.parametrize(("sectors", "reached"), [(5, True), (32, False)])
def test_coalesced_looks_at_the_sample_of_the_bench_case_too(sectors: int, reached: bool) -> None:
    small = CaseEvidence("group", Case(n=64), (), {"lines": {"7": loads(2)}}, {})
    large = CaseEvidence(
        "bench", Case(n=1 << 28), (), {}, {}, sample_counters={"lines": {"7": loads(900, sectors=sectors)}}
    )
    shortfall = coalesced().check(Evidence([small, large], {}))
    assert (shortfall is None) is reached


@pytest.mark.parametrize(("kept", "reached"), [(1024, True), (1028, False)])
def test_what_a_thread_keeps_in_local_memory_is_bounded(kept: int, reached: bool) -> None:
    judged = replace(launched("keeps", 4), counters={"lines": {"9": {"local_store_requests": 0}}})
    kernel = judged.launches[0].kernel
    shortfall = local_memory(1024).check(Evidence([judged], {kernel: KernelFact(32, 0, kept)}))
    assert (shortfall is None) is reached


def test_a_line_that_jumps_is_not_told_again_for_the_bytes_that_it_moves() -> None:
    def goal(kind: str, line: int) -> Goal:
        return Goal(kind, kind, "A goal.", lambda evidence: Shortfall("Missed.", line))

    def told(*goals: Goal) -> list[tuple[str, bool]]:
        part = replace(load_catalog().part_named("vector_add").part, goals=goals)
        judged = judged_goals(part, Evidence([], {}), Any, 1, Any)  # type: ignore[arg-type]
        return [(result.name, seen is not None) for result, seen in judged if not result.reached]

    jumps, moves, elsewhere = goal("uncoalesced_access", 7), goal("redundant_traffic", 7), goal("redundant_traffic", 8)
    assert told(jumps, moves) == [("uncoalesced_access", True), ("redundant_traffic", False)]
    assert told(jumps, elsewhere) == [("uncoalesced_access", True), ("redundant_traffic", True)]
    assert told(moves) == [("redundant_traffic", True)]
