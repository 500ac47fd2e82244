"""Whether what a book shows is so: regions, verdicts, commands, spelling. Links are Sphinx's to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from grader.catalog import shown_path
from grader.publish import asked as asking
from grader.publish import console, coverage, spelling
from grader.publish.store import unwanted
from grader.publish.stored import is_fresh, stored_answer, stored_path
from grader.publish.transcripts import answers

if TYPE_CHECKING:
    from grader.publish.asked import Asked
    from grader.publish.context import Book
    from grader.publish.requests import Request
    from grader.publish.settings import Settings

_JOBS = 2


def check(book: Book, settings: Settings, tell: Callable[[str], None]) -> list[str]:
    """A sentence for each thing that is not so in the edition's chapters; raises BookError where one is not rendered.

    It takes minutes: every verdict is given again. `tell` hears what is being looked at.
    """
    asked = asking.asked_for(book, settings, settings.chapters)
    found = [*coverage.not_shown(book, asked), *spelling.misspelt(book, asked, whole=settings.is_whole)]
    if settings.is_whole:
        found += [f"{shown_path(path)} is stored, and no chapter asks for it." for path in unwanted(book, asked)]
    tell("commands")
    found += console.failing(console.commands(asked), book.catalog)
    return found + list(differing(book, requests_of(asked), tell))


def requests_of(asked: Iterable[Asked]) -> list[Request]:
    """Each request once."""
    return list({request.name: request for one in asked for request in one.requests}.values())


def differing(book: Book, requests: Sequence[Request], tell: Callable[[str], None], jobs: int = _JOBS) -> Iterator[str]:
    """A sentence for each stored answer that is not what the grader says now."""
    stale = [request for request in requests if not is_fresh(book, request)]
    for request in stale:
        yield f"{_file(book, request)} is missing, or was made of files that have changed."
    differ: list[str] = []

    def keep(request: Request, answer: str) -> None:
        tell(request.name)
        if answer != stored_answer(book, request):
            differ.append(f"{_file(book, request)}: `{request.command}` says something else now.")

    yield from answers([request for request in requests if request not in stale], book.catalog, jobs, keep)
    yield from sorted(differ)


def _file(book: Book, request: Request) -> str:
    return shown_path(stored_path(book, request))
