"""Verdicts in a chapter, each as the grader gave it: stored in `book/verdicts`, and given again by a test.

    python -m grader.publish.verdicts puzzle-03

stores what a chapter asks for and is not there, or was made of other files; `--all` all that the book asks for, again,
and removes what nobody asks for any more.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from grader.catalog import UsageError
from grader.publish.declarations import declarations
from grader.publish.markup import code, folded, tabs
from grader.publish.regions import shown
from grader.publish.requests import Request, check_request, command_request
from grader.publish.sources import Source, Span, header, named, source_of
from grader.publish.stored import stored_answer

if TYPE_CHECKING:
    from grader.publish.context import Book

Answer = Callable[[Request], str]

_MOST_CHANGED = 16  # lines: what differs more was written on its own, and a difference tells nothing
_QUIET = re.compile(r"\[\[maybe_unused\]\] |^ *\(void\).*// no warning.*$")
_MARKERS = ("// --- your code ---", "// --- end ---", "# --- your code ---", "# --- end ---")
_MARKED = re.compile(r"^  ▶ +(\d+) │", re.MULTILINE)


def functions(book: Book, answer: Answer | None = None) -> dict[str, Callable[..., object]]:
    """What a chapter calls, by name. `answer` gives what the grader said; without it, what is stored."""
    said = answer or (lambda request: stored_answer(book, request))

    def verdict(label: str, file: str | None = None, solution: bool = False) -> str:
        return _block(said(check_request(book, label, file, solution=solution)))

    def verdicts(label: str, halfway: str | None = None) -> str:
        """Before, half-way, solved, each on a page of its own."""
        pages = [("before", verdict(label))]
        pages += [("halfway", verdict(label, halfway))] if halfway is not None else []
        pages += [("solved", verdict(label, solution=True))]
        return tabs([(book.phrases[name], page) for name, page in pages], "verdicts")

    def pitfall(label: str, file: str, title: str, caller: Callable[[], str], show: str | None = None) -> str:
        """Folded: what is wrong in the code, the verdict, and what the chapter says of it."""
        answered = said(check_request(book, label, file))
        wrong = source_of(book, file)
        listing = shown(wrong, named(wrong, show)) if show else _mistake(book, label, wrong, answered)
        return folded(title, "\n\n".join([listing, _block(answered), caller().strip()]), "pitfall")

    def transcript(command: str) -> str:
        return code(f"$ {command}\n\n{said(command_request(book, command))}", "verdict", class_="transcript")

    return {"verdict": verdict, "verdicts": verdicts, "pitfall": pitfall, "transcript": transcript}


def _block(text: str) -> str:
    return code(text, "verdict", class_="verdict")


def _mistake(book: Book, label: str, wrong: Source, answered: str) -> str:
    """The lines that differ from the solution; of a file written on its own, the function that the verdict points into,
    with the lines that it points at.
    """
    changed = list(_changed(_body(source_of(book, f"{label}!")), _body(wrong)))
    if sum(line[0] in "+-" for line in changed) <= _MOST_CHANGED:
        caption = book.phrases["difference"].format(file=wrong.path)
        return code("\n".join(changed), "diff", caption=caption, class_="listing")
    marked = [int(number) for number in _MARKED.findall(answered)]
    found = declarations(wrong.text, wrong.language)
    around = [one for one in found if marked and one.first <= marked[0] <= one.last]
    if answered and not around:
        raise UsageError(
            f"{wrong.path} differs from the solution in many lines, and the verdict points at none; "
            "say which to show, as in show='function:NAME'."
        )
    spans = [Span(one.first, one.last) for one in around[-1:]] or [Span(1, len(wrong.lines))]
    return shown(wrong, spans, lines=[number for number in marked if spans[0].first <= number <= spans[0].last])


def _body(source: Source) -> list[str]:
    """The lines behind the comment at the top, without what only keeps an empty skeleton quiet."""
    lines = (_QUIET.sub("", line) for line in source.lines[header(source).last :])
    return [line for line in lines if line.strip() not in _MARKERS]


def _changed(right: list[str], wrong: list[str]) -> Iterator[str]:
    """Lines with `-` of the one and `+` of the other, a line around them, and a dash where others are left out."""
    hunks = 0
    for line in difflib.unified_diff(right, wrong, n=1, lineterm=""):
        if line.startswith("@@"):
            hunks += 1
            if hunks > 1:
                yield " …"
        elif hunks:
            yield line


if __name__ == "__main__":
    from grader.publish.store import main

    main()
