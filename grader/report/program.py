"""What a run of a program showed, as a user reads it in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from grader.explain import sentence
from grader.report.terminal import WIDEST, labelled, print_findings, put_line
from grader.verdict import Finding


def print_program(console: Console, name: str, source: str, findings: Sequence[Finding], exit_code: int) -> None:
    """Heading, findings with their lines, and how it ended; `exit_code` is the program's own."""
    width = min(console.width, WIDEST)
    console.print()
    put_line(console, Text(sentence("program", "heading", facts={"name": name}), style="bold"))
    print_findings(console, findings, source, width)
    console.print()
    count = len(findings)
    outcome = sentence("program", "outcome_one" if count == 1 else "outcome", facts={"count": count})
    own = sentence("program", "exit_own", facts={"code": exit_code})
    put_line(console, Text("  ").append(outcome, style="bold red").append(f" · {own}", style="dim"))
    explained = sentence("verdict", "next_explain", facts={"kind": findings[0].kind})
    labelled(console, sentence("verdict", "next"), explained, width, style="cyan")
    console.print()
