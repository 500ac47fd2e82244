"""The stored answers to requests: `book/verdicts`, one file each, whose first line is the request's key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.catalog import UsageError

if TYPE_CHECKING:
    from grader.publish.context import Book
    from grader.publish.requests import Request

FOLDER = "verdicts"  # in the book's


def stored_path(book: Book, request: Request) -> Path:
    """Where the answer lies."""
    return book.folder / FOLDER / request.name


def written(request: Request, answer: str) -> str:
    """The text of a stored file: the key, and the answer below it."""
    return f"{request.key()}\n{answer}"


def is_fresh(book: Book, request: Request) -> bool:
    """Whether an answer is stored, and was made of what is there now."""
    path = stored_path(book, request)
    return path.is_file() and path.read_text(encoding="utf-8").partition("\n")[0] == request.key()


def stored_answer(book: Book, request: Request) -> str:
    """Raises `UsageError` where the answer is missing, or was made of files that have changed."""
    if not is_fresh(book, request):
        raise UsageError(
            f"what `{request.command}` says of {Path(request.name).stem} is not stored, or was made of other files; "
            "`python -m grader.publish.verdicts` with the chapter's name stores it."
        )
    return stored_path(book, request).read_text(encoding="utf-8").partition("\n")[2]
