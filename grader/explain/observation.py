"""A finding before it has words: what a tool saw, in facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Coordinates = tuple[int, int, int]


@dataclass(frozen=True)
class Observation:
    """One finding of the software GPU, the recorder, the compiler or the comparison, as facts.

    `line` and `other_line` are lines of the learner's file; `index` counts elements and may lie outside the buffer;
    `block` and `thread` are (x, y, z); `facts` are what else the sentence needs.
    """

    kind: str
    line: int | None = None
    kernel: str | None = None
    block: Coordinates | None = None
    thread: Coordinates | None = None
    buffer: str | None = None
    index: int | None = None
    other_line: int | None = None
    count: int = 1
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Mark:
    """What stands at the arrow below a line of the excerpt."""

    line: int
    text: str


@dataclass(frozen=True)
class Said:
    """An observation in a learner's words: in short, what happened, why, and what to write beside the lines."""

    title: str
    message: str
    why: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Setting:
    """What surrounds an observation: the entry and its label, and of the launch the grid and block, in (x, y, z).

    `types` names each buffer's element type ("f32"), `elements` counts them, `shapes` gives their dimensions. `empty`
    is "n = 0" where there is nothing to compute, `zero` the same where a size is 0, also if there is a result. `result`
    are rows and columns of the first result that is a matrix, `workspaces` the buffers that are neither input nor
    result.
    """

    entry: str
    label: str = ""
    grid: Coordinates | None = None
    block: Coordinates | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    elements: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    empty: str = ""
    result: tuple[int, int] | None = None
    zero: str = ""
    workspaces: frozenset[str] = frozenset()
