"""What tests of recording share: the entries of tests/launchers, recorded, and the lines they stand on."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from grader.build import Build, build
from grader.record import EntryArgument, EntryCall, Recording, record_entry, software_layout

LAUNCHERS = Path(__file__).parent / "launchers"
N = 1000
BYTES = 4 * N


@functools.cache
def built(file: str) -> Build:
    """The build of a file in tests/launchers."""
    return build(LAUNCHERS / file)


def call_of(entry: str, *, inject: int = 0) -> EntryCall:
    """A call of `entry(a, out, n, stream)`: two buffers of 1,000 floats, the second 4 bytes past a boundary of 256."""
    arguments = [
        EntryArgument("a", "buffer", BYTES, "in"),
        EntryArgument("out", "buffer", BYTES, "out"),
        EntryArgument("n", "i32", N),
        EntryArgument("stream", "stream"),
    ]
    return EntryCall(entry, arguments, software_layout([0, 4]), inject)


def recorded(file: str, entry: str, *, inject: int = 0) -> Recording:
    """The recording of an entry of tests/launchers/FILE."""
    return record_entry(built(file), call_of(entry, inject=inject))


def line_of(file: str, mark: str) -> int:
    """The line marked `// line of MARK`, or else the one on which the macro that makes the entry MARK starts."""
    lines = (LAUNCHERS / file).read_text().splitlines()
    marked = [number for number, line in enumerate(lines, 1) if line.rstrip().endswith(f"// line of {mark}")]
    made = [number for number, line in enumerate(lines, 1) if re.match(rf"[A-Z]+\({mark}\b", line)]
    return (marked or made)[0]
