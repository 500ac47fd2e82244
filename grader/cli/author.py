"""The commands `grader author new`, `grader author check` and `grader author mutate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.catalog import Catalog, Located, load_catalog, shown_path

if TYPE_CHECKING:
    from grader.author.mutants import Judged
    from grader.author.rules import Problem

author = typer.Typer(help="For those who write puzzles.", no_args_is_help=True, rich_markup_mode=None)

_SEED = 20_261_129

PuzzleOption = Annotated[str | None, typer.Argument(metavar="[PUZZLE]", help="Only this puzzle.")]


@author.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the puzzle and of its first entry: vector_add.")],
    number: Annotated[int | None, typer.Option(metavar="N", help="Of the puzzle; by default the next one.")] = None,
) -> None:
    """Write a new puzzle: a small one that works, to be changed into what it is to teach."""
    from grader.author.template_files import new_puzzle

    for path in new_puzzle(load_catalog(), name, number):
        typer.echo(shown_path(path))
    typer.echo(f"\nNext  grader author check {name}")


@author.command("check")
def check(puzzle: PuzzleOption = None) -> None:
    """Hold puzzles to the rules: skeletons, solutions, hints, wrong kernels, tolerances.

    Exit code: 0 if all keep to them, else 1.
    """
    from grader.author.rules import problems_of_files
    from grader.author.trials import problems_when_judged

    catalog = load_catalog()
    count = 0
    for located in catalog.puzzles if puzzle is None else (catalog.resolve(puzzle)[0],):
        typer.echo(f"Puzzle {located.number} {located.puzzle.title}")
        for problems in (problems_of_files(located), problems_when_judged(located, _SEED)):
            found = 0
            for problem in problems:
                _show(problem)
                found += 1
            count += found
            if found:
                break  # files that are not as they should be are not worth judging
    typer.echo("All keep to the rules." if not count else f"{count} to mend." if count > 1 else "One to mend.")
    raise typer.Exit(1 if count else 0)


def _show(problem: Problem) -> None:
    typer.echo(f"  {shown_path(problem.path)}\n    {problem.sentence}\n    Next  {problem.next_step}")


@author.command("mutate")
def mutate(
    part: Annotated[str | None, typer.Argument(metavar="[PUZZLE[.PART]]", help="Only this puzzle or part.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only N mutants, drawn by the seed.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of the sample, and of all inputs.")] = _SEED,
    jobs: Annotated[int, typer.Option(min=1, max=1024, metavar="N", help="Processes that judge at once.")] = 1,
    commit: Annotated[
        str | None, typer.Option(metavar="HASH", help="What FILE is to say of the sources; by default what git says.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write what came out to this file.")
    ] = None,
) -> None:
    """Judge mutants of the solutions: small mechanical mistakes, all of which have to be found.

    Exit code: 0 if every mutant was killed or has a reason why it is as right as the solution, else 1.
    """
    from grader.author.mutants import REASONS, Reasons, judge_mutants, mutants_of, sample_of
    from grader.author.parallel import judge_with
    from grader.author.rates import commit_of, rates, table, unexplained, write
    from grader.tools import TorchLoading, default_tools

    catalog = load_catalog()
    mutants = [mutant for located in _parts(catalog, part) for mutant in mutants_of(located)]
    chosen = mutants if sample is None else sample_of(mutants, sample, seed)
    judging = (
        judge_mutants(chosen, Reasons(catalog.root / REASONS), default_tools(), TorchLoading(), seed)
        if jobs == 1
        else judge_with(jobs, chosen, catalog.root, seed)
    )
    judged = []
    for one in judging:
        judged.append(one)
        _tell(one, len(judged), len(chosen))
    typer.echo("\n" + "\n".join(table(rates(judged))))
    if file is not None:
        write(file, judged, commit or commit_of(catalog.root), seed)
    left = unexplained(judged)
    if left:
        typer.echo(
            f"\n{len(left)} without a reason. A mutant that passes shows a case or a goal that is missing; if it"
        )
        typer.echo(f"is as right as the solution, say why in {REASONS}.")
    raise typer.Exit(1 if left else 0)


def _tell(one: Judged, number: int, of: int) -> None:
    mutant = one.mutant
    typer.echo(f"{number}/{of} {mutant.part.label}:{mutant.number} {mutant.operator}: {one.fate} {one.note}".rstrip())
    if one.fate in ("survived", "could not be judged"):
        typer.echo(f"    {mutant.line}\n    {mutant.becomes}")


def _parts(catalog: Catalog, text: str | None) -> list[Located]:
    if text is None:
        return [located for puzzle in catalog.puzzles for located in puzzle.parts]
    puzzle, located = catalog.resolve(text)
    return [located] if located is not None else list(puzzle.parts)
