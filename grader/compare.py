"""Results against the reference: every element, the tolerance, and what kind of wrong it is.

The reference runs in float64 on the very inputs that the entry received. An element is right if it is within the
part's tolerance, is the same infinity, or is NaN where NaN is expected. Below the type's smallest normal number the
tolerance is never less than the spacing of its denormals.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from grader.inputs import torch_type
from grader.puzzle import Buffer, Case, Part, PuzzleError, Tolerance, call_by_name, scalar_value, shape_of

Tensors = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class Narrow:
    """A narrower type that the wrong values fit; `digits` are its significant bits."""

    name: str
    digits: int


_HALF, _BFLOAT16 = Narrow("half", 11), Narrow("bfloat16", 8)
_ROUNDINGS = 32  # of a whole sum: what 4,096 terms added one after the other come to, and some more
_FAR_MORE = 5  # significant bits: one number in 32 lacks as many by chance


@dataclass(frozen=True)
class BufferComparison:
    """One result against its reference: flat float64 tensors, `wrong` a mask over all elements, `allowed` how far off
    each may be.

    Errors are the largest over all elements, infinite where one of the two is not finite; `of_tolerance` is the largest
    in shares of what is allowed there.
    """

    buffer: Buffer
    shape: tuple[int, ...]
    got: torch.Tensor
    expected: torch.Tensor
    wrong: torch.Tensor
    allowed: torch.Tensor
    max_abs_error: float
    max_rel_error: float
    of_tolerance: float
    narrow: Narrow | None

    @cached_property
    def count(self) -> int:
        return int(self.wrong.count_nonzero())

    @property
    def first(self) -> int:
        """The flat index of the first wrong element; there is at least one."""
        return int(self.wrong.nonzero()[0])

    @property
    def not_a_number(self) -> torch.Tensor:
        """Mask of the elements that are NaN where none is expected."""
        return self.wrong & self.got.isnan() & ~self.expected.isnan()


@dataclass(frozen=True)
class ValueComparison:
    """Some elements of a result against their reference: flat indices, float64 values, `wrong` a mask of them.

    `allowed` is how far each may be off. Errors are the largest, infinite where one of the two is not finite;
    `of_tolerance` is the largest in shares of what is allowed there.
    """

    buffer: Buffer
    elements: Sequence[int]
    got: torch.Tensor
    expected: torch.Tensor
    wrong: torch.Tensor
    allowed: torch.Tensor
    max_abs_error: float
    max_rel_error: float
    of_tolerance: float

    @property
    def count(self) -> int:
        return int(self.wrong.count_nonzero())

    @property
    def first(self) -> int:
        """The place of the first wrong one in `elements`; there is at least one."""
        return int(self.wrong.nonzero()[0])


@dataclass(frozen=True)
class Comparison:
    """All results of a run, in the order of the part's parameters."""

    buffers: tuple[BufferComparison, ...]

    @property
    def checked(self) -> int:
        return sum(buffer.got.numel() for buffer in self.buffers)

    @property
    def wrong(self) -> int:
        return sum(buffer.count for buffer in self.buffers)

    @property
    def max_abs_error(self) -> float:
        return max((buffer.max_abs_error for buffer in self.buffers), default=0.0)

    @property
    def max_rel_error(self) -> float:
        return max((buffer.max_rel_error for buffer in self.buffers), default=0.0)

    @property
    def of_tolerance(self) -> float:
        return max((buffer.of_tolerance for buffer in self.buffers), default=0.0)

    def first_wrong(self) -> BufferComparison | None:
        """The first result that has a wrong element."""
        return next((buffer for buffer in self.buffers if buffer.count), None)


def reference_results(
    part: Part, case: Case, inputs: Tensors, dtype: torch.dtype = torch.float64
) -> dict[str, torch.Tensor]:
    """What the part's reference gives for these inputs, computed in `dtype`; integers stay int64."""
    return _by_buffer(part, case, part.reference, inputs, dtype)


def scale_results(part: Part, case: Case, inputs: Tensors) -> dict[str, torch.Tensor] | None:
    """What stands for the results' size in the part's tolerance, in float64; None where that is the results' own."""
    scale = part.tolerance.scale
    return None if scale is None else _by_buffer(part, case, scale, inputs, torch.float64)


def _by_buffer(
    part: Part, case: Case, function: Callable[..., Any], inputs: Tensors, dtype: torch.dtype
) -> dict[str, torch.Tensor]:
    """What a function of inputs and scalars, by name, gives for each result of the part, in the result's shape."""
    values: dict[str, object] = {
        name: tensor.to(dtype) if tensor.is_floating_point() else tensor.long() for name, tensor in inputs.items()
    }
    values |= {scalar.name: scalar_value(scalar, case.params) for scalar in part.scalars}
    given = call_by_name(function, values)
    results = given if isinstance(given, tuple) else (given,)
    if len(results) != len(part.results):
        raise PuzzleError(f"{part.name}: the reference gives {len(results)} results for {len(part.results)} buffers.")
    named = {buffer.name: result for buffer, result in zip(part.results, results, strict=True)}
    for buffer in part.results:
        if tuple(named[buffer.name].shape) != shape_of(buffer, case.params):
            raise PuzzleError(
                f"{part.name}: the reference gives {buffer.name} the shape {tuple(named[buffer.name].shape)}, "
                f"not {shape_of(buffer, case.params)}."
            )
    return named


