"""What wrong values look like, in words: where they lie, and what stands there instead.

A learner reads "only the last block of 256 is wrong" faster than a list of indices. Patterns of value (all zero,
twice the right value, the input itself) are looked for first, since they name the mistake; patterns of place come
next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grader.explain.catalogue import sentence

if TYPE_CHECKING:
    import torch

_CLOSE = 1e-5  # relative; coarser than float's rounding, far finer than any mistake of substance
_STEPS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Pattern:
    """A pattern's key in the catalogue and its facts."""

    key: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        return sentence("patterns", self.key, facts=self.facts)

    @property
    def why(self) -> str:
        """What it often means; "" where it means nothing in particular."""
        return sentence("pattern_whys", self.key, facts=self.facts)


@dataclass(frozen=True)
class Values:
    """One compared buffer: flat float64 tensors of one length, `wrong` a mask, `shape` the buffer's own.

    `inputs` holds the inputs of the same length; `threads` is the block size of the last launch, 0 if unknown.
    """

    got: torch.Tensor
    expected: torch.Tensor
    wrong: torch.Tensor
    shape: tuple[int, ...]
    inputs: Mapping[str, torch.Tensor] = field(default_factory=dict)
    threads: int = 0


def find_pattern(values: Values) -> Pattern:
    """The most telling pattern of the wrong values; at least one element is wrong."""
    return next(_candidates(values))


def _candidates(values: Values) -> Iterator[Pattern]:
    yield from _by_value(values)
    yield from place_patterns(values.wrong, values.shape, values.threads)
    yield Pattern("scattered")


# ---- what stands there ----------------------------------------------------------------------------------------------


def _by_value(values: Values) -> Iterator[Pattern]:
    got, expected = values.got[values.wrong], values.expected[values.wrong]
    if len(got) < 2:
        return
    if bool((values.got == 0).all()):
        yield Pattern("all_zero")
    for name, given in values.inputs.items():
        if _close(got, given[values.wrong]):
            yield Pattern("equals_input", {"input": name})
    for key, factor in (("doubled", 2.0), ("halved", 0.5), ("negated", -1.0)):
        if _close(got, expected * factor):
            yield Pattern(key)
    yield from _moved(values)
    if len(got) > 2 and bool((got == got[0]).all()):
        yield Pattern("constant", {"value": f"{float(got[0]):g}"})


def _moved(values: Values) -> Iterator[Pattern]:
    import torch

    count = len(values.got)
    for by in (1, -1, 2, -2, 4, -4, 32, -32):
        inner = torch.zeros(count, dtype=torch.bool)
        inner[max(0, -by) : max(0, count - max(0, by))] = True
        inner &= values.wrong
        if int(inner.sum()) > max(2, int(values.wrong.sum()) - abs(by) - 1):
            places = inner.nonzero().flatten()
            if _close(values.got[places], values.expected[places + by]):
                source = f"i {'+' if by > 0 else '−'} {abs(by)}"
                yield Pattern("shifted", {"by": abs(by), "source": source})
    if len(values.shape) == 2 and values.shape[0] == values.shape[1] > 1:
        exchanged = values.expected.reshape(values.shape).T.flatten()
        if _close(values.got, exchanged):
            yield Pattern("transposed")


def _close(left: torch.Tensor, right: torch.Tensor) -> bool:
    return bool(((left - right).abs() <= _CLOSE * right.abs()).all())


# ---- where they lie -------------------------------------------------------------------------------------------------


def place_patterns(wrong: torch.Tensor, shape: tuple[int, ...], threads: int) -> Iterator[Pattern]:
    """Patterns of place in a flat mask, the most telling first; used for elements never written as well."""
    places = wrong.nonzero().flatten()
    count, total = len(places), len(wrong)
    first, last = int(places[0]), int(places[-1])
    if count == total:
        yield Pattern("all")
    if count == 1:
        yield Pattern("one", {"first": first})
    if count == total - 1 and not bool(wrong[0]):
        yield Pattern("only_first")
    yield from _in_rows(wrong, shape)
    yield from _in_blocks(wrong, threads)
    if last - first + 1 == count:
        if last == total - 1:
            yield Pattern("tail", {"first": first})
        if first == 0:
            yield Pattern("head", {"last": last})
        yield Pattern("run", {"first": first, "last": last})
    yield from _in_steps(wrong)


def _in_blocks(wrong: torch.Tensor, threads: int) -> Iterator[Pattern]:
    total = len(wrong)
    if threads < 2 or total <= threads:
        return
    start = (total - 1) // threads * threads
    facts = {"threads": threads}
    if bool(wrong[start:].all()) and not bool(wrong[:start].any()):
        yield Pattern("last_block", facts)
    if bool(wrong[:threads].all()) and not bool(wrong[threads:].any()):
        yield Pattern("first_block", facts)
    if bool(wrong[threads:].all()) and not bool(wrong[:threads].any()):
        yield Pattern("beyond_first_block", facts)


def _in_rows(wrong: torch.Tensor, shape: tuple[int, ...]) -> Iterator[Pattern]:
    if len(shape) != 2 or min(shape) < 2:
        return
    mask = wrong.reshape(shape)
    if not bool(mask[:-1].any()):
        yield Pattern("last_row")
    if not bool(mask[:, :-1].any()):
        yield Pattern("last_column")
    if bool((mask.all(1) == mask.any(1)).all()):
        yield Pattern("all_rows")


def _in_steps(wrong: torch.Tensor) -> Iterator[Pattern]:
    places, right = wrong.nonzero().flatten(), (~wrong).nonzero().flatten()
    for step in reversed(_STEPS):
        for key, chosen in (("every", places), ("except_every", right)):
            if len(chosen) < 2:
                continue
            first = int(chosen[0])
            every = range(first, len(wrong), step)
            if first < step and len(chosen) == len(every) and bool((chosen % step == first).all()):
                yield Pattern(key, {"step": step, "first": first})
