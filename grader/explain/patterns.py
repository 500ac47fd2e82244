"""What wrong values look like, in words: where they lie, and what stands there instead.

A learner reads "the last block row: every wrong element is 0" faster than a list of indices. What stands there names
the mistake, so it is looked for first; where the wrong elements lie is told beside it, unless they are everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from grader.explain.catalogue import sentence

if TYPE_CHECKING:
    import torch

    from grader.explain.likeness import Candidate

Extent = tuple[int, int, int]

_ROUNDING = 2.0**-20  # relative: coarser than float's rounding, far finer than any mistake of substance
_SAMPLE = 1 << 16
_SLACK = 4  # times what is allowed: a mistaken value has its own rounding, and that of what it is compared with


@dataclass(frozen=True)
class Pattern:
    """A pattern's key in the catalogue and its facts; `place` tells where, for a pattern of what stands there."""

    key: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    place: Pattern | None = None

    @property
    def words(self) -> str:
        told = sentence("patterns", *self.key.split("."), facts=self.facts)
        if self.place is None:
            return told
        return sentence("patterns", "there", facts={"place": self.place.words, "values": told})

    @property
    def why(self) -> str:
        """What it often means; "" where it means nothing in particular."""
        own = sentence("pattern_whys", *self.key.split("."), facts=self.facts)
        return own or (self.place.why if self.place is not None else "")


@dataclass(frozen=True)
class Values:
    """One compared buffer: flat float64 tensors of one length, `wrong` a mask, `shape` the buffer's own.

    `inputs` are the inputs in their shapes and types, `scalars` the numbers of the case, `grid` and `block` those of
    the last launch, zeros if unknown. `allowed` is how far each element may be off, as flat as the others; beyond that
    two values are the same that differ by rounding only. `mistaken` and `supposed` are results that mistakes
    would give, those that the part names and those that any may have; both are gone through at most once.
    """

    got: torch.Tensor
    expected: torch.Tensor
    wrong: torch.Tensor
    shape: tuple[int, ...]
    inputs: Mapping[str, torch.Tensor] = field(default_factory=dict)
    scalars: Mapping[str, float] = field(default_factory=dict)
    grid: Extent = (0, 0, 0)
    block: Extent = (0, 0, 0)
    allowed: torch.Tensor | None = None
    supposed: Iterable[Candidate] = ()
    mistaken: Iterable[Candidate] = ()

    @cached_property
    def places(self) -> torch.Tensor:
        """Flat indices of the wrong elements, rising."""
        return self.wrong.nonzero().flatten()

    @cached_property
    def sample(self) -> torch.Tensor:
        """The wrong places, or some of very many, evenly spread."""
        return self.places[:: max(1, len(self.places) // _SAMPLE)]

    @property
    def matrix(self) -> tuple[int, int] | None:
        """Rows and columns, leading dimensions as rows; None for what is no matrix."""
        if len(self.shape) < 2:
            return None
        columns = self.shape[-1]
        rows = len(self.got) // columns if columns else 0
        return (rows, columns) if rows > 1 and columns > 1 else None

    def room(self, other: torch.Tensor, places: torch.Tensor | slice = slice(None)) -> torch.Tensor:
        """How far elements at `places` may be from `other` to be called the same."""
        room = _ROUNDING * other.abs()
        return room if self.allowed is None else room.maximum(_SLACK * self.allowed[places])

    def same(self, got: torch.Tensor, other: torch.Tensor, places: torch.Tensor | slice = slice(None)) -> torch.Tensor:
        """Mask of where `got`, at `places`, is as near to `other` as arithmetic lets it be; NaN is like NaN."""
        near = (got - other).abs() <= self.room(other, places)
        return (near & other.isfinite()) | (got == other) | (got.isnan() & other.isnan())


def find_pattern(values: Values) -> Pattern:
    """The most telling pattern of the wrong values; at least one element is wrong."""
    from grader.explain.places import place_of

    place = place_of(values)
    for candidate in _candidates(values):
        if candidate.holds(values):
            everywhere = place.key in ("all", "one", "scattered") or candidate.holds_everywhere(values)
            return Pattern(candidate.key, candidate.facts, None if everywhere else place)
    return place


def _candidates(values: Values) -> Iterator[Candidate]:
    """From what says most to what says least."""
    from grader.explain import likeness, moves

    yield from values.mistaken
    if bool(values.got[values.wrong].isnan().all()):
        return  # that they are no numbers is said already
    yield from likeness.nothing(values)
    yield from likeness.inputs(values)
    yield from likeness.plain_multiples(values)
    yield from moves.moved(values)
    yield from values.supposed
    yield from likeness.functions(values)
    yield from likeness.multiples(values)
    yield from likeness.constants(values)
