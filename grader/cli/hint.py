"""The command `grader hint`."""

from __future__ import annotations

import typer

from grader.catalog import Catalog, Located, UsageError, load_catalog
from grader.cli.options import PartOption, PuzzleArgument
from grader.hints import Hint, next_hint, read_hints
from grader.progress import Progress
from grader.verdict import State


def hint(puzzle: PuzzleArgument, part: PartOption = None) -> None:
    """Show the next hint.

    It is chosen by what the last check found, where a hint answers that.
    """
    catalog = load_catalog()
    progress = Progress(catalog.root)
    located = _part_at_hand(catalog, progress, puzzle, part)
    hints = read_hints(located.hints_path, located.path.stem)
    if not hints:
        raise UsageError(f"Part {located.label} has no hints; `grader explain KIND` explains a finding.")
    noted = progress.part(located.puzzle.name, located.part.name)
    chosen = next_hint(hints, noted.hints, noted.last_finding)
    if chosen is None:
        typer.echo(f"You have seen all {len(hints)} hints of {located.label}; here they are again.\n")
        for each in hints:
            _show(each)
        typer.echo(f"The whole answer: grader solution {located.label}")
        return
    progress.note_hint(located.puzzle.name, located.part.name, chosen.number)
    seen = len({*noted.hints, chosen.number})
    out_of_turn = any(each.number < chosen.number and each.number not in noted.hints for each in hints)
    why = ": this one fits your last verdict" if out_of_turn else ""
    typer.echo(f"{located.label} {located.part.name} · hint {chosen.number}, {seen} of {len(hints)} seen{why}\n")
    _show(chosen)


def _part_at_hand(catalog: Catalog, progress: Progress, puzzle: str, part: str | None) -> Located:
    """The part that was named, else the first of the puzzle that is not passed."""
    located_puzzle, located = catalog.resolve(puzzle, part)
    if located is not None:
        return located
    noted = progress.parts(located_puzzle.name)
    passed = {name for name, progress_of_part in noted.items() if progress_of_part.state is State.passed}
    return next((one for one in located_puzzle.parts if one.part.name not in passed), located_puzzle.parts[0])


def _show(one: Hint) -> None:
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.padding import Padding

    Console(highlight=False).print(Padding(Markdown(one.text), (0, 2, 1, 2)))
