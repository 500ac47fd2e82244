"""Asking before something that cannot be taken back."""

from __future__ import annotations

import sys

import typer

from grader.catalog import UsageError


def confirmed(question: str, *, yes: bool) -> bool:
    """Whether to go on: `yes` skips the question; where nobody can answer, --yes is asked for."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Add --yes to say so here.")
    return typer.confirm(question, default=False)
