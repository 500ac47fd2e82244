"""The commands `grader book …`, for those who write and publish the book."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.catalog import load_catalog
from grader.cli.progress_line import progress_line

if TYPE_CHECKING:
    from grader.catalog import Catalog
    from grader.publish.settings import Settings

_FAILED = 1

book = typer.Typer(
    help="The book of the course: build it, look at it while you write.", no_args_is_help=True, rich_markup_mode=None
)

SettingsOption = Annotated[
    str | None, typer.Option("--settings", metavar="FILE", help="The edition; by default book/book.toml.")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="CHAPTER", help="This chapter and the front page alone; may be given again."),
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

    Exit code: 0 built; 1 built with warnings, which are errors; 2 bad usage, or a mistake in the settings or a chapter.
    """
    from grader.publish.site import build as build_site

    catalog = load_catalog()
    chosen = _settings(catalog, settings, only)
    folder = Path(out) if out is not None else catalog.root / "build" / "book"
    with progress_line() as tell:
        built = build_site(chosen, catalog, folder, _helps(), epub=epub and not only, tell=tell)
    for warning in (*built.warnings, *built.notes):
        typer.echo(warning, err=True)
    if built.warnings:
        raise typer.Exit(_FAILED)
    for path in (built.index, built.epub):
        if path is not None:
            typer.echo(path)


def _settings(catalog: Catalog, path: str | None, only: list[str] | None) -> Settings:
    from grader.publish.settings import choose, read_settings

    settings = read_settings(Path(path) if path is not None else catalog.root / "book" / "book.toml", catalog)
    return choose(settings, only) if only else settings


def _helps() -> Mapping[str, str]:
    from grader.cli import app
    from grader.cli.manual import help_texts

    return help_texts(app)
