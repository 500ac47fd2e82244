"""Builds an edition: renders its pages, runs Sphinx, and puts beside them what stands by itself."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.catalog import Catalog, shown_path
from grader.publish import calls, figures, frame, style
from grader.publish.asked import asked_for
from grader.publish.boards import Known, read_boards, write_boards
from grader.publish.chapters import Page, render, text_of
from grader.publish.context import Book, BookError
from grader.publish.epub import finish
from grader.publish.settings import Settings, book_of, refuse_missing
from grader.publish.sphinx import configuration, file_name, run_sphinx

Tell = Callable[[str], None]
_TEMPLATE = ".md.j2"
_MARK = ".grader-book"  # a file in each folder that books are built in
_LABEL = re.compile(r"^\(([^()\s]+)\)=\s*$", re.MULTILINE)
_UNKNOWN_LINK = "[myst.xref_missing]"
_PLACE = re.compile(r"^(?P<file>/.+?\.md):(?P<line>\d+)?:? ?(?P<words>.*)$")


@dataclass(frozen=True)
class Built:
    """What a build left: the first page, the EPUB where one was asked for, and the warnings, which are errors.

    `notes` are what does not spoil it: links of an excerpt that lead out of it, results that no board takes.
    """

    index: Path
    epub: Path | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Folders:
    """Where a build writes: `html` is what one publishes, beside the `epub`; what is made on the way lies in `work`."""

    out: Path

    def take(self) -> None:
        """Makes these folders the book's, whose builds empty them; raises BookError where they are somebody's already.

        What else lies in `out` stays.
        """
        mark = self.out / _MARK
        theirs = next((folder for folder in (self.html, self.epub, self.work) if folder.exists()), None)
        if theirs is not None and not mark.exists():
            raise BookError(f"{shown_path(theirs)} is there, and not by a build of a book: --out DIR chooses another.")
        self.out.mkdir(parents=True, exist_ok=True)
        mark.touch()

    @property
    def html(self) -> Path:
        return self.out / "html"

    @property
    def epub(self) -> Path:
        return self.out / "epub"

    @property
    def work(self) -> Path:
        return self.out / "work"

    @property
    def source(self) -> Path:
        return self.work / "source"

    @property
    def doctrees(self) -> Path:
        return self.work / "doctrees"

    @property
    def static(self) -> Path:
        return self.work / "static"

    @property
    def xhtml(self) -> Path:
        return self.work / "xhtml"

    @property
    def traces(self) -> Path:
        return self.work / "traces"


def build(
    settings: Settings,
    catalog: Catalog,
    out: Path,
    helps: Mapping[str, str],
    *,
    epub: bool,
    tell: Tell,
) -> Built:
    """Builds the site into `out`/html and the EPUB into `out`/epub. Raises BookError for a mistake in a page.

    `helps` is the help of each command; `tell` hears what is being made.
    """
    refuse_missing(settings)
    folders = Folders(out.resolve())
    folders.take()
    book = book_of(settings, catalog, folders.work, helps)
    known, refused = read_boards(settings, catalog, tell)
    tell("figures")
    shutil.rmtree(folders.traces, ignore_errors=True)
    figures.prepare(book, asked_for(book, settings, settings.chapters))
    pages = dict(_rendered(settings, book, known, tell))
    if _write_sources(folders.source, pages):
        for stale in (folders.html, folders.doctrees):  # pages that are gone, links that were written without a page
            shutil.rmtree(stale, ignore_errors=True)
    style.write(folders.static)
    values = configuration(settings, [settings.folder / "static", folders.static], _left_out(settings, pages))
    tell("the site")
    warnings = run_sphinx("html", folders.source, folders.html, folders.doctrees, values)
    write_boards(folders.html, known)
    shutil.rmtree(folders.html / folders.traces.name, ignore_errors=True)
    if folders.traces.is_dir():
        shutil.copytree(folders.traces, folders.html / folders.traces.name)
    file = None
    if epub and not warnings:
        tell("the EPUB")
        shutil.rmtree(folders.xhtml, ignore_errors=True)  # all that lies there is packed
        warnings = run_sphinx("epub", folders.source, folders.xhtml, folders.doctrees, values)
        if not warnings:
            file = folders.epub / f"{file_name(settings.title)}.epub"
            finish(folders.xhtml / file.name, file)
    if warnings:
        shutil.rmtree(folders.doctrees, ignore_errors=True)  # or Sphinx would not say them again
    told = [_of_template(line, folders.source, pages) for line in warnings]
    links = [line for line in told if settings.is_excerpt and _UNKNOWN_LINK in line]
    left = tuple(line for line in told if line not in links)
    return Built(folders.html / "index.html", file, left, (*links, *refused))


# ---- pages ----


def _rendered(settings: Settings, book: Book, known: Known, tell: Tell) -> Iterator[tuple[str, Page]]:
    """The edition's pages by the name of their document, "chapters/puzzle-03"."""
    around, filters = frame.functions(settings, book, known), calls.filters()
    for template in _templates(settings):
        name = template.relative_to(settings.texts).as_posix().removesuffix(_TEMPLATE)
        tell(name)
        functions = calls.functions(book, template.name.removesuffix(_TEMPLATE))
        yield name, render(template, {**functions, **around}, filters)


def _templates(settings: Settings) -> list[Path]:
    """Front page and reference, and the chapters that the settings choose."""
    around = [path for path in sorted(settings.texts.rglob(f"*{_TEMPLATE}")) if path.parent.name != "chapters"]
    return around + [settings.source(name) for name in settings.chapters]


def _left_out(settings: Settings, pages: Mapping[str, Page]) -> set[str]:
    """Names of the chapters that the book has and the edition has not, and the labels in them."""
    others = [name for name in settings.known_chapters() if f"chapters/{name}" not in pages]
    labels = (_LABEL.findall(text_of(settings.source(name))) for name in others)
    return set(others).union(*labels)


def _write_sources(folder: Path, pages: Mapping[str, Page]) -> bool:
    """Writes what has changed, so that Sphinx reads no more than that; whether the pages are others than last time."""
    before, now = set(folder.rglob("*.md")), {folder / f"{name}.md" for name in pages}
    for path in before - now:
        path.unlink()
    for name, page in pages.items():
        path = folder / f"{name}.md"
        if not path.is_file() or path.read_text(encoding="utf-8") != page.text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page.text, encoding="utf-8")
    return before != now


def _of_template(warning: str, source: Path, pages: Mapping[str, Page]) -> str:
    """A warning of Sphinx with the file that somebody wrote in the place of the one that was made."""
    match = _PLACE.match(warning)
    if match is None or not Path(match["file"]).is_relative_to(source):
        return warning
    page = pages[Path(match["file"]).relative_to(source).with_suffix("").as_posix()]
    line = page.template_line(int(match["line"] or 1))
    return f"{shown_path(page.template)}:{line}: {match['words']}"
