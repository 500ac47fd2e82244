"""An array over time: which of its elements a block touches at which step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from grader.banks.lanes import BANKS
from grader.trace.accesses import Array, Trace
from grader.trace.steps import Step, steps_of
from grader.trace.svg import MARGIN, WIDTH, Drawing, cells, lattice, number, tag, text
from grader.trace.words import say

_MOST_COLUMNS, _MOST_ROWS = 160, 128
_WIDEST, _HIGHEST, _LARGEST_CELL = WIDTH - 52, 352, 11
_SMALLEST_WITH_LATTICE = 3
_SMALL_ACROSS, _SMALL_GAP, _MOST_SMALL = 3, 14, 9


@dataclass(frozen=True)
class Field:
    """The part of an array that is drawn: `rows` of `columns` elements from `first` on, `pitch` elements from row to
    row. A row of one dimension is drawn in rows of 32, one for each bank or each word of a cache line.
    """

    array: Array
    first: int
    pitch: int
    rows: int
    columns: int

    def cell(self, index: int) -> tuple[int, int]:
        """Row and column of an element that lies in it."""
        return divmod(index - self.first, self.pitch)

    @property
    def size(self) -> float:
        """Of a cell."""
        return min(_LARGEST_CELL, _WIDEST / self.columns, _HIGHEST / self.rows)

    def row_name(self, row: int) -> str:
        """The number of a row of the array, or of the first element in it."""
        start = self.first + row * self.pitch
        return str(start // self.pitch if self.pitch == self.array.columns else start)


def field_of(trace: Trace, array: Array) -> Field | None:
    """What the block touches of an array; None for nothing, and for more than can be drawn."""
    touched = {index for access in trace.accesses if access.array == array for index in access.elements()}
    if not touched:
        return None
    columns = array.columns
    if len(array.shape) > 1 and columns <= _MOST_COLUMNS:
        rows = sorted({index // columns for index in touched})
        found = Field(array, rows[0] * columns, columns, rows[-1] - rows[0] + 1, columns)
    else:
        first = min(touched) // BANKS * BANKS
        rows_of_words = (max(touched) - first) // BANKS + 1
        found = Field(array, first, BANKS, rows_of_words, min(BANKS, prod(array.shape) - first))
    return found if found.rows <= _MOST_ROWS else None


@dataclass(frozen=True)
class Touched:
    """The elements of an array that a step loads and stores, and those that were touched since the last barrier."""

    loaded: frozenset[int] = frozenset()
    stored: frozenset[int] = frozenset()
    loaded_before: frozenset[int] = frozenset()
    stored_before: frozenset[int] = frozenset()


def touched_in(step: Step, array: Array) -> Touched:
    """What a step alone does to an array."""
    indices = frozenset(index for access in step.accesses if access.array == array for index in access.elements())
    is_load = bool(step.accesses) and step.accesses[0].kind == "load"
    return Touched(loaded=indices) if is_load else Touched(stored=indices)


def touched_by(steps: Sequence[Step], array: Array) -> Iterator[Touched]:
    """For each step what it does to an array. What a step before the last barrier did is forgotten."""
    phase = -1
    loaded: frozenset[int] = frozenset()
    stored: frozenset[int] = frozenset()
    for step in steps:
        if step.phase != phase:
            phase, loaded, stored = step.phase, frozenset(), frozenset()
        now = touched_in(step, array)
        indices = now.loaded | now.stored
        yield replace(now, loaded_before=loaded - indices, stored_before=stored - indices)
        loaded, stored = (loaded | now.loaded) - now.stored, (stored | now.stored) - now.loaded


def painted(field: Field, touched: Touched) -> str:
    """The cells of a step, in units of cells."""
    kinds = {
        "load-past": touched.loaded_before,
        "store-past": touched.stored_before,
        "load": touched.loaded,
        "store": touched.stored,
    }
    return "".join(
        tag("path", d=cells(map(field.cell, indices)), class_=kind) for kind, indices in kinds.items() if indices
    )


def framed(field: Field, inside: str, size: float) -> str:
    """A field with its lattice; `inside` are its cells."""
    body = tag("rect", width=field.columns, height=field.rows, class_="empty") + inside
    if size >= _SMALLEST_WITH_LATTICE:
        kind = "grid" if size > _LARGEST_CELL / 2 else "grid thin"
        body += tag("path", d=lattice(field.rows, field.columns), class_=kind)
    return tag("g", body, transform=f"scale({number(size)})")


def rulers(field: Field) -> str:
    """Numbers of columns above a field of full size, and of rows left of it."""
    size = field.size
    columns = range(0, field.columns, _spacing(field.columns, size, 26))
    rows = range(0, field.rows, _spacing(field.rows, size, 16))
    body = "".join(text((column + 0.5) * size, -5, str(column), "ruler middle") for column in columns)
    return body + "".join(text(-5, (row + 0.5) * size + 4.5, field.row_name(row), "ruler end") for row in rows)


def _spacing(count: int, size: float, least: float) -> int:
    """Of numbers along a side: a power of two that leaves room for each."""
    step = 1
    while step * size < least and step < count:
        step *= 2
    return step


def tiles(trace: Trace, array: Array) -> Drawing | None:
    """Small pictures of an array, in order: at most nine of the steps that touch it, evenly chosen, first and last in.

    None where nothing of it is touched, or too much.
    """
    field = field_of(trace, array)
    if field is None:
        return None
    steps = steps_of(trace)
    touching = [
        (place, step, touched)
        for place, (step, touched) in enumerate(zip(steps, touched_by(steps, array), strict=True), 1)
        if touched.loaded or touched.stored
    ]
    title = say("over_time", what=array.name)
    shown = _evenly(touching, _MOST_SMALL)
    width = (WIDTH - 2 * MARGIN - (_SMALL_ACROSS - 1) * _SMALL_GAP) / _SMALL_ACROSS
    size = min(_LARGEST_CELL, width / field.columns, width * 1.5 / field.rows)
    height = field.rows * size + 26
    body = text(MARGIN, 14, title, "head") + text(MARGIN, 30, _told(len(shown), len(touching), len(steps)), "soft")
    for number_, (place, step, touched) in enumerate(shown):
        x = MARGIN + number_ % _SMALL_ACROSS * (width + _SMALL_GAP)
        y = 44 + number_ // _SMALL_ACROSS * height
        label = text(0, 8, say("small", step=place, line=step.line), "label") + tag(
            "g", framed(field, painted(field, touched), size), transform="translate(0 13)"
        )
        body += tag("g", label, transform=f"translate({number(float(x))} {number(float(y))})")
    below = 44 + -(-len(shown) // _SMALL_ACROSS) * height
    return Drawing(title, below + 10, (body, legend(MARGIN, below + 4)))


def at_step(trace: Trace, array: Array, number_: int) -> Drawing | None:
    """An array at one step of the block, from 1, as large as it fits. None where nothing of it is touched, or too much,
    and where there is no such step.
    """
    field, steps = field_of(trace, array), steps_of(trace)
    if field is None or not 1 <= number_ <= len(steps):
        return None
    touched = list(touched_by(steps, array))[number_ - 1]
    title = say("small", step=number_, line=steps[number_ - 1].line)
    inside = rulers(field) + framed(field, painted(field, touched), field.size)
    left, top = float(WIDTH - MARGIN - field.size * field.columns) / 2 + MARGIN, 50.0
    body = text(MARGIN, 14, f"{array.name}, {title}", "head")
    body += tag("g", inside, transform=f"translate({number(left)} {number(top)})")
    below = top + field.rows * field.size + 24
    return Drawing(title, below + 10, (body, legend(MARGIN, below)))


def _told(shown: int, touching: int, steps: int) -> str:
    key = "small_one" if touching == 1 else "small_all" if shown == touching else "small_some"
    return say(key, shown=shown, touching=touching, steps=steps)


def _evenly(things: Sequence[tuple[int, Step, Touched]], most: int) -> list[tuple[int, Step, Touched]]:
    if len(things) <= most:
        return list(things)
    return [things[number * (len(things) - 1) // (most - 1)] for number in range(most)]


def legend(x: float, y: float) -> str:
    """What the colours of cells mean."""
    body = ""
    for kind, key, width in (("load", "loaded", 92), ("store", "stored", 92), ("load-past", "before", 0)):
        body += tag("rect", x=x, y=y - 8, width=9, height=9, class_=kind)
        if kind.endswith("past"):
            body += tag("rect", x=x + 11, y=y - 8, width=9, height=9, class_="store-past")
        body += text(x + (25 if kind.endswith("past") else 14), y, say(key), "soft")
        x += width
    return body


def drawn_arrays(trace: Trace, most: int) -> list[Field]:
    """The arrays that can be drawn, shared ones first, in the order in which they are first touched."""
    order: dict[tuple[str, int], Array] = {}
    for array in _by_first_touch(trace):
        order.setdefault((array.name, array.address), array)
    shared_first = sorted(order.values(), key=lambda array: array.space != "shared")
    fields: Iterable[Field | None] = (field_of(trace, array) for array in shared_first)
    return [field for field in fields if field is not None][:most]


def _by_first_touch(trace: Trace) -> Iterator[Array]:
    return (access.array for access in trace.accesses if access.array is not None)
