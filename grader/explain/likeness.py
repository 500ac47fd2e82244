"""What wrong values are like: nothing at all, an input, a multiple of what they should be, all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from grader.explain.patterns import Values

Given = Callable[[torch.Tensor], torch.Tensor]

_SAMPLE = 2048  # wrong elements that are looked at before all of them are
_APART = 8  # times what counts as the same: a candidate nearer than that to the right values explains nothing
_COINCIDENCE = 1e-3  # a chance above this is none that a sentence may be built on
_MOST_RUNNING = 1 << 22  # elements that are gone through one by one
_NEAR_ONE = 0.01
_LEAST_CHANCE = 2e-7  # less cannot be seen in a sample


@dataclass(frozen=True)
class Candidate:
    """What may stand in the wrong elements. `at` gives it for flat indices, NaN where the candidate says nothing.

    A candidate that is `borrowed` takes its values from other places, where equal ones may lie by chance; it needs so
    many elements to hold that chance is out of the question. `apart` is how far it must be from the right values, in
    what counts as the same.
    """

    key: str
    at: Given
    facts: Mapping[str, Any] = field(default_factory=dict)
    borrowed: bool = False
    apart: float = _APART

    def holds(self, values: Values) -> bool:
        """Whether it tells the wrong elements, all that it speaks of, and is not simply the right result."""
        places = values.places
        sample = places[:: max(1, len(places) // _SAMPLE)]
        return self._fits(values, sample) and (len(sample) == len(places) or self._fits(values, places))

    def holds_everywhere(self, values: Values) -> bool:
        """Whether it tells the right elements too, which then are right by chance: all, or very many of them."""
        every = torch.arange(0, len(values.got), max(1, len(values.got) // _MOST_RUNNING))
        given = self.at(every)
        return bool((values.same(values.got[every], given, every) | given.isnan()).all())

    def _fits(self, values: Values, places: torch.Tensor) -> bool:
        given, got, expected = self.at(places), values.got[places], values.expected[places]
        if bool(got.isnan().all()):
            return bool(given.isnan().all())
        known = ~given.isnan()
        count = int(known.sum())
        if 2 * count < len(places) or count == 0:
            return False
        given, got, expected, places = given[known], got[known], expected[known], places[known]
        if not bool(values.same(got, given, places).all()):
            return False
        if values.allowed is not None and bool(((got == 0) & (given.abs() > values.allowed[places])).any()):
            return False  # an exact 0 is no sum of something small
        apart = ((given - expected).abs() > self.apart * values.room(given, places)) | (
            given.isfinite() != expected.isfinite()
        )
        if 2 * int(apart.sum()) < count:
            return False
        some = given[:: max(1, len(given) // _SAMPLE)]
        return not self.borrowed or _chance(values, len(set(some.tolist()))) < _COINCIDENCE


def _chance(values: Values, count: int) -> float:
    """How likely some rule finds `count` different values among the right ones where it only seems to hold."""
    sample = slice(None, None, max(1, len(values.expected) // _SAMPLE))
    numbers, order = values.expected[sample].sort()
    room = values.room(values.expected[sample], sample)[order]
    like = torch.searchsorted(numbers, numbers + room, right=True) - torch.searchsorted(numbers, numbers - room)
    pairs = max(len(numbers) * (len(numbers) - 1), 1)
    alike = max(float((like - 1).clamp(min=0).sum()) / pairs, _LEAST_CHANCE)
    return len(values.expected) * alike**count


# ---- nothing, inputs ------------------------------------------------------------------------------------------------


def nothing(values: Values) -> Iterator[Candidate]:
    """Zeros."""
    everywhere = bool((values.got == 0).all())
    yield Candidate("all_zero" if everywhere else "zero", lambda places: torch.zeros(len(places), dtype=torch.float64))


def inputs(values: Values) -> Iterator[Candidate]:
    """An input as it is or column by column, two of them put together, and the right value with one too many."""
    alike = {name: tensor for name, tensor in values.inputs.items() if tensor.numel() == len(values.got)}
    for name, tensor in alike.items():
        only_moved = bool((tensor.flatten().double().sort().values == values.expected.sort().values).all())
        yield Candidate("unmoved" if only_moved else "equals_input", _picked(tensor), {"input": name}, borrowed=True)
        if tensor.dim() == 2 and min(tensor.shape) > 1:
            yield Candidate("input_by_columns", _by_columns(tensor), {"input": name}, borrowed=True)
    for (one, left), (other, right) in permutations(alike.items(), 2):
        for sign, operation in _OPERATIONS.items():
            if sign in "−/" or one < other:
                both = _together(operation, _picked(left), _picked(right))
                yield Candidate("formula", both, {"formula": f"{one} {sign} {other}"}, borrowed=True)
    expected = _picked(values.expected)
    for name, given in _spread(values):
        yield Candidate("too_much", _together(torch.add, expected, given), {"input": name})
        yield Candidate("too_little", _together(torch.sub, expected, given), {"input": name})


_OPERATIONS: Mapping[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "−": torch.sub,
    "×": torch.mul,
    "+": torch.add,
    "/": torch.div,
}


def _spread(values: Values) -> Iterator[tuple[str, Given]]:
    """Inputs that have an element for each of the result's, or for each of its rows or columns."""
    for name, tensor in values.inputs.items():
        if tensor.numel() == len(values.got):
            yield name, _picked(tensor)
        elif values.matrix and tensor.dim() == 1 and len(tensor) in values.matrix:
            yield name, _picked(tensor, values.matrix[1], down=len(tensor) != values.matrix[1])


