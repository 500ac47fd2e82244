"""The files that a chapter quotes, and the lines of them that it names.

A file is named by its path in the project, or by a part: "3.4" is its skeleton, "3.4!" its solution, "3.4!fast" the
fast one beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from grader.catalog import Located, UsageError, markers
from grader.publish.declarations import declarations
from grader.publish.markup import language_of

if TYPE_CHECKING:
    from grader.publish.context import Book

_OF_PART = re.compile(r"(\d+\.\d+)(?:(!)(\w*))?")
_BEYOND = "…"


@dataclass(frozen=True)
class Span:
    """Lines `first` to `last` of a source, from 1."""

    first: int
    last: int


@dataclass(frozen=True)
class Source:
    """A file of the project as its text; `path` is how a reader finds it."""

    path: str
    text: str

    @property
    def language(self) -> str:
        return language_of(self.path)

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def __getitem__(self, span: Span) -> str:
        return "\n".join(self.lines[span.first - 1 : span.last])


def part_of(book: Book, label: str) -> Located:
    """The part with this label, "3.4"; raises `UsageError` where there is none."""
    located = book.catalog.resolve(str(label))[1] if re.fullmatch(r"\d+\.\d+", str(label)) else None
    if located is None:
        raise UsageError(f"{label!r} is no part, which is named as in '3.4'.")
    return located


def source_of(book: Book, file: str) -> Source:
    """The file that `file` names; raises `UsageError` where there is none."""
    match = _OF_PART.fullmatch(file)
    if match is None:
        return _in_project(book.root, file)
    located = part_of(book, match[1])
    if not match[2]:
        return Source(_relative(book.root, located.path), located.skeleton())
    solved = located.solution_path
    if match[3]:
        solved = solved.with_name(f"{solved.stem}.{match[3]}{solved.suffix}")
    return _in_project(book.root, _relative(book.root, solved))


def _relative(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


def _in_project(root: Path, name: str) -> Source:
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()) or not path.is_file():
        raise UsageError(f"there is no file {name} in the project.")
    return Source(name, path.read_text(encoding="utf-8"))


def header(source: Source) -> Span:
    """The comment at the top of a file: what is given and what is asked."""
    lines = source.lines
    if source.language == "python":
        closed = (number for number, line in enumerate(lines, 1) if number > 1 and line.rstrip().endswith('"""'))
        last = next(closed, 0) if source.text.startswith('"""') else 0
    else:
        last = next((number for number, line in enumerate(lines) if not line.startswith("//")), len(lines))
    if not last:
        _none(source, "comment at its top")
    return Span(1, last)


def answers(source: Source) -> list[Span]:
    """The lines between each pair of markers; raises `UsageError` where there is none, or one is not closed."""
    starts, ends = markers(source.text)
    if not starts or len(starts) != len(ends):
        _none(source, "pair of markers around the learner's code")
    return [Span(start + 1, end - 1) for start, end in zip(starts, ends, strict=True)]


def around_answers(source: Source) -> list[Span]:
    """The functions, kernels or types in which the learner's code stands, each once."""
    found = declarations(source.text, source.language)
    spans: list[Span] = []
    for answer in answers(source):
        outer = next((one for one in found if one.first < answer.first and answer.last < one.last), None)
        span = Span(outer.first, outer.last) if outer else Span(answer.first - 1, answer.last + 1)
        spans += [span] if span not in spans else []
    return spans


def named(source: Source, region: str) -> list[Span]:
    """The lines that a region's name means; raises `UsageError` where it means none, or several."""
    kind, _, wanted = region.partition(":")
    if region == "all":
        return [Span(1, len(source.lines))]
    if region == "answer":
        return answers(source)
    if kind == "answer":
        return [_numbered(source, wanted)]
    if kind == "function":
        return [_function(source, wanted)]
    if kind == "lines":
        return [_lines(source, wanted)]
    raise UsageError(f"{region!r} is no region: it is 'answer', 'function:NAME', 'lines:FIRST{_BEYOND}LAST' or 'all'.")


def _numbered(source: Source, wanted: str) -> Span:
    spans = answers(source)
    if not wanted.isdecimal() or not 1 <= int(wanted) <= len(spans):
        _none(source, f"answer {wanted!r}, there are {len(spans)}")
    return spans[int(wanted) - 1]


def _function(source: Source, name: str) -> Span:
    found = [one for one in declarations(source.text, source.language) if one.name == name]
    if not found:
        _none(source, f"function {name!r}")
    if len(found) > 1:
        _several(source, f"function {name!r}", len(found))
    return Span(found[0].first, found[0].last)


def _lines(source: Source, wanted: str) -> Span:
    texts = wanted.split(_BEYOND)
    if len(texts) != 2 or not all(texts):
        raise UsageError(f"lines are named as 'lines:FIRST{_BEYOND}LAST', by a text of the first and one of the last.")
    first = line_with(source, texts[0])
    last = next((place for place, line in enumerate(source.lines, 1) if place >= first and texts[1] in line), None)
    if last is None:
        _none(source, f"line with {texts[1]!r} from line {first} on")
    return Span(first, last)


def line_with(source: Source, text: str) -> int:
    """The number of the one line that contains `text`."""
    found = [number for number, line in enumerate(source.lines, 1) if text in line]
    if not found:
        _none(source, f"line with {text!r}")
    if len(found) > 1:
        _several(source, f"the text {text!r}", len(found))
    return found[0]


def joined(spans: Sequence[Span], between: int) -> list[Span]:
    """The same lines in order; those become one piece that have at most so many lines `between` them, with these."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: span.first):
        near = bool(merged) and span.first - merged[-1].last - 1 <= between
        merged.append(Span(merged.pop().first, span.last) if near else span)
    return merged


def _none(source: Source, what: str) -> NoReturn:
    raise UsageError(f"{source.path} has no {what}.")


def _several(source: Source, what: str, count: int) -> NoReturn:
    raise UsageError(f"{source.path} has {what} {count} times, and one is meant.")
