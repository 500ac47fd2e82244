"""What a source may not read: told from a typo when the cage has refused it, looked for afterwards where no cage could.

A source is one file with the headers of CUDA and the system. Whatever else it names, by #include, .incbin or another
way, is answered with "No such file" or "Permission denied", whether the learner mistyped <cuda_runtime.h> or reached
for a solution. The difference is in the path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ASSEMBLER_LIST = "assembler.d"
_REFUSED = re.compile(
    r"^(?:(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? |cc1plus: )(?:fatal )?[Ee]rror: "
    r"(?:can't open (?P<opened>[^\n]+) for reading: (?P<cause>[^\n]+)"
    r"|file not found: (?P<incbin>[^\n]+)"
    r"|(?P<include>[^\n]+?): (?P<why>Permission denied|No such file or directory|Not a directory|Is a directory)"
    r"|Parsing error near '(?P<ptx>\.inc\w+)'[^\n]*)$",  # PTX has no such word: ptxas takes it for a mistake in writing
    re.MULTILINE,
)
_LINE_MARK = re.compile(rb'^# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)\r?$')
_NOT_A_FILE = ("<built-in>", "<command-line>", "<command line>", "<stdin>")


def refused_path(said: str, text: str, source: Path, source_name: str) -> tuple[int, str] | None:
    """(line, path) of the first file outside that the compilers were not given; None if none, or only mistyped names.

    `said` is what they said, `text` the source's own text, `source` where it really lies and `source_name` its name in
    the cage. The line is 1 where neither the message nor the text shows it.
    """
    for refusal in _REFUSED.finditer(said):
        path = refusal["include"] or refusal["incbin"] or refusal["opened"] or refusal["ptx"]
        denied = "Permission" in f"{refusal['why']}{refusal['cause']}" or refusal["ptx"] is not None
        if denied or _reaches_outside(path, source):
            told = int(refusal["line"]) if refusal["file"] == source_name else 0
            return told or _line_that_names(path, text), path
    return None


def _reaches_outside(path: str, source: Path) -> bool:
    """Whether a path that was not found is more than a mistyped header."""
    parts = Path(path).parts
    return (
        Path(path).is_absolute()
        or ".." in parts
        or any(part.startswith("solution") for part in parts)
        or os.access(source.parent / path, os.F_OK)
    )


def _line_that_names(path: str, text: str) -> int:
    for wanted in (path, Path(path).name):
        for number, line in enumerate(text.split("\n"), 1):
            if wanted in line:
                return number
    return 1


def outside_reads(
    said: str, text: str, work: Path, source_name: str, readable: Iterable[Path]
) -> tuple[int, str] | None:
    """(line, path) of the first file read from outside `readable`; the arguments are as for `refused_path`.

    It is seen in what nvcc --keep left in `work` (the line marks of the preprocessed source, the assembler's list of
    what it read), or in the place of an error. Names alone, asked for with __has_include, leave no trace.
    """
    allowed = [work.resolve(), *(path.resolve() for path in readable)]
    for number, path in (*_included(work, source_name), *((0, path) for path in (*_assembled(work), *_blamed(said)))):
        real = (work / path).resolve()
        if not any(real == place or place in real.parents for place in allowed):
            return number or _line_that_names(path, text), path
    return None


def _included(work: Path, source_name: str) -> Iterator[tuple[int, str]]:
    """(line of the source, path) of every file included, at whatever depth."""
    for preprocessed in sorted(work.glob("*.ii")):
        line_of_source = 1
        in_source = False
        for line in preprocessed.read_bytes().splitlines():
            mark = _LINE_MARK.match(line)
            if mark:
                path = mark[2].decode(errors="replace").replace('\\"', '"').replace("\\\\", "\\")
                in_source = path == source_name
                if in_source:
                    line_of_source = int(mark[1])
                elif path not in _NOT_A_FILE and not path.endswith("//"):
                    yield line_of_source, path
            elif in_source:
                line_of_source += 1


def _assembled(work: Path) -> list[str]:
    listed = work / ASSEMBLER_LIST
    text = listed.read_text(errors="replace") if listed.is_file() else ""
    return text.replace("\\\n", " ").partition(":")[2].split()


def _blamed(said: str) -> list[str]:
    """The files, by absolute path, in which the compilers found errors."""
    return re.findall(r"^(/[^:(\n]+)(?:(?::\d+)+: |\(\d+\): |: Assembler messages:)", said, re.MULTILINE)
