"""The command `grader check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from grader.cache import cache_root
from grader.catalog import Located, LocatedPuzzle, load_catalog
from grader.check import Options, Submission, check_part
from grader.chosen_cases import chosen_cases
from grader.cli.options import (
    CaseOption,
    FileOption,
    JsonOption,
    PartOption,
    PuzzleArgument,
    SeedOption,
    SolutionOption,
    new_seed,
)
from grader.cli.progress_line import progress_line
from grader.cli.target import file_submission, own_submission, refuse_both, solution_submission
from grader.explain import sentence
from grader.hints import read_hints
from grader.progress import PartProgress, Progress
from grader.puzzle import Case
from grader.tools import TorchLoading, default_tools
from grader.verdict import PartVerdict, Verdict


class Device(StrEnum):
    """What judges the values."""

    auto = "auto"
    software = "software"
    cuda = "cuda"


def check(
    puzzle: PuzzleArgument,
    part: PartOption = None,
    file: FileOption = None,
    solution: SolutionOption = False,
    device: Annotated[Device, typer.Option(help="Where the kernels run.")] = Device.auto,
    case: CaseOption = None,
    seed: SeedOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Do not stop at the first part or case that fails.")
    ] = False,
    compiled: Annotated[bool, typer.Option("--compiled", help="On a GPU, time torch.compile as well.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Judge a puzzle, part by part, or one part of it.

    Exit code: 0 passed, 1 not passed, 2 bad usage, 3 could not be judged here.
    """
    refuse_both(file, solution=solution)
    catalog = load_catalog()
    located_puzzle, located = catalog.resolve(puzzle, part)
    session = _Session(
        workspace=catalog.root,
        puzzle=located_puzzle,
        submissions=_submissions(located_puzzle, located, file, solution),
        device=device.value,
        case=case,
        seed=seed,
        everything=everything,
        as_json=as_json,
        compiled=compiled,
        progress=Progress(catalog.root) if file is None and not solution else None,
    )
    raise typer.Exit(session.run())


def _submissions(puzzle: LocatedPuzzle, located: Located | None, file: str | None, solution: bool) -> list[Submission]:
    if file is not None:
        return [file_submission(located, puzzle, file)]
    chosen = [located] if located is not None else [part for part in puzzle.parts if not part.part.extra]
    return [solution_submission(part) if solution else own_submission(part) for part in chosen]


@dataclass
class _Session:
    """One call of the command; `progress` is None where nothing is to be noted."""

    workspace: Path
    puzzle: LocatedPuzzle
    submissions: Sequence[Submission]
    device: str
    case: str | None
    seed: int | None
    everything: bool
    as_json: bool
    compiled: bool
    progress: Progress | None
    fresh_seed: int = field(default_factory=new_seed)

    def run(self) -> int:
        chosen = [self._chosen_cases(submission) for submission in self.submissions]
        if not self.as_json and not (cache_root() / "machine").exists():
            typer.echo(sentence("verdict", "first_time"), err=True)
        loading, tools = TorchLoading(), default_tools()
        judged: list[PartVerdict] = []
        for named, cases in zip(self.submissions, chosen, strict=True):
            # A part that was judged a moment ago may have passed, and others build on it.
            submission = own_submission(named.located) if self.progress is not None else named
            options = Options(self._seed_for(submission), self.device, self.everything, cases, compiled=self.compiled)
            with progress_line(wanted=not self.as_json) as tell:
                judged.append(check_part(submission, options, tools, loading, tell))
            self._note(submission, judged[-1])
            if not self.as_json:
                self._print(submission, judged[-1])
            if not judged[-1].passed and not self.everything:
                break
        remaining = tuple(submission.located.label for submission in self.submissions[len(judged) :])
        verdict = Verdict(self.puzzle.name, self.puzzle.puzzle.title, tuple(judged), remaining)
        self._finish(verdict)
        return verdict.exit_code

    def _chosen_cases(self, submission: Submission) -> Sequence[tuple[str, Case]] | None:
        return None if self.case is None else chosen_cases(submission.located.part, self.case)

    def _seed_for(self, submission: Submission) -> int:
        if self.seed is not None:
            return self.seed
        failed = self._noted(submission.located).failed_seed
        return self.fresh_seed if failed is None else failed

    def _noted(self, located: Located) -> PartProgress:
        return self.progress.part(self.puzzle.name, located.part.name) if self.progress else PartProgress()

    def _note(self, submission: Submission, verdict: PartVerdict) -> None:
        """A single case says too little to call a part passed."""
        if self.progress is not None and not (verdict.passed and self.case is not None):
            last = verdict.findings[0].kind if verdict.findings else None
            text = submission.source.read_bytes()
            self.progress.note_check(self.puzzle.name, verdict.part, verdict.state, verdict.seed, last, text)
            self._note_time(submission, verdict)

    def _note_time(self, submission: Submission, verdict: PartVerdict) -> None:
        """The time of a passed part goes to the workspace's leaderboard, where it can be told what it is a time of."""
        timing = verdict.timing
        if not verdict.passed or timing is None or timing.refused is not None or not timing.hashes:
            return
        from grader.leaderboard.entry import entry_of
        from grader.leaderboard.store import Leaderboard

        with Leaderboard(self.workspace) as board:
            board.note(entry_of(submission, timing, board.player, target=timing.target))

    def _print(self, submission: Submission, verdict: PartVerdict) -> None:
        from rich.console import Console

        from grader.report import Surroundings, print_part

        located = submission.located
        parts = self.puzzle.parts
        hints = read_hints(located.hints_path, located.path.stem)
        following = next((part.label for part in parts if part.index > located.index), None)
        around = Surroundings(
            number=self.puzzle.number,
            title=self.puzzle.puzzle.title,
            index=located.index,
            parts=parts[-1].index,
            source=submission.source.read_text(encoding="utf-8", errors="replace"),
            hints=len(hints),
            hints_seen=len(self._noted(located).hints),
            following=following,
            own_file=self.progress is not None,
            one_case=self.case is not None,
            is_solution=submission.is_solution,
            reads=located.part.answers() if verdict.passed and located.part.answers is not None else (),
        )
        print_part(Console(highlight=False), verdict, around)

    def _finish(self, verdict: Verdict) -> None:
        if self.as_json:
            typer.echo(verdict.to_json())
        elif len(self.submissions) > 1:
            from rich.console import Console

            from grader.report import print_summary

            print_summary(Console(highlight=False), verdict, self.puzzle.number, stopped=not self.everything)
