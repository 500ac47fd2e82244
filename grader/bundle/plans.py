"""A plan from a bundle: checked as what a stranger sent, against the part, its full size, and the cubin beside it."""

from __future__ import annotations

from collections.abc import Sequence

from grader.bundle.cubins import Cubin
from grader.bundle.format import BundleInvalid
from grader.puzzle import Part
from grader.record.device import device_for
from grader.record.errors import SUCCESS
from grader.record.fit import check_fit
from grader.record.layout import Layout
from grader.record.operations import PlanInvalid, refuse
from grader.record.plan import Plan, from_json
from grader.record.recording import described, entry_arguments
from grader.record.request import EntryCall


def offsets(part: Part) -> Sequence[int]:
    """How far past its range's start each buffer lies at full size."""
    return [part.bench.offset.get(buffer.name, 0) for buffer in part.buffers]


def checked_plan(text: bytes, part: Part, module: Cubin, layout: Layout) -> Plan:
    """The plan of the part at its full size in that layout; raises `BundleInvalid` for anything else."""
    try:
        plan = from_json(text)
        _check(plan, part, module, layout)
    except PlanInvalid as invalid:
        raise BundleInvalid(f"its plan cannot be: {invalid}") from None
    return plan


def _check(plan: Plan, part: Part, module: Cubin, layout: Layout) -> None:
    buffers, scalars = described(EntryCall(part.name, entry_arguments(part, part.bench), layout))
    if (plan.entry, plan.target, plan.returned) != (part.name, module.target, SUCCESS):
        refuse("it is of another entry or target, or of one that failed")
    if plan.buffers != buffers or plan.scalars != scalars:
        refuse("its buffers or scalars are not those of the part")
    check_fit(plan.operations, module, device_for(module.target), (layout.arenas[0], layout.arena_bytes))
