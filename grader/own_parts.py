"""Whose file stands for a part that others build on: the learner's own where it has passed, else the reference."""

from __future__ import annotations

from grader.catalog import Located
from grader.progress import Progress, digest
from grader.submission import Submission, UsedPart, references


def used_parts(located: Located) -> tuple[UsedPart, ...]:
    """The parts that this one builds on: the learner's own file where it passed as it stands, else the reference."""
    if not located.used:
        return ()
    progress = Progress(located.puzzle.directory.parents[1])
    return tuple(
        UsedPart(part, part.path, is_own=True) if _passed_as_it_is(part, progress) else reference
        for part, reference in zip(located.used, references(located), strict=True)
    )


def standing_for(located: Located) -> UsedPart:
    """The same for one part by itself."""
    progress = Progress(located.puzzle.directory.parents[1])
    is_own = _passed_as_it_is(located, progress)
    return UsedPart(located, located.path if is_own else located.solution_path, is_own=is_own)


def parts_beside(located: Located) -> list[Submission]:
    """The parts that this one is shown beside, each built on what it uses: both own where they have passed."""
    standing = map(standing_for, located.beside)
    return [
        Submission(one.located, one.path, one.path.name, is_solution=not one.is_own, uses=used_parts(one.located))
        for one in standing
    ]


def _passed_as_it_is(located: Located, progress: Progress) -> bool:
    passed = progress.part(located.puzzle.name, located.part.name).passed_text
    try:
        return passed is not None and passed == digest(located.path.read_bytes())
    except OSError:
        return False
