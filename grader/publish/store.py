"""Stores what chapters want the grader to have said, and finds what was stored and is wanted no more."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.catalog import UsageError, load_catalog
from grader.publish.asked import Asked, asked_for
from grader.publish.context import Book
from grader.publish.requests import Request
from grader.publish.settings import Settings, book_of, read_settings
from grader.publish.stored import FOLDER, is_fresh, stored_path, written
from grader.publish.transcripts import answers

_JOBS = 2


def store(book: Book, requests: Iterable[Request], jobs: int = _JOBS) -> list[str]:
    """Asks the grader and writes what it says, telling of each as it comes. Returns what could not be asked."""
    wanted = list({request.name: request for request in requests}.values())
    done = itertools.count(1)

    def keep(request: Request, answer: str) -> None:
        path = stored_path(book, request)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(request, answer), encoding="utf-8")
        sys.stderr.write(f"{next(done)} of {len(wanted)}: {request.name}\n")

    return answers(wanted, book.catalog, jobs, keep)


def unwanted(book: Book, asked: Iterable[Asked]) -> list[Path]:
    """Stored files that no chapter asks for."""
    wanted = {stored_path(book, request) for one in asked for request in one.requests}
    return [path for path in sorted((book.folder / FOLDER).rglob("*.txt")) if path not in wanted]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command `python -m grader.publish.verdicts`."""
    parser = argparse.ArgumentParser(prog="python -m grader.publish.verdicts", description="Stores verdicts.")
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="as in puzzle-03; by default all")
    parser.add_argument("--all", action="store_true", help="also what is stored already; removes what is not wanted")
    parser.add_argument("--jobs", type=int, default=_JOBS, help="how many at a time")
    given = parser.parse_args(arguments)
    try:
        settings, book = _edition()
        chapters = given.chapters or [name for name in settings.chapters if settings.source(name).is_file()]
        asked = asked_for(book, settings, chapters)
        requests = [request for one in asked for request in one.requests if given.all or not is_fresh(book, request)]
        refused = store(book, requests, given.jobs)
        gone = unwanted(book, asked) if given.all and not given.chapters else []
        for path in gone:
            path.unlink()
    except UsageError as error:
        sys.exit(str(error))
    sys.stdout.write("".join(f"{path.relative_to(book.root)} is gone: nobody asks for it\n" for path in gone))
    if refused:
        sys.exit("\n".join(refused))


def _edition() -> tuple[Settings, Book]:
    catalog = load_catalog()
    settings = read_settings(catalog.root / "book" / "book.toml", catalog)
    return settings, book_of(settings, catalog, catalog.root / "build" / "book")
