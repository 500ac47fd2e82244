"""A part's counters beside the reference's, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.explain import sentence

_SECTOR_BYTES = 32
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
