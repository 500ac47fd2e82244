"""The one case of a part that stands for all where one has to do."""

from __future__ import annotations

from grader.puzzle import Case, Part, buffer_bytes, call_by_name, element_count

_MOST_BYTES = 1 << 20  # of all buffers
_MOST_OPERATIONS = 1 << 23  # a second or so of the software GPU


def small_case(part: Part) -> tuple[str, Case]:
    """Of the part's cases that the software GPU runs in a moment, one with most results, and its group: whatever the
    size of a block, there are several then, or as many as can be.
    """

    def size(named: tuple[str, Case]) -> tuple[bool, int, int]:
        params = named[1].params
        needed = sum(buffer_bytes(buffer, params) for buffer in part.buffers)
        quick = needed <= _MOST_BYTES and call_by_name(part.work, params).flops <= _MOST_OPERATIONS
        return quick, sum(element_count(buffer, params) for buffer in part.results), needed

    return max(((group, case) for group, cases in part.groups.items() for case in cases), key=size)