def compare(part: Part, case: Case, inputs: Tensors, results: Tensors) -> Comparison:
    """Compares what a run left in `results` with the reference on `inputs`, the values from before the run."""
    expected = reference_results(part, case, inputs)
    scales = scale_results(part, case, inputs) or expected
    compared = []
    for buffer in part.results:
        got, wanted = results[buffer.name].flatten(), expected[buffer.name].flatten().double()
        against = scales[buffer.name].flatten().double()
        compared.append(_compare_buffer(part, case, buffer, inputs, got.double(), wanted, against))
    return Comparison(tuple(compared))


def _compare_buffer(
    part: Part,
    case: Case,
    buffer: Buffer,
    inputs: Tensors,
    got: torch.Tensor,
    expected: torch.Tensor,
    scale: torch.Tensor,
) -> BufferComparison:
    chosen = range(got.numel())
    compared = compare_values(part, case, buffer, chosen, got, expected, scale)
    narrow, wrong = None, compared.wrong
    dtype = torch_type(buffer, case.params)
    if bool(wrong.any()) and dtype.is_floating_point:
        narrow = _narrow_fit(part, case, buffer, inputs, got, compared.expected, wrong)
        narrow = narrow or _narrow_sum(dtype, got[wrong], compared.expected[wrong], scale[wrong])
    return BufferComparison(
        buffer=buffer,
        shape=shape_of(buffer, case.params),
        got=got,
        expected=compared.expected,
        wrong=wrong,
        allowed=compared.allowed,
        max_abs_error=compared.max_abs_error,
        max_rel_error=compared.max_rel_error,
        of_tolerance=compared.of_tolerance,
        narrow=narrow,
    )


def compare_values(
    part: Part,
    case: Case,
    buffer: Buffer,
    elements: Sequence[int],
    got: torch.Tensor,
    expected: torch.Tensor,
    scale: torch.Tensor,
) -> ValueComparison:
    """Compares values of these elements, all float64, by the part's tolerance; `scale` is what it goes by."""
    expected = _as_far_as_the_type_reaches(expected, torch_type(buffer, case.params))
    error, allowed = _errors(got, expected), allowed_error(part.tolerance, case, buffer, scale)
    relative = (error / expected.abs()).nan_to_num_(nan=0.0, posinf=math.inf)  # NaN is 0/0 or ∞/∞; ∞ stays by `error`
    largest = float(error.max()) if error.numel() else 0.0
    return ValueComparison(
        buffer=buffer,
        elements=elements,
        got=got,
        expected=expected,
        wrong=error > allowed,
        allowed=allowed,
        max_abs_error=largest,
        max_rel_error=max(float(relative.max()), largest if math.isinf(largest) else 0.0) if len(got) else 0.0,
        of_tolerance=float((error / allowed).nan_to_num_(nan=0.0, posinf=math.inf).max()) if len(got) else 0.0,
    )


