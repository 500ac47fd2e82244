"""Whether a puzzle's chapter shows what it has to: of every part what is given, and the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from grader.catalog import Located, regions, shown_path

if TYPE_CHECKING:
    from grader.publish.asked import Asked
    from grader.publish.context import Book

_CHAPTER = re.compile(r"puzzle-(\d\d)")


def not_shown(book: Book, asked: Iterable[Asked]) -> Iterator[str]:
    """A sentence for each core part whose skeleton or solution its chapter leaves out."""
    for one in asked:
        for part in _parts(book, one.chapter):
            calls = {name for name, positional, named in one.calls if part.label in (*positional, *named.values())}
            for function in _wanted(part):
                if function not in calls:
                    file = shown_path(one.page.template)
                    yield f'{file}: part {part.label} is not shown by {function}("{part.label}").'


def _parts(book: Book, chapter: str) -> Iterator[Located]:
    number = _CHAPTER.fullmatch(chapter)
    if number is not None:
        puzzle, _ = book.catalog.resolve(str(int(number[1])))
        yield from (part for part in puzzle.parts if not part.part.extra)


def _wanted(part: Located) -> tuple[str, ...]:
    """A part in which nothing is to be written has no answer to show."""
    return ("skeleton", "solution") if regions(part.skeleton()) else ("skeleton",)
