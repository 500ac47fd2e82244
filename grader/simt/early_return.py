"""Whether threads that ended before a barrier returned early, which is allowed, or went round an `if` with the barrier
in it.

Both are the same PTX: a branch to the kernel's end. What stands in the source at that branch tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_LEFT = "left"  # the machine's word for threads that ended at a branch before the barrier
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_ROUND = re.compile(r"\b(?:if|while|for)\b")
_LEAVES = re.compile(r"[\s{]*(?:return|goto|__trap|asm)\b")
_LONGEST_STATEMENT = 20  # lines


def without_early_returns(findings: Sequence[Mapping[str, Any]], source: str) -> list[Mapping[str, Any]]:
    """The findings of one report, less barriers to which some threads did not come because they had returned."""
    if not any(finding["text"] == _LEFT for finding in findings):
        return list(findings)
    lines = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), source).split("\n")
    return [finding for finding in findings if finding["text"] != _LEFT or _goes_round(lines, finding["other_line"])]


def _goes_round(lines: Sequence[str], line: int | None) -> bool:
    """Whether on `line` an `if` or a loop begins, and no early return."""
    if line is None or not 0 < line <= len(lines):
        return False
    text = "\n".join(lines[line - 1 : line - 1 + _LONGEST_STATEMENT])
    ends = [_end_of_condition(text, found.end()) for found in _ROUND.finditer(lines[line - 1])]
    return bool(ends) and not any(_LEAVES.match(text, end) for end in ends)


def _end_of_condition(text: str, start: int) -> int:
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0 and text[place] == ")":
            return place + 1
    return len(text)