def _errors(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """How far each element is off: 0 for the same infinity and for an expected NaN, infinity for what is not finite."""
    error = (got - expected).abs_()
    if not bool(error.isfinite().all()):
        same = (got == expected) | (got.isnan() & expected.isnan())
        error = error.masked_fill_(same, 0.0).nan_to_num_(nan=math.inf, posinf=math.inf)
    return error


def _as_far_as_the_type_reaches(expected: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Infinity where the right value is too large for the result's type; the rest stays unrounded."""
    if not dtype.is_floating_point:
        return expected
    rounded = expected.to(dtype)
    overflown = rounded.isinf()
    return torch.where(overflown, rounded.double(), expected) if bool(overflown.any()) else expected


def allowed_error(tolerance: Tolerance, case: Case, buffer: Buffer, scale: torch.Tensor) -> torch.Tensor:
    """How far each element may be off for this `scale`, by default what is expected: infinity and NaN have no
    neighbourhood.
    """
    dtype = torch_type(buffer, case.params)
    info = torch.finfo(dtype) if dtype.is_floating_point else None
    floor = info.smallest_normal * info.eps if info is not None else 0.0
    absolute = tolerance.absolute_in(case)
    allowed = scale.abs().mul_(tolerance.relative).add_(absolute)
    return allowed.nan_to_num_(nan=0.0, posinf=0.0).clamp_(min=max(floor, absolute))


# ---- arithmetic in a narrower type ----------------------------------------------------------------------------------


def _narrow_fit(
    part: Part,
    case: Case,
    buffer: Buffer,
    inputs: Tensors,
    got: torch.Tensor,
    expected: torch.Tensor,
    wrong: torch.Tensor,
) -> Narrow | None:
    """The narrower type whose arithmetic explains all the wrong values, if one does.

    The reference is computed again with inputs rounded to the type, with matrices alone rounded, with every operation
    in it, and with only the result rounded. One of these must be nearer to the values than the right result is, by a
    factor of 8 in the mean and nowhere further away than the type's own rounding of the largest value.
    """
    if not bool(got[wrong].isfinite().any()):
        return None
    for narrow, attempts in _attempts(part, case, buffer, inputs, expected):
        for attempt in attempts:
            if _explains(attempt.flatten(), got, expected, wrong, narrow.digits):
                return narrow
    return None


def _narrow_sum(dtype: torch.dtype, got: torch.Tensor, expected: torch.Tensor, scale: torch.Tensor) -> Narrow | None:
    """The narrower type that sums were kept in from term to term, if one was.

    They depend on the order of the terms, so that no other sum comes near them, and are known by their few significant
    bits, where the right ones have far more. A number of half may have as few as one of bfloat16 by chance: the coarser
    type is believed if the errors are as large as its roundings.
    """
    if not bool(got.any()):
        return None
    error, size = (got - expected).abs(), torch.maximum(expected.abs(), scale.abs())
    for narrow in (_BFLOAT16, _HALF):
        rounding = 2.0**-narrow.digits * size
        near = float(error.mean()) <= _ROUNDINGS * float(rounding.mean())
        long = int(_has_digits(expected, narrow.digits + _FAR_MORE).sum()) * 2 < len(got)
        large = narrow is _HALF or bool((error >= rounding / 4).any())
        if _is_narrower(narrow, dtype) and near and long and large and bool(_has_digits(got, narrow.digits).all()):
            return narrow
    return None


def _is_narrower(narrow: Narrow, dtype: torch.dtype) -> bool:
    return 2.0 ** (1 - narrow.digits) > torch.finfo(dtype).eps


def _attempts(
    part: Part, case: Case, buffer: Buffer, inputs: Tensors, expected: torch.Tensor
) -> Iterator[tuple[Narrow, Iterator[torch.Tensor]]]:
    for narrow, dtype in ((_HALF, torch.float16), (Narrow("TF32", 11), None), (_BFLOAT16, torch.bfloat16)):
        if _is_narrower(narrow, torch_type(buffer, case.params)):
            yield narrow, _attempts_in(part, case, buffer, inputs, expected, dtype)


def _attempts_in(
    part: Part, case: Case, buffer: Buffer, inputs: Tensors, expected: torch.Tensor, dtype: torch.dtype | None
) -> Iterator[torch.Tensor]:
    rounded: Callable[[torch.Tensor], torch.Tensor] = _to_tf32 if dtype is None else lambda tensor: tensor.to(dtype)
    narrow_inputs = {name: rounded(tensor) if tensor.is_floating_point() else tensor for name, tensor in inputs.items()}
    yield reference_results(part, case, narrow_inputs)[buffer.name]
    if 0 < len(matrices := _matrices(part)) < len(inputs):  # only what is multiplied, not what is added to the product
        some = {name: narrow_inputs[name] for name in matrices}
        yield reference_results(part, case, {**inputs, **some})[buffer.name]
    if dtype is None:
        return
    with contextlib.suppress(RuntimeError):  # PyTorch may have no such operation in this type on the CPU
        yield reference_results(part, case, narrow_inputs, dtype)[buffer.name].double()
    yield expected.to(dtype).double()


def _matrices(part: Part) -> list[str]:
    """The inputs with two dimensions or more that are not results as well."""
    return [buffer.name for buffer in part.buffers if buffer.role == "in" and len(buffer.shape) > 1]


def _has_digits(values: torch.Tensor, digits: int) -> torch.Tensor:
    """Mask of the finite values that `digits` significant bits hold exactly."""
    scaled = torch.frexp(values).mantissa * 2.0**digits
    return values.isfinite() & (scaled == scaled.round())


def _to_tf32(tensor: torch.Tensor) -> torch.Tensor:
    """Rounds to TF32's 11 significant bits, to nearest, ties away from zero, as `cvt.rna.tf32.f32` does."""
    bits = tensor.float().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


def _explains(
    attempt: torch.Tensor, got: torch.Tensor, expected: torch.Tensor, wrong: torch.Tensor, digits: int
) -> bool:
    attempt, got, expected = attempt.double()[wrong], got[wrong], expected[wrong]
    both = got.isfinite() & attempt.isfinite() & expected.isfinite()
    if not bool(got[both].any()) or not bool((both | (attempt == got)).all()):  # zeros alone tell of no type
        return False
    attempt, got, expected = attempt[both], got[both], expected[both]
    nearer = float((attempt - got).abs().mean()) * 8 <= float((expected - got).abs().mean())
    rounding = 2.0**-digits * float(torch.maximum(expected.abs().max(), got.abs().max()))
    return nearer and float((attempt - got).abs().max()) <= 4 * rounding
