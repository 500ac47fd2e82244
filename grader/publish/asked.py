"""What chapters ask for, found by rendering them with functions that note each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.publish import calls, counts, frame, verdicts
from grader.publish.chapters import Page, render

if TYPE_CHECKING:
    from grader.publish.context import Book
    from grader.publish.requests import Request
    from grader.publish.settings import Settings

_SLOW = ("drawing", "trace", "trace_page")  # what they draw asks for nothing


@dataclass
class Asked:
    """The calls of a chapter as (function, positional, named), its requests for verdicts, and its page as rendered."""

    chapter: str
    page: Page = field(init=False)
    calls: list[tuple[str, tuple[object, ...], dict[str, object]]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)


def asked_for(book: Book, settings: Settings, chapters: Sequence[str]) -> list[Asked]:
    """What each chapter asks for; verdicts are empty in its text. Raises BookError for a mistake in a chapter."""
    return [_asked(book, settings, chapter) for chapter in chapters]


def _asked(book: Book, settings: Settings, chapter: str) -> Asked:
    asked = Asked(chapter)

    def note_request(request: Request) -> str:
        asked.requests.append(request)
        return ""

    given = {**calls.functions(book, chapter), **calls.telling(verdicts.functions(book, note_request))}
    given |= calls.telling(counts.functions(book, note_request))
    given |= {name: lambda *_positional, **_named: "" for name in _SLOW}
    noting = {name: _noting(asked, name, function) for name, function in given.items()}
    around = {**frame.functions(settings, book, ()), "help": _no_help}
    asked.page = render(settings.source(chapter), {**noting, **around}, calls.filters())
    return asked


def _no_help(_command: str) -> str:
    """What a command prints with --help is generated, and nobody has to look for it."""
    return ""


def _noting(asked: Asked, name: str, function: Callable[..., object]) -> Callable[..., object]:
    def called(*positional: object, **named: object) -> object:
        asked.calls.append((name, positional, named))
        return function(*positional, **named)

    return called
