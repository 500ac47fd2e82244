"""Observations → the verdict's findings: what was seen gets its words, by the launch and buffers it was seen in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.catalog import markers
from grader.evidence import LaunchFact
from grader.explain import Diagnostic, Observation, Pattern, Setting, say, sentence, title
from grader.explain.names import base_name, kernel_name, used_part, variable_name
from grader.list_part import ListPart
from grader.puzzle import Case, Part, Workspace, dtype_of, element_count, shape_of
from grader.shared_arrays import SharedPlace, shared_place
from grader.verdict import Finding

VALUE_KINDS = ("not_a_number", "wrong_values", "low_precision")


@dataclass(frozen=True)
class Place:
    """Where observations come from: the part, its label and file, the case and its launches where there are any.

    `file` is how the learner knows the file, `source` where it lies. Where the kernel is given, what is seen in it is
    shown with its launch, which is what the learner wrote.
    """

    part: Part
    label: str
    file: str
    source: Path
    case: Case | None = None
    launches: Sequence[LaunchFact] = ()
    kernel_is_given: bool = False

    def finding(self, seen: Observation, pattern: Pattern | None = None) -> Finding:
        """The observation in words; a pattern of the wrong values may tell a better reason."""
        seen = _with_variable(self._with_launch(seen))
        seen = replace(seen, line=self._line(seen.line), other_line=self._line(seen.other_line))
        seen = self._with_calls(seen)
        shared = self._shared_place(seen)
        if shared is not None:
            facts = {**seen.facts, "element": shared.text} if shared.text is not None else seen.facts
            seen = replace(seen, buffer=shared.name, index=shared.index, facts=facts)
        finding = in_words(seen, self._setting(seen, shared), self.file)
        why = (_hint(seen, pattern) if pattern is not None else "") or finding.why
        told = _of_list(seen) if isinstance(self.part, ListPart) else _of_used_part(seen)
        return replace(finding, why=told or why)

    def compile_error(self, diagnostic: Diagnostic) -> Finding:
        """An error of nvcc; its own words stay in `original`."""
        line = self._line(diagnostic.line)
        variant = "known" if diagnostic.sentence else "plain" if line else "unplaced"
        facts = {"sentence": diagnostic.sentence, "original": diagnostic.original}
        return Finding(
            kind="compile_error",
            severity="error",
            title=title("compile_error"),
            message=sentence("compile_error", "message", variant, facts=facts),
            why="",
            file=self.file,
            line=line,
            marks=((line, diagnostic.original),) if line else (),
            original=diagnostic.original,
        )

    def _line(self, line: int | None) -> int | None:
        """The line if the file has it: with `#line`, and with `.loc` in asm, a source claims any that it likes."""
        return line if line and 0 < line <= len(self.source.read_bytes().split(b"\n")) else None

    def _with_calls(self, seen: Observation) -> Observation:
        """With the learner's own lines where it was seen in a function that is given: the calls that led there."""
        own = set[int]()
        for first, last in zip(*markers(self.source.read_text(encoding="utf-8", errors="replace")), strict=False):
            own.update(range(first, last))
        calls = {}
        for name, line in (("", seen.line), ("other_", seen.other_line)):
            found = [call for call in seen.facts.get(f"{name}callers", ()) if call in own]
            if found and line is not None and line not in own:
                calls[f"{name}called_on"] = found[0]
        return replace(seen, facts={**seen.facts, **calls}) if calls else seen

    def _with_launch(self, seen: Observation) -> Observation:
        launch = self._launch(seen.kernel)
        if seen.kind in VALUE_KINDS:
            launch = next(iter(self.launches[-1:]), None)
        if not self.kernel_is_given or launch is None or seen.other_line or launch.line in (None, seen.line):
            return seen
        return replace(seen, other_line=launch.line, facts={**seen.facts, "other": "launch"})

    def _shared_place(self, seen: Observation) -> SharedPlace | None:
        """Where in shared memory it was seen, as the source declares the variable; None where it was elsewhere."""
        if "variable" not in seen.facts:
            return None
        name, size = variable_name(seen.facts["variable"]), seen.facts["variable_bytes"]
        return shared_place(self.source.read_text(encoding="utf-8", errors="replace"), name, seen.facts["at"], size)

    def _setting(self, seen: Observation, shared: SharedPlace | None) -> Setting:
        launch = self._launch(seen.kernel)
        buffers = self.part.buffers if self.case is not None else ()
        params = self.case.params if self.case is not None else {}
        types = {buffer.name: dtype_of(buffer, params).name for buffer in buffers}
        elements = {buffer.name: element_count(buffer, params) for buffer in buffers}
        if shared is not None and shared.text is not None:
            types[shared.name], elements[shared.name] = shared.type or "any", shared.elements
        return Setting(
            entry=self.part.name,
            label=self.label,
            grid=launch.grid if launch is not None else None,
            block=launch.block if launch is not None else None,
            types=types,
            elements=elements,
            shapes={buffer.name: shape_of(buffer, params) for buffer in buffers},
            empty="" if any(elements.get(buffer.name) for buffer in self.part.results) else self._zero(),
            zero=self._zero(),
            result=self._result(),
            workspaces=frozenset(buffer.name for buffer in buffers if isinstance(buffer, Workspace)),
        )

    def _result(self) -> tuple[int, int] | None:
        """Rows and columns of the first result that is a matrix."""
        params = self.case.params if self.case is not None else {}
        shapes = [shape_of(buffer, params) for buffer in self.part.results] if self.case is not None else []
        return next(((shape[0], shape[1]) for shape in shapes if len(shape) == 2), None)

    def _zero(self) -> str:
        """Which sizes of the case are 0, as in "n = 0"."""
        params = self.case.params if self.case is not None else {}
        return ", ".join(f"{name} = 0" for name, value in params.items() if value == 0 and name in self.part.sizes)

    def _launch(self, kernel: str | None) -> LaunchFact | None:
        """The last launch of that kernel; names are compared as they are written in the source."""
        if kernel is None:
            return None
        wanted = kernel_name(kernel)
        return next((launch for launch in reversed(self.launches) if kernel_name(launch.kernel) == wanted), None)


