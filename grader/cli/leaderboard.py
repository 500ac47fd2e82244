"""The command `grader leaderboard`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.catalog import Catalog, Located, UsageError, load_catalog
from grader.cli.confirm import confirmed
from grader.cli.options import YesOption
from grader.cli.progress_line import progress_line
from grader.cli.target import write_text
from grader.explain import sentence

if TYPE_CHECKING:
    from grader.leaderboard.store import Leaderboard

NOT_TAKEN = 1


def leaderboard(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PUZZLE[.PART] | export FILE | import FILE...]", help="1.2; nothing for all parts."),
    ] = None,
    html: Annotated[str | None, typer.Option(metavar="DIR", help="Write web pages there.")] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help='Your name on the board; "" for a pseudonym again.')
    ] = None,
    no_source: Annotated[bool, typer.Option("--no-source", help="Export without your sources.")] = False,
    yes: YesOption = False,
) -> None:
    """Show who is how fast, on which GPU.

    `export FILE` writes all results as JSON, `import FILE` takes in those that fit this course, and says why it does
    not take the others; then the exit code is 1.
    """
    from grader.leaderboard.store import Leaderboard

    words = what or []
    _refuse_idle(words, html=html, no_source=no_source)
    catalog = load_catalog()
    with Leaderboard(catalog.root) as board:
        if name is not None:
            _choose_name(board, name)
        match words:
            case ["export", file]:
                _export(board, file, sources=not no_source, yes=yes)
            case ["import", *files] if files:
                _import(board, catalog, files)
            case ["export" | "import", *_]:
                raise UsageError(f"Name the file: `grader leaderboard {words[0]} results.json`.")
            case [_, _, *_]:
                raise UsageError(f"Name one puzzle or part; {words[1]!r} is one word too many.")
            case _:
                _show(board, catalog, words[0] if words else None, html, quiet=name is not None)


def _refuse_idle(words: Sequence[str], *, html: str | None, no_source: bool) -> None:
    """Refuses an option that would do nothing."""
    if html is not None and words[:1] in (["export"], ["import"]):
        raise UsageError(f"--html writes pages and {words[0]} a file or the board; give one after the other.")
    if no_source and words[:1] != ["export"]:
        raise UsageError("--no-source is for `grader leaderboard export FILE`.")


def _choose_name(board: Leaderboard, name: str) -> None:
    from grader.leaderboard.names import why_no_name

    if name and (why := why_no_name(name)):
        raise UsageError(f"The name {why}; give another, or none: --name ''.")
    try:
        board.choose_name(name or None)
    except sqlite3.Error as error:
        raise UsageError(f"Your name cannot be kept: {error}.") from None
    typer.echo(_say("named", name=board.player.name))


# ---- showing ----


def _show(board: Leaderboard, catalog: Catalog, text: str | None, html: str | None, *, quiet: bool) -> None:
    chosen = _chosen(catalog, text)
    if html is not None:
        _write_pages(board, chosen, html)
        return
    from rich.console import Console

    from grader.identity import statement_hash
    from grader.leaderboard.boards import known_parts
    from grader.leaderboard.ranking import part_boards
    from grader.leaderboard.table import print_overview, print_part

    console = Console(highlight=False)
    if len(chosen) == 1:
        located = chosen[0]
        results = board.entries(located.puzzle.name, located.part.name)
        print_part(console, located, part_boards(results, statement_hash(located)))
    elif known := list(known_parts(board.entries(), chosen)):
        print_overview(console, known)
    elif not quiet:
        typer.echo(_say("empty"))


def _chosen(catalog: Catalog, text: str | None) -> Sequence[Located]:
    """The part, those of the puzzle, or all."""
    if text is None:
        return [located for puzzle in catalog.puzzles for located in puzzle.parts]
    puzzle, located = catalog.resolve(text)
    return puzzle.parts if located is None else [located]


def _write_pages(board: Leaderboard, chosen: Sequence[Located], folder: str) -> None:
    from grader.leaderboard.boards import known_parts
    from grader.leaderboard.pages import write_pages

    try:
        index = write_pages(Path(folder), list(known_parts(board.entries(), chosen)))
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}.") from None
    typer.echo(_say("pages", path=index))


# ---- exchange ----


def _export(board: Leaderboard, file: str, *, sources: bool, yes: bool) -> None:
    from grader.leaderboard.entry import results_text

    path = Path(file)
    if path.is_dir():
        raise UsageError(f"{file} is a folder; name the file to write.")
    if path.exists() and not confirmed(f"{file} is there already. Write over it?", yes=yes):
        raise typer.Exit(1)
    results = board.entries()
    entries = [kept.entry if kept.own and sources else kept.entry.without_texts() for kept in results]
    write_text(path, results_text(entries))
    typer.echo(_say("exported", count=len(entries), file=file))
    if any(entry.source for entry in entries):
        typer.echo(_say("exported_sources"))


def _import(board: Leaderboard, catalog: Catalog, files: Sequence[str]) -> None:
    from grader.leaderboard.admission import admitted
    from grader.leaderboard.boards import results_in

    if board.path is None:
        raise UsageError("Results cannot be kept here; set GRADER_DATA to a folder of your own.")
    refused = False
    for file, results in [(file, results_in(file)) for file in files]:
        with progress_line() as tell:
            taken, reasons = admitted(results, catalog, tell)
        try:
            new = board.keep(taken)
        except sqlite3.Error as error:
            raise UsageError(f"Results cannot be kept: {error}.") from None
        for reason in reasons:
            typer.echo(_say("refused", file=file, number=reason.number, who=reason.who, why=reason.why), err=True)
        typer.echo(_say("taken", file=file, new=new, known=len(taken) - new))
        refused |= bool(reasons)
    raise typer.Exit(NOT_TAKEN if refused else 0)


def _say(key: str, **facts: object) -> str:
    return sentence("leaderboard", key, facts=facts)
