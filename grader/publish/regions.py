"""Code in a chapter, always from the real file: skeletons, regions, solutions; and what puzzles say of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from grader.catalog import UsageError, regions
from grader.hints import read_hints
from grader.publish.markup import code, folded
from grader.publish.sources import (
    Source,
    Span,
    around_answers,
    header,
    joined,
    named,
    part_of,
    source_of,
)
from grader.publish.statements import minutes, parts_table, statement

if TYPE_CHECKING:
    from grader.publish.context import Book

_SHOWN_ANYWAY = 8  # so few lines between a header and a function are not left out


def functions(book: Book) -> dict[str, Callable[..., object]]:
    """What a chapter calls, by name."""

    def skeleton(label: str, whole: bool = False, highlight: str | None = None) -> str:
        """The header, and the functions that the learner's code stands in."""
        source = source_of(book, part_of(book, label).label)
        whole = whole or not regions(source.text)  # nothing is asked for: all of it is given
        spans = [Span(1, len(source.lines))] if whole else [header(source), *around_answers(source)]
        return shown(source, spans, highlight, between=_SHOWN_ANYWAY)

    def header_(label: str) -> str:
        source = source_of(book, part_of(book, label).label)
        return shown(source, [header(source)])

    def region(file: str, name: str, highlight: str | None = None) -> str:
        source = source_of(book, file)
        return shown(source, named(source, name), highlight)

    def solution(
        label: str, caller: Callable[[], str], region: str = "answer", fast: bool = False, highlight: str | None = None
    ) -> str:
        """Folded: the code, then what the chapter says of it."""
        source = source_of(book, part_of(book, label).label + ("!fast" if fast else "!"))
        listing = shown(source, named(source, region), highlight)
        title = book.phrases["solution_fast" if fast else "solution"].format(label=label)
        return folded(title, f"{listing}\n\n{caller().strip()}", "solution")

    def tips(label: str) -> str:
        """The part's hints, each folded."""
        located = part_of(book, label)
        hints = read_hints(located.hints_path, located.path.stem)
        if not hints:
            raise UsageError(f"Part {label} has no hints.")
        titled = [(book.phrases["tip"].format(number=hint.number), hint.text) for hint in hints]
        return "\n\n".join(folded(title, text, "tip") for title, text in titled)

    return {
        "skeleton": skeleton,
        "header": header_,
        "region": region,
        "solution": solution,
        "tips": tips,
        "statement": lambda label: statement(book, part_of(book, label)),
        "parts_table": lambda number: parts_table(book, number),
        "minutes": lambda *chosen: minutes(book, *chosen),
    }


def shown(
    source: Source, spans: Sequence[Span], highlight: str | None = None, lines: Sequence[int] = (), between: int = 0
) -> str:
    """These lines as a block that names its file; it says where more than so many lines `between` are left out.

    Lines that contain `highlight` stand out, and of one span those whose numbers are in `lines`; raises `UsageError`
    where there is no line to highlight.
    """
    pieces = joined(spans, between)
    if all(not source[piece].strip() for piece in pieces):
        raise UsageError(f"{source.path} has nothing there that could be shown.")
    gap = "# …" if source.language == "python" else "// …"
    text = f"\n\n{gap}\n\n".join(dedented(source[piece], source.language) for piece in pieces)
    first = _first_line(source, pieces[0]) if len(pieces) == 1 else None
    marked = [number for number, line in enumerate(text.splitlines(), 1) if highlight and highlight in line]
    if highlight and not marked:
        raise UsageError(f"{source.path} has no line with {highlight!r} there.")
    marked += [number - first + 1 for number in lines] if first is not None else []
    return code(text, source.language, caption=source.path, first_line=first, marked=marked, class_="listing")


def _first_line(source: Source, span: Span) -> int:
    """The number of the first line that is not empty."""
    return next(number for number in range(span.first, span.last + 1) if source.lines[number - 1].strip())


def dedented(text: str, language: str) -> str:
    """Without the blanks that all lines begin with; C++'s directives, which begin at the margin, do not count."""
    lines = text.strip("\n").splitlines()
    counted = [line for line in lines if line.strip() and (language == "python" or not line.startswith("#"))]
    margin = min((len(line) - len(line.lstrip()) for line in counted), default=0)
    return "\n".join(line if line.startswith("#") else line[margin:] for line in lines)
