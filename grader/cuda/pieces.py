"""All values of a large case compared with what is expected, piece by piece, so that a small machine has room for it.

A reference in float64, with everything that comes of it, takes many times the memory of the case itself. Most parts
can be computed along one of their dimensions alone: rows of a softmax, columns of a sum, elements of an addition. A
piece of the inputs then gives that piece of the results, or a part of a sum that has this dimension no more. Whether a
part is like that is tried on one of its small cases; one that is not is compared as a whole.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from grader.compare import compare_values, reference_results, scale_results
from grader.inputs import draw_inputs
from grader.puzzle import Buffer, Case, Part, PuzzleError, buffer_bytes, element_count, shape_of

Tensors = Mapping[str, torch.Tensor]

_PIECE_BYTES = 64 << 20  # of the largest buffer
_TRIED_CASES, _TRIED_PIECES = 3, 3
_COMPARING = 8  # bytes that a comparison holds at its peak, for each byte of the buffers


@dataclass(frozen=True)
class Look:
    """Single elements of a result, by flat index, and their values after some lap."""

    buffer: str
    places: torch.Tensor
    values: torch.Tensor


@dataclass
class Judged:
    """What was compared; errors as in grader/compare.py. `first` is the first wrong value that was met: its buffer,
    its flat index, what was expected and what was there. `wrong_looks` are those, by number, that hold a wrong value.
    """

    checked: int = 0
    wrong: int = 0
    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    of_tolerance: float = 0.0
    first: tuple[Buffer, int, float, float] | None = None
    wrong_looks: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class _Piece:
    """Indices from `start` up to `stop` of a dimension of a case; `case` has just these."""

    along: str
    start: int
    stop: int
    case: Case

    def of(self, buffer: Buffer, tensor: torch.Tensor) -> torch.Tensor:
        """This much of a buffer; all of one that has no such dimension."""
        if self.along not in buffer.shape:
            return tensor
        return tensor.narrow(buffer.shape.index(self.along), self.start, self.stop - self.start)


def judge(part: Part, case: Case, inputs: Tensors, results: Tensors, looks: Sequence[Look] = ()) -> Judged:
    """Compares all values that a lap has left in `results`, and those of looks at other laps on the same `inputs`, with
    what is expected. Tensors are on the CPU; it is computed on PyTorch's GPU, where it has one with room.
    """
    if torch.cuda.is_available():
        try:
            return _judged(part, case, inputs, results, looks, "cuda")
        except RuntimeError:  # no room after all, or a reference that knows the CPU only
            pass
        finally:
            torch.cuda.empty_cache()
    return _judged(part, case, inputs, results, looks, "cpu")


def _judged(part: Part, case: Case, inputs: Tensors, results: Tensors, looks: Sequence[Look], device: str) -> Judged:
    judging = _Judging(part, case, looks, device)
    sums: dict[str, _Values] = {}
    for piece in _pieces(part, case):
        for buffer, values in _expected(part, case, piece, inputs, device):
            if piece is not None and piece.along not in buffer.shape:
                sums[buffer.name] = values.added_to(sums.get(buffer.name))
            else:
                judging.compare(buffer, piece, results[buffer.name], values)
    for buffer in part.results:
        if buffer.name in sums:
            judging.compare(buffer, None, results[buffer.name], sums[buffer.name])
    return judging.judged


@dataclass(frozen=True)
class _Values:
    """What is expected of a result, in float64, and what its tolerance goes by."""

    expected: torch.Tensor
    scale: torch.Tensor

    def added_to(self, others: _Values | None) -> _Values:
        """The sum of what two pieces give. What is its own scale stays so; another is the root of a sum of squares."""
        if others is None:
            return self
        expected = self.expected + others.expected
        return _Values(expected, expected if self.scale is self.expected else self.scale.hypot(others.scale))


@dataclass
class _Judging:
    part: Part
    case: Case
    looks: Sequence[Look]
    device: str
    judged: Judged = field(default_factory=Judged)

    def compare(self, buffer: Buffer, piece: _Piece | None, got: torch.Tensor, wanted: _Values) -> None:
        """The values of a result in a piece of it; all without one."""
        there = got if piece is None else piece.of(buffer, got)
        values = (there.to(self.device), wanted.expected, wanted.scale)
        flat = [value.flatten().double() for value in values]
        compared = compare_values(self.part, self.case, buffer, range(len(flat[0])), *flat)
        judged = self.judged
        judged.checked += len(flat[0])
        judged.wrong += compared.count
        judged.max_abs_error = max(judged.max_abs_error, compared.max_abs_error)
        judged.max_rel_error = max(judged.max_rel_error, compared.max_rel_error)
        judged.of_tolerance = max(judged.of_tolerance, compared.of_tolerance)
        where = _Where(shape_of(buffer, self.case.params), buffer, piece)
        if compared.count and judged.first is None:
            at = compared.first
            judged.first = (buffer, where.whole(at), float(compared.expected[at]), float(compared.got[at]))
        for number, look in enumerate(self.looks):
            if look.buffer == buffer.name and _is_wrong(look, where, compared.expected, compared.allowed):
                judged.wrong_looks.add(number)


@dataclass(frozen=True)
class _Where:
    """Flat indices of a result and of a piece of it."""

    shape: tuple[int, ...]
    buffer: Buffer
    piece: _Piece | None

    @property
    def _split(self) -> tuple[int, int, int, int]:
        """The length of the dimension, the elements below one index of it, the piece's start and length."""
        if self.piece is None:
            return 1, _volume(self.shape), 0, 1
        axis = self.buffer.shape.index(self.piece.along)
        inner = _volume(self.shape[axis + 1 :])
        return self.shape[axis], inner, self.piece.start, self.piece.stop - self.piece.start

    def whole(self, at: int) -> int:
        """The index in the result of an element of the piece."""
        length, inner, start, count = self._split
        outer, rest = divmod(at, count * inner)
        return outer * length * inner + start * inner + rest

    def inside(self, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """A mask of those places of the result that lie in the piece, and where those do."""
        length, inner, start, count = self._split
        along = places // inner % length
        mask = (along >= start) & (along < start + count)
        chosen = places[mask]
        local = chosen // (length * inner) * (count * inner) + (along[mask] - start) * inner + chosen % inner
        return mask, local


def memory_to_judge(part: Part, case: Case) -> int:
    """Bytes that it takes beside the tensors that are compared: float64, and some of them at once."""
    sizes = [buffer_bytes(buffer, case.params) for buffer in part.buffers]
    pieces = -(-max(sizes) // _PIECE_BYTES)
    return _COMPARING * sum(sizes) // (pieces if pieces > 1 and dimension_to_cut(part) else 1)


def _volume(shape: Sequence[int]) -> int:
    """How many elements an array of this shape has."""
    return functools.reduce(lambda count, extent: count * extent, shape, 1)


def _is_wrong(look: Look, where: _Where, expected: torch.Tensor, allowed: torch.Tensor) -> bool:
    mask, local = where.inside(look.places)
    got, local = look.values[mask].double(), local.to(expected.device)
    wanted, limit = expected[local].cpu(), allowed[local].cpu()
    same = (got == wanted) | (got.isnan() & wanted.isnan())
    return not bool((same | ((got - wanted).abs() <= limit)).all())


# ---- what is expected ------------------------------------------------------------------------------------------------


def _expected(
    part: Part, case: Case, piece: _Piece | None, inputs: Tensors, device: str
) -> list[tuple[Buffer, _Values]]:
    """Of each result, what is expected of a piece; of everything without one."""
    buffers = {buffer.name: buffer for buffer in part.buffers}
    cut = inputs if piece is None else {name: piece.of(buffers[name], held) for name, held in inputs.items()}
    given = {name: tensor.to(device) for name, tensor in cut.items()}
    there = case if piece is None else piece.case
    expected = reference_results(part, there, given)
    scales = scale_results(part, there, given) or expected
    return [(buffer, _Values(expected[buffer.name], scales[buffer.name])) for buffer in part.results]


def _pieces(part: Part, case: Case) -> Iterator[_Piece | None]:
    """Pieces of a case that are small enough; None, for all of it, where it is or cannot be cut."""
    count = -(-max(buffer_bytes(buffer, case.params) for buffer in part.buffers) // _PIECE_BYTES)
    along = dimension_to_cut(part) if count > 1 else None
    if along is None:
        yield None
    else:
        yield from _cut(case, along, count)


def _cut(case: Case, along: str, count: int) -> Iterator[_Piece]:
    length = int(case.params[along])
    step = -(-length // count)
    for start in range(0, length, step):
        stop = min(start + step, length)
        yield _Piece(along, start, stop, Case.of({**case.params, along: stop - start}))


def dimension_to_cut(part: Part) -> str | None:
    """A dimension along which the part can be computed piece by piece; None where there is none."""
    dimensions = (*part.results[0].shape, *part.buffers[0].shape)
    scalars = {scalar.name for scalar in part.scalars}
    candidates = dict.fromkeys(name for name in dimensions if isinstance(name, str) and name in scalars)
    return next((name for name in candidates if _can_be_cut(part, name)), None)


def _can_be_cut(part: Part, along: str) -> bool:
    """Whether pieces give what the whole does, in small cases that are long enough to be cut."""
    long = [case for case in part.cases() if int(case.params[along]) >= _TRIED_PIECES and min(_elements(part, case))]
    tried = sorted(long, key=lambda case: sum(_elements(part, case)))[:_TRIED_CASES]
    return bool(tried) and all(_is_whole(part, case, along) for case in tried)


def _elements(part: Part, case: Case) -> list[int]:
    """Of each buffer."""
    return [element_count(buffer, case.params) for buffer in part.buffers]


def _is_whole(part: Part, case: Case, along: str) -> bool:
    inputs = draw_inputs(part, case, seed=0)
    pieces: dict[str, list[tuple[_Piece, _Values]]] = defaultdict(list)
    for piece in _cut(case, along, _TRIED_PIECES):
        try:
            for buffer, values in _expected(part, case, piece, inputs, "cpu"):
                pieces[buffer.name].append((piece, values))
        except (PuzzleError, RuntimeError):
            return False
    whole = _expected(part, case, None, inputs, "cpu")
    return all(_same(_joined(buffer, along, pieces[buffer.name]), values) for buffer, values in whole)


def _joined(buffer: Buffer, along: str, pieces: Sequence[tuple[_Piece, _Values]]) -> _Values:
    if along not in buffer.shape:
        return functools.reduce(lambda total, values: values.added_to(total), (values for _, values in pieces))
    axis, held = buffer.shape.index(along), [(values.expected, values.scale) for _, values in pieces]
    expected, scale = (torch.cat(parts, axis) for parts in zip(*held, strict=True))
    return _Values(expected, scale)


def _same(one: _Values, other: _Values) -> bool:
    pairs = ((one.expected, other.expected), (one.scale, other.scale))
    return all(a.shape == b.shape and torch.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True) for a, b in pairs)
