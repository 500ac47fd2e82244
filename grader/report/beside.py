"""Two ways to one result side by side, as a table in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from grader.explain import sentence
from grader.verdict import Cost, SideBySide

_KIB = 1 << 10
_GAP = "    "
_COLUMNS: tuple[tuple[str, Callable[[Cost], str]], ...] = (
    ("kernels", lambda cost: str(cost.kernels)),
    ("moved", lambda cost: _kib(cost.moved)),
    ("memory", lambda cost: _kib(cost.memory)),
)


def comparison_table(comparison: SideBySide) -> Iterator[str]:
    """A line with the names of what was counted, one that says whose it is, and one for each case."""
    names = [sentence("verdict", f"beside_{name}") for name, _ in _COLUMNS]
    whose = [sentence("verdict", key) for key in ("beside_others", "beside_this")]
    labels = [comparison.by, *(str(compared.params[comparison.by]) for compared in comparison.cases)]
    rows = [
        [cell(cost) for _, cell in _COLUMNS for cost in (compared.others, compared.this)]
        for compared in comparison.cases
    ]
    cells = list(map(_pairs, _aligned([whose * len(_COLUMNS), *rows])))
    first = max(map(len, labels))
    headings = [f"{name:>{len(pair)}}" for name, pair in zip(names, cells[0], strict=True)]
    yield _GAP.join([" " * first, *headings])
    for label, pairs in zip(labels, cells, strict=True):
        yield _GAP.join([f"{label:>{first}}", *pairs])


def _aligned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Each column as wide as its widest cell, and no narrower than half the widest heading."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)] for row in rows]


def _pairs(cells: Sequence[str]) -> list[str]:
    return [f"{one}  {other}" for one, other in zip(cells[::2], cells[1::2], strict=True)]


def _kib(count: int) -> str:
    """Bytes in KiB."""
    return f"{count / _KIB:,.0f} KiB"
