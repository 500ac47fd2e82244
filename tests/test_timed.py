"""What is said of a time once a part is judged: its bottleneck, from what was counted of the case and of the sample."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grader.evidence import CaseEvidence, Evidence, KernelFact, LaunchFact
from grader.puzzle import Case
from grader.timed import explained
from grader.verdict import BENCH_GROUP, Timing

TIMING = Timing("GPU", 1.0, (0.9, 1.1), 100.0, 30, True, of_limit=0.4, medal="bronze")


def counts(instructions: int) -> dict[str, Any]:
    counted = {"warp_instructions": instructions}
    return {"kernels": {"k": counted}, "lines": {"9": counted}}


def evidence(*, blocks: int = 1000, instructions: int = 100) -> tuple[Evidence, CaseEvidence]:
    launch = LaunchFact("k", (blocks, 1, 1), (256, 1, 1), 0, 9)
    small = CaseEvidence("some", Case(n=5), (replace(launch, grid=(1, 1, 1)),), counts(instructions), counts(100))
    bench = CaseEvidence(BENCH_GROUP, Case(n=1 << 20), (launch,), {}, {})
    return Evidence((small, bench), {"k": KernelFact(32, 0, 0)}), small


def kind(timing: Timing = TIMING, **of: int) -> str | None:
    held = explained(timing, *evidence(**of), 132, "1.2").bottleneck
    return held.kind if held is not None else None


def test_the_grid_is_that_of_the_timed_case_and_the_counts_are_those_beside_the_reference() -> None:
    assert kind(blocks=3) == "idle"
    assert kind(instructions=200) == "instructions"


def test_where_nothing_stands_out_and_much_is_missing_the_next_commands_are_named() -> None:
    held = explained(TIMING, *evidence(), 132, "1.2").bottleneck
    assert held is not None
    assert held.kind == "unknown"
    assert "`grader sweep 1.2`" in held.advice
    assert "`grader profile 1.2`" in held.advice


def test_nothing_is_said_where_little_is_missing_or_the_reference_is_no_faster() -> None:
    assert kind(replace(TIMING, of_limit=0.92)) is None
    assert kind(replace(TIMING, medal="gold")) is None
    assert kind(replace(TIMING, of_limit=None)) is None
