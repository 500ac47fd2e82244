"""A part's counters in words: beside the reference's, and the line that asks memory for most beyond its need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.explain import sentence

_SECTOR_BYTES = 32
_WASTE = 2
_UNITS = {
    "global_load": "sectors",
    "global_store": "sectors",
    "shared_load": "wavefronts",
    "shared_store": "wavefronts",
}
_SECTORS = ("global_load_sectors", "global_store_sectors", "global_atomic_sectors")


def beside_reference(counters: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    """Bytes and instructions in multiples of the reference's; "" where there is no reference."""
    own, other = _totals(counters), _totals(reference)
    if not own["instructions"] or not other["instructions"]:
        return ""
    facts = {
        "traffic": _times("traffic", own["bytes"], other["bytes"]),
        "instructions": _times("instructions", own["instructions"], other["instructions"]),
    }
    return sentence("verdict", "counters", facts=facts)


def costliest_line(counters: Mapping[str, Any]) -> str:
    """What a right part still pays for: the access that takes most sectors or passes for what it needs.

    "" where no line takes more than twice what it needs: a row that begins inside a sector is no waste.
    """
    found = [
        (counts[f"{access}_{unit}"] / counts[f"{access}_{unit}_ideal"], line, access, unit, counts)
        for line, counts in counters.get("lines", {}).items()
        for access, unit in _UNITS.items()
        if counts.get(f"{access}_{unit}_ideal")
    ]
    if not found:
        return ""
    ratio, line, access, unit, counts = max(found, key=lambda each: each[0])
    if ratio <= _WASTE:
        return ""
    fewest = counts[f"{access}_{unit}_ideal"] / counts[f"{access}_requests"]
    facts = {"line": line, "taken": f"{ratio * fewest:.3g}", "fewest": f"{fewest:.3g}"}
    return sentence("verdict", f"costs_{access}", facts=facts)


def _totals(counters: Mapping[str, Any]) -> dict[str, int]:
    kernels = [counts for counts in counters.get("kernels", {}).values() if isinstance(counts, Mapping)]
    return {
        "bytes": _SECTOR_BYTES * sum(int(counts.get(name, 0)) for counts in kernels for name in _SECTORS),
        "instructions": sum(int(counts.get("warp_instructions", 0)) for counts in kernels),
    }


def _times(what: str, own: int, other: int) -> str:
    ratio = own / other if other else float("inf")
    same = 0.995 <= ratio <= 1.005
    return sentence("verdict", f"{what}_same" if same else what, facts={"ratio": f"{ratio:.2f}"})
