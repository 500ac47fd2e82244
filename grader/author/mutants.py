"""Mutants of a solution: one small mechanical mistake each, in what the learner writes, judged like a learner's file.

    for mutant in mutants_of(located): ...
    judged = judge_mutant(mutant, ...)

A mutant is killed if it does not pass. One that does not compile says nothing, and one from which the compilers make
the solution's own program is none. What else passes is a survivor, and has to have a reason why it is as right as the
solution; the reasons lie in a file beside the tests, see `Reasons`.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from grader.author.edits import OPERATORS, Edit
from grader.author.tokens import Code
from grader.catalog import Located, region_spans
from grader.list_part import ListPart, ReadingPart
from grader.python_part import PythonPart

if TYPE_CHECKING:
    from grader.build import Build
    from grader.tools import Tools, TorchLoading

One = TypeVar("One")
REASONS = Path("tests") / "mutants" / "equivalent.json"
_SECTIONS = (".text", ".rodata", ".data")
_PLACES = ("//", ".loc", ".file", ".section")  # how lines of a PTX text begin that only say where code comes from


class Fate(StrEnum):
    """What became of a mutant."""

    killed = "killed"
    survived = "survived"
    stillborn = "does not compile"
    same = "same program"
    unjudged = "could not be judged"


@dataclass(frozen=True)
class Mutant:
    """A changed solution. `line` and `becomes` are the line before and after, without comments, `number` its
    number in the file, and `nth` tells apart lines of the same text in one part.
    """

    part: Located
    operator: str
    number: int
    line: str
    becomes: str
    text: str
    nth: int = 1

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What a reason is known by, wherever the line stands."""
        return self.part.part.name, self.line, self.becomes, self.nth


@dataclass(frozen=True)
class Judged:
    """A mutant, what became of it, and the kind of what was found in it, or the reason why it may pass."""

    mutant: Mutant
    fate: Fate
    note: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is a program of its own that could be told from the solution."""
        return self.fate is Fate.killed or (self.fate is Fate.survived and not self.note)


class Reasons:
    """Why mutants that survive are right: {"part", "line", "becomes", "reason"}, and "nth" where that is not 1."""

    def __init__(self, path: Path) -> None:
        entries = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        self.known = {
            (entry["part"], entry["line"], entry["becomes"], entry.get("nth", 1)): str(entry["reason"])
            for entry in entries
        }

    def of(self, mutant: Mutant) -> str:
        """The reason for this one; "" where nobody has given any."""
        return self.known.get(mutant.key, "")


def mutants_of(part: Located) -> list[Mutant]:
    """All mutants of a part's solution, in the order of its lines; none of a part in Python."""
    if isinstance(part.part, ListPart | PythonPart | ReadingPart):
        return []
    source = part.solution_path.read_text(encoding="utf-8")
    code, spans = Code(source), region_spans(source)
    inside = [
        (edit, name)
        for name, operator in OPERATORS.items()
        for edit in operator(code)
        if any(start <= edit.start and edit.end <= end for start, end in spans)
    ]
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for edit, name in sorted(inside, key=lambda each: (each[0].start, each[0].end, each[0].text)):
        mutant = _mutant(part, source, edit, name)
        seen[mutant.line, mutant.becomes] += 1
        found.append(replace(mutant, nth=seen[mutant.line, mutant.becomes]))
    return found


def digest_of(part: Located) -> str:
    """What a part's solution is known by in results: any change of its text but in comments and blanks is another."""
    lines = part.solution_path.read_text(encoding="utf-8").splitlines()
    return hashlib.sha256("\n".join(filter(None, map(_plain, lines))).encode()).hexdigest()[:16]


def _mutant(part: Located, source: str, edit: Edit, name: str) -> Mutant:
    text = source[: edit.start] + edit.text + source[edit.end :]
    first = source.rfind("\n", 0, edit.start) + 1
    line = _plain(source[first : _line_end(source, edit.end)])
    becomes = _plain(text[first : _line_end(text, edit.start + len(edit.text))])
    if edit.header is not None and f"<{edit.header}>" not in text:
        text = f"#include <{edit.header}>\n{text}"
    return Mutant(part, name, source.count("\n", 0, edit.start) + 1, line, becomes, text)


def _plain(line: str) -> str:
    """A line without its comment and without blanks that mean nothing."""
    return " ".join(re.sub(r"//.*", "", line).split())


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def sample_of(every: Sequence[One], count: int, seed: int | str) -> list[One]:
    """`count` of them, or all, drawn by `seed` and in their order."""
    if count >= len(every):
        return list(every)
    chosen = random.Random(seed).sample(range(len(every)), count)
    return [every[place] for place in sorted(chosen)]


def judge_mutants(
    mutants: Sequence[Mutant], reasons: Reasons, tools: Tools, loading: TorchLoading, seed: int
) -> Iterator[Judged]:
    """Judges them one after the other; what is built for them is thrown away again."""
    with tempfile.TemporaryDirectory(prefix="grader-mutants-") as folder:
        for mutant in mutants:
            source = Path(folder) / mutant.part.path.name
            source.write_text(mutant.text, encoding="utf-8")
            yield _judge(mutant, source, reasons, tools, loading, seed)


def _judge(mutant: Mutant, source: Path, reasons: Reasons, tools: Tools, loading: TorchLoading, seed: int) -> Judged:
    from grader.build import BuildFailed
    from grader.check import Options, Submission, check_part
    from grader.verdict import State

    submission = Submission(mutant.part, source, source.name)
    building = submission.tools(tools)
    try:
        built = building.build(source)
    except BuildFailed:
        return Judged(mutant, Fate.stillborn)
    try:
        if _program(built) == _program(building.build(mutant.part.solution_path)):
            return Judged(mutant, Fate.same)
        options = Options(seed=seed, device="software", shrink=0)
        verdict = check_part(submission, options, tools, loading)
    finally:
        if not built.cached:
            shutil.rmtree(built.directory, ignore_errors=True)
    match verdict.state:
        case State.passed:
            return Judged(mutant, Fate.survived, reasons.of(mutant))
        case State.unchecked:
            return Judged(mutant, Fate.unjudged, verdict.reason or "")
    return Judged(mutant, Fate.killed, verdict.findings[0].kind if verdict.findings else "")


def _program(built: Build) -> tuple[list[str], list[bytes]]:
    """The device code without its line numbers, and what the host executes."""
    from elftools.elf.elffile import ELFFile

    lines = built.ptx.read_text(encoding="utf-8", errors="replace").splitlines()
    with built.library.open("rb") as file:
        elf = ELFFile(file)
        found = (elf.get_section_by_name(name) for name in _SECTIONS)
        host = [section.data() for section in found if section is not None]
    return [line for line in lines if not line.strip().startswith(_PLACES)], host
