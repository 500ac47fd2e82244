"""The commands `grader book …`, for those who write and publish the book."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.catalog import Catalog, UsageError, load_catalog
from grader.cli.progress_line import progress_line
from grader.explain import sentence
from grader.facts import as_sentence

if TYPE_CHECKING:
    from grader.publish.settings import Settings

_FAILED = 1
_PORT = 8000

book = typer.Typer(
    help="The book of the course: build it, serve it while you write, check it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

SettingsOption = Annotated[
    str | None, typer.Option("--settings", metavar="FILE", help="The edition; by default book/book.toml.")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="CHAPTER", help="This chapter, and the pages around; may be given again."),
]
OutOption = Annotated[str | None, typer.Option("--out", metavar="DIR", help="By default build/book.")]


@book.command("build")
def build(
    out: OutOption = None,
    epub: Annotated[bool, typer.Option("--epub/--no-epub", help="An EPUB besides the site.")] = True,
    settings: SettingsOption = None,
    only: OnlyOption = None,
) -> None:
    """Build the book: a site in DIR/html, which needs no server, and an EPUB in DIR/epub.

    With --only there is no EPUB, and links to other chapters are words alone. Exit code: 0 built; 1 there were
    warnings, which are errors; 2 bad usage, or a mistake in the settings or in a chapter.
    """
    catalog = load_catalog()
    if not _build(catalog, _folder(catalog, out), settings, only, epub=epub and not only):
        raise typer.Exit(_FAILED)


@book.command("serve")
def serve(
    out: OutOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 for a free one.")] = _PORT,
    settings: SettingsOption = None,
    only: OnlyOption = None,
) -> None:
    """Build the site, serve it to this machine, and build it again whenever a file changes.

    Ctrl-C ends it.
    """
    from grader.publish.serve import rebuild_on_change, served

    catalog = load_catalog()
    folder = _folder(catalog, out)

    def again() -> None:
        try:
            _build(load_catalog(), folder, settings, only, epub=False)
        except UsageError as error:
            typer.echo(f"grader: {error}", err=True)

    with ExitStack() as stack:
        try:
            address = stack.enter_context(served(folder / "html", port))
        except OSError as error:
            raise UsageError(f"Port {port} cannot be had: {error.strerror}; --port 0 takes a free one.") from None
        again()
        typer.echo(_say("served", address=address))
        rebuild_on_change([path for path in _sources(catalog, settings) if path.exists()], folder, again)


@book.command("check")
def check(
    settings: SettingsOption = None,
    only: OnlyOption = None,
) -> None:
    """Look whether what the chapters show is so: regions, commands, spelling, and every verdict, given again.

    It takes minutes; links are looked at by `build`. Exit code: 0 all is so; 1 not; 2 bad usage, or a chapter that
    cannot be rendered.
    """
    from grader.publish.book_check import check as check_book
    from grader.publish.settings import book_of

    catalog = load_catalog()
    chosen = _chosen(catalog, settings, only)
    with progress_line() as tell:
        faults = check_book(book_of(chosen, catalog, _folder(catalog, None), _helps()), chosen, tell)
    for fault in faults:
        typer.echo(fault, err=True)
    if faults:
        raise typer.Exit(_FAILED)
    typer.echo(_say("checked", count=len(chosen.chapters)))


def _build(catalog: Catalog, folder: Path, path: str | None, only: list[str] | None, *, epub: bool) -> bool:
    """Builds once and tells how it went; whether there was no warning."""
    from grader.cache import ToolMissing
    from grader.publish.site import build as build_site

    chosen = _chosen(catalog, path, only)
    try:
        with progress_line() as tell:
            built = build_site(chosen, catalog, folder, _helps(), epub=epub, tell=tell)
    except ToolMissing as missing:
        raise UsageError(as_sentence(str(missing))) from None
    except OSError as error:
        raise UsageError(f"The book cannot be written: {error}; --out DIR chooses another folder.") from None
    for line in (*built.warnings, *built.notes):
        typer.echo(line, err=True)
    if built.warnings:
        count = len(built.warnings)
        typer.echo(_say("failed_one" if count == 1 else "failed_many", count=count), err=True)
        return False
    for made in (built.index, built.epub):
        if made is not None:
            typer.echo(_say("built", path=made))
    return True


def _chosen(catalog: Catalog, path: str | None, only: list[str] | None) -> Settings:
    """The edition, or an excerpt of it."""
    from grader.publish.settings import choose, read_settings

    settings = read_settings(_settings_path(catalog, path), catalog)
    return choose(settings, only) if only else settings


def _folder(catalog: Catalog, out: str | None) -> Path:
    return Path(out) if out is not None else catalog.root / "build" / "book"


def _settings_path(catalog: Catalog, path: str | None) -> Path:
    return Path(path) if path is not None else catalog.root / "book" / "book.toml"


def _sources(catalog: Catalog, settings: str | None) -> list[Path]:
    """What a page can come from."""
    root = catalog.root
    return [_settings_path(catalog, settings).parent, *(root / name for name in ("puzzles", "solutions", "results"))]


def _helps() -> Mapping[str, str]:
    from grader.cli import app
    from grader.cli.manual import help_texts

    return help_texts(app)


def _say(key: str, **facts: object) -> str:
    return sentence("book", key, facts=facts)
