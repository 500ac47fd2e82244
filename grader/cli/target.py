"""What a command is about: the puzzle and part that were named, and the file to judge."""

from __future__ import annotations

from pathlib import Path

import typer

from grader.catalog import Catalog, Located, LocatedPuzzle, UsageError, load_catalog, shown_path
from grader.check import Submission
from grader.list_part import ListPart, ReadingPart
from grader.own_parts import parts_beside, used_parts
from grader.python_part import PythonPart

_UNCHECKED = 3
_LARGEST_SOURCE = 1 << 20  # bytes; a part is about 80 lines
_BEGINNING = 1 << 10  # bytes


def own_submission(located: Located) -> Submission:
    """The learner's own file for a part."""
    if not located.path.exists():
        raise UsageError(
            f"{shown_path(located.path)} is missing; `grader reset {located.label}` brings the skeleton back."
        )
    source, shown = readable_source(located.path), shown_path(located.path)
    return Submission(located, source, shown, uses=used_parts(located), beside=parts_beside(located))


def solution_submission(located: Located) -> Submission:
    """The reference in the place of the learner's file."""
    if not located.solution_path.exists():
        raise UsageError(f"There is no solution of {located.label}: {shown_path(located.solution_path)} is missing.")
    return Submission(located, located.solution_path, shown_path(located.solution_path), is_solution=True)


def file_submission(located: Located | None, puzzle: LocatedPuzzle, file: str) -> Submission:
    """Any file in the place of the learner's; the part has to be named, because a file does not say which it is."""
    if located is None and len(puzzle.parts) > 1:
        names = ", ".join(part.part.name for part in puzzle.parts)
        raise UsageError(f"--file stands in for one part's file; say which with --part: {names}.")
    named, path = located or puzzle.parts[0], Path(file)
    return Submission(named, readable_source(path), file, uses=used_parts(named), beside=parts_beside(named))


def refuse_both(file: str | None, *, solution: bool) -> None:
    """Refuses two files in the place of one."""
    if file is not None and solution:
        raise UsageError("--file and --solution exclude each other; give one of them.")


def one_part(catalog: Catalog, puzzle: str, part: str | None, *, command: str) -> Located:
    """The part that is named to a command which looks at one."""
    located_puzzle, located = catalog.resolve(puzzle, part)
    if located is None:
        labels = ", ".join(one.label for one in located_puzzle.parts)
        raise UsageError(f"grader {command} looks at one part; say which: {labels}.")
    return located


def chosen_submission(located: Located, file: str | None, *, solution: bool) -> Submission:
    """That file, the reference, or the learner's own."""
    if file is not None:
        return file_submission(located, located.puzzle, file)
    return solution_submission(located) if solution else own_submission(located)


def kernel_submission(puzzle: str, part: str | None, file: str | None, *, solution: bool, command: str) -> Submission:
    """The file of the one part that a command about kernels names, which has some of its own."""
    refuse_both(file, solution=solution)
    located = one_part(load_catalog(), puzzle, part, command=command)
    if isinstance(located.part, PythonPart | ListPart | ReadingPart):
        raise UsageError(f"{located.label} has no kernel of its own; name a part that has, such as one it builds on.")
    if located.part.is_host:
        raise UsageError(f"{located.label} starts no kernel, so grader {command} has nothing to look at.")
    return chosen_submission(located, file, solution=solution)


def refuse_unchecked(sentence: str, *, as_json: bool = False) -> int:
    """Says what cannot be done here, because something is missing; returns the exit code for it."""
    from grader.verdict import error_json

    typer.echo(error_json(sentence) if as_json else f"grader: {sentence}", err=not as_json)
    return _UNCHECKED


def readable_source(path: Path) -> Path:
    """`path`, once it is known to be a source that can be judged."""
    shown = shown_path(path)
    try:
        if path.is_dir():
            raise UsageError(f"{shown} is a folder; name the file in it.")
        if not path.exists():
            raise UsageError(f"There is no file {shown}.")
        if not path.is_file():
            raise UsageError(f"{shown} is no ordinary file.")
        if path.stat().st_size > _LARGEST_SOURCE:
            raise UsageError(
                f"{shown} has {path.stat().st_size:,} bytes; the file of a part has at most {_LARGEST_SOURCE:,}."
            )
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror or error}.") from None
    except ValueError:
        raise UsageError("--file names no path that can exist.") from None
    if b"\0" in text or not _is_text(text):
        raise UsageError(f"{shown} is no text in UTF-8; a part is a source file.")
    return path


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def refuse_over_other(path: Path) -> None:
    """Nobody's source is lost to a slip of the hand: JSON is written over JSON only, or over an empty file."""
    try:
        if not path.is_file():
            return
        with path.open("rb") as opened:
            begins = opened.read(_BEGINNING).lstrip()[:1]
    except OSError:
        return  # writing it says why not
    if begins not in (b"", b"{", b"["):
        raise UsageError(f"{shown_path(path)} is there already and holds no JSON; name another file to write.")


def write_text(path: Path, text: str) -> None:
    """Writes the file that a command was asked for."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{shown_path(path)} cannot be written: {error.strerror or error}.") from None
