"""Probes in a PTX text: stores to local memory that tell a watched thread's line, variables and barriers in its trace.

    instrument(ptx, debugged, "part.cu") -> Instrumented(text, probes)

The text is meant for the software GPU only. A probe stores two values at once to a variable of its own, its number and
what it tells: the value of a variable where it comes to live in a register, nothing for a line or a barrier. What is
only copied from one register of a variable to another is no new value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from grader.story.variables import Debugged, Variable

MARK = 0x5702_0000  # of a probe's number, the upper half: what a kernel stores by itself looks different
SPACE = "__story_probe"
SPACE_BYTES = 16  # it lies first in a function's frame, and the frame's own variables behind it

_FILE = re.compile(r'^\s*\.file\s+(?P<number>\d+)\s+"(?P<path>[^"]*)"')
_LOC = re.compile(r"^\s*\.loc\s+(?P<file>\d+)\s+(?P<line>\d+)\s")
_FUNCTION = re.compile(r"^[^/]*\.(?:entry|func)\b(?:\s*\([^)]*\))?\s*(?P<name>[\w$]+)\s*\(")
_LABEL = re.compile(r"^(?P<name>\$L__\w+):")
_CODE = re.compile(r"^\s+(?:@!?%p\d+\s+)?(?P<opcode>[a-z]\w*(?:\.[\w:]+)*)\b")
_DEFINED = re.compile(r"^\s*(?:@!?%\w+\s+)?[\w.:]+\s+(?:\{(?P<many>[^}]*)\}|(?P<one>%\w+))")
_COPIED = re.compile(r"^\s*mov\.\w+\s+(?P<to>%\w+), (?P<source>%\w+);")
_WIDTHS = {"r": 4, "f": 4, "rd": 8, "fd": 8, "rs": 2, "h": 2, "p": 0}
_JUMPED_TO = "$L__BB"
_STORING = ("st.", "bra", "bar", "red", "ret", "call", "exit", "trap", "membar", "fence")


_DECLARED = [
    f"\t.local .align 8 .b8 {SPACE}[{SPACE_BYTES}];",
    "\t.reg .b32 %probe32, %probed32;",
    "\t.reg .b64 %probe64;",
]


@dataclass(frozen=True)
class Probe:
    """What one probe tells: "line", "set" of a variable, or "barrier"; `function` is the name in the PTX."""

    kind: str
    function: str
    line: int
    variable: Variable | None = None


@dataclass
class Instrumented:
    """The text with its probes; the number that a probe stores is `MARK` plus its place in the list."""

    text: str
    probes: list[Probe] = field(default_factory=list)


def instrument(ptx: str, debugged: Debugged, source_name: str) -> Instrumented:
    """`source_name` is the learner's file: only what stands in it gets probes."""
    return _Instrumentation(ptx.splitlines(), debugged, source_name).run()


