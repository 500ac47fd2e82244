"""Counters: what the machine counted by instruction, added up by kernel and by source line.

Names follow Nsight Compute's Source page where it has the same number. A request is one memory instruction of one
warp; a sector is 32 bytes of global memory; a wavefront is one pass over the 32 banks of shared memory. `…_ideal` is
the fewest that could serve the same lanes. All counts are those of the PTX, "as written".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_BYTES = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "b32": 4, "u32": 4, "s32": 4, "b64": 8}
_ACCESS = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic"}


def add_up(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Reports of a run's launches → {"kernels": {name: counts}, "lines": {line: counts}}, lines as strings."""
    kernels: dict[str, dict[str, Any]] = {}
    lines: dict[str, dict[str, Any]] = {}
    for report in reports:
        counted = report["counters"]
        kernel = kernels.setdefault(report["kernel"], {"launches": 0})
        _add(
            kernel,
            {"launches": 1, "divergent_branches": counted["divergent_branches"], "barriers": counted["barriers"]},
        )
        for line in counted["lines"]:
            counts = {name: line[name] for name in ("warp_instructions", "thread_instructions")}
            _add(kernel, counts)
            _add(lines.setdefault(str(line["line"]), {}), counts)
        for access in counted["accesses"]:
            counts = _access_counts(access)
            _add(kernel, counts)
            _add(lines.setdefault(str(access["line"] or 0), {}), counts)
    return {"kernels": kernels, "lines": dict(sorted(lines.items(), key=lambda item: int(item[0])))}


def access_of(counted: Mapping[str, Any]) -> tuple[str, str, int]:
    """What one memory instruction of a report is: its space, load, store or atomic, and the bytes of a lane."""
    operation, *words = counted["op"].split(".")
    space = "shared" if counted["wavefronts"] else "global" if counted["sectors"] else "local"
    size = next((_BYTES[word] for word in words if word in _BYTES), 4)
    vector = next((int(word[1:]) for word in words if word in ("v2", "v4", "v8")), 1)
    return space, _ACCESS.get(operation, operation), size * vector


def _access_counts(access: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of one memory instruction under the names of docs/verdict.md."""
    space, kind, size = access_of(access)
    name = f"{space}_{kind}"
    counts: dict[str, Any] = {f"{name}_requests": access["requests"], f"{name}_lanes": access["lanes"]}
    counts[f"{name}_requests_by_bytes"] = {str(size): access["requests"]}
    if space == "global":
        counts |= {f"{name}_sectors": access["sectors"], f"{name}_sectors_ideal": access["ideal_sectors"]}
    if space == "shared":
        counts |= {f"{name}_wavefronts": access["wavefronts"], f"{name}_wavefronts_ideal": access["ideal_wavefronts"]}
    return counts


def _add(total: dict[str, Any], counts: Mapping[str, Any]) -> None:
    for name, value in counts.items():
        if isinstance(value, Mapping):
            _add(total.setdefault(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value
