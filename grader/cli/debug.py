"""The command `grader debug`."""

from __future__ import annotations

import typer

from grader.catalog import Located, UsageError, load_catalog
from grader.check import Options, Submission, check_part
from grader.chosen_cases import chosen_cases
from grader.cli.options import CaseOption, FileOption, PartOption, PuzzleArgument, SeedOption, SolutionOption, new_seed
from grader.cli.target import chosen_submission, one_part, refuse_both
from grader.explain import sentence
from grader.facts import listed
from grader.findings import Place
from grader.list_part import ListPart
from grader.progress import Progress
from grader.puzzle import Case
from grader.tools import TorchLoading, default_tools
from grader.verdict import PartVerdict, State

_SECONDS = 10.0  # for the smallest case: whoever asks for a story wants a short one
_NOT_PASSED, _UNCHECKED = 1, 3


def debug(
    puzzle: PuzzleArgument,
    part: PartOption = None,
    file: FileOption = None,
    solution: SolutionOption = False,
    case: CaseOption = None,
    seed: SeedOption = None,
) -> None:
    """Tell the story of one thread: what it ran, read and stored, up to the first wrong element.

    The smallest case that fails is taken. Exit code: 0 told, or nothing fails; 1 does not compile; 2 bad usage; 3 could
    not be judged here.
    """
    refuse_both(file, solution=solution)
    catalog = load_catalog()
    located = one_part(catalog, puzzle, part, command="debug")
    if located.part.is_host:
        raise UsageError(f"{located.label} starts no kernel, so there is no thread to tell of; grader check shows all.")
    if isinstance(located.part, ListPart):
        raise UsageError(
            f"{located.label} is a list, and its kernels are those of other parts; `grader plan {located.label}` shows "
            "which they are, launch by launch."
        )
    submission = chosen_submission(located, file, solution=solution)
    if seed is None:
        own = file is None and not solution
        noted = Progress(catalog.root).part(located.puzzle.name, located.part.name).failed_seed if own else None
        seed = new_seed() if noted is None else noted
    chosen = chosen_cases(located.part, case) if case is not None else None
    verdict = check_part(
        submission, Options(seed, "software", cases=chosen, shrink=_SECONDS), default_tools(), TorchLoading()
    )
    raise typer.Exit(_tell(submission, verdict, located))


def _tell(submission: Submission, verdict: PartVerdict, located: Located) -> int:
    failed = next((result for result in verdict.cases if not result.passed), None)
    if verdict.state is State.unchecked:
        typer.echo(verdict.reason or "")
        return _UNCHECKED
    if verdict.stage == "build":
        typer.echo(_say("no_file", file=verdict.file, label=located.label))
        return _NOT_PASSED
    if failed is None:
        typer.echo(_say("nothing"))
        return 0
    case = Case(inputs=failed.inputs, offset=failed.offset, **failed.params)
    smaller = Case.of(verdict.smallest.params) if verdict.smallest is not None else case
    return _show(submission, verdict, located, [smaller, case])


def _show(submission: Submission, verdict: PartVerdict, located: Located, cases: list[Case]) -> int:
    """The first of the cases that has a story."""
    from rich.console import Console

    from grader.report.story import print_story
    from grader.story.run import tell

    words = Place(located.part, located.label, verdict.file, submission.source)
    for case in cases:
        story = tell(words, located.part, case, submission.source, verdict.seed, default_tools(), submission.sources())
        if story is not None:
            heading = _heading(located, verdict, case)
            print_story(Console(highlight=False), story, heading, submission.text(), verdict.file, located.label)
            return 0
    typer.echo(_say("nobody", message=verdict.findings[0].message))
    return 0


def _heading(located: Located, verdict: PartVerdict, case: Case) -> str:
    sizes = listed(case.params)
    heading = "heading" if sizes else "heading_without_sizes"
    return _say(heading, label=located.label, part=located.part.name, sizes=sizes, seed=verdict.seed)


def _say(key: str, **facts: object) -> str:
    return sentence("story", key, facts=facts).replace("`", "")
