"""Hints of a part, one at a time, each a step further.

`hints.md` has a heading for each part, `## 2_vector_add`, and a numbered list below it. An item that answers a
certain finding names its kind in a comment, which a reader of the page does not see: `2. <!-- out_of_bounds_read,
never_written --> The grid…`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

_ITEM = re.compile(r"(\d+)\.\s+(.*)")
_FINDING = re.compile(r"<!--\s*([a-z_]+(?:\s*,\s*[a-z_]+)*)\s*-->\s*")


@dataclass(frozen=True)
class Hint:
    """One hint: its number from 1, its text, and the kinds of finding that it answers."""

    number: int
    text: str
    kinds: frozenset[str]


def read_hints(path: Path, heading: str) -> tuple[Hint, ...]:
    """The hints below `## heading`; none where the file or the heading is missing."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    items: list[str] = []
    inside = False
    for line in lines:
        if line.startswith("## "):
            inside = line[3:].strip() == heading
        elif inside and (item := _ITEM.match(line)):
            items.append(item[2])
        elif inside and items and line.strip():
            items[-1] += "\n" + line.strip()
    return tuple(_hint(number, item) for number, item in enumerate(items, 1))


def _hint(number: int, item: str) -> Hint:
    kinds = {kind.strip() for found in _FINDING.findall(item) for kind in found.split(",")}
    return Hint(number, _FINDING.sub("", item).strip(), frozenset(kinds))


def next_hint(hints: Sequence[Hint], seen: Collection[int], last_finding: str | None) -> Hint | None:
    """The first unseen hint that answers the last finding, else the first unseen one; None when all were seen."""
    unseen = [hint for hint in hints if hint.number not in seen]
    answering = [hint for hint in unseen if last_finding in hint.kinds]
    return next(iter([*answering, *unseen]), None)
