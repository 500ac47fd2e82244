"""Traces of kernels for tests: all blocks of a launch, beside what the software GPU counts for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from grader.catalog import Located, load_catalog
from grader.cli.target import file_submission, solution_submission
from grader.inputs import memory_for
from grader.puzzle import Case
from grader.simt.software import SoftwareGPU
from grader.tools import default_tools
from grader.trace.accesses import Access, Trace
from grader.trace.record import Recorder
from tests.judging import ROOT

SEED = 7
CATALOG = load_catalog(ROOT)
UNITS = {"shared": "wavefronts", "global": "sectors"}


def part(label: str) -> Located:
    located = CATALOG.resolve(label, None)[1]
    assert located is not None
    return located


@cache
def recorder(label: str, wrong: str = "") -> Recorder:
    """Of a part's solution, or of one of its wrong kernels."""
    puzzle = CATALOG.resolve(label, None)[0]
    file = ROOT / "tests" / "wrong" / puzzle.name / f"{wrong}.cu"
    submission = file_submission(part(label), puzzle, str(file)) if wrong else solution_submission(part(label))
    tools, uses = default_tools(), submission.sources()
    return Recorder(part(label).part, tools.build(submission.source, uses), tools, SEED, submission.text(), uses)


@dataclass(frozen=True)
class Whole:
    """The traces of all blocks of a launch, and the software GPU's counters of the run, as ptxas compiled it."""

    traces: list[Trace]
    lines: Mapping[str, Mapping[str, Any]]

    @property
    def accesses(self) -> list[Access]:
        return [access for trace in self.traces for access in trace.accesses]

    def added_up(self) -> dict[int, Counter[str]]:
        """By line, what the accesses cost: under the names of the counters."""
        found: dict[int, Counter[str]] = {}
        for access in self.accesses:
            name = f"{access.space}_{access.kind}_{UNITS[access.space]}"
            found.setdefault(access.line, Counter()).update({name: access.cost, f"{name}_ideal": access.ideal})
        return found


def whole(recorder: Recorder, case: Case) -> Whole:
    """Every block of the first launch."""
    first = recorder.trace(case)
    x, y, z = first.grid
    blocks = [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
    traces = [recorder.trace(case, block) for block in blocks]
    plan = recorder.tools.record(recorder.built, recorder.part, case).plan
    roles = {buffer.name: buffer.role for buffer in recorder.part.buffers}
    result = SoftwareGPU(recorder.built).run(plan, memory_for(recorder.part, case, SEED), roles=roles, seed=SEED)
    return Whole(traces, {line: counts.get("compiled", {}) for line, counts in result.counters["lines"].items()})
