"""The command `grader profile`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.catalog import UsageError, shown_path
from grader.chosen_cases import chosen_cases
from grader.cli.options import FileOption, JsonOption, PartOption, PuzzleArgument, SizesOption, SolutionOption, new_seed
from grader.cli.target import kernel_submission, refuse_over_other, refuse_unchecked
from grader.explain import sentence
from grader.facts import listed
from grader.small_case import small_case
from grader.tools import TorchLoading, TorchMissing, default_tools


def profile(
    puzzle: PuzzleArgument,
    part: PartOption = None,
    file: FileOption = None,
    solution: SolutionOption = False,
    case: SizesOption = None,
    trace: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a trace of PyTorch's profiler there; needs a GPU.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Count what each line asks of memory, with Nsight Compute's numbers beside ours where ncu is.

    Exit code: 0 counted; 2 bad usage, or no kernel runs; 3 could not be counted here, or no trace could be
    written.
    """
    submission = kernel_submission(puzzle, part, file, solution=solution, command="profile")
    named = chosen_cases(submission.located.part, case)[0] if case is not None else small_case(submission.located.part)
    target = _trace_file(trace)
    from rich.console import Console

    from grader.cache import ToolMissing
    from grader.profile.run import profile as profiled_in_full
    from grader.profile.run import traced
    from grader.profile.table import print_profiled

    seed, tools, loading = new_seed(), default_tools(), TorchLoading()
    try:
        profiled = profiled_in_full(submission, named, seed=seed, tools=tools, loading=loading)
        if as_json:
            typer.echo(profiled.to_json())
        else:
            print_profiled(Console(highlight=False), profiled)
        if target is None:
            return
        full = named[1] if case is not None else submission.located.part.bench
        missing = traced(submission, full, target, seed=seed, tools=tools)
    except (ToolMissing, TorchMissing) as error:
        raise typer.Exit(refuse_unchecked(str(error), as_json=as_json)) from None
    if missing is not None:
        raise typer.Exit(refuse_unchecked(missing))
    facts = {"file": shown_path(target), "sizes": listed(full.params)}
    typer.echo(sentence("profile", "trace", facts=facts), err=as_json)


def _trace_file(given: str | None) -> Path | None:
    if given is None:
        return None
    path = Path(given)
    if path.is_dir():
        raise UsageError(sentence("profile", "is_folder", facts={"file": given}))
    if not path.parent.is_dir():
        raise UsageError(sentence("profile", "no_folder", facts={"file": given, "folder": path.parent}))
    refuse_over_other(path)
    return path