def _picked(tensor: torch.Tensor, columns: int = 0, *, down: bool = False) -> Given:
    """The tensor's element at each place; with `columns`, that of the place's column, or of its row if `down`."""
    flat = tensor.flatten()
    if not columns:
        return lambda places: flat[places].double()
    return lambda places: flat[places // columns if down else places % columns].double()


def _by_columns(tensor: torch.Tensor) -> Given:
    rows = tensor.shape[0]
    return lambda places: tensor[places % rows, places // rows].double()


def _together(operation: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], left: Given, right: Given) -> Given:
    return lambda places: operation(left(places), right(places))


# ---- multiples and functions of the right value ---------------------------------------------------------------------


def plain_multiples(values: Values) -> Iterator[Candidate]:
    """Without its sign, twice, half, with the other sign."""
    if bool((values.expected[~values.wrong] > 0).any()):
        yield Candidate("no_sign", _of(torch.abs, values.expected))
    for key, factor in (("doubled", 2.0), ("halved", 0.5), ("negated", -1.0)):
        yield _multiple(values, factor, key)


def multiples(values: Values) -> Iterator[Candidate]:
    """Times a number of the case, times a warp, times anything, and off by a constant."""
    for name, number in {**values.scalars, "": 32}.items():
        if number > 2:
            facts = {"count": f"{number:g}", "name": name or "a warp"}
            yield _multiple(values, number, "times", **facts)
            yield _multiple(values, 1 / number, "part", **facts)
    got, expected = values.got[values.sample], values.expected[values.sample]
    if _expected_one_value(values) or len(got) < 3:
        return  # any two constants are a factor and a distance apart
    nonzero = expected != 0
    if bool(nonzero.any()):
        factor = float((got[nonzero] / expected[nonzero]).median())
        if abs(factor) < torch.inf and abs(factor - 1) > _NEAR_ONE:
            yield _multiple(values, factor, "factor", factor=f"{factor:.4g}")
    distance = float((got - expected).median())
    if not abs(distance) < torch.inf:
        return
    facts = {"distance": f"{abs(distance):.7g}"}
    yield Candidate(
        "too_large_by" if distance > 0 else "too_small_by",
        lambda places: values.expected[places] + distance,
        facts,
    )


def functions(values: Values) -> Iterator[Candidate]:
    """What a forgotten or superfluous step makes of the right value."""
    expected = values.expected
    if _expected_one_value(values):
        return
    for key, function in _FUNCTIONS:
        yield Candidate(key, _of(function, expected))
    if len(expected) > _MOST_RUNNING:
        return
    yield Candidate("running", _picked(expected.cumsum(0)))
    if values.matrix:
        rows = expected.reshape(values.matrix)
        yield Candidate("running_rows", _picked(rows.cumsum(1)))
        yield Candidate("running_columns", _picked(rows.cumsum(0)))


def _of(function: Given, tensor: torch.Tensor) -> Given:
    return lambda places: function(tensor[places])


_FUNCTIONS: Sequence[tuple[str, Given]] = (
    ("whole", torch.trunc),
    ("whole", torch.round),
    ("squared", torch.square),
    ("root", torch.sqrt),
    ("reciprocal", torch.reciprocal),
)


def constants(values: Values) -> Iterator[Candidate]:
    """One value everywhere."""
    got = values.got[values.wrong]
    if len(got) > 2 and bool((got == got[0]).all()):
        value = got[0]
        yield Candidate("constant", lambda places: value.expand(len(places)), {"value": f"{float(value):g}"})


def _multiple(values: Values, factor: float, key: str, /, **facts: object) -> Candidate:
    return Candidate(key, lambda places: values.expected[places] * factor, facts)


def _expected_one_value(values: Values) -> bool:
    expected = values.expected[values.sample]
    return bool(values.same(expected, expected[:1], values.sample).all())
