"""Findings of the machine → the facts that a verdict is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.simt.undefined import LOADED

Coordinates = tuple[int, int, int]


@dataclass(frozen=True)
class DeviceFinding:
    """One kind of fault at one line (or pair of lines), as often as it happened.

    `block`, `thread` are (x, y, z) of its first instance, lowest block first. `index` counts elements of `buffer` and
    may lie outside it. `facts` hold what else was seen, by name: bytes, address, space, write, other_thread, ….
    """

    kind: str
    line: int | None
    kernel: str
    block: Coordinates | None
    thread: Coordinates | None
    buffer: str | None
    index: int | None
    other_line: int | None
    count: int
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Budgets:
    """Instructions that one warp, and all warps of a launch, may issue; 0 is no bound."""

    warp: int
    launch: int


def device_findings(
    reports: Sequence[Mapping[str, Any]],
    launch_lines: Sequence[int | None],
    element_bytes: Mapping[str, int],
    budgets: Budgets,
) -> list[DeviceFinding]:
    """The findings of a run's launches, errors of the first faulty launch only: what runs after it proves nothing.

    `launch_lines` are the lines of the launches, where a finding has none in the kernel.
    """
    for report, launch_line in zip(reports, launch_lines, strict=False):
        found = [_finding(report, raw, launch_line, element_bytes, budgets) for raw in report["findings"]]
        if found:
            return sorted(_causes(_without_idle_blocks(found)), key=_rank)
    return []


def _without_idle_blocks(found: list[DeviceFinding]) -> list[DeviceFinding]:
    """Without a grid that is called too large where the work was used up by something else."""
    others = [f for f in found if f.facts.get("variant") != "grid"]
    return others or found


def _causes(found: list[DeviceFinding]) -> list[DeviceFinding]:
    """Without what only follows from a race: a value that the same line reads before it is written, in some orders."""
    found = _one_a_pair(found)
    racy = {(f.facts.get("region"), line) for f in found if f.kind == "data_race" for line in (f.line, f.other_line)}
    return [
        f for f in found if f.kind != "uninitialised_read" or (f.facts.get("region", "register"), f.line) not in racy
    ]


def _one_a_pair(found: list[DeviceFinding]) -> list[DeviceFinding]:
    """Races of the same two lines are one, whichever of them came second; the one that names both threads is told.

    Where some race is between warps, all are told as such: what orders all threads of the block is wanted anyway.
    """
    pairs: dict[tuple[object, ...], DeviceFinding] = {}
    rest = []
    for finding in found:
        if finding.kind != "data_race":
            rest.append(finding)
            continue
        lines = sorted((finding.line or 0, finding.other_line or 0))
        key = (*lines, finding.facts.get("region"))
        known = pairs.get(key)
        first, second = (known, finding) if known is not None else (finding, None)
        if second is not None and "other_thread" in second.facts and "other_thread" not in first.facts:
            first, second = second, first
        pairs[key] = first if second is None else _taken_together(first, second)
    between = any(pair.facts.get("between_warps") for pair in pairs.values())
    races = [replace(pair, facts={**pair.facts, "between_warps": between}) for pair in pairs.values()]
    return [*races, *rest]


def _taken_together(first: DeviceFinding, second: DeviceFinding) -> DeviceFinding:
    one_place = all(each.facts.get("one_place") for each in (first, second)) and first.index == second.index
    facts = {**first.facts, "one_place": one_place}
    facts["between_warps"] = any(each.facts.get("between_warps") for each in (first, second))
    return replace(first, count=first.count + second.count, facts=facts)


_OF_RACES = ("between_blocks", "between_warps", "one_place")
_PITCH = 16  # bytes: the rows of a matrix fragment lie a multiple of them apart

# What a learner should look at first: an access outside a buffer explains the values, races and loops that follow.
_ORDER = (
    "unsupported",
    "out_of_bounds_write",
    "out_of_bounds_read",
    "misaligned_access",
    "read_only_violation",
    "barrier_divergence",
    "deadlock",
    "bad_sync_mask",
    "data_race",
    "uninitialised_read",
)


def _rank(finding: DeviceFinding) -> tuple[int, int]:
    place = _ORDER.index(finding.kind) if finding.kind in _ORDER else len(_ORDER)
    return place, finding.line or 0


def _finding(
    report: Mapping[str, Any],
    raw: Mapping[str, Any],
    launch_line: int | None,
    element_bytes: Mapping[str, int],
    budgets: Budgets,
) -> DeviceFinding:
    size = element_bytes.get(raw["region"])
    return DeviceFinding(
        kind=raw["kind"],
        line=raw["line"] or launch_line,
        kernel=report["kernel"],
        block=tuple(raw["block"]),
        thread=tuple(raw["thread"]),
        buffer=raw["region"] if size is not None else None,
        index=raw["offset"] // size if size is not None else None,
        other_line=raw["other_line"],
        count=raw["count"],
        facts=_facts(report, raw, budgets),
    )


def _facts(report: Mapping[str, Any], raw: Mapping[str, Any], budgets: Budgets) -> dict[str, Any]:
    kind, text = raw["kind"], raw["text"]
    facts: dict[str, Any] = {"blocks": raw["blocks"]}
    facts |= {name: raw[name] for name in ("callers", "other_callers") if raw.get(name)}
    if kind == "endless_loop":
        return facts | {"budget": budgets.warp}
    if kind == "redundant_traffic":
        asked = {"blocks_asked": math.prod(report["grid"]), "budget": budgets.launch}
        return facts | asked | {"variant": text or "instructions"}
    if kind == "unsupported" and text == "synchronisations":
        return facts | {"variant": text}
    if kind == "unsupported":
        return facts | ({"call": text.removeprefix("call.")} if text.startswith("call.") else {"instruction": text})
    if kind == "bad_sync_mask":
        # A mask of a number names 32 lanes; the last warp of a block may have fewer.
        variant = "no_such_lane" if text == "source" and raw["mask"] & raw["lanes"] else text
        return facts | {"variant": variant, "mask": raw["mask"], "lanes": _lanes(raw["lanes"])}
    if kind == "deadlock":
        return facts | {"waiting": raw["waiting"], "wanted": raw["wanted"]}
    if kind == "device_trap":
        return facts | _trap(text)
    if raw["space"] == "register":
        return facts | ({"variant": "shared"} if text == LOADED else {"space": "register", "register": text})
    if kind == "barrier_divergence":
        return facts | {name: raw[name] for name in ("other_block", "other_thread") if name in raw}
    return facts | _of_access(raw)


def _of_access(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of an access to memory, and of the other one that it met."""
    kind, text = raw["kind"], raw["text"]
    facts = {name: raw[name] for name in ("space", "bytes", "address", "write", "region", "region_bytes")}
    if kind == "misaligned_access":
        facts |= _misaligned(text, raw["bytes"])
    if kind == "uninitialised_read" and text == "mbarrier":
        facts["variant"] = text
    if raw["other_line"] is not None or "other_thread" in raw:
        facts["other_write"] = raw["other_write"]
        if text:
            facts["copy"] = text  # of an asynchronous copy: its bytes, or its source
        facts |= {name: raw[name] for name in (*_OF_RACES, "other_block", "other_thread") if name in raw}
        if kind == "read_only_violation":
            facts["variant"] = "nc"
    return facts


def _misaligned(text: str, size: int) -> dict[str, Any]:
    """What the address of an access, of a matrix fragment or (its `size` is then their distance) of its rows fails."""
    if not text:
        return {"alignment": size}
    return {"alignment": _PITCH if text == "pitch" else size, "variant": text}


def _lanes(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


def _trap(text: str) -> dict[str, Any]:
    """`trap`, an assertion that does not hold, a stack that overflows, or a wait for a grid that nobody promised."""
    what, _, assertion = text.partition(":")
    if what == "assert":
        return {"assertion": assertion}
    return {"variant": what} if what in ("stack", "grid") else {}
