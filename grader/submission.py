"""What is to be judged, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.catalog import Located, UsageError, emptied, is_untouched
from grader.puzzle import Case

SECONDS = 2.0  # that a learner waits for the smallest case that fails


@dataclass(frozen=True)
class Submission:
    """A file to be judged as a part; `shown` is how the learner knows it, `is_solution` whether it is the reference."""

    located: Located
    source: Path
    shown: str
    is_solution: bool = False

    def text(self) -> str:
        """What stands in the file; bytes that are no UTF-8 are replaced."""
        return self.source.read_text(encoding="utf-8", errors="replace")

    def is_untouched(self) -> bool:
        """Whether it is the skeleton still, comments apart."""
        text = self.text()
        if not is_untouched(text):
            return False
        try:
            return emptied(text) == self.located.skeleton()
        except UsageError:
            return True


@dataclass(frozen=True)
class Options:
    """How to judge: `cases`, as (group, case), replaces the part's own; `everything` goes on after a failed case; for
    up to `shrink` seconds the smallest case that fails is looked for, unless cases are given.
    """

    seed: int
    device: str = "auto"
    everything: bool = False
    cases: Sequence[tuple[str, Case]] | None = None
    shrink: float = SECONDS
