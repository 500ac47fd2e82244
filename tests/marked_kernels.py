"""Kernels whose comments say what has to be found in them.

`// -> kind` marks a line that a finding must name, `// -> kind, kind` one where either kind will do. A mark belongs to
the last kernel above it. A kernel without one is sound: the near twin, `…_ok`, of the faulty ones before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class MarkedKernel:
    """A kernel; `marks` holds, for each marked line, the kinds of which one must be found there."""

    source: Path
    name: str
    marks: dict[int, set[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.source.stem}-{self.name}"


def marked_kernels(source: Path) -> list[MarkedKernel]:
    """The kernels of a file in their order."""
    found: list[MarkedKernel] = []
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if match := re.match(r"__global__ void (\w+)", line):
            found.append(MarkedKernel(source, match[1]))
        if match := re.search(r"\S +// -> (\w+(?:, \w+)*)$", line):
            found[-1].marks[number] = set(match[1].split(", "))
    return found
