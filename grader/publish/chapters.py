"""Renders a chapter's template, `NAME.md.j2`, into the Markdown that Sphinx reads.

A mistake is told with the template's file and line. The lines of what was made are matched with those of the
template, so that what Sphinx says of the one can be said of the other.
"""

from __future__ import annotations

import difflib
import traceback
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError

from grader.catalog import UsageError, shown_path
from grader.publish.context import BookError

Functions = Mapping[str, Callable[..., object]]


@dataclass(frozen=True)
class Page:
    """A page as rendered: the template it comes from, and its text in Markdown."""

    template: Path
    text: str

    def template_line(self, line: int) -> int:
        """The line of the template that line `line` of the text comes from, or that of the call which made it."""
        blocks, lines = self._shared
        place = bisect_right([block.a for block in blocks], line - 1) - 1
        if place < 0:
            return 1
        block = blocks[place]
        if line - 1 < block.a + block.size:
            return block.b + line - block.a
        after = blocks[place + 1].b if place + 1 < len(blocks) else lines
        return min(block.b + block.size + 1, max(after, 1))

    @cached_property
    def _shared(self) -> tuple[list[difflib.Match], int]:
        """The lines that the text and its template share, in blocks, and how many lines the template has."""
        rendered, written = self.text.splitlines(), text_of(self.template).splitlines()
        blocks = difflib.SequenceMatcher(None, rendered, written, autojunk=False).get_matching_blocks()
        return blocks[:-1], len(written)


def render(template: Path, functions: Functions, filters: Functions) -> Page:
    """The page of a template; raises BookError, which names the file and the line, for a mistake in it."""
    environment = Environment(
        loader=FileSystemLoader(template.parent),
        undefined=StrictUndefined,
        autoescape=False,  # Markdown is made, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(functions)
    environment.filters.update(filters)
    text_of(template)  # tells what is no text better than what follows
    try:
        text = environment.get_template(template.name).render()
    except TemplateSyntaxError as error:
        raise BookError(f"{shown_path(template)}:{error.lineno}: {error.message}") from None
    except (TemplateError, UsageError, TypeError, ValueError, LookupError, ArithmeticError, OSError) as error:
        raise BookError(f"{shown_path(template)}:{line_of(error, template)}: {_words(error)}") from error
    return Page(template, text)


def text_of(path: Path) -> str:
    """The text of a file that somebody wrote; raises BookError where it cannot be read, or is no UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BookError(f"{shown_path(path)} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BookError(f"{shown_path(path)}:{line}: this line is no UTF-8; save the file as UTF-8.") from None


def line_of(error: BaseException, file: Path) -> int:
    """The line of the file, a template or a module, from which the error came; 1 where it came from elsewhere."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno or 1
    frames = reversed(traceback.extract_tb(error.__traceback__))
    return next((frame.lineno for frame in frames if frame.filename == str(file)), None) or 1


def _words(error: BaseException) -> str:
    words = str(error)
    return words if isinstance(error, UsageError | TemplateError) else f"{type(error).__name__}: {words}"
