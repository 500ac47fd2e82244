"""The smallest case that still fails in the same way, and which sizes beside it pass.

    shrink(part, case, "wrong_values", probe) -> Shrunk(params={"M": 33, "N": 1, "K": 1}, …)

Sizes are tried from small to large, near powers of two and the launch's own block sizes, since that is where kernels
break. What is claimed of sizes ("multiples of 32 pass") has been run, on several of them. Every step follows from the
part, the case and what the probes say; only the clock may end the search early, and then less is said.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.puzzle import Case, Number, Part, PuzzleError, buffer_bytes, call_by_name, shape_of
from grader.shrunk import Shrunk, Sizes

Params = dict[str, Number]
Probe = Callable[[Case], str | None]

_TILES = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_MOST_PROBES = 150
_MULTIPLES = 3  # of a tile that must pass, for it to be said that they do
_BEYOND = 3  # sizes past the smallest that must fail, for it to be said that it fails from there on


def shrink(
    part: Part,
    case: Case,
    kind: str,
    probe: Probe,
    *,
    right: Iterable[Case] = (),
    blocks: Iterable[int] = (),
    seconds: float = 2.0,
) -> Shrunk | None:
    """Searches below `case`, which fails with `kind`; `probe` gives the kind of a case's first finding, None if right.

    `right` are cases that are known to be right, `blocks` sizes that the launch works by. None where there is nothing
    to say that the case itself does not.
    """
    search = _Search(part, case, kind, probe, tuple(blocks), time.monotonic() + seconds)
    for other in right:
        if _is_plain(other):
            search.tried[tuple(other.params.values())] = None
    if _is_plain(case):
        search.tried[tuple(case.params.values())] = kind
    elif not search.fails(dict(case.params)):
        return _among_its_like(part, case, kind, probe)
    if not search.can_shrink() and not search.knows_a_right_case():
        return None
    smallest = search.descend()
    seen = [search.around(axis, smallest) for axis in search.axes]
    sizes = tuple(sizes for sizes in seen if sizes is not None)
    if smallest == dict(case.params) and not sizes:
        return None
    return Shrunk(Case.of(smallest), sizes, tuple(search.passed()))


def smaller_cases(part: Part, case: Case, most_bytes: int) -> Iterator[Case]:
    """Cases like `case` whose buffers have `most_bytes` together at most: first all sizes small alike and rising, then
    each size as large as it is with all others at their smallest.
    """
    axes = _axes(part, case)
    sizes = {axis: int(case.params[axis.names[0]]) for axis in axes}
    smallest = {axis: min(axis.least, size) for axis, size in sizes.items()}
    halvings = max(sizes.values(), default=1).bit_length()
    alike = (
        {axis: min(axis.near(max(size >> by, 1) + more * axis.step), size) for axis, size in sizes.items()}
        for by in reversed(range(halvings))
        for more in (0, 1)
    )
    alone = (smallest | {axis: sizes[axis]} for axis in axes)
    seen: list[Mapping[str, Number]] = [case.params]
    for chosen in (*alike, *alone):
        params = dict(case.params)
        for axis, size in chosen.items():
            params = _with(params, axis, size)
        if params not in seen and _can_be(part, params) and _bytes(part, params) <= most_bytes:
            seen.append(params)
            yield Case(inputs=case.inputs, offset=case.offset, **params)


def _can_be(part: Part, params: Params) -> bool:
    """Whether buffers of these sizes can be made, and the entry has to cope with them."""
    try:
        for buffer in part.buffers:
            shape_of(buffer, params)
    except PuzzleError:
        return False
    return part.valid is None or bool(call_by_name(part.valid, params))


def _bytes(part: Part, params: Params) -> int:
    return sum(buffer_bytes(buffer, params) for buffer in part.buffers)


def _is_plain(case: Case) -> bool:
    """Whether its buffers are filled and placed as usual, so that `--case` makes it from its sizes alone."""
    return not case.inputs and not any(case.offset.values())


def _among_its_like(part: Part, case: Case, kind: str, probe: Probe) -> Shrunk | None:
    """The smallest of the part's own cases that are filled and placed like this one: others cannot be asked for."""
    sizes = _size_names(part)
    like = [other for other in part.cases() if (other.inputs, other.offset) == (case.inputs, case.offset)]
    smaller = [other for other in like if _volume(other, sizes) < _volume(case, sizes)]
    passed: list[Mapping[str, Number]] = []
    for other in sorted(smaller, key=lambda other: _volume(other, sizes)):
        seen = probe(other)
        if seen == kind:
            return Shrunk(other, (), tuple(passed))
        if seen is None:
            passed.append(other.params)
    return None


def _volume(case: Case, sizes: Sequence[str]) -> int:
    return math.prod(int(case.params[name]) for name in sizes)


