"""The recorder's findings about host code → observations, with what the build and the plan say beside them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.explain import Observation
from grader.explain.names import kernel_name

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record import HostFinding, Recording
    from grader.record.plan import Plan

# Where Linux puts a program, its heap, its libraries and its stack; no buffer of a recording lies there.
_HOST_MEMORY = range(0x5000_0000_0000, 0x8000_0000_0000)
_WORD = 8


def host_observations(
    recording: Recording, built: Build, entry: str, *, injected: bool = False
) -> Iterator[Observation]:
    """What was found, in order; `injected` says that a launch was made to fail."""
    for found in recording.findings:
        yield _observed(found, recording, built, entry, injected=injected)


def _observed(found: HostFinding, recording: Recording, built: Build, entry: str, *, injected: bool) -> Observation:
    variant = found.facts.get("variant")
    if found.kind == "missing_entry" and variant == "plain":
        return _missing(found, built, entry)
    if found.kind == "non_deterministic" and variant == "arguments" and _passes_host_memory(recording.plan, found.line):
        return Observation(found.kind, found.line, facts={**found.facts, "variant": "host_pointer"})
    if injected and found.kind == "host_crash" and "type" in found.facts:
        return Observation("ignored_error", found.line, facts={**found.facts, "variant": "throws"})
    return Observation(found.kind, line=found.line, facts=found.facts)


def _missing(found: HostFinding, built: Build, entry: str) -> Observation:
    """With the function that is named nearly like the entry, if there is one."""
    named = {kernel_name(symbol): first for symbol, (first, _) in built.functions.items()}
    near = next(iter(difflib.get_close_matches(entry, named, n=1, cutoff=0.8)), None)
    if near is None:
        return Observation(found.kind, line=found.line, facts=found.facts)
    return Observation(found.kind, line=named[near], facts={**found.facts, "variant": "near", "near": near})


def _passes_host_memory(plan: Plan, line: int | None) -> bool:
    """Whether a launch at this line passes an address of the host's own memory."""
    from grader.record.plan import Launch

    given = [(buffer.address, buffer.address + buffer.bytes) for buffer in plan.buffers]
    for launch in plan.operations:
        if isinstance(launch, Launch) and launch.line == line:
            for start in range(0, len(launch.parameters) - _WORD + 1, _WORD):
                word = int.from_bytes(launch.parameters[start : start + _WORD], "little")
                if word in _HOST_MEMORY and not any(first <= word < end for first, end in given):
                    return True
    return False
