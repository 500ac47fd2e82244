"""What a chapter wants the grader to have said: a check of a part, or any other command; and where it is stored.

A request has a key, which changes with whatever its answer is made of but the grader itself: the file that is judged,
the puzzle, the parts that it builds on. A text that was stored under another key is stale.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.catalog import Located, UsageError
from grader.list_part import ListPart
from grader.publish.context import Book
from grader.publish.sources import part_of, source_of

SEED = 7
COUNTED = "--json"  # of such an answer the counts are kept
_CHECK = ("--seed", str(SEED), "--device", "software")
_KEY_DIGITS = 16
_LONGEST_NAME = 60
_OF_ONE_MACHINE = ("doctor", "leaderboard", "bundle", "time", "book", "author")


@dataclass(frozen=True)
class Request:
    """`name` is the stored file's, below the book's folder of verdicts; `arguments` are those of `grader`.

    In the workspace the file `place` has the text `text` when the command is run; both are "" where it stays as it is.
    `solved` are parts that the learner has passed before, by label. `made_of` are files that the answer depends on.
    """

    name: str
    arguments: tuple[str, ...]
    place: str = ""
    text: str = ""
    solved: tuple[str, ...] = ()
    made_of: tuple[Path, ...] = ()

    @property
    def command(self) -> str:
        """As it is typed."""
        return shlex.join(("grader", *self.arguments))

    def key(self) -> str:
        """Changes with what the answer is made of."""
        digest = hashlib.sha256("\0".join((self.command, self.place, self.text, *self.solved)).encode())
        for path in self.made_of:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()[:_KEY_DIGITS]


def check_request(book: Book, label: str, file: str | None = None, *, solution: bool = False) -> Request:
    """A check of a part's file: the untouched skeleton, its solution, or another text in the place of the learner's."""
    located = part_of(book, label)
    if file is not None and solution:
        raise UsageError("a verdict is of a file or of the solution; name one of them.")
    text, state = "", "before"
    if solution:
        text, state = source_of(book, f"{located.label}!").text, "solved"
    if file is not None:
        source = source_of(book, file)
        text, state = source.text, _state_of(located, Path(source.path))
    is_given = isinstance(located.part, ListPart) and located.part.is_given
    own = (part for part in book.catalog.used_by(located) if part.puzzle.name == located.puzzle.name)
    return Request(
        name=f"{located.puzzle.name}/{located.path.stem}.{state}.txt",
        arguments=("check", located.label, *_CHECK),
        place=located.path.relative_to(book.root).as_posix() if text else "",
        text=text,
        solved=tuple(part.label for part in own) if is_given and state != "before" else (),
        made_of=tuple(_behind(book, located)),
    )


def _state_of(located: Located, path: Path) -> str:
    """What tells this text from others of its part: of an attempt, the name behind the part's."""
    return path.stem.removeprefix(f"{located.path.stem}.")


def _behind(book: Book, located: Located) -> Iterator[Path]:
    """The files besides the learner's that a verdict depends on."""
    for part in (*book.catalog.used_by(located), located):
        folder = part.puzzle.directory
        yield from sorted(folder.glob("puzzle.py"))
        yield from (path for path in sorted(folder.glob("[a-z]*.py")) if path.name != "puzzle.py")
        yield from (folder / header for header in part.headers)
        yield part.solution_path
    yield located.hints_path


def counts_request(book: Book, label: str, file: str | None = None, case: str = "") -> Request:
    """What is counted in a check of the solution, or of a file; in the part's costliest case, or in these sizes."""
    checked = check_request(book, label, file, solution=file is None)
    name = checked.name.removesuffix(".txt") + (f".{_slug(case)}" if case else "")
    more = ("--case", case, COUNTED) if case else (COUNTED,)
    return replace(checked, name=f"{name}.counts.txt", arguments=(*checked.arguments, *more))


def command_request(book: Book, command: str) -> Request:
    """Any other command, as in `grader debug 3.3 --seed 7`, with files named as they lie in the project."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"it cannot be typed: {error}.") from None
    if len(words) < 2 or words[0] != "grader":
        raise UsageError("a transcript is of a command that begins with grader.")
    if words[1] in _OF_ONE_MACHINE:
        raise UsageError(f"grader {words[1]} tells of one machine, and nobody else would read the same.")
    if words[1] == "check" and not set(_CHECK) <= set(words):
        raise UsageError(f"a check is repeated with {' '.join(_CHECK)}; type it so.")
    files = [book.root / word for word in words[2:] if "/" in word and (book.root / word).is_file()]
    named = [part for word in words[2:] if re.fullmatch(r"\d+\.\d+", word) for part in (part_of(book, word),)]
    behind = [path for part in named for path in _behind(book, part)]
    return Request(f"commands/{_slug(command)}.txt", tuple(words[1:]), made_of=(*files, *behind))


def _slug(command: str) -> str:
    """A file's name for it: its words, and of a long one some digits besides."""
    name = re.sub(r"[^a-z0-9.]+", "_", command.removeprefix("grader ").lower()).strip("_.")
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}_{hashlib.sha256(command.encode()).hexdigest()[:6]}"
