"""Brings what nvcc's many programs say into terms of the learner's file.

g++ and EDG (cudafe++, cicc) name its lines themselves. ptxas speaks of lines of the PTX or of a kernel as a whole, the
assembler and the linker have forms of their own: their messages are rewritten as g++ would say them,
"k.cu:12: error: ...".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# ptxas k.ptx, line 35; error   : Unknown symbol 'x'
_OF_PTX = re.compile(r"ptxas (?P<file>\S+), line (?P<line>\d+); (?P<word>error|fatal|warning) *: (?P<text>.+)")
# ptxas error   : Entry function '_Z1kPi' uses too much shared data (0x13880 bytes, 0xc000 max)
_OF_KERNEL = re.compile(r"ptxas error *: (?P<text>.*[Ff]unction '(?P<kernel>\w+)'.*)")
# k.cu:3: Error: no such instruction: `bogus %eax'
_OF_ASSEMBLER = re.compile(r"(?P<file>\S+\.cu):(?P<line>\d+): (?P<word>Error|Warning): (?P<text>.+)")
# /usr/bin/ld: /tmp/x/k.cu:12: undefined reference to `helper(int)'
_OF_LINKER = re.compile(r"(?:\S*ld: )?(?P<file>\S+\.cu):(?P<line>\d+): (?P<text>undefined reference .+)")

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:,.*inlined_at\s+(\d+)\s+(\d+)\s+\d+)?", re.MULTILINE)


def in_source_terms(said: str, ptx: str, source_name: str) -> str:
    """`said` with each message that can be traced to a line of `source_name` in the form "k.cu:12: error: ...".

    A line of the PTX has the line of the last .loc before it; a kernel, of which ptxas names no line, that of the first
    .loc in it. `ptx` is "" where the compilation did not come so far.
    """
    marks = list(_marks(ptx, source_name))
    return "".join(_in_source_terms(line.rstrip("\n"), ptx, marks, source_name) + "\n" for line in said.splitlines())


def _in_source_terms(said: str, ptx: str, marks: list[tuple[int, int]], source_name: str) -> str:
    """One line of what was said; `marks` are (position in the PTX, line of the source)."""
    number = 0
    if found := _OF_PTX.fullmatch(said):
        position = sum(len(one) for one in ptx.splitlines(keepends=True)[: int(found["line"])])
        number = next((line for place, line in reversed(marks) if place < position), 0)
    elif found := _OF_KERNEL.fullmatch(said):
        entry = re.search(rf"\.(?:entry|func)\b[^;{{]*?\b{found['kernel']}\b", ptx)
        number = next((line for place, line in marks if entry and place > entry.end()), 0)
    elif found := _OF_ASSEMBLER.fullmatch(said) or _OF_LINKER.fullmatch(said):
        number = int(found["line"]) if found["file"].rsplit("/", 1)[-1] == source_name else 0
    if found is None or number == 0:
        return said
    severity = "warning" if found.groupdict().get("word", "").lower() == "warning" else "error"
    return f"{source_name}:{number}: {severity}: {found['text']}"


def _marks(ptx: str, source_name: str) -> Iterator[tuple[int, int]]:
    """Where the PTX names a line of the source; for code inlined from a header, the line of the call."""
    ours = {number for number, path in _FILE.findall(ptx) if path.rsplit("/", 1)[-1] == source_name}
    for mark in _LOC.finditer(ptx):
        file, line, call_file, call_line = mark.groups()
        number = int(line) if file in ours else int(call_line) if call_file in ours else 0
        if number:
            yield mark.start(), number
