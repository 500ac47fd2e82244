"""The types of the fixtures in `conftest.py`, and where the course lies."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from grader.catalog import Located
from grader.puzzle import Case
from grader.verdict import PartVerdict

ROOT = Path(__file__).resolve().parents[1]


class Judge(Protocol):
    """Judges `source` as a part; `cases` replace the part's own, as (group, case)."""

    def __call__(
        self, part: Located, source: Path, *, cases: Sequence[tuple[str, Case]] | None = None
    ) -> PartVerdict: ...


class CommandLine(Protocol):
    """Runs `grader` as a learner does, in `cwd`, with `environment` added to the tests' own."""

    def __call__(self, *arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]: ...


def shown(verdict: PartVerdict) -> str:
    """What to print when a verdict is not the expected one."""
    found = [f"{finding.kind} at line {finding.line}: {finding.message}" for finding in verdict.findings]
    return "\n".join([f"{verdict.part}: {verdict.state}, {verdict.reason or 'judged'}", *found])