class _Instrumentation:
    def __init__(self, lines: list[str], debugged: Debugged, source_name: str) -> None:
        self.lines = lines
        self.debugged = debugged
        files = filter(None, map(_FILE.match, lines))
        self.own = {file["number"] for file in files if PurePosixPath(file["path"]).name == source_name}
        self.probes: list[Probe] = []
        self.function = ""
        self.in_body = False
        self.at_label: Mapping[str, list[tuple[Variable, str]]] = {}
        self.of_register: Mapping[str, list[Variable]] = {}
        self.awaited: dict[str, Variable] = {}  # by register: parameters live in one before it has been loaded
        self.is_open = False  # in a statement of several lines, such as a call
        self.line = 0  # of the learner's file; 0 in code of headers
        self.told = 0  # the line of the last probe for a line, with no jump since

    def run(self) -> Instrumented:
        made: list[str] = []
        for number, text in enumerate(self.lines):
            before, after = self._around(number, text)
            made += [*before, text, *after]
        return Instrumented("\n".join(made) + "\n", self.probes)

    def _around(self, number: int, text: str) -> tuple[list[str], list[str]]:
        if self.is_open:
            self.is_open = ";" not in text
        elif function := _FUNCTION.match(text):
            self._enter(function["name"])
        elif text.startswith("{") and self.function:
            self.in_body = True
            return [], _DECLARED
        elif text.startswith("}"):
            self.in_body = False
        elif location := _LOC.match(text):
            self._move(location["file"], int(location["line"]))
        elif self.in_body and (code := _CODE.match(text)):
            self.is_open = ";" not in text
            return self._at_code(text, code["opcode"])
        elif self.in_body and self.line and (label := _LABEL.match(text)):
            return [], self._at_label(number, label["name"])
        return [], []

    def _enter(self, name: str) -> None:
        self.function, self.in_body, self.line, self.told = name, False, 0, 0
        at_label: dict[str, list[tuple[Variable, str]]] = {}
        of_register: dict[str, list[Variable]] = {}
        for variable in self.debugged.variables.get(name, ()):
            for label, register in variable.ranges:
                at_label.setdefault(label, []).append((variable, register))
            if variable.register:
                of_register.setdefault(variable.register, []).append(variable)
        self.at_label, self.of_register, self.awaited = at_label, of_register, {}

    def _move(self, file: str, line: int) -> None:
        """Line 0 of a file stands for code that belongs to no line in particular."""
        if file not in self.own:
            self.line = 0
        elif line:
            self.line = line

    def _at_label(self, number: int, label: str) -> list[str]:
        if label.startswith(_JUMPED_TO):
            self.told = 0
        told: list[str] = []
        for variable, register in self.at_label.get(label, ()):
            source = self._source(number, register)
            if source is None:
                self.awaited[register] = variable
            elif source not in {home for _, home in variable.ranges}:
                told += self._store(Probe("set", self.function, self.line, variable), register)
        return told

    def _source(self, number: int, register: str) -> str | None:
        """From which register the register was copied, "" if it was computed, None if it has no value yet."""
        for text in reversed(self.lines[:number]):
            if text.startswith("{"):
                return None
            copied = _COPIED.match(text)
            if copied and copied["to"] == register:
                return copied["source"]
            if register in _defined(text):
                return ""
        return None

    def _at_code(self, text: str, opcode: str) -> tuple[list[str], list[str]]:
        if opcode.startswith("call"):
            before, self.told = self._line_probe(), 0  # what comes behind it is back in this function
            return before, []
        if not self.line:
            return [], []
        before = self._line_probe()
        if opcode.startswith(("bar.", "barrier.")):
            before += self._store(Probe("barrier", self.function, self.line))
        after: list[str] = []
        for register in _defined(text):
            awaited = self.awaited.pop(register, None)
            for variable in (*self.of_register.get(register, ()), *((awaited,) if awaited else ())):
                after += self._store(Probe("set", self.function, self.line, variable), register)
        return before, after

    def _line_probe(self) -> list[str]:
        if not self.line or self.line == self.told:
            return []
        self.told = self.line
        return self._store(Probe("line", self.function, self.line))

    def _store(self, probe: Probe, register: str = "") -> list[str]:
        number = MARK + len(self.probes)
        width = _WIDTHS.get(re.sub(r"\d", "", register[1:])) if register else 4
        if width is None or len(self.probes) > 0xFFFF:
            return []
        self.probes.append(probe)
        if width == 8:
            return [f"\tmov.u64 %probe64, {number};", f"\tst.local.v2.b64 [{SPACE}], {{%probe64, {register}}};"]
        value = register or "%probe32"
        fetched = []
        if width in (0, 2):
            value = "%probed32"
            fetched = [f"\tcvt.u32.u16 {value}, {register};" if width else f"\tselp.u32 {value}, 1, 0, {register};"]
        return [*fetched, f"\tmov.u32 %probe32, {number};", f"\tst.local.v2.b32 [{SPACE}], {{%probe32, {value}}};"]


def _defined(text: str) -> Iterator[str]:
    """The registers that an instruction writes."""
    found = _DEFINED.match(text)
    if found is None or text.lstrip().startswith(_STORING):
        return
    yield from (register.strip() for register in (found["many"] or found["one"] or "").split(","))
