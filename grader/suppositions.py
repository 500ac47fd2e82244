"""What a part's results would be under usual mistakes: those that the part names, and the reference once more, with
too few terms or a wrong input.

Wrong values that fit one of these tell the mistake: "as if only the first 16 of the 17 along K counted".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import torch

from grader.compare import Tensors, reference_results
from grader.explain import sentence
from grader.explain.likeness import Candidate
from grader.list_part import ListPart
from grader.puzzle import Buffer, Case, Dim, Number, Part, PuzzleError, Work, call_by_name, scalar_value

_PIECES = (32, 16, 8, 64, 128, 256, 512, 1024, 4, 2)  # terms that a tile, a warp or a block may take
_MOST_BLOCKS = 64
_APART = 2  # times what counts as the same: the mistakes of a part are few, and one of them is likely
_MOST_OPERATIONS = 1 << 28  # of the reference, for one supposition: a tenth of a second or less
_LARGEST_FLAG = 8
_FRAGMENT = 16  # elements of a fragment's row, which a leading dimension is mistaken for

Supposed = tuple[str, Mapping[str, object], Case, Tensors]


def suppositions(
    part: Part, case: Case, buffer: Buffer, inputs: Tensors, threads: int, blocks: Sequence[int] = ()
) -> Iterator[Candidate]:
    """Results that `buffer` would have under one mistake each; `threads` is the block size, 0 if unknown, and `blocks`
    are the grid's extents.

    `inputs` hold their values from before the run. Each is computed when it is asked for; none where that takes long,
    and none of a list of op calls, whose writer has neither a kernel nor an index to mistake.
    """
    if isinstance(part, ListPart):
        return
    work: Work = call_by_name(part.work, case.params)
    if work.flops + work.bytes // 4 > _MOST_OPERATIONS:
        return
    for key, facts, supposed, changed in _all(part, case, inputs, threads, blocks):
        for result in _result(part, buffer, supposed, changed):
            yield Candidate(f"supposed.{key}", _picked(result), facts, borrowed=result.numel() > 1)


def mistakes(part: Part, case: Case, buffer: Buffer, inputs: Tensors) -> Iterator[Candidate]:
    """Results that `buffer` would have under each mistake that the part names; few, so that none fits by chance."""
    for mistake in part.mistakes:
        for result in _result(replace(part, reference=mistake.reference), buffer, case, inputs):
            facts = {"like": mistake.like, "why": mistake.why}
            yield Candidate("supposed.mistake", _picked(result), facts, apart=_APART)


def _result(part: Part, buffer: Buffer, case: Case, inputs: Tensors) -> Iterator[torch.Tensor]:
    """What `part` gives for `buffer` on these inputs; nothing where they are none for it."""
    with contextlib.suppress(PuzzleError, RuntimeError, ValueError, ArithmeticError, IndexError):
        yield reference_results(part, case, inputs)[buffer.name].flatten().double()


def _picked(result: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda places: result[places]


def _all(part: Part, case: Case, inputs: Tensors, threads: int, blocks: Sequence[int]) -> Iterator[Supposed]:
    for dim in _summed(part):
        yield from _too_few(part, case, inputs, dim, threads, blocks)
    yield from _inputs_mistaken(case, inputs)
    yield from _scalars_mistaken(part, case, inputs)


# ---- too few terms --------------------------------------------------------------------------------------------------


def _summed(part: Part) -> list[Dim]:
    """Dimensions of inputs and of no result, by name or fixed: what is summed over, or reduced in another way."""
    read = {dim for buffer in part.buffers if buffer.is_read for dim in buffer.shape}
    kept = {dim for buffer in part.results for dim in buffer.shape}
    names = [scalar.name for scalar in part.scalars if scalar.name in read - kept]
    return [*names, *sorted(dim for dim in read - kept if isinstance(dim, int) and dim > 1)]


def _too_few(
    part: Part, case: Case, inputs: Tensors, dim: Dim, threads: int, blocks: Sequence[int]
) -> Iterator[Supposed]:
    count = int(case.params[dim]) if isinstance(dim, str) else dim
    named = {"dim": dim if isinstance(dim, str) else sentence("patterns", "fixed"), "all": count}
    every = range(count)
    pieces = [piece for piece in dict.fromkeys((*((threads,) if threads > 1 else ()), *_PIECES)) if piece < count]
    rounded = (count // extent * extent for extent in (*pieces, *blocks) if extent > 1)  # as many for each, no more
    shorter = dict.fromkeys([count - 1, *rounded, *pieces])
    for first in (first for first in shorter if 0 < first < count):
        yield _kept(part, case, inputs, dim, every[:first], "first_of", {**named, "count": first})
    if count > 1:
        yield _kept(part, case, inputs, dim, every[1:], "without_first", named)
        yield _kept(part, case, inputs, dim, every[:1], "first_alone", named)
        yield _kept(part, case, inputs, dim, every[-1:], "last_alone", named)
    for step in pieces:
        yield _kept(part, case, inputs, dim, every[::step], "one_in", {**named, "step": step})
    for piece in pieces:
        if count <= piece * _MOST_BLOCKS:
            for start in range(piece, count, piece):
                last = min(start + piece, count) - 1
                facts = {**named, "first": start, "last": last}
                yield _kept(part, case, inputs, dim, every[start : last + 1], "one_block_of", facts)


def _kept(
    part: Part, case: Case, inputs: Tensors, dim: Dim, kept: range, key: str, facts: Mapping[str, object]
) -> Supposed:
    """Only the terms `kept` along `dim`."""
    shorter = Case.of({**case.params, dim: len(kept)}) if isinstance(dim, str) else case
    changed = dict(inputs)
    for buffer in part.buffers:
        for axis, extent in enumerate(buffer.shape):
            if buffer.is_read and extent == dim:
                changed[buffer.name] = changed[buffer.name].movedim(axis, 0)[kept.start : kept.stop : kept.step]
                changed[buffer.name] = changed[buffer.name].movedim(0, axis)
    return key, facts, shorter, changed


# ---- inputs and scalars ---------------------------------------------------------------------------------------------


def _inputs_mistaken(case: Case, inputs: Tensors) -> Iterator[Supposed]:
    for name, tensor in inputs.items():
        if tensor.dim() == 2 and min(tensor.shape) > 1:
            by_columns = tensor.flatten().reshape(tensor.shape[1], tensor.shape[0]).T
            yield "by_columns", {"input": name}, case, {**inputs, name: by_columns}
            yield from _narrower(case, inputs, name)
    for (one, left), (other, right) in combinations(inputs.items(), 2):
        if left.shape == right.shape:
            yield "exchanged", {"one": one, "other": other}, case, {**inputs, one: right, other: left}
    if len(inputs) > 1:
        for name, tensor in inputs.items():
            yield "zeros", {"input": name}, case, {**inputs, name: torch.zeros_like(tensor)}
            yield "ones", {"input": name}, case, {**inputs, name: torch.ones_like(tensor)}
            yield "neighbour", {"input": name, "direction": "too far"}, case, {**inputs, name: _next(tensor, 1)}
            yield "neighbour", {"input": name, "direction": "too early"}, case, {**inputs, name: _next(tensor, -1)}


def _narrower(case: Case, inputs: Tensors, name: str) -> Iterator[Supposed]:
    """The rows of a matrix begin closer to each other than they do: another extent stands for its width."""
    rows, width = inputs[name].shape
    others = {int(value) for value in case.params.values() if isinstance(value, int)} | {_FRAGMENT}
    for other in sorted(others):
        if 0 < other < width:
            places = torch.arange(rows)[:, None] * other + torch.arange(width)
            facts = {"input": name, "other": other, "width": width}
            yield "narrower", facts, case, {**inputs, name: inputs[name].flatten()[places]}


def _next(tensor: torch.Tensor, by: int) -> torch.Tensor:
    """Each element's neighbour; at the end, where there is none, NaN."""
    flat = tensor.flatten().roll(-by)
    if tensor.is_floating_point() and len(flat):
        flat[-1 if by > 0 else 0] = torch.nan
    return flat.reshape(tensor.shape)


def _scalars_mistaken(part: Part, case: Case, inputs: Tensors) -> Iterator[Supposed]:
    extents = {dim for buffer in part.buffers for dim in buffer.shape}
    for scalar in part.scalars:
        value = scalar_value(scalar, case.params)
        if scalar.name in extents or not (scalar.dtype.is_float or 0 <= value < _LARGEST_FLAG):
            continue
        tried: tuple[Number, ...] = (0, 1, -value) if scalar.dtype.is_float else (0, 1)
        for other in tried:
            if other != value:
                supposed = Case.of({**case.params, scalar.name: other})
                yield "scalar", {"scalar": scalar.name, "value": f"{other:g}"}, supposed, inputs
