"""Renders a chapter's template, `NAME.md.j2`, into the Markdown that Sphinx reads.

A mistake is told with the template's file and line. The lines of what was made are matched with those of the
template, so that what Sphinx says of the one can be said of the other.
"""

from __future__ import annotations

import difflib
import traceback
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError

from grader.catalog import UsageError
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
        rendered, written = self.text.splitlines(), self.template.read_text(encoding="utf-8").splitlines()
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
    try:
        text = environment.get_template(template.name).render()
    except TemplateSyntaxError as error:
        raise BookError(f"{shown(template)}:{error.lineno}: {error.message}") from None
    except (TemplateError, UsageError, TypeError, ValueError, LookupError, ArithmeticError, OSError) as error:
        raise BookError(f"{shown(template)}:{_line(error, template)}: {_words(error)}") from error
    return Page(template, text)


def shown(path: Path) -> str:
    """A path as one would type it here."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def _line(error: BaseException, template: Path) -> int:
    """The line of the template from which the error came."""
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(template)]
    return lines[-1] or 1 if lines else 1


def _words(error: BaseException) -> str:
    words = str(error)
    return words if isinstance(error, UsageError | TemplateError) else f"{type(error).__name__}: {words}"
