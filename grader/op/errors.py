"""What calling an entry may raise; each message is one sentence or two for whoever called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.verdict import Finding


class EntryMisused(ValueError):
    """The arguments are not what the entry takes; nothing was called."""


class NoBackEnd(RuntimeError):
    """There is nothing here that could run the entry on these tensors."""


class EntryFailed(RuntimeError):
    """The entry returned an error, or the software GPU found a fault.

    `error` is CUDA's name of what was returned, "cudaSuccess" where that was none; `findings` are those of the software
    GPU, as `grader check` would report them.
    """

    def __init__(self, message: str, error: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.error = error
        self.findings = tuple(findings)
