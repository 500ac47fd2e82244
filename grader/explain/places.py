"""Where wrong elements lie: the last block row, one tile, every 32nd, a missing tail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from grader.explain.patterns import Pattern

if TYPE_CHECKING:
    from grader.explain.patterns import Values

_STEPS = (1024, 512, 256, 128, 64, 32, 16, 8, 4, 2)
_TILES = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_FEW = 64  # places that are looked at before all of them are
_LEAST_ROUNDS = 2  # of a period, for it to be one
_LARGEST = 1 << 25  # elements: masks of more take too long to make
_MOST_CHANCE = 1e-3  # that elements lie within a place by chance, for the place to be worth a word


def place_of(values: Values) -> Pattern:
    """The pattern that tells best where the wrong elements lie; "scattered" where nothing tells it."""
    return next(_places(values))


def _places(values: Values) -> Iterator[Pattern]:
    if len(values.places) == len(values.wrong):
        yield Pattern("all")
    if len(values.places) == 1:
        yield Pattern("one", {"first": _spelled(int(values.places[0]), values.shape)})
    elements = _Axis("element", _groups(values, len(values.wrong), values.block[0] * values.block[1]), values.shape)
    if values.matrix:
        rows, columns = values.matrix
        flat = values.grid[1] == 1 and values.grid[0] > 1
        down = _Axis("row", _groups(values, rows, values.block[1], values.block[0]), (rows,), flat)
        right = _Axis("column", _groups(values, columns, values.block[0], values.block[1]), (columns,), flat)
        yield from _in_matrix(values.wrong.reshape(values.matrix), down, right)
        elements = replace(elements, groups=())
    yield from elements.stretches(values.wrong)
    yield from map(_within, elements.containers(values.wrong, len(values.places)))
    yield Pattern("scattered")


def _groups(values: Values, extent: int, *threads: int) -> tuple[int, ...]:
    """How many elements one block may have taken along an axis, by the launch's blocks and threads."""
    blocks = {count for count in values.grid if count > 1}
    own = [count for count in threads if count > 1 and -(-extent // count) in blocks]
    tiled = [tile for tile in _TILES if -(-extent // tile) in blocks]
    return tuple(group for group in dict.fromkeys((*own, *tiled)) if group < extent)


def _spelled(place: int, shape: Sequence[int]) -> str:
    index: list[str] = []
    for extent in reversed(shape or (1,)):
        index.insert(0, f"{place % extent}")
        place //= extent
    return index[0] if len(index) == 1 else "".join(f"[{at}]" for at in index)


# ---- along one axis -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """Elements, rows or columns; `groups` are how many of them one block may take, `shape` spells a place."""

    noun: str
    groups: tuple[int, ...]
    shape: Sequence[int]
    flat: bool = False  # blocks have one number, of which rows and columns are made

    def told(self, key: str, **facts: Any) -> Pattern:
        return Pattern(f"{self.noun}.{key}", facts)

    def stretches(self, wrong: torch.Tensor) -> Iterator[Pattern]:
        """What tells exactly which places of a mask are wrong, the most telling first; at least one is right."""
        places = wrong.nonzero().flatten()
        count, total = len(places), len(wrong)
        first, last = int(places[0]), int(places[-1])
        if last - first + 1 == count:
            yield from self._in_groups(first, last, total)
        if count == total - 1 and total > 2:
            yield self.told("all_but", right=self._name(int((~wrong).nonzero()[0])))
        if last - first + 1 == count:
            yield from self._run(first, last, total)
        yield from self._periods(wrong, places)

    def _in_groups(self, first: int, last: int, total: int) -> Iterator[Pattern]:
        for group in self.groups:
            span = self._span(first, last)
            ends = last == total - 1
            if ends and first == (total - 1) // group * group:
                yield self.told("last_block" if total % group else "last_full_block", group=group, span=span)
            if first == 0 and last == group - 1:
                yield self.told("first_block", group=group, span=span)
            if ends and first == group:
                yield self.told("beyond_first_block_flat" if self.flat else "beyond_first_block", group=group)
            if first % group == 0 and last == first + group - 1:
                yield self.told("one_block", group=group, span=span)

    def _run(self, first: int, last: int, total: int) -> Iterator[Pattern]:
        if last == total - 1:
            long = any(total - first > group for group in self.groups)
            yield self.told("last" if first == last else "long_tail" if long else "tail", first=self._name(first))
        if first == last:
            yield self.told("single", first=self._name(first))
        if first == 0:
            yield self.told("head", last=self._name(last))
        yield self.told("run", first=self._name(first), last=self._name(last))

    def _periods(self, wrong: torch.Tensor, places: torch.Tensor) -> Iterator[Pattern]:
        """One in so many, all but one in so many, the same stretch of each so many."""
        right = (~wrong).nonzero().flatten()
        for key, chosen in (("every", places), ("except_every", right)):
            step, first = _progression(chosen, len(wrong))
            if step:
                yield self.told(key, step=step, first=self._name(first))
        for step in reversed(_STEPS):
            rounds, rest = divmod(len(wrong), step)
            if rounds < _LEAST_ROUNDS:
                return
            one = wrong[:step]
            inside = one.nonzero().flatten().tolist()
            if not inside or inside[-1] - inside[0] + 1 != len(inside) or len(inside) == step:
                continue
            if bool((wrong[: rounds * step].reshape(rounds, step) == one).all()) and bool(
                (wrong[rounds * step :] == one[:rest]).all()
            ):
                yield self.told("each", step=step, first=inside[0], last=inside[-1])

    def containers(self, wrong: torch.Tensor, count: int) -> Iterator[Pattern]:
        """A place that holds all that is wrong, `count` elements, where that can hardly be chance."""
        places, total = wrong.nonzero().flatten(), len(wrong)
        first, last = int(places[0]), int(places[-1])
        for group in self.groups:
            start, size = first // group * group, min(group, total - first // group * group)
            if last < start + group and (size / total) ** count < _MOST_CHANCE:
                last_block = "last_block" if total % group else "last_full_block"
                key = last_block if start + group >= total else "one_block"
                yield self.told(key, group=group, span=self._span(start, start + size - 1))
        few = places[:: max(1, len(places) // _FEW)]
        for step in _STEPS:
            if not bool((few % step == first % step).all()):
                continue
            if bool((places % step == first % step).all()) and (1 / step) ** (count - 1) < _MOST_CHANCE:
                yield self.told("every", step=step, first=self._name(first % step))

    def _name(self, place: int) -> str:
        return _spelled(place, self.shape)

    def _span(self, first: int, last: int) -> str:
        key = "single" if first == last else "run"
        return self.told(key, first=self._name(first), last=self._name(last)).words


def _progression(places: torch.Tensor, total: int) -> tuple[int, int]:
    """(step, first) of places that lie a step of 2 or more apart from end to end; (0, 0) otherwise."""
    if len(places) < _LEAST_ROUNDS:
        return 0, 0
    first, step = int(places[0]), int(places[1] - places[0])
    if step < 2 or first >= step or len(places) != len(range(first, total, step)):
        return 0, 0
    return (step, first) if bool((places[1:] - places[:-1] == step).all()) else (0, 0)


def _within(place: Pattern) -> Pattern:
    return Pattern("within", {"place": place.words})


# ---- in a matrix ----------------------------------------------------------------------------------------------------


def _in_matrix(mask: torch.Tensor, down: _Axis, right: _Axis) -> Iterator[Pattern]:
    rows, columns = mask.any(1), mask.any(0)
    if bool((mask == rows[:, None] & columns[None, :]).all()):
        yield from _product(rows, columns, down, right)
    yield from _edges(mask, down, right)
    yield from _diagonals(mask, down, right)
    yield from _inside(mask, rows, columns, down, right)


def _product(rows: torch.Tensor, columns: torch.Tensor, down: _Axis, right: _Axis) -> Iterator[Pattern]:
    """Whole rows, whole columns, a tile, or where some rows and some columns cross."""
    if bool(columns.all()):
        yield from down.stretches(rows)
        yield Pattern("some_rows", {"count": int(rows.sum()), "all": len(rows)})
    elif bool(rows.all()):
        yield from right.stretches(columns)
        yield Pattern("some_columns", {"count": int(columns.sum()), "all": len(columns)})
    else:
        told = next(down.stretches(rows), None), next(right.stretches(columns), None)
        if told[0] is not None and told[1] is not None:
            yield _crossed(told[0], told[1])


def _crossed(rows: Pattern, columns: Pattern) -> Pattern:
    key = "tile" if "span" in rows.facts and "span" in columns.facts else "crossing"
    return Pattern(key, {"rows": _shown(rows), "columns": _shown(columns)})


def _shown(along: Pattern) -> str:
    return str(along.facts["span"]) if "span" in along.facts else along.words


def _edges(mask: torch.Tensor, down: _Axis, right: _Axis) -> Iterator[Pattern]:
    """All that lies below some row or right of some column, and the other way round."""
    fine_rows, fine_columns = (~mask).any(1), (~mask).any(0)
    if not bool((~mask == fine_rows[:, None] & fine_columns[None, :]).all()):
        return
    below, beside = next(down.stretches(~fine_rows), None), next(right.stretches(~fine_columns), None)
    if below is None or beside is None:
        return
    if "beyond_first_block" in below.key and "beyond_first_block" in beside.key:
        yield Pattern("beyond_first_tile", {"rows": below.facts["group"], "columns": beside.facts["group"]})
    yield Pattern("edges", {"rows": below.words, "columns": beside.words})


def _diagonals(mask: torch.Tensor, down: _Axis, right: _Axis) -> Iterator[Pattern]:
    rows, columns = mask.shape
    if mask.numel() > _LARGEST:
        return
    row, column = torch.arange(rows)[:, None], torch.arange(columns)[None, :]
    for key, where in (
        ("diagonal", row == column),
        ("off_diagonal", row != column),
        ("below_diagonal", row > column),
        ("above_diagonal", row < column),
    ):
        if bool((mask == where).all()):
            yield Pattern(key)
    for tile in dict.fromkeys((*down.groups, *right.groups)):
        if bool((mask == (row // tile != column // tile)).all()):
            yield Pattern("off_diagonal_tiles", {"tile": tile})


def _inside(
    mask: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor, down: _Axis, right: _Axis
) -> Iterator[Pattern]:
    """Not all of it, but all of it inside one row, column, block row, block column or tile."""
    count = int(mask.sum())
    for axis, along in ((down, rows), (right, columns)):
        if int(along.sum()) == 1 and (1 / len(along)) ** count < _MOST_CHANCE:
            yield _within(next(axis.stretches(along)))
    row, column = (next(axis.containers(along, count), None) for axis, along in ((down, rows), (right, columns)))
    if row is not None and column is not None:
        yield _within(_crossed(row, column))
    elif found := row or column:
        yield _within(found)
