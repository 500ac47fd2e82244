"""What is to be judged, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.catalog import Located, UsageError, emptied, is_untouched
from grader.list_part import ListPart
from grader.prelude import Companion, HeaderFile, UsedSource
from grader.puzzle import Case
from grader.tools import Tools

if TYPE_CHECKING:
    from grader.build import Build

SECONDS = 2.0  # that a learner waits for the smallest case that fails


@dataclass(frozen=True)
class UsedPart:
    """A part that another one builds on: where its source lies, and whether that is the learner's own."""

    located: Located
    path: Path
    is_own: bool = False

    def source(self) -> UsedSource:
        """What is compiled; raises `UsageError` where it cannot be read."""
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            raise UsageError(
                f"{self.path} is missing, which is part {self.located.label}, and other parts build on it; "
                "run this from a checkout of the course that has its solutions folder."
            ) from None
        return UsedSource(self.located.part.name, text)


def references(located: Located) -> tuple[UsedPart, ...]:
    """The parts that this one builds on, all of them as the course solves them."""
    return tuple(UsedPart(part, part.solution_path) for part in located.used)


def companions(located: Located, used: Sequence[UsedPart]) -> list[Companion]:
    """What `build` takes as `uses` for a file of this part: the sources of the parts `used`, headers of all, and for a
    list of op calls how it becomes C++, the lists that it builds on being a part of it.
    """
    sources = (part.source() for part in used if not isinstance(part.located.part, ListPart))
    files = (header for part in (*located.used, located) for header in _files(part))
    return [*sources, *files, *_translation(located, used)]


def _translation(located: Located, used: Sequence[UsedPart]) -> Iterator[Companion]:
    if isinstance(located.part, ListPart):
        from grader.op_list.translate import translation

        yield translation(located, used)


def _files(located: Located) -> Iterator[HeaderFile]:
    for path in located.headers:
        yield HeaderFile(path, (located.puzzle.directory / path).read_text(encoding="utf-8", errors="replace"))


def used_sources(located: Located) -> list[Companion]:
    """The same, with the sources from the solutions."""
    return companions(located, references(located))


@dataclass(frozen=True)
class Submission:
    """A file to be judged as a part; `shown` is how the learner knows it, `is_solution` whether it is the reference.

    `uses` are the parts that it builds on, `beside` those that it is shown beside; None stands for the references.
    """

    located: Located
    source: Path
    shown: str
    is_solution: bool = False
    uses: Sequence[UsedPart] | None = None
    beside: Sequence[Submission] | None = None

    @property
    def others(self) -> Sequence[Submission]:
        """The parts that it is shown beside, in the order of their calls."""
        if self.beside is not None:
            return self.beside
        return [Submission(part, part.solution_path, part.path.name, is_solution=True) for part in self.located.beside]

    @property
    def used(self) -> Sequence[UsedPart]:
        """The parts that it builds on, those first that others need."""
        return references(self.located) if self.uses is None else self.uses

    def own_parts_missing(self) -> list[str]:
        """Of a part whose file is given: labels of the parts of its puzzle that it needs the learner's own files of."""
        part = self.located.part
        if not isinstance(part, ListPart) or not part.is_given or self.is_solution or self.uses is None:
            return []
        puzzle = self.located.puzzle.name
        return [one.located.label for one in self.uses if one.located.puzzle.name == puzzle and not one.is_own]

    def sources(self) -> list[Companion]:
        """What is compiled with it."""
        return companions(self.located, self.used)

    def tools(self, tools: Tools) -> Tools:
        """The same tools, building each file with the parts that this one builds on."""
        sources = self.sources()

        def build(source: Path, uses: Sequence[Companion] = ()) -> Build:
            return tools.build(source, [*uses, *sources])

        return replace(tools, build=build) if sources else tools

    def text(self) -> str:
        """What stands in the file; bytes that are no UTF-8 are replaced."""
        return self.source.read_text(encoding="utf-8", errors="replace")

    def is_untouched(self) -> bool:
        """Whether it is the skeleton still, comments apart."""
        text = self.text()
        if not is_untouched(text):
            return False
        try:
            return emptied(text) == self.located.skeleton()
        except UsageError:
            return True


def written(located: Located, file: str, source: str, uses: Mapping[str, str], folder: Path) -> Submission:
    """The submission whose texts these are, as files below `folder`; `file` is a bare name. `uses` are, by entry, the
    learner's own sources of parts that it builds on; for the others the references stand.
    """
    path = folder / file
    path.write_text(source, encoding="utf-8")
    used = [_own_or_reference(part, uses.get(part.located.part.name), folder / "uses") for part in references(located)]
    return Submission(located, path, file, uses=used)


def _own_or_reference(reference: UsedPart, own: str | None, folder: Path) -> UsedPart:
    if own is None:
        return reference
    folder.mkdir(exist_ok=True)
    path = folder / reference.located.path.name
    path.write_text(own, encoding="utf-8")
    return replace(reference, path=path, is_own=True)


@dataclass(frozen=True)
class Options:
    """How to judge: `cases`, as (group, case), replaces the part's own; `everything` goes on after a failed case; for
    up to `shrink` seconds the smallest case that fails is looked for, unless cases are given; `compiled` has
    `torch.compile` timed beside it where there is a GPU.
    """

    seed: int
    device: str = "auto"
    everything: bool = False
    cases: Sequence[tuple[str, Case]] | None = None
    shrink: float = SECONDS
    compiled: bool = False
