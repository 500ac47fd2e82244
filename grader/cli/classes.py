"""The submissions of a class: a folder for each learner, with their files, or with their copy of the whole course.

class/ada/1_vector_add.cu
class/bo/puzzle_01_vector_add/2_vector_add.cu
class/cy/puzzles/puzzle_01_vector_add/2_vector_add.cu
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.catalog import Located, UsageError
from grader.cli.target import readable_source
from grader.submission import Submission, UsedPart, references


@dataclass
class Learner:
    """One learner of a class. `passes` judges a file; it is asked once for each part that another builds on."""

    folder: Path
    passes: Callable[[Submission], bool]
    _passed: dict[str, bool] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The folder's: whom it is about is for the instructor to know."""
        return self.folder.name

    def submission(self, located: Located) -> Submission | None:
        """Their file for a part, None where there is none or nothing in it; raises `UsageError` for one that is no file
        of theirs.
        """
        path = self._path(located)
        if path is None:
            return None
        found = Submission(located, path, f"{self.name}/{path.relative_to(self.folder)}", uses=self._used(located))
        return None if found.is_untouched() else found

    def _path(self, located: Located) -> Path | None:
        puzzle, file = located.puzzle.name, located.path.name
        places = (self.folder / file, self.folder / puzzle / file, self.folder / "puzzles" / puzzle / file)
        for path in places:
            if path.exists():
                if not path.resolve().is_relative_to(self.folder.resolve()):
                    raise UsageError(f"{self.name}/{path.relative_to(self.folder)} is a link that leads elsewhere.")
                return readable_source(path)
        return None

    def _used(self, located: Located) -> Sequence[UsedPart]:
        """As in their own workspace: their own file where it passes, else the reference."""
        return tuple(
            UsedPart(reference.located, own.source, is_own=True)
            if (own := self._passing(reference.located))
            else reference
            for reference in references(located)
        )

    def _passing(self, located: Located) -> Submission | None:
        own = self.submission(located)
        if own is None:
            return None
        if located.label not in self._passed:
            self._passed[located.label] = self.passes(own)
        return own if self._passed[located.label] else None


def learners(folder: Path, passes: Callable[[Submission], bool]) -> Iterator[Learner]:
    """Those who have a folder of their own in `folder`, by name; raises `UsageError` where nobody has."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}; --submissions names one that holds a folder for each learner.")
    found = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not found:
        raise UsageError(
            f"{folder} holds no folders; --submissions wants one for each learner, with their files in it."
        )
    yield from (Learner(path, passes) for path in found)
