"""What the functions of a chapter are given, and the one error that they raise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.catalog import Catalog, UsageError


class BookError(UsageError):
    """A mistake in a chapter or in the settings; the message is one sentence that says what to mend."""


@dataclass(frozen=True)
class Book:
    """An edition while it is rendered.

    `root` is the course's folder and `folder` the book's own; `phrases` are the few words that functions print into a
    page, in `language`; `helps` is the help of each command by its words ("author new"). What lies in `build`/traces
    becomes part of the site, where a chapter finds it at `../traces/`.
    """

    root: Path
    folder: Path
    language: str
    catalog: Catalog
    phrases: Mapping[str, str]
    build: Path
    helps: Mapping[str, str] = field(default_factory=dict)
