"""A part's counters in words: beside the reference's, and the line that asks memory for most beyond its need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.bottleneck import costliest_access
from grader.explain import sentence

_SECTORS = "memory_l2_theoretical_sectors_global"
_EXCESS = "derived__memory_l1_wavefronts_shared_excessive"
_SAME = 0.005  # what is closer is the same: the ends of a case weigh as much


def beside_reference(counters: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    """Bytes and instructions in multiples of the reference's, reads for each result, and what bank conflicts cost.

    "" where there is no reference. Bank conflicts are told only where there are more than in the reference.
    """
    own, other = _totals(counters), _totals(reference)
    if not own["warp_instructions"] or not other["warp_instructions"]:
        return ""
    facts = {
        "traffic": _times("traffic", own[_SECTORS], other[_SECTORS]),
        "instructions": _times("instructions", own["warp_instructions"], other["warp_instructions"]),
    }
    said = [sentence("verdict", "counters", facts=facts), _reads(counters, reference), _conflicts(own, other)]
    return " ".join(filter(None, said))


def costliest_line(counters: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    """What a right part still pays for: the access that takes most sectors or passes for what it needs; "" where none
    takes too many.
    """
    costly = costliest_access(counters, reference)
    if costly is None:
        return ""
    facts = {"line": costly.line, "taken": f"{costly.taken:.3g}", "fewest": f"{costly.fewest:.3g}"}
    return sentence("verdict", f"costs_{costly.access}", facts=facts)


def _totals(counters: Mapping[str, Any]) -> dict[str, int]:
    """Sums over all kernels, "compiled" of excess wavefronts as compiled."""
    kernels = list(counters.get("kernels", {}).values())
    names = ("warp_instructions", _SECTORS, _EXCESS)
    totals = {name: sum(int(counts.get(name, 0)) for counts in kernels) for name in names}
    return totals | {"compiled": sum(int(counts.get("compiled", {}).get(_EXCESS, 0)) for counts in kernels)}


def _times(what: str, own: float, other: float) -> str:
    ratio = own / other if other else float("inf")
    same = own == other or abs(ratio - 1) <= _SAME
    return sentence("verdict", f"{what}_same" if same else what, facts={"ratio": f"{ratio:.2f}"})


def _reads(counters: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    own, other = (float(each.get("reads", {}).get("elements_a_result", 0)) for each in (counters, reference))
    if not own or not other:
        return ""
    same = abs(own / other - 1) <= _SAME
    facts = {"own": _number(own), "reference": _number(other)}
    return sentence("verdict", "reads_same" if same else "reads", facts=facts)


def _conflicts(own: Mapping[str, int], other: Mapping[str, int]) -> str:
    if own[_EXCESS] <= other[_EXCESS]:
        return ""
    facts = {"own": f"{own[_EXCESS]:,}", "compiled": f"{own['compiled']:,}", "reference": f"{other[_EXCESS]:,}"}
    return sentence("verdict", "excess" if own["compiled"] == own[_EXCESS] else "excess_compiled", facts=facts)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
