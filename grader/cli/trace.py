"""The command `grader trace`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from grader.catalog import UsageError, shown_path
from grader.check import Submission
from grader.chosen_cases import chosen_cases
from grader.cli.options import FileOption, PartOption, PuzzleArgument, SizesOption, SolutionOption
from grader.cli.target import kernel_submission, refuse_unchecked, write_text
from grader.explain import sentence
from grader.puzzle import Case

if TYPE_CHECKING:
    from grader.trace.accesses import Trace

_NOT_PASSED = 1
_KINDS = (".svg", ".html")
_DIMENSIONS = 3
_SEED = 1  # which elements a kernel touches seldom depends on their values; so a picture is the same every time


def trace(
    puzzle: PuzzleArgument,
    part: PartOption = None,
    file: FileOption = None,
    solution: SolutionOption = False,
    case: SizesOption = None,
    block: Annotated[str | None, typer.Option(metavar="X,Y,Z", help="The block to watch; by default 0,0,0.")] = None,
    line: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only what this line of the file does.")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw it: FILE.svg, or FILE.html with a slider.")
    ] = None,
) -> None:
    """Show what one block asks of memory, line by line: banks, sectors, elements, and who adds to whom.

    A small case runs on the software GPU, whose counters are what is drawn. Exit code: 0 shown; 1 does not compile, or
    touches no memory there; 2 bad usage; 3 could not be run here.
    """
    if out is not None and Path(out).suffix.lower() not in _KINDS:
        raise UsageError(f"--out draws {' or '.join(f'FILE{kind}' for kind in _KINDS)}, not {out!r}.")
    at = _block(block)
    submission = kernel_submission(puzzle, part, file, solution=solution, command="trace")
    located = submission.located
    chosen = chosen_cases(located.part, case)[0][1] if case is not None else None
    traced = _traced(submission, chosen, at, line)
    heading = _say("heading", label=located.label, part=located.part.name)
    if out is None:
        _print(traced, heading, located.label, line)
    else:
        _draw(Path(out), traced, heading, line)


def _block(text: str | None) -> tuple[int, int, int] | None:
    if text is None:
        return None
    numbers = text.split(",")
    if not 1 <= len(numbers) <= _DIMENSIONS or not all(number.strip().isdecimal() for number in numbers):
        raise UsageError(f"--block wants one to three whole numbers, such as 1,0,0, not {text!r}.")
    x, y, z = [*map(int, numbers), 0, 0][:_DIMENSIONS]
    return x, y, z


def _traced(submission: Submission, case: Case | None, at: tuple[int, int, int] | None, line: int | None) -> Trace:
    """The trace, or the end of the command with a sentence that says why there is none."""
    from grader.build import BuildFailed
    from grader.cache import ToolMissing
    from grader.simt.machine import MachineError
    from grader.simt.ptx import PtxError
    from grader.tools import default_tools
    from grader.trace.record import NothingToDraw, Recorder

    part, label = submission.located.part, submission.located.label

    tools, uses = default_tools(), submission.sources()
    try:
        found = Recorder(part, tools.build(submission.source, uses), tools, _SEED, submission.text(), uses)
        return found.typical(at, line) if case is None else found.trace(case, at, line)
    except ToolMissing as missing:
        raise typer.Exit(refuse_unchecked(str(missing))) from None
    except BuildFailed:
        _end(f"{submission.shown} does not compile; `grader check {label}` says more.")
    except NothingToDraw as nothing:
        facts = {"label": label, "line": line, "block": ",".join(map(str, at or ()))}
        _end(_say(str(nothing), **facts))
    except (PtxError, MachineError) as error:
        raise typer.Exit(refuse_unchecked(str(error))) from None


def _end(words: str) -> NoReturn:
    typer.echo(f"grader: {words}", err=True)
    raise typer.Exit(_NOT_PASSED)


def _draw(path: Path, traced: Trace, heading: str, line: int | None) -> None:
    from grader.trace.page import page
    from grader.trace.sheet import sheet

    draw = page if path.suffix.lower() == ".html" else sheet
    write_text(path, draw(traced, heading, line))
    typer.echo(_say("drawn", file=shown_path(path)))


def _print(traced: Trace, heading: str, label: str, line: int | None) -> None:
    from rich.console import Console

    from grader.trace.table import print_table

    print_table(Console(highlight=False), traced, heading, label, line)


def _say(key: str, **facts: object) -> str:
    return sentence("trace", key, facts=facts)
