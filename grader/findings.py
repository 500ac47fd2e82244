"""Observations → the verdict's findings: what was seen gets its words, by the launch and buffers it was seen in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.explain import Diagnostic, Observation, Setting, say, sentence, title
from grader.explain.names import kernel_name
from grader.puzzle import Case, LaunchFact, Part, element_count, shape_of
from grader.verdict import Finding


@dataclass(frozen=True)
class Place:
    """Where observations come from: the part, its label and file, the case and its launches where there are any."""

    part: Part
    label: str
    file: str
    case: Case | None = None
    launches: Sequence[LaunchFact] = ()

    def finding(self, seen: Observation) -> Finding:
        """The observation in words."""
        said = say(seen, self._setting(seen))
        return Finding(
            kind=seen.kind,
            severity="error",
            title=title(seen.kind),
            message=said.message,
            why=said.why,
            file=self.file,
            line=seen.line or None,
            kernel=kernel_name(seen.kernel) if seen.kernel else None,
            block=seen.block,
            thread=seen.thread,
            buffer=seen.buffer,
            index=seen.index,
            other_line=seen.other_line or None,
            count=seen.count,
            marks=tuple((mark.line, mark.text) for mark in said.marks),
        )

    def compile_error(self, diagnostic: Diagnostic) -> Finding:
        """An error of nvcc; its own words stay in `original`."""
        variant = "known" if diagnostic.sentence else "plain" if diagnostic.line else "unplaced"
        facts = {"sentence": diagnostic.sentence, "original": diagnostic.original}
        return Finding(
            kind="compile_error",
            severity="error",
            title=title("compile_error"),
            message=sentence("compile_error", "message", variant, facts=facts),
            why="",
            file=self.file,
            line=diagnostic.line,
            marks=((diagnostic.line, diagnostic.original),) if diagnostic.line else (),
            original=diagnostic.original,
        )

    def _setting(self, seen: Observation) -> Setting:
        launch = self._launch(seen.kernel)
        buffers = self.part.buffers if self.case is not None else ()
        params = self.case.params if self.case is not None else {}
        return Setting(
            entry=self.part.name,
            label=self.label,
            grid=launch.grid if launch is not None else None,
            block=launch.block if launch is not None else None,
            types={buffer.name: buffer.dtype.name for buffer in buffers},
            elements={buffer.name: element_count(buffer, params) for buffer in buffers},
            shapes={buffer.name: shape_of(buffer, params) for buffer in buffers},
        )

    def _launch(self, kernel: str | None) -> LaunchFact | None:
        """The last launch of that kernel; names are compared as they are written in the source."""
        if kernel is None:
            return None
        wanted = kernel_name(kernel)
        return next((launch for launch in reversed(self.launches) if kernel_name(launch.kernel) == wanted), None)
