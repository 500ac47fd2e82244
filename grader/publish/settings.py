"""The settings of an edition, `book/book.toml`: its title, its chapters in parts, its puzzles; and its phrases."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from grader.catalog import Catalog, shown_path
from grader.publish.chapters import text_of
from grader.publish.context import Book, BookError

_KEYS = frozenset({"title", "author", "language", "puzzles", "leaderboard", "parts"})
_SUFFIX = ".md.j2"  # of a chapter's file
_PART_KEYS = frozenset({"title", "chapters"})


@dataclass(frozen=True)
class PartOfBook:
    """A part: the heading that the contents show, and the names of its chapters."""

    title: str
    chapters: tuple[str, ...]


@dataclass(frozen=True)
class Settings:
    """An edition: `puzzles` are numbers, `leaderboard` are files of results; an excerpt has a few of its chapters."""

    path: Path
    title: str
    author: str
    language: str
    parts: tuple[PartOfBook, ...]
    puzzles: tuple[int, ...]
    leaderboard: tuple[Path, ...]
    is_excerpt: bool = False

    @property
    def folder(self) -> Path:
        """The book's folder."""
        return self.path.parent

    @property
    def texts(self) -> Path:
        """The folder of this edition's language."""
        return self.folder / self.language

    @property
    def chapters(self) -> tuple[str, ...]:
        """All chapters in their order."""
        return tuple(name for part in self.parts for name in part.chapters)

    @property
    def is_whole(self) -> bool:
        """Whether it has each chapter that there is in any language: what it does not ask for, then nobody does."""
        return {_name(path) for path in self.folder.glob(f"*/chapters/*{_SUFFIX}")} <= set(self.chapters)

    def source(self, chapter: str) -> Path:
        """The file of a chapter."""
        return self.texts / "chapters" / f"{chapter}{_SUFFIX}"

    def known_chapters(self) -> list[str]:
        """The chapters that there are in this language, chosen or not."""
        return sorted(_name(path) for path in (self.texts / "chapters").glob(f"*{_SUFFIX}"))


def _name(chapter: Path) -> str:
    return chapter.name.removesuffix(_SUFFIX)


def read_settings(path: Path, catalog: Catalog) -> Settings:
    """Reads a settings' file; raises BookError with one sentence for whatever does not fit."""
    table = _toml(path)
    reader = _Reader(path, table)
    reader.refuse_others(table, _KEYS)
    settings = Settings(
        path=path.resolve(),
        title=reader.words(table, "title"),
        author=reader.words(table, "author"),
        language=reader.words(table, "language"),
        parts=tuple(reader.parts()),
        puzzles=tuple(reader.puzzles([puzzle.number for puzzle in catalog.puzzles])),
        leaderboard=tuple(path.resolve().parent / name for name in reader.names(table, "leaderboard")),
    )
    return _without_other_puzzles(settings, catalog)


def book_of(settings: Settings, catalog: Catalog, build: Path, helps: Mapping[str, str] | None = None) -> Book:
    """What the functions of chapters are given of an edition that is built into the folder `build`."""
    return Book(catalog.root, settings.folder, settings.language, catalog, _phrases(settings), build, helps or {})


def _phrases(settings: Settings) -> Mapping[str, str]:
    """One that is missing is told of when it is asked for."""
    path = settings.texts / "phrases.toml"
    phrases = _Phrases(path)
    for key, value in (_toml(path) if path.is_file() else {}).items():
        if not isinstance(value, str):
            raise BookError(f"{shown_path(path)}: {key} should be words in quotes.")
        phrases[key] = value
    return phrases


class _Phrases(dict[str, str]):
    """Phrases by their keys, of which a file may lack some."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def __missing__(self, key: str) -> NoReturn:
        raise BookError(f"{shown_path(self._path)} lacks the phrase {key!r}; the course's book/en/phrases.toml has it.")


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text_of(path))
    except tomllib.TOMLDecodeError as error:
        raise BookError(f"{shown_path(path)} is no TOML: {error}.") from None


def choose(settings: Settings, names: Sequence[str]) -> Settings:
    """The edition with these chapters alone."""
    for name in names:
        _refuse_unknown(name, settings.chapters, f"{settings.path.name} lists no chapter")
    parts = (PartOfBook(part.title, tuple(one for one in part.chapters if one in names)) for part in settings.parts)
    return replace(settings, parts=tuple(part for part in parts if part.chapters), is_excerpt=True)


def refuse_missing(settings: Settings) -> None:
    """Raises BookError for a chapter, a page or a file of results that the settings name and nobody wrote."""
    if not settings.texts.is_dir():
        raise BookError(f"{settings.path}: there is no edition in {settings.language!r}, no folder {settings.texts}.")
    for name in settings.chapters:
        _refuse_unknown(name, settings.known_chapters(), f"{settings.path}: there is no chapter")
    for file in settings.leaderboard:
        if not file.is_file():
            raise BookError(f"{settings.path}: there is no file of results {file}.")


def _refuse_unknown(name: str, known: Collection[str], words: str) -> None:
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {_listed(known)}."
        raise BookError(f"{words} {name!r}; {hint}")


def _listed(names: Collection[str]) -> str:
    return ", ".join(names) or "none"


def _without_other_puzzles(settings: Settings, catalog: Catalog) -> Settings:
    """Chapters of puzzles that the course leaves out are left out."""
    others = {f"puzzle-{one.number:02}" for one in catalog.puzzles if one.number not in settings.puzzles}
    parts = (
        PartOfBook(part.title, tuple(name for name in part.chapters if name not in others)) for part in settings.parts
    )
    return replace(settings, parts=tuple(part for part in parts if part.chapters))


@dataclass(frozen=True)
class _Reader:
    """Takes values out of the table, each of its kind."""

    path: Path
    table: Mapping[str, Any]

    def words(self, table: Mapping[str, Any], key: str) -> str:
        value = table.get(key)
        if not isinstance(value, str) or not value.strip():
            raise BookError(f"{self.path}: {key} should be words in quotes.")
        return value

    def names(self, table: Mapping[str, Any], key: str) -> list[str]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise BookError(f"{self.path}: {key} should be a list of names in quotes.")
        return value

    def puzzles(self, known: Sequence[int]) -> Iterator[int]:
        value = self.table.get("puzzles", list(known))
        if not isinstance(value, list):
            raise BookError(f"{self.path}: puzzles should be a list of numbers.")
        for number in value:
            if number not in known:
                raise BookError(f"{self.path}: there is no puzzle {number!r}; there are {_listed([*map(str, known)])}.")
            yield number

    def parts(self) -> Iterator[PartOfBook]:
        tables = self.table.get("parts")
        if not isinstance(tables, list) or not tables or not all(isinstance(part, dict) for part in tables):
            raise BookError(f"{self.path}: there is no part; begin one with [[parts]].")
        seen: set[str] = set()
        for part in tables:
            self.refuse_others(part, _PART_KEYS)
            chapters = self.names(part, "chapters")
            if twice := next((name for name in chapters if name in seen or chapters.count(name) > 1), None):
                raise BookError(f"{self.path}: the chapter {twice} is listed twice.")
            seen |= set(chapters)
            yield PartOfBook(self.words(part, "title"), tuple(chapters))

    def refuse_others(self, table: Mapping[str, Any], keys: Collection[str]) -> None:
        for key in table:
            if key not in keys:
                raise BookError(f"{self.path}: there is no setting {key!r}; there are {_listed(sorted(keys))}.")
