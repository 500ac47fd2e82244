"""The banks that a learner's kernel asks for on one line: a small case run again, with the lanes of a warp watched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from grader.banks.lanes import LANES, WORD, BankMap
from grader.evidence import CaseEvidence, LaunchFact
from grader.inputs import memory_for
from grader.puzzle import Case, Part
from grader.simt.execution import Watch
from grader.simt.software import SoftwareGPU

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record.plan import Plan
    from grader.tools import Tools

_MOST_ENTRIES = 20_000
_MOST_WARPS = 8  # of the first block that are looked at


def worst_access(
    part: Part, built: Build, evidence: Sequence[CaseEvidence], line: int, seed: int, tools: Tools
) -> BankMap | None:
    """Of the accesses to shared memory on this line, the one whose lanes meet most, in the first block of the smallest
    case with a conflict there; None where none is seen.
    """
    conflicting = [judged for judged in evidence if _excess(judged.counters.get("lines", {}).get(str(line), {}))]
    smallest = min(conflicting, key=lambda judged: sum(_threads(one) for one in judged.launches), default=None)
    if smallest is None:
        return None
    plan = tools.record(built, part, smallest.case, inject=False).plan
    counts = smallest.counters["lines"][str(line)]
    access = max(("load", "store"), key=lambda kind: _shares(counts, kind))
    found: BankMap | None = None
    for number, launch in enumerate(smallest.launches):
        warps = -(-prod(launch.block) // LANES)
        for warp in range(min(warps, _MOST_WARPS)):
            traces = list(_traces(part, built, smallest.case, plan, seed, number, warp, prod(launch.block)))
            for seen in _accesses(traces, line, access):
                if found is None or len(seen.fullest()[1]) > len(found.fullest()[1]):
                    found = seen
            if found is not None and len(found.fullest()[1]) >= _shares(counts, access):
                return found
    return found


def _threads(launch: LaunchFact) -> int:
    return int(prod(launch.grid) * prod(launch.block))


def _excess(counts: Mapping[str, Any]) -> bool:
    return any(
        counts.get(f"shared_{kind}_wavefronts", 0) > counts.get(f"shared_{kind}_wavefronts_ideal", 0)
        for kind in ("load", "store")
    )


def _shares(counts: Mapping[str, Any], kind: str) -> float:
    """Passes of one request, on average."""
    requests = counts.get(f"shared_{kind}_requests", 0)
    return float(counts[f"shared_{kind}_wavefronts"] / requests) if requests else 0.0


def _traces(
    part: Part, built: Build, case: Case, plan: Plan, seed: int, launch: int, warp: int, threads: int
) -> Iterator[list[dict[str, Any]]]:
    """What each lane of a warp of the first block did; nothing for a lane that the block does not have."""
    gpu, roles = SoftwareGPU(built), {buffer.name: buffer.role for buffer in part.buffers}
    for lane in range(LANES):
        thread = warp * LANES + lane
        if thread < threads:
            watch = Watch(0, thread, launch, _MOST_ENTRIES)
            yield gpu.run(plan, memory_for(part, case, seed), roles=roles, seed=seed, trace=watch).trace
        else:
            yield []


def _accesses(traces: Sequence[Sequence[Mapping[str, Any]]], line: int, access: str) -> Iterator[BankMap]:
    """The accesses of that line, one after the other: the first of every lane, the second of every lane, and so on."""
    own = [[entry for entry in trace if entry["line"] == line and _is(entry, access)] for trace in traces]
    for number in range(max(map(len, own), default=0)):
        entries = [entries[number] if number < len(entries) else None for entries in own]
        size = max(len(str(entry["value"])) // 2 for entry in entries if entry is not None)
        yield BankMap(access, size, tuple(int(entry["offset"]) // WORD if entry else None for entry in entries))


def _is(entry: Mapping[str, Any], access: str) -> bool:
    atomic = str(entry["op"]).startswith(("atom", "red"))
    return entry["space"] == "shared" and not atomic and bool(entry["write"]) == (access == "store")
