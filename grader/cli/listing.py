"""The command `grader list`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from grader.catalog import LocatedPuzzle, load_catalog
from grader.explain import sentence
from grader.medals import MEDALS
from grader.progress import PartProgress, Progress
from grader.verdict import State

if TYPE_CHECKING:
    from rich.console import Console

    from grader.leaderboard.store import Leaderboard

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
    """Show puzzles, parts, how far you are, and your medals."""
    from rich.console import Console

    from grader.leaderboard.store import Leaderboard

    catalog = load_catalog()
    chosen = catalog.puzzles if puzzle is None else (catalog.resolve(puzzle)[0],)
    progress = Progress(catalog.root)
    console = Console(highlight=False)
    with Leaderboard(catalog.root) as board:
        for located in chosen:
            _print_puzzle(console, located, progress, _medals(located, board))


def _medals(puzzle: LocatedPuzzle, board: Leaderboard) -> dict[str, str]:
    """The learner's best medal of each part, for times of what is asked today, on any GPU."""
    from grader.identity import statement_hash

    own = [kept.entry for kept in board.entries(puzzle.name) if kept.own]
    best: dict[str, str] = {}
    for located in puzzle.parts if own else ():
        statement = statement_hash(located)
        today = [entry for entry in own if entry.part == located.part.name and entry.hashes["statement"] == statement]
        won = {entry.timing.medal for entry in today}
        medal = next((medal for medal in MEDALS if medal in won), None)
        if medal is not None:
            best[located.part.name] = medal
    return best


def _print_puzzle(console: Console, puzzle: LocatedPuzzle, progress: Progress, medals: Mapping[str, str]) -> None:
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
        medal = medals.get(located.part.name) if state is State.passed else None
        row.append(f"{' · '.join(filter(None, [sentence('states', state), medal])):<17}", style=style)
        row.append(located.part.lesson, style="dim")
        console.print(row, soft_wrap=True)
    console.print()
