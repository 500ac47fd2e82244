"""Whether threads that ended before a barrier returned early, which is allowed, or went round an `if` with the barrier
in it.

Both are the same PTX, a branch to the end: what stands in the source at that branch tells them apart. And what a
thread does before it returns early may be one piece of PTX with what others do behind the barrier, as two stores are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_LEFT = "left"  # the machine's word for threads that ended at a branch before the barrier
_BEHIND = "behind"  # for threads that did work behind the barrier, and ended without having come to it
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_ROUND = re.compile(r"\b(?:if|while|for)\b")
_IF = re.compile(r"\bif\b")
_LEAVES = re.compile(r"\b(?:return|goto|__trap|asm)\b")
_MEETS = re.compile(r"sync")  # a barrier of any kind
_LONGEST_STATEMENT = 20  # lines


def without_early_returns(findings: Sequence[Mapping[str, Any]], source: str) -> list[Mapping[str, Any]]:
    """The findings of one report, less barriers to which some threads did not come because they had returned."""
    if not any(finding["text"] in (_LEFT, _BEHIND) for finding in findings):
        return list(findings)
    lines = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), source).split("\n")
    return [finding for finding in findings if _is_told(finding, lines)]


def leaves_early(source: str, line: int) -> bool:
    """Whether the function that has this line may return in a branch, and has a barrier behind that and ahead of it."""
    lines = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), source).split("\n")
    text = "\n".join(lines[:line])
    text = text[max(0, text.rfind("__global__"), text.rfind("__device__")) :]
    left = [found.start() for found in _IF.finditer(text) if _is_early_return(_body(text, found.end()))]
    return bool(left) and _MEETS.search(text[left[0] :]) is not None


def _is_told(finding: Mapping[str, Any], lines: Sequence[str]) -> bool:
    if finding["text"] == _LEFT:
        return _goes_round(lines, finding["other_line"])
    return finding["text"] != _BEHIND or not _works_and_returns(lines, finding["line"])


def _goes_round(lines: Sequence[str], line: int | None) -> bool:
    """Whether on `line` an `if` or a loop begins, and no early return."""
    if line is None or not 0 < line <= len(lines):
        return False
    text = "\n".join(lines[line - 1 : line - 1 + _LONGEST_STATEMENT])
    bodies = [_body(text, found.end()) for found in _ROUND.finditer(lines[line - 1])]
    return bool(bodies) and not any(map(_is_early_return, bodies))


def _works_and_returns(lines: Sequence[str], barrier: int | None) -> bool:
    """Whether before the barrier's line there is an early return that does something else first."""
    text = "\n".join(lines[: barrier or 0])
    text = text[max(0, text.rfind("__global__"), text.rfind("__device__")) :]  # the function that it stands in
    bodies = (_body(text, found.end()) for found in _IF.finditer(text))
    return any(_is_early_return(body) and body.count(";") > 1 for body in bodies)


def _is_early_return(body: str) -> bool:
    return bool(_LEAVES.search(body)) and not _MEETS.search(body)


def _body(text: str, start: int) -> str:
    """The statement that an `if` or a loop governs, whose condition begins at `start`."""
    begin = _closing(text, start, "()")
    first = re.search(r"\S", text[begin:])
    if first is None:
        return ""
    if first[0] == "{":
        return text[begin : _closing(text, begin, "{}")]
    end = text.find(";", begin)
    return text[begin : end + 1] if end >= 0 else text[begin:]


def _closing(text: str, start: int, pair: str) -> int:
    """Where what opens first from `start` on has been closed again."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == pair[0]) - (text[place] == pair[1])
        if depth == 0 and text[place] == pair[1]:
            return place + 1
    return len(text)
