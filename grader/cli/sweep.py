"""The command `grader sweep`."""

from __future__ import annotations

from typing import Annotated

import typer

from grader.cli.options import FileOption, JsonOption, PartOption, PuzzleArgument, SolutionOption, new_seed
from grader.cli.progress_line import progress_line
from grader.cli.target import kernel_submission, refuse_unchecked
from grader.tools import TorchLoading, TorchMissing, default_tools


def sweep(
    puzzle: PuzzleArgument,
    part: PartOption = None,
    file: FileOption = None,
    solution: SolutionOption = False,
    constant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Change this constant, where several make the block.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Try a kernel in blocks of other sizes: right or not, occupancy, and on a GPU the time of each.

    The file is not changed. Exit code: 0 tried; 2 bad usage, nothing to sweep, or not right as it is;
    3 could not be tried here.
    """
    submission = kernel_submission(puzzle, part, file, solution=solution, command="sweep")
    from rich.console import Console

    from grader.cache import ToolMissing
    from grader.sweep.run import sweep as swept_in_full
    from grader.sweep.table import print_swept

    try:
        with progress_line() as tell:
            swept = swept_in_full(
                submission,
                constant,
                seed=new_seed(),
                tools=default_tools(),
                loading=TorchLoading(),
                progress=tell,
            )
    except (ToolMissing, TorchMissing) as missing:
        raise typer.Exit(refuse_unchecked(str(missing), as_json=as_json)) from None
    if as_json:
        typer.echo(swept.to_json())
    else:
        print_swept(Console(highlight=False), swept)
