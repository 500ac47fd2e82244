"""The command `grader reset`."""

from __future__ import annotations

from pathlib import Path

import typer

from grader.catalog import Located, UsageError, load_catalog, shown_path
from grader.cli.confirm import confirmed
from grader.cli.options import PartOption, PuzzleArgument, YesOption
from grader.progress import Progress


def reset(puzzle: PuzzleArgument, part: PartOption = None, yes: YesOption = False) -> None:
    """Bring the skeleton back; your file is kept.

    For a puzzle, those of all its parts. What you had is kept beside it, under another name.
    """
    catalog = load_catalog()
    located_puzzle, located = catalog.resolve(puzzle, part)
    chosen = [located] if located is not None else list(located_puzzle.parts)
    changed = [one for one in chosen if _content(one.path) != one.skeleton()]
    if not changed:
        typer.echo("Nothing to do: the skeleton is as it was handed out.")
        return
    names = ", ".join(shown_path(one.path) for one in changed)
    if not confirmed(f"Put the skeleton back in the place of {names}? A copy is kept.", yes=yes):
        raise typer.Exit(1)
    progress = Progress(catalog.root)
    for one in changed:
        backup = _put_back(one)
        progress.forget(located_puzzle.name, one.part.name)
        kept = f"; what you had is in {shown_path(backup)}" if backup is not None else ""
        typer.echo(f"{shown_path(one.path)} is the skeleton again{kept}.")


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None


def _put_back(located: Located) -> Path | None:
    """Returns where the learner's file went, None where there was none."""
    backup, skeleton = None, located.skeleton()
    try:
        if located.path.exists():
            backup = _free_name(located.path)
            located.path.rename(backup)
        located.path.write_text(skeleton, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{shown_path(located.path)} cannot be written: {error.strerror or error}.") from None
    return backup


def _free_name(path: Path) -> Path:
    number = 1
    while (backup := path.with_name(f"{path.name}.{number}.bak")).exists():
        number += 1
    return backup