def _of_list(seen: Observation) -> str:
    """Of a list of op calls, whose kernels are all somebody else's: what may be wrong with the list."""
    if seen.kind == "never_written":
        return sentence("list", "not_made", facts={"name": seen.buffer})
    if seen.kind in (*VALUE_KINDS, "goal_missed") or not seen.kernel:
        return ""
    key = "not_made_yet" if seen.kind == "uninitialised_read" else "in_op"
    return sentence("list", key, facts={"name": seen.buffer, "kernel": base_name(seen.kernel)})


def _of_used_part(seen: Observation) -> str:
    """That it was seen in a kernel of a part that this one builds on; "" where it was not."""
    kernel = seen.kernel or ""
    entry = used_part(kernel) if seen.kind not in VALUE_KINDS else None
    return sentence("words", "in_used_part", facts={"entry": entry, "kernel": kernel_name(kernel)}) if entry else ""


def _hint(seen: Observation, pattern: Pattern) -> str:
    """What the pattern often means; "" where what was seen has a reason of its own, as arithmetic in half has."""
    if "why" in seen.facts or seen.kind not in ("not_a_number", "wrong_values", "never_written"):
        return ""
    return pattern.why


def _with_variable(seen: Observation) -> Observation:
    """With the name of the module's variable, where it was seen in one."""
    region = seen.facts.get("region")
    if seen.buffer is not None or seen.facts.get("space") != "global" or not region or not region.isidentifier():
        return seen
    return replace(seen, buffer=variable_name(region))


def in_words(seen: Observation, setting: Setting, file: str) -> Finding:
    """The finding that an observation is; `file` is how whoever wrote it knows it."""
    said = say(seen, setting)
    return Finding(
        kind=seen.kind,
        severity="error",
        title=said.title,
        message=said.message,
        why=said.why,
        file=file,
        line=seen.line,
        kernel=kernel_name(seen.kernel) if seen.kernel else None,
        block=seen.block,
        thread=seen.thread,
        buffer=seen.buffer,
        index=seen.index,
        other_line=seen.other_line,
        count=seen.count,
        marks=tuple((mark.line, mark.text) for mark in said.marks),
        banks=seen.facts.get("banks"),
    )


def identity(finding: Finding) -> tuple[object, ...]:
    """What two findings have in common of which one is told: of a barrier, also where else its threads are."""
    other_line = None if finding.kind == "barrier_divergence" else finding.other_line
    return finding.kind, finding.line, other_line, finding.buffer
