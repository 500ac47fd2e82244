"""What a puzzle's files do when they are judged: skeleton, solution, the solution of the part before, tolerance.

Each function judges one part and yields the problems that it shows; the tests of all puzzles call the same.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from grader.author.rules import Problem, is_given
from grader.author.wrong_kernels import Wrong, listed
from grader.catalog import Located, LocatedPuzzle
from grader.list_part import ListPart, ReadingPart
from grader.python_part import PythonPart
from grader.submission import used_sources
from grader.verdict import PartVerdict, State

if TYPE_CHECKING:
    from grader.build import Build
    from grader.puzzle import Case, Part

Judge: TypeAlias = Callable[[Located, Path], PartVerdict]

SHARE_OF_SOLUTION = 1 / 4  # of the tolerance, that the solution's own error may take
SHARE_OF_NARROW = 4  # times the tolerance, that arithmetic in a narrower type must miss by


def problems_when_judged(puzzle: LocatedPuzzle, seed: int) -> Iterator[Problem]:
    """All that judging a puzzle's files shows, part by part."""
    judge = judge_with(seed)
    before: Located | None = None
    for part in puzzle.parts:
        solved = list(solution_problems(part, judge))
        yield from solved
        yield from skeleton_problems(part, judge)
        if before is not None:
            yield from step_problems(before, part, judge)
        if not solved:
            yield from narrow_problems(part, seed)
        before = part


def judge_with(seed: int) -> Judge:
    """How `grader check` judges, on the software GPU and without a search for the smallest case."""
    from grader.check import Options, Submission, check_part
    from grader.tools import TorchLoading, default_tools

    tools, loading = default_tools(), TorchLoading()

    def judge(part: Located, source: Path) -> PartVerdict:
        submission = Submission(part, source, source.name, is_solution=source == part.solution_path)
        return check_part(submission, Options(seed=seed, device="software", shrink=0), tools, loading)

    return judge


def skeleton_problems(part: Located, judge: Judge) -> Iterator[Problem]:
    """The skeleton compiles without a warning, is not started, and is told what is missing; nothing of a given one."""
    if is_given(part):
        return
    with tempfile.TemporaryDirectory(prefix="grader-author-") as folder:
        source = Path(folder) / part.path.name
        source.write_text(part.skeleton(), encoding="utf-8")
        verdict = judge(part, source)
        yield from _warnings(part, part.path, source)
    if verdict.state is State.passed:
        yield Problem(part.path, "The skeleton passes.", "let a case or a goal need what is left out")
    elif verdict.state is not State.not_started or not verdict.findings:
        yield _surprise(part.path, "The skeleton should count as not started", verdict, part)


def solution_problems(part: Located, judge: Judge) -> Iterator[Problem]:
    """The solution compiles without a warning, passes, and errs by a quarter of what is allowed at most."""
    yield from _warnings(part, part.solution_path, part.solution_path)
    verdict = judge(part, part.solution_path)
    if verdict.state is not State.passed:
        yield _surprise(part.solution_path, "The solution does not pass", verdict, part)
        return
    share = max((case.of_tolerance for case in verdict.cases), default=0.0)
    if share > SHARE_OF_SOLUTION:
        sentence = f"The solution of {part.label} takes {share:.2g} of the tolerance, and a quarter is the most."
        step = "derive the tolerance anew, or make the solution more exact"
        yield Problem(part.puzzle.directory / "puzzle.py", sentence, step)


def step_problems(before: Located, part: Located, judge: Judge) -> Iterator[Problem]:
    """The solution of the part before does not pass under this part's name, unless puzzle.py says that it may.

    Of a part in Python and one in C++ neither is the other's step.
    """
    in_python = any(isinstance(one.part, ListPart | PythonPart | ReadingPart) for one in (before, part))
    if part.part.same_program_as == before.part.name or in_python:
        return
    text = before.solution_path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="grader-author-") as folder:
        source = Path(folder) / part.path.name
        source.write_text(re.sub(rf"\b{before.part.name}\(", f"{part.part.name}(", text), encoding="utf-8")
        verdict = judge(part, source)
    if verdict.state is State.passed:
        sentence = f"The solution of {before.label} passes as {part.label}."
        yield Problem(before.solution_path, sentence, "add a goal, or name it in puzzle.py: same_program_as")
    elif verdict.state not in (State.wrong, State.goal_open):
        yield _surprise(before.solution_path, f"As {part.label} it cannot be judged", verdict, part)


def narrow_problems(part: Located, seed: int) -> Iterator[Problem]:
    """Each wrong kernel that is to be told as low_precision misses by four tolerances at least."""
    path = part.puzzle.directory / "puzzle.py"
    for wrong in narrow_kernels(part):
        share = worst_share(part, wrong.source, seed)
        if share < SHARE_OF_NARROW:
            sentence = f"{wrong.source.name} misses {part.label} by {share:.2g} tolerances, and 4 are the fewest."
            yield Problem(path, sentence, "derive the tolerance anew, or add a case that shows the difference")


def narrow_kernels(part: Located) -> list[Wrong]:
    """The wrong kernels of a part that compute in a narrower type."""
    of_part = (wrong for wrong in listed(part.puzzle) if wrong.part.part.name == part.part.name)
    return [wrong for wrong in of_part if "low_precision" in wrong.kinds and wrong.source.is_file()]


def worst_share(part: Located, source: Path, seed: int) -> float:
    """The largest error over all cases and elements, in shares of what is allowed; 0 where nothing is compared."""
    from grader.build import build

    built = build(source, uses=used_sources(part))
    return max((share_in(part.part, built, case, seed) for case in part.part.cases()), default=0.0)


def share_in(part: Part, built: Build, case: Case, seed: int) -> float:
    """The largest error in one case, in shares of what is allowed there."""
    from grader.compare import compare
    from grader.inputs import memory_for
    from grader.record import record
    from grader.simt.software import SoftwareGPU

    memory = memory_for(part, case, seed)
    inputs = {buffer.name: memory[buffer.name].clone() for buffer in part.buffers if buffer.is_read}
    plan = record(built, part, case).plan
    SoftwareGPU(built).run(plan, memory, roles={buffer.name: buffer.role for buffer in part.buffers})
    return compare(part, case, inputs, memory).of_tolerance


def _warnings(part: Located, shown: Path, source: Path) -> Iterator[Problem]:
    from grader.build import BuildFailed, build

    if isinstance(part.part, PythonPart | ReadingPart):
        return
    try:
        warnings = build(source, uses=used_sources(part)).warnings
    except BuildFailed:
        return  # the verdict says so
    if warnings:
        yield Problem(shown, f"nvcc warns: {warnings.strip().splitlines()[0]}", "mend what it warns of")


def _surprise(path: Path, sentence: str, verdict: PartVerdict, part: Located) -> Problem:
    found = verdict.findings[0].message if verdict.findings else verdict.reason or ""
    state = str(verdict.state).replace("_", " ")
    return Problem(path, f"{sentence} ({state}). {found}".rstrip(), f"grader check {part.label} --solution")
