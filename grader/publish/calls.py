"""All that a chapter can call, under one roof; a mistake is told with what was asked for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from grader.catalog import UsageError
from grader.publish import charts, counts, figures, numbers, regions, verdicts
from grader.publish.context import BookError

if TYPE_CHECKING:
    from grader.publish.context import Book

Functions = dict[str, Callable[..., object]]
_LONGEST = 40


def functions(book: Book, chapter: str) -> Functions:
    """What the chapter of this name ("puzzle-03") can call, by name. Each raises BookError with one sentence."""
    found: Functions = {
        **regions.functions(book),
        **numbers.functions(book),
        **charts.functions(book, chapter),
        **figures.functions(book),
        **verdicts.functions(book),
        **counts.functions(book),
    }
    return telling(found)


def filters() -> Functions:
    """What can stand behind a value and a bar."""
    return telling(numbers.filters())


def telling(functions: Mapping[str, Callable[..., object]]) -> Functions:
    """The same functions, whose errors are BookErrors that begin with the call."""
    return {name: _telling(name, function) for name, function in functions.items()}


def told(name: str, positional: tuple[object, ...], named: Mapping[str, object]) -> str:
    """A call as it is written in a chapter; long texts are cut."""
    words = [_short(value) for value in positional]
    words += [f"{key}={_short(value)}" for key, value in named.items() if key != "caller"]
    return f"{name}({', '.join(words)})"


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…{shown[-1]}"


def _telling(name: str, function: Callable[..., object]) -> Callable[..., object]:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def called(*positional: object, **named: object) -> object:
        try:
            signature.bind(*positional, **named)
        except TypeError as error:
            raise BookError(f"{told(name, positional, named)}: {error}; it is {name}{signature}.") from None
        try:
            return function(*positional, **named)
        except UsageError as error:
            raise BookError(f"{told(name, positional, named)}: {error}") from error

    return called
