"""The command `grader list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from grader.catalog import LocatedPuzzle, load_catalog
from grader.explain import sentence
from grader.progress import PartProgress, Progress
from grader.verdict import State

if TYPE_CHECKING:
    from rich.console import Console

_MARKS = {
    State.not_started: ("·", "dim"),
    State.wrong: ("✘", "red"),
    State.goal_open: ("○", "yellow"),
    State.passed: ("✔", "green"),
    State.unchecked: ("?", "yellow"),
}


def list_puzzles(
    puzzle: Annotated[str | None, typer.Argument(metavar="[PUZZLE]", help="Only this puzzle.")] = None,
) -> None:
    """Show puzzles, parts, and how far you are."""
    from rich.console import Console

    catalog = load_catalog()
    chosen = catalog.puzzles if puzzle is None else (catalog.resolve(puzzle)[0],)
    progress = Progress(catalog.root)
    console = Console(highlight=False)
    for located in chosen:
        _print_puzzle(console, located, progress)


def _print_puzzle(console: Console, puzzle: LocatedPuzzle, progress: Progress) -> None:
    from rich.text import Text

    noted = progress.parts(puzzle.name)
    core = [located for located in puzzle.parts if not located.part.extra]
    passed = sum(noted.get(located.part.name, PartProgress()).state is State.passed for located in core)
    facts = {"number": puzzle.number, "title": puzzle.puzzle.title, "passed": passed, "parts": len(core)}
    heading = sentence("states", "heading", facts=facts)
    console.print(Text(heading, style="bold"))
    width = max(len(located.part.name) for located in puzzle.parts)
    for located in puzzle.parts:
        state = noted.get(located.part.name, PartProgress()).state
        mark, style = _MARKS[state]
        row = Text("  ")
        row.append(mark, style=style)
        row.append(f" {located.label}{'+' if located.part.extra else ' '} {located.part.name:<{width}}  ")
        row.append(f"{sentence('states', state):<17}", style=style)
        row.append(located.part.lesson, style="dim")
        console.print(row, soft_wrap=True)
    console.print()
