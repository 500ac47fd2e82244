"""The command `grader plan`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.catalog import LocatedPuzzle, UsageError, load_catalog, shown_path
from grader.chosen_cases import chosen_cases
from grader.cli.options import FileOption, PartOption, SolutionOption
from grader.cli.target import (
    file_submission,
    own_submission,
    refuse_both,
    refuse_over_other,
    refuse_unchecked,
    solution_submission,
    write_text,
)
from grader.facts import listed
from grader.list_part import ListPart, ReadingPart
from grader.python_part import PythonPart

if TYPE_CHECKING:
    from grader.catalog import Located
    from grader.check import Submission
    from grader.puzzle import Case
    from grader.record.plan import Plan

NOT_PASSED = 1


def plan(
    puzzle: Annotated[str | None, typer.Argument(metavar="PUZZLE[.PART]", help="1, 1.2, puzzle_1, …")] = None,
    part: PartOption = None,
    file: FileOption = None,
    solution: SolutionOption = False,
    case: Annotated[
        str | None, typer.Option(metavar="M=65,N=33", help="The sizes; by default the part's first case.")
    ] = None,
    save: Annotated[str | None, typer.Option(metavar="FILE", help="Write the plan there instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of op calls as JSON, too.")] = False,
    load: Annotated[str | None, typer.Option(metavar="FILE", help="Check a saved plan and print it.")] = None,
) -> None:
    """Print what an entry asks of the GPU, as JSON.

    Launches, copies and fills stand in stream order. Of a puzzle, the plans of all its parts, one a line. A part that
    is a list of op calls is shown as a table instead; and of a puzzle that ends in a whole step, that step.
    """
    if load is not None:
        typer.echo(_loaded(load))
        return
    if puzzle is None:
        raise UsageError(
            "Name a puzzle or part to record, such as `grader plan 1.2 --solution`, or a file with --load."
        )
    located_puzzle, located = load_catalog().resolve(puzzle, part)
    if save is None and not as_json and file is None:
        located = located or _whole_step(located_puzzle)
    submissions = _submissions(located_puzzle, located, file, solution)
    if save is None and not as_json and isinstance(submissions[0].located.part, ListPart) and len(submissions) == 1:
        _print_step(submissions[0], case)
        return
    if save is not None and len(submissions) > 1:
        raise UsageError(f"--save writes the plan of one part; name one, such as {submissions[0].located.label}.")
    plans = [_record(submission, case) for submission in submissions]
    from grader.record.plan import to_json

    text = "\n".join(to_json(recorded) for recorded in plans)
    if save is None:
        typer.echo(text)
    else:
        refuse_over_other(Path(save))
        write_text(Path(save), text + "\n")


def _submissions(
    puzzle: LocatedPuzzle, located: Located | None, file: str | None, solution: bool
) -> Sequence[Submission]:
    refuse_both(file, solution=solution)
    if file is not None:
        return [file_submission(located, puzzle, file)]
    if located is not None and isinstance(located.part, PythonPart):
        raise UsageError(f"{located.label} is Python, and its kernels are those of {', '.join(located.part.uses)}.")
    with_plans = [part for part in puzzle.parts if not isinstance(part.part, PythonPart | ReadingPart)]
    if located is not None and isinstance(located.part, ReadingPart):
        raise UsageError(f"{located.label} reads the plan of {located.part.about}: `grader plan {located.part.about}`.")
    chosen = [located] if located is not None else with_plans
    return [solution_submission(one) if solution else own_submission(one) for one in chosen]


def _whole_step(puzzle: LocatedPuzzle) -> Located | None:
    """The part of a puzzle that puts the others together."""
    return next((one for one in puzzle.parts if isinstance(one.part, ListPart) and one.part.is_given), None)


def _print_step(submission: Submission, case: str | None) -> None:
    from rich.console import Console

    from grader.explain import sentence
    from grader.op_list.planned import planned_ops
    from grader.op_list.translate import calls_of
    from grader.report.plan_table import print_step

    located, plan = submission.located, _record(submission, case)
    part, chosen = located.part, _case(submission, case)
    assert isinstance(part, ListPart)
    calls = calls_of(located, submission.source, submission.used)
    ops = planned_ops(part, chosen, calls, plan, submission.sources())
    facts = {"label": located.label, "part": part.name, "sizes": listed(chosen.params)}
    heading = sentence("step", "heading", facts=facts)
    print_step(Console(highlight=False), heading, ops)


def _case(submission: Submission, case: str | None) -> Case:
    part = submission.located.part
    return next(iter(part.cases())) if case is None else chosen_cases(part, case, runs=False)[0][1]


def _record(submission: Submission, case: str | None) -> Plan:
    from grader.build import BuildFailed, build
    from grader.cache import ToolMissing
    from grader.record import record

    part = submission.located.part
    try:
        recording = record(build(submission.source, uses=submission.sources()), part, _case(submission, case))
    except ToolMissing as missing:
        raise typer.Exit(refuse_unchecked(str(missing))) from None
    except BuildFailed:
        _refuse(submission, "does not compile")
    if recording.findings:
        _refuse(submission, f"shows {recording.findings[0].kind} when it is recorded")
    return recording.plan


def _refuse(submission: Submission, what: str) -> None:
    typer.echo(f"grader: {submission.shown} {what}; `grader check {submission.located.label}` says more.", err=True)
    raise typer.Exit(NOT_PASSED)


def _loaded(name: str) -> str:
    from grader.record.plan import PlanInvalid, load, to_json

    try:
        return to_json(load(Path(name)))
    except OSError as error:
        raise UsageError(f"{shown_path(Path(name))} cannot be read: {error.strerror or error}.") from None
    except PlanInvalid as error:
        raise UsageError(f"{shown_path(Path(name))} holds no plan: {error}.") from None
