"""The command `grader solution`."""

from __future__ import annotations

import sys

import typer

from grader.catalog import UsageError, load_catalog
from grader.cli.confirm import confirmed
from grader.cli.options import PartOption, PuzzleArgument, YesOption
from grader.cli.target import solution_submission
from grader.progress import Progress
from grader.verdict import State


def solution(puzzle: PuzzleArgument, part: PartOption = None, yes: YesOption = False) -> None:
    """Show the reference solution of a part.

    Asks first while you have not passed the part.
    """
    catalog = load_catalog()
    located_puzzle, located = catalog.resolve(puzzle, part)
    if located is None:
        names = ", ".join(one.label for one in located_puzzle.parts)
        raise UsageError(f"Which part of puzzle {located_puzzle.number}? It has {names}.")
    submission = solution_submission(located)
    state = Progress(catalog.root).part(located_puzzle.name, located.part.name).state
    if state is not State.passed and not confirmed(
        f"You have not passed {located.label} yet. Show its solution?", yes=yes
    ):
        raise typer.Exit(1)
    text = submission.source.read_text(encoding="utf-8")
    if not sys.stdout.isatty():
        typer.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(
        Syntax(text, submission.source.suffix.replace(".cu", "cuda").lstrip("."), background_color="default")
    )
