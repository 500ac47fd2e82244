"""Counts of the software GPU under the names that Nsight Compute has for them, as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.explain.names import kernel_name
from grader.verdict import dumps

SCHEMA = 1
# The Source page's columns, which Nsight Compute works out from addresses and counts line by line.
BY_LINE = (
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
)
# What the GPU itself counts, of a whole kernel, and our name for it.
BY_KERNEL = {
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "global_load_sectors",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "global_store_sectors",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "shared_load_wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "shared_store_wavefronts",
    "smsp__inst_executed_op_global_ld.sum": "global_load_requests",
    "smsp__inst_executed_op_global_st.sum": "global_store_requests",
    "smsp__inst_executed_op_shared_ld.sum": "shared_load_requests",
    "smsp__inst_executed_op_shared_st.sum": "shared_store_requests",
}
METRICS = (*BY_LINE, *BY_KERNEL)
INSTRUCTIONS, LANES = "warp_instructions", "thread_instructions"


@dataclass(frozen=True)
class LineCounts:
    """One line of the file; 0 stands for what lies in no line of it. `counts` has what BY_LINE names, as compiled,
    and instructions as written: of warps and of threads.
    """

    line: int
    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True)
class KernelCounts:
    """All launches of one kernel: each of METRICS as written in PTX, as ptxas compiled it, and as Nsight Compute
    counted it on a GPU, where it did and as far as that GPU has them.
    """

    name: str
    launches: int
    written: Mapping[str, int]
    compiled: Mapping[str, int]
    measured: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Profiled:
    """A part's file in one case. `not_right` says what a check of the case finds, None if it is right. `measured_on` is
    the GPU that Nsight Compute counted on; where it did not, `not_measured` says why.
    """

    part: str
    label: str
    file: str
    params: Mapping[str, int | float]
    kernels: tuple[KernelCounts, ...]
    lines: tuple[LineCounts, ...]
    not_right: str | None = None
    measured_on: str | None = None
    not_measured: str | None = None

    def to_json(self) -> str:
        """One JSON object on one line, as docs/profiling.md describes it."""
        return dumps({"schema": SCHEMA, **{one.name: getattr(self, one.name) for one in dataclasses.fields(self)}})


def kernels_of(
    counters: Mapping[str, Any], measured: Mapping[str, Mapping[str, int]] | None
) -> tuple[KernelCounts, ...]:
    """Of what the software GPU counted; `measured` by mangled name."""
    return tuple(
        KernelCounts(
            name=kernel_name(mangled),
            launches=counts["launches"],
            written=_metrics(counts),
            compiled=_metrics(counts.get("compiled", {})),
            measured=measured.get(mangled) if measured is not None else None,
        )
        for mangled, counts in counters.get("kernels", {}).items()
    )


def lines_of(counters: Mapping[str, Any], source: str) -> tuple[LineCounts, ...]:
    """Every line that something was counted for, in order."""
    texts = source.split("\n")
    return tuple(_line(int(line), counts, texts) for line, counts in counters.get("lines", {}).items())


def _line(number: int, counts: Mapping[str, Any], texts: Sequence[str]) -> LineCounts:
    compiled = counts.get("compiled", {})
    found = {name: int(counts.get(name, 0)) for name in (INSTRUCTIONS, LANES)}
    found |= {name: int(compiled.get(name, 0)) for name in BY_LINE}
    return LineCounts(number, texts[number - 1] if 1 <= number <= len(texts) else "", found)


def _metrics(counts: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(counts.get(BY_KERNEL.get(name, name), 0)) for name in METRICS}
