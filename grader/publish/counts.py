"""What the software GPU counts in a part's kernels, stored as a check gave it.

Names are those of the counters in `grader check --json`; the sums over loads and stores have short ones besides. What
ptxas merges is counted merged, as a GPU runs it, where that is known.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.catalog import UsageError
from grader.publish.markup import table
from grader.publish.quantities import thousands
from grader.publish.requests import Request, counts_request
from grader.publish.stored import stored_answer

if TYPE_CHECKING:
    from grader.publish.context import Book

_SHORT = {
    "shared_wavefronts": "memory_l1_wavefronts_shared",
    "shared_wavefronts_ideal": "memory_l1_wavefronts_shared_ideal",
    "global_sectors": "memory_l2_theoretical_sectors_global",
    "global_sectors_ideal": "memory_l2_theoretical_sectors_global_ideal",
}


def functions(book: Book, answer: Callable[[Request], str] | None = None) -> dict[str, Callable[..., object]]:
    """What a chapter calls, by name. `answer` gives what the grader said; without it, what is stored."""
    said = answer or (lambda request: stored_answer(book, request))

    def count(label: str, name: str, file: str | None = None, case: str = "") -> int:
        """Of all kernels of the solution, or of the file, together; in the case that moves most bytes, or in `case`."""
        answered = said(counts_request(book, label, file, case))
        return total(json.loads(answered), name) if answered else 1

    def counters(label: str, *names: str, file: str | None = None, case: str = "") -> str:
        """A table of such numbers."""
        rows = [[f"`{name}`", thousands(count(label, name, file, case))] for name in names]
        return table([book.phrases["counter"], book.phrases["count"]], rows, numbers_from=1)

    return {"count": count, "counters": counters}


def total(counts: Any, name: str) -> int:
    """A number of all kernels together; raises `UsageError` where no kernel has it."""
    wanted = _SHORT.get(name, name)
    found = [_of(kernel, wanted) for kernel in counts.get("kernels", {}).values()]
    numbers = [number for number in found if number is not None]
    if not numbers:
        known = {
            key for kernel in counts.get("kernels", {}).values() for key, value in kernel.items() if _is_int(value)
        }
        there = ", ".join(sorted({*known, *(short for short, long in _SHORT.items() if long in known)}))
        raise UsageError(f"nothing is counted under {name!r}; there are {there or 'no counts at all'}.")
    return sum(numbers)


def _of(kernel: Any, name: str) -> int | None:
    number = kernel.get("compiled", {}).get(name, kernel.get(name))
    return number if _is_int(number) else None


def _is_int(value: object) -> bool:
    return isinstance(value, int)
