"""Goals on how threads work together: a tree, registers alone, few atomics, blocks enough, equal bits.

They are judged as those of `grader/goals.py` are, on counters that docs/verdict.md lists and on the launches of a plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from grader.evidence import CaseEvidence, Evidence, Goal, KernelFact, Shortfall

# The lanes of an atomic are served one after the other, those of a load or store together.
_ASKED = tuple(
    f"{space}_{asked}"
    for space in ("global", "shared", "local")
    for asked in ("load_requests", "store_requests", "atomic_lanes")
)
_SHARED = ("shared_load_requests", "shared_store_requests", "shared_atomic_requests")


def shared_work(size: str) -> Goal:
    """Where the scalar `size` is largest, memory gets fewer requests than it has elements; an atomic is one a lane."""

    def check(evidence: Evidence) -> Shortfall | None:
        judged = max(_counted(evidence), key=lambda each: each.case.params[size], default=None)
        if judged is None:
            return None
        asked = _by_line(judged, *_ASKED)
        elements, total = int(judged.case.params[size]), sum(asked.values())
        if total < elements:
            return None
        worst = max(asked, key=lambda line: asked[line])
        return Shortfall(f"Here are {asked[worst]:,} accesses, for {elements:,} elements.", worst)

    sentence = "The threads share the work: fewer accesses to memory than elements, where a warp's access counts once."
    return Goal("shared work", "goal_missed", sentence, check)


def registers_only() -> Goal:
    """No kernel that is launched has shared memory, a barrier or an atomic."""

    def check(evidence: Evidence) -> Shortfall | None:
        found = (_beside_registers(judged, evidence.kernels) for judged in _counted(evidence))
        return next(filter(None, found), None)

    sentence = "Lanes read each other's registers: no shared memory, no barrier, no atomic."
    return Goal("registers only", "goal_missed", sentence, check)


def _beside_registers(judged: CaseEvidence, kernels: Mapping[str, KernelFact]) -> Shortfall | None:
    for launch in judged.launches:
        needs = kernels.get(launch.kernel)
        shared = launch.shared + (needs.static_shared if needs is not None else 0)
        if shared:
            said = f"The kernel has {shared:,} bytes of shared memory a block."
            return Shortfall(said, _worst(_by_line(judged, *_SHARED)) or launch.line, launch.kernel)
        if judged.counters["kernels"].get(launch.kernel, {}).get("barriers"):
            return Shortfall("The kernel has a barrier, and one warp needs none.", launch.line, launch.kernel)
    line = _worst(_by_line(judged, "global_atomic_requests"))
    return Shortfall("Lanes add to memory by atomics here.", line) if line is not None else None


def one_atomic_a_block() -> Goal:
    """No case has more atomics, counted by lanes, than its launches have blocks."""

    def check(evidence: Evidence) -> Shortfall | None:
        for judged in _counted(evidence):
            atomics = _by_line(judged, "global_atomic_lanes")
            total, blocks = sum(atomics.values()), sum(math.prod(launch.grid) for launch in judged.launches)
            if total > blocks:
                said = f"For {_sizes(judged)} there are {total:,} atomics from {blocks:,} {_noun(blocks)}."
                return Shortfall(said, _worst(atomics))
        return None

    sentence = "A block adds up by itself first: one atomic a block at most."
    return Goal("one atomic a block", "goal_missed", sentence, check)


def one_atomic_a_thread() -> Goal:
    """No case has more atomics, counted by lanes, than its launches have threads."""

    def check(evidence: Evidence) -> Shortfall | None:
        for judged in _counted(evidence):
            atomics = _by_line(judged, "global_atomic_lanes")
            threads = sum(math.prod(launch.grid) * math.prod(launch.block) for launch in judged.launches)
            if (total := sum(atomics.values())) > threads:
                said = f"For {_sizes(judged)} there are {total:,} atomics from {threads:,} threads."
                return Shortfall(said, _worst(atomics))
        return None

    sentence = "A thread adds up in a register first: one atomic a thread at most."
    return Goal("one atomic a thread", "goal_missed", sentence, check)


def no_local_memory() -> Goal:
    """No kernel loads from local memory or stores there, in any case."""

    def check(evidence: Evidence) -> Shortfall | None:
        for judged in _counted(evidence):
            asked = _by_line(judged, "local_load_requests", "local_store_requests")
            worst = _worst(asked)
            if worst is not None:
                said = (
                    f"Here are {asked[worst]:,} accesses of warps to local memory: an index is known only as it runs."
                )
                return Shortfall(said, worst)
        return None

    sentence = "What a thread keeps is in registers: no array of its own lies in local memory."
    return Goal("no local memory", "redundant_traffic", sentence, check)


def many_blocks(least: int) -> Goal:
    """At full size, some launch has at least `least` blocks."""

    def check(evidence: Evidence) -> Shortfall | None:
        full = evidence.cases[-1]
        largest = max(full.launches, key=lambda launch: math.prod(launch.grid), default=None)
        blocks = math.prod(largest.grid) if largest is not None else 0
        if largest is None or blocks >= least:
            return None
        return Shortfall(f"For {_sizes(full)} the grid has {blocks:,} {_noun(blocks)}.", largest.line, largest.kernel)

    sentence = f"The grid fills the machine: {least:,} blocks at least at full size, one for each multiprocessor."
    return Goal("many blocks", "goal_missed", sentence, check)


def equal_bits() -> Goal:
    """The same inputs give the same bits in every order of warps and blocks."""

    def check(evidence: Evidence) -> Shortfall | None:
        judged = next((judged for judged in evidence.cases if judged.varied is not None), None)
        if judged is None or judged.varied is None:
            return None
        one, other = judged.varied.values
        said = f"For {_sizes(judged)}, {judged.varied.element} is {one!r} in one order and {other!r} in another."
        return Shortfall(said, judged.varied.line)

    sentence = "The same inputs give the same bits every time, in whatever order warps and blocks come."
    return Goal("equal bits", "non_deterministic", sentence, check, every_order=True)


def _counted(evidence: Evidence) -> Iterator[CaseEvidence]:
    """The cases that were run on the software GPU."""
    return (judged for judged in evidence.cases if judged.counters)


def _by_line(judged: CaseEvidence, *names: str) -> dict[int, int]:
    """For each line of the source, the counts of these names added up."""
    lines = judged.counters["lines"].items()
    return {int(line): sum(counts.get(name, 0) for name in names) for line, counts in lines}


def _worst(counted: Mapping[int, int]) -> int | None:
    """The line that counts most; None where none counts anything."""
    worst = max(counted, key=lambda line: counted[line], default=None)
    return worst if worst is not None and counted[worst] else None


def _sizes(judged: CaseEvidence) -> str:
    return ", ".join(f"{name} = {value:,}" for name, value in judged.case.params.items())


def _noun(blocks: int) -> str:
    return "block" if blocks == 1 else "blocks"