# ---- what sizes there may be ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """One size, or several that are equal in every case of the part: multiples of `step` from `least` to `most`."""

    names: tuple[str, ...]
    step: int
    least: int
    most: int

    def near(self, value: int) -> int:
        """The allowed size at `value` or the next above."""
        return max(self.least, -(-value // self.step) * self.step)

    def telling(self, below: int, tiles: Iterable[int]) -> list[int]:
        """Sizes below `below` at which kernels break: the smallest, and those around tiles; rising."""
        around = [tile + by * self.step for tile in tiles for by in (-1, 0, 1)]
        values = {self.near(value) for value in (1, 2, 3, below // 2, *around) if value > 0}
        return sorted(value for value in values if self.least <= value < below)


def _axes(part: Part, case: Case) -> list[_Axis]:
    """The sizes that can shrink, as the part's own cases show them: what all have in common is kept."""
    own = [Case.of(other.params) for other in (case, *part.cases())]
    names = [name for name in _size_names(part) if int(case.params[name]) > 0]
    axes: list[_Axis] = []
    for group in _equal_groups(names, own):
        values = {int(other.params[group[0]]) for other in own} - {0}  # with nothing to do, nothing is to be learnt
        step = math.gcd(*values) if len(values) > 1 else 1
        axes.append(_Axis(group, step, min(values), max(values)))
    return axes


def _size_names(part: Part) -> list[str]:
    """Whole scalars that stand in the shape of a buffer."""
    extents = " ".join(str(extent) for buffer in part.buffers for extent in buffer.shape)
    used = set(re.findall(r"[A-Za-z_]\w*", extents))
    return [scalar.name for scalar in part.scalars if scalar.name in used and not scalar.dtype.is_float]


def _equal_groups(names: Sequence[str], cases: Sequence[Case]) -> list[tuple[str, ...]]:
    groups: dict[tuple[Number, ...], list[str]] = {}
    for name in names:
        groups.setdefault(tuple(case.params[name] for case in cases), []).append(name)
    return [tuple(group) for group in groups.values()]


# ---- the search -----------------------------------------------------------------------------------------------------


@dataclass
class _Search:
    part: Part
    start: Case
    kind: str
    probe: Probe
    blocks: tuple[int, ...]
    deadline: float
    tried: dict[tuple[Number, ...], str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.axes = _axes(self.part, self.start)
        self.tiles = sorted({*_TILES, *(block for block in self.blocks if block > 1)})

    def fails(self, params: Params) -> bool:
        """Whether these sizes fail in the same way; False for what cannot be run, or no more."""
        return self._seen(params) == self.kind

    def passes(self, params: Params) -> bool:
        """Whether these sizes were run and are right."""
        return self._seen(params) is None

    def _seen(self, params: Params) -> str | None:
        key = tuple(params.values())
        if key not in self.tried:
            if len(self.tried) >= _MOST_PROBES or time.monotonic() > self.deadline or not _can_be(self.part, params):
                return "not run"
            self.tried[key] = self.probe(Case.of(params))
        return self.tried[key]

    def passed(self) -> Iterator[Params]:
        names = list(self.start.params)
        for key, seen in self.tried.items():
            if seen is None:
                yield dict(zip(names, key, strict=True))

    def can_shrink(self) -> bool:
        """Whether any size may be smaller."""
        return any(int(self.start.params[axis.names[0]]) > axis.least for axis in self.axes)

    def knows_a_right_case(self) -> bool:
        return None in self.tried.values()

    def descend(self) -> Params:
        """All sizes small together first, then each by itself, until none can be smaller."""
        params = dict(self.start.params)
        if len(self.axes) > 1:
            params = self._all_small(params)
        while True:
            smaller = dict(params)
            for axis in self.axes:
                smaller = self._one_small(smaller, axis)
            if smaller == params:
                return params
            params = smaller

    def _all_small(self, params: Params) -> Params:
        def together(value: int) -> Params:
            small = dict(params)
            for axis in self.axes:
                small = _with(small, axis, min(int(params[axis.names[0]]), axis.near(value)))
            return small

        largest = max(int(params[axis.names[0]]) for axis in self.axes)
        values = _Axis((), 1, 1, largest).telling(largest, self.tiles)
        _, fails = _halved(values, lambda value: self.fails(together(value)))
        return together(values[fails]) if fails < len(values) else params

    def _one_small(self, params: Params, axis: _Axis) -> Params:
        """Halves the way to the smallest first, as if all above it failed; then tries what lies below all the same."""
        current = int(params[axis.names[0]])

        def fails_at(value: int) -> bool:
            return self.fails(_with(params, axis, value))

        values = axis.telling(current, self.tiles)
        below, first = _halved(values, fails_at)
        current = values[first] if first < len(values) else current
        current = self._between(axis, values[below] if below >= 0 else axis.least - axis.step, current, fails_at)
        passed = axis.least - axis.step
        for value in axis.telling(current, self.tiles):
            if fails_at(value):
                current = self._between(axis, passed, value, fails_at)
                break
            passed = value
        return _with(params, axis, current)

    def _between(self, axis: _Axis, below: int, fails: int, fails_at: Callable[[int], bool]) -> int:
        """A size that fails, its neighbour below right, between one that is right and one that fails."""
        while fails - below > axis.step:
            middle = axis.near((below + fails) // 2)
            if middle in (below, fails):
                break
            if fails_at(middle):
                fails = middle
            else:
                below = middle
        return fails

    # ---- what is around the smallest ----

    def around(self, axis: _Axis, params: Params) -> Sizes | None:
        """Which sizes beside the smallest pass; None where none does."""
        fails = int(params[axis.names[0]])
        smallest = fails - axis.step < axis.least
        beside = fails + axis.step if smallest else fails - axis.step
        passes = self._passes_at(axis, params, beside)
        for tile in self.tiles if passes else self._promising(axis) if smallest else ():
            if self._multiples_pass(axis, params, tile) and self._fails_onward(axis, params, tile):
                return Sizes(axis.names, fails, beside, from_here=True, multiple=tile, smallest=smallest)
        if not passes:
            return None
        for other in self.axes:
            if other is not axis and self._passes_where_equal(axis, other, params, beside):
                return Sizes(axis.names, fails, beside, False, 0, smallest, equal=other.names)
        if smallest and not all(self._passes_at(axis, params, fails + more * axis.step) for more in (2, 3)):
            return None  # one that passes among many that do not is chance
        return Sizes(axis.names, fails, beside, self._fails_onward(axis, params, 0), 0, smallest)

    def _passes_where_equal(self, axis: _Axis, other: _Axis, params: Params, passes: int) -> bool:
        """Whether what passes is that both sizes are the same: so it is with the next size, and not with different
        ones.
        """
        more = passes + axis.step
        if int(params[other.names[0]]) != passes or axis.step != other.step or more > min(axis.most, other.most):
            return False

        def sizes(one: int, two: int) -> Params:
            return _with(_with(params, axis, one), other, two)

        return self.passes(sizes(more, more)) and self.fails(sizes(more, passes)) and self.fails(sizes(passes, more))

    def _promising(self, axis: _Axis) -> list[int]:
        """Tiles of which all may pass: some multiple of them is known to."""
        place = list(self.start.params).index(axis.names[0])
        right = [int(key[place]) for key, seen in self.tried.items() if seen is None]
        return [tile for tile in self.tiles if any(value and value % tile == 0 for value in right)]

    def _multiples_pass(self, axis: _Axis, params: Params, tile: int) -> bool:
        """Whether the tile, twice the tile and what comes next pass, two of them past the smallest that fails, and
        larger ones up to the size that failed first.
        """
        fails = int(params[axis.names[0]])
        if tile % axis.step or tile <= axis.step or fails % tile == 0:
            return False
        first = fails // tile + 1
        factors = sorted({1, 2, first, first + 1})
        chosen = [factor * tile for factor in (factors if len(factors) >= _MULTIPLES else [*factors, first + 2])]
        size = int(self.start.params[axis.names[0]])
        chosen += [part // tile * tile for part in (size // _BEYOND, size) if part // tile > first + 1]
        return all(self._passes_at(axis, params, value) for value in chosen)

    def _fails_onward(self, axis: _Axis, params: Params, multiple: int) -> bool:
        """Whether what was tried past the smallest fails, up to the size that failed first and multiples apart, and
        what was tried below it passes.
        """
        fails, first = int(params[axis.names[0]]), int(self.start.params[axis.names[0]])
        wanted = [fails + axis.step, fails + 2 * axis.step, fails + fails // 2, 2 * fails + axis.step]
        wanted += [(fails + first) // 2, first]
        if multiple:
            wanted += [multiple * factor + axis.step for factor in (fails // multiple + 1, fails // multiple + 2)]
        sizes = dict.fromkeys(axis.near(value) for value in wanted)
        above = [size for size in sizes if fails < size <= axis.most and not (multiple and size % multiple == 0)]
        below = axis.telling(fails, self.tiles)
        return (
            len(above) >= _BEYOND
            and all(self.fails(_with(params, axis, value)) for value in above)
            and all(self._passes_at(axis, params, value) for value in below)
        )

    def _passes_at(self, axis: _Axis, params: Params, value: int) -> bool:
        return axis.least <= value <= axis.most and self.passes(_with(params, axis, value))


def _halved(values: Sequence[int], fails: Callable[[int], bool]) -> tuple[int, int]:
    """Places, side by side, of a value that passes (-1: none) and one that fails (the length: none); the first value is
    tried first.
    """
    if values and fails(values[0]):
        return -1, 0
    below, first = min(0, len(values) - 1), len(values)
    while first - below > 1:
        middle = (below + first) // 2
        if fails(values[middle]):
            first = middle
        else:
            below = middle
    return below, first


def _with(params: Params, axis: _Axis, value: int) -> Params:
    return params | dict.fromkeys(axis.names, value)
