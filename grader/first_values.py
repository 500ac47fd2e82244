"""Where a kernel found no first value: the memset that comes too late for it, or does not reach so far."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grader.explain import Observation

if TYPE_CHECKING:
    from grader.record.plan import Plan


def with_memset(seen: Observation, plan: Plan, element_bytes: int) -> Observation:
    """An uninitialised read of a buffer whose elements have so many bytes, with the memset that should have given the
    value; as it was where there is none.
    """
    from grader.record.plan import Launch, Memset

    if seen.kind != "uninitialised_read" or seen.buffer is None or seen.index is None:
        return seen
    (buffer,) = (each for each in plan.buffers if each.name == seen.buffer)
    launched = next(at for at, operation in enumerate(plan.operations) if isinstance(operation, Launch))
    here = [
        (at, operation)
        for at, operation in enumerate(plan.operations)
        if isinstance(operation, Memset) and 0 <= operation.address - buffer.address < buffer.bytes
    ]
    late = next((operation for at, operation in here if at > launched), None)
    if late is not None and seen.facts.get("write"):
        return replace(seen, other_line=late.line, facts={**seen.facts, "memset": "late", "other": "late"})
    ahead = [operation for at, operation in here if at < launched]
    if late is not None or not ahead:
        return seen
    short = ahead[-1]
    in_elements = short.bytes * element_bytes == buffer.bytes or short.bytes % element_bytes > 0
    facts = {"memset": "short_bytes" if in_elements else "short", "other": "short", "set": short.bytes}
    return replace(seen, other_line=short.line, facts={**seen.facts, **facts, "buffer_bytes": buffer.bytes})
