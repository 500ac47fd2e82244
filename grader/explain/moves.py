"""Right values in wrong places: shifted, turned round, transposed, taken from one place for all.

Where an element's value belongs is looked up among the right values for a few elements. If they agree on a rule, the
rule is held against all wrong elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from grader.explain.likeness import Candidate

if TYPE_CHECKING:
    from grader.explain.patterns import Values

Source = Callable[[torch.Tensor], torch.Tensor]

_PROBES = 5
_LARGEST = 1 << 22  # elements; where values belong is looked up among all of them
_MOST_FOUND = 8  # places of one value; more say nothing
_GROUPS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_TILES = (4, 8, 16, 32, 64, 128)


def moved(values: Values) -> Iterator[Candidate]:
    """Rules by which each wrong element holds what belongs to another one."""
    if not 2 <= len(values.got) <= _LARGEST:
        return
    if values.matrix:
        yield from _transposed(values, *values.matrix)
    sources = _sources(values)
    if values.matrix:
        yield from _displaced(values, sources, *values.matrix)
    yield from _shifted(values, sources)
    yield from _turned(values, sources)
    yield from _exchanged(values, sources)
    yield from _taken(values, sources)
    if values.matrix:
        yield from _reordered(values, *values.matrix)


def _moved(values: Values, key: str, source: Source, /, **facts: Any) -> Candidate:
    """The element at `source` of each place; nothing where the source lies outside."""
    expected = values.expected

    def at(places: torch.Tensor) -> torch.Tensor:
        found = source(places)
        inside = (found >= 0) & (found < len(expected))
        return torch.where(inside, expected[found.clamp(0, len(expected) - 1)], torch.nan)

    return Candidate(key, at, facts, borrowed=True)


# ---- rules that a few elements agree on -----------------------------------------------------------------------------


def _sources(values: Values) -> dict[int, list[int]]:
    """Of a few wrong elements, spread over all of them: the places to which their values belong."""
    places = values.places
    step = max(1, len(places) // (_PROBES + 1))
    probes = places[step // 2 :: step][: _PROBES + 1].tolist()
    found: dict[int, list[int]] = {}
    for place in probes:
        if bool(values.got[place].isfinite()):
            like = values.same(values.got[place], values.expected, slice(place, place + 1)).nonzero().flatten()
            found[place] = like.tolist() if len(like) <= _MOST_FOUND else []
    return found


def _agreed(sources: Mapping[int, list[int]], rule: Callable[[int, int], Any]) -> Any:
    """What most of the probes say, None where no two of them (or the only one) do."""
    votes: dict[Any, int] = {}
    for place, found in sources.items():
        for said in {rule(place, source) for source in found}:
            votes[said] = votes.get(said, 0) + 1
    best = max(votes, key=lambda said: votes[said], default=None)
    return best if best is not None and votes[best] >= min(2, len(sources)) else None


def _shifted(values: Values, sources: Mapping[int, list[int]]) -> Iterator[Candidate]:
    by = _agreed(sources, lambda place, source: source - place)
    if by:
        yield _moved(values, "shifted", lambda places: places + by, by=f"{abs(by):,}", source=_off("i", by))


def _displaced(values: Values, sources: Mapping[int, list[int]], rows: int, columns: int) -> Iterator[Candidate]:
    agreed = _agreed(
        sources, lambda place, source: (source // columns - place // columns, source % columns - place % columns)
    )
    if agreed is None or agreed == (0, 0):
        return
    down, right = agreed

    def source(places: torch.Tensor) -> torch.Tensor:
        row, column = places // columns + down, places % columns + right
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        return torch.where(inside, row * columns + column, -1)

    key = "shifted_both" if down and right else "shifted_rows" if down else "shifted_columns"
    yield _moved(values, key, source, row=_off("r", down), column=_off("c", right))


def _turned(values: Values, sources: Mapping[int, list[int]]) -> Iterator[Candidate]:
    total = _agreed(sources, lambda place, source: source + place)
    if total == len(values.got) - 1:
        yield _moved(values, "reversed", lambda places: total - places)


def _exchanged(values: Values, sources: Mapping[int, list[int]]) -> Iterator[Candidate]:
    """Place and source differ in the same bits: neighbours exchanged, or groups turned round."""
    bits = _agreed(sources, lambda place, source: place ^ source)
    if not bits:
        return
    key, facts = "exchanged_groups", {"group": bits}
    if bits & (bits + 1) == 0:
        key, facts = ("neighbours", {}) if bits == 1 else ("reversed_groups", {"group": bits + 1})
    elif bits & (bits - 1):
        return  # a rule that nobody would recognise
    yield _moved(values, key, lambda places: places ^ bits, **facts)


def _reordered(values: Values, rows: int, columns: int) -> Iterator[Candidate]:
    """All values of a row, or of a column, are there, in another order that no rule above tells."""
    got, expected = values.got.reshape(rows, columns), values.expected.reshape(rows, columns)
    for key, along in (("reordered_rows", 1), ("reordered_columns", 0)):
        if bool((got.sort(along).values == expected.sort(along).values).all()):
            yield Candidate(key, lambda places: values.got[places], borrowed=True)


def _taken(values: Values, sources: Mapping[int, list[int]]) -> Iterator[Candidate]:
    """One element's value for all, or for its group, its row or its column."""
    source = _agreed(sources, lambda _, source: source)
    if source is not None and len(sources) > 1:
        yield _moved(values, "same_as", lambda places: torch.full_like(places, source), source=f"{source:,}")
    if values.matrix:
        columns = values.matrix[1]
        row = _agreed(sources, lambda place, source: source // columns if place % columns == source % columns else None)
        if row is not None:
            yield _moved(values, "same_row", lambda places: row * columns + places % columns, row=f"{row:,}")
        column = _agreed(
            sources, lambda place, source: source % columns if place // columns == source // columns else None
        )
        if column is not None:
            yield _moved(
                values, "same_column", lambda places: places // columns * columns + column, column=f"{column:,}"
            )
    for group in _GROUPS:
        if group < len(values.got):
            yield _moved(values, "first_of_group", _start_of(group), group=group)


def _start_of(group: int) -> Source:
    return lambda places: places // group * group


def _off(name: str, by: int) -> str:
    return f"{name} {'+' if by > 0 else '−'} {abs(by):,}" if by else name


# ---- transposed -----------------------------------------------------------------------------------------------------


def _transposed(values: Values, rows: int, columns: int) -> Iterator[Candidate]:
    """As a whole, or tile by tile, in the two ways of doing half of it."""
    if rows == columns:
        yield _moved(values, "transposed", lambda places: places % columns * columns + places // columns)
    else:
        yield _moved(values, "by_columns", lambda places: places % rows * columns + places // rows)
    for tile in _tiles(values, rows, columns):
        facts = {"tile": tile}
        yield _moved(values, "tiles_unturned", _inside_tiles(tile, rows, columns), **facts)
        yield _moved(values, "tiles_misplaced", _between_tiles(tile, rows, columns), **facts)


def _tiles(values: Values, rows: int, columns: int) -> list[int]:
    """Sides of square tiles that may have been used, the launch's own block first."""
    own = (values.block[0],) if values.block[0] > 1 else ()
    return [tile for tile in dict.fromkeys((*own, *_TILES)) if tile < max(rows, columns)]


def _inside_tiles(tile: int, rows: int, columns: int) -> Source:
    """Row and column exchanged within the tile, the tile left where it is."""

    def source(places: torch.Tensor) -> torch.Tensor:
        row, column = places // columns, places % columns
        return _flat(row // tile * tile + column % tile, column // tile * tile + row % tile, rows, columns)

    return source


def _between_tiles(tile: int, rows: int, columns: int) -> Source:
    """The tile from across the diagonal, unchanged in itself."""

    def source(places: torch.Tensor) -> torch.Tensor:
        row, column = places // columns, places % columns
        return _flat(column // tile * tile + row % tile, row // tile * tile + column % tile, rows, columns)

    return source


def _flat(row: torch.Tensor, column: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    return torch.where((row < rows) & (column < columns), row * columns + column, -1)
