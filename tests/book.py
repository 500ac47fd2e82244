"""A book for tests: the course's own puzzles and phrases, and chapters that a test writes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from grader.catalog import load_catalog
from grader.publish.asked import Asked, asked_for
from grader.publish.context import Book
from grader.publish.settings import Settings, read_settings
from tests.judging import ROOT

PHRASES = ROOT / "book" / "en" / "phrases.toml"


def edition(folder: Path | None = None, build: Path = ROOT / "build" / "book") -> Book:
    """The course's edition, or one of its own in `folder`."""
    phrases = tomllib.loads(PHRASES.read_text(encoding="utf-8"))
    return Book(ROOT, folder or ROOT / "book", "en", load_catalog(ROOT), phrases, build)


def settings_of(book: Book, chapters: Mapping[str, str]) -> Settings:
    """Writes these chapters into the book's folder, and what lists them."""
    (book.folder / "en" / "chapters").mkdir(parents=True)
    for name, text in chapters.items():
        (book.folder / "en" / "chapters" / f"{name}.md.j2").write_text(text, encoding="utf-8")
    names = ", ".join(f'"{name}"' for name in chapters)
    path = book.folder / "book.toml"
    path.write_text(
        f'title = "t"\nauthor = "a"\nlanguage = "en"\n[[parts]]\ntitle = "p"\nchapters = [{names}]\n', encoding="utf-8"
    )
    return read_settings(path, book.catalog)


def asked_in(folder: Path, chapters: Mapping[str, str]) -> tuple[Book, list[Asked]]:
    """What these chapters ask for, in a book of their own."""
    book = edition(folder)
    return book, asked_for(book, settings_of(book, chapters), list(chapters))
