"""Named generators of inputs: fresh for every seed, the same again for the same seed.

A generator fills one buffer. Its numbers depend on the seed, the buffer's name and the case, so that two buffers
never hold the same values and a case can be repeated alone. Values are drawn in float64 and rounded once to the
buffer's type.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from grader.puzzle import (
    Buffer,
    Case,
    DType,
    Number,
    Part,
    PuzzleError,
    call_by_name,
    dtype_of,
    element_count,
    scalar_value,
    shape_of,
)

TORCH_TYPES: Mapping[str, torch.dtype] = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f64": torch.float64,
    "i32": torch.int32,
    "i64": torch.int64,
}
_BITS: Mapping[int, torch.dtype] = {2: torch.int16, 4: torch.int32, 8: torch.int64}

# Results are filled with these bits before every run: quiet NaNs, or for integers a number nobody computes by
# accident. Two of them, used in turn, so that no kernel can pass by leaving what it found.
_POISON: Mapping[str, tuple[int, int]] = {
    "f16": (0x7EAD, 0x7EBE),
    "bf16": (0x7FEA, 0x7FEB),
    "f32": (0x7FFADBAD, 0x7FEBEEF5),
    "f64": (0x7FFADBADDEADBEEF, 0x7FFBEEF5DEADBEEF),
    "i32": (0x7ADBADE1, 0x6BEEF5E3),
    "i64": (0x7ADBADE17ADBADE1, 0x6BEEF5E36BEEF5E3),
}


@dataclass(frozen=True)
class Drawing:
    """What a generator draws from: `count` elements of `dtype`, the rows' width, inputs drawn before it by name.

    It draws where `random` does, on the CPU or a GPU, and what was drawn before is there too.
    """

    random: torch.Generator
    count: int
    columns: int
    dtype: DType
    earlier: Mapping[str, torch.Tensor]

    def normal(self) -> torch.Tensor:
        return torch.randn(self.count, generator=self.random, dtype=torch.float32, device=self.random.device).double()

    def integers(self, low: int, high: int) -> torch.Tensor:
        """Whole numbers from `low` to `high`, both included, as float64."""
        whole = torch.randint(low, high + 1, (self.count,), generator=self.random, device=self.random.device)
        return whole.double()

    def uniform(self) -> torch.Tensor:
        """From 0 up to 1, in float64."""
        return torch.rand(self.count, generator=self.random, dtype=torch.float64, device=self.random.device)


def _normal(drawing: Drawing) -> torch.Tensor:
    """Mean 0, standard deviation 1."""
    return drawing.normal()


def _large_offset(drawing: Drawing) -> torch.Tensor:
    """Mean 1000, standard deviation 1: a sum of squares minus a squared sum loses everything."""
    return drawing.normal() + 1000.0


def _far_below(drawing: Drawing) -> torch.Tensor:
    """Mean -1000, standard deviation 1: the exponential of each is 0, and a maximum that begins at 0 stays there."""
    return drawing.normal() - 1000.0


def _mixed_magnitudes(drawing: Drawing) -> torch.Tensor:
    """From 2**-20 to 2**20 times a normal value (2**-6 to 2**6 in half precision)."""
    reach = 6 if drawing.dtype.name == "f16" else 20
    return drawing.normal() * torch.exp2(drawing.integers(-reach, reach))


def _constant_rows(drawing: Drawing) -> torch.Tensor:
    """Each row holds one value over and over: its variance is 0."""
    rows = math.ceil(drawing.count / max(drawing.columns, 1))
    values = torch.randn(rows, generator=drawing.random, dtype=torch.float64, device=drawing.random.device)
    return values.repeat_interleave(max(drawing.columns, 1))[: drawing.count]


def _denormals(drawing: Drawing) -> torch.Tensor:
    """Of both signs, below the smallest normal number of the type: code that flushes them to zero gives zeros."""
    info = torch.finfo(TORCH_TYPES[drawing.dtype.name])
    steps = round(1 / info.eps)  # denormals of one sign, and the zero below them
    sign = drawing.integers(0, 1) * 2 - 1
    return sign * drawing.integers(1, steps - 1) * (info.smallest_normal * info.eps)


def _cancelling(drawing: Drawing) -> torch.Tensor:
    """Close to the negative of the input of the same size drawn before it: their sum is far smaller than either.

    Without one, it is the second half of each row that is close to the negative of the first.
    """
    nearly_one = 1 + drawing.integers(-64, 64) * 2.0**-20
    partner = next((tensor for tensor in drawing.earlier.values() if tensor.numel() == drawing.count), None)
    if partner is not None:
        return -partner.double().flatten() * nearly_one
    half = drawing.columns // 2
    rows = drawing.normal().reshape(-1, max(drawing.columns, 1))
    rows[:, half : 2 * half] = -rows[:, :half]
    return rows.flatten() * nearly_one


def _alike(drawing: Drawing) -> torch.Tensor:
    """Close to the input of the same size drawn before it: their difference is far smaller than either."""
    return -_cancelling(drawing)


def _negative(drawing: Drawing) -> torch.Tensor:
    """All below 0, most between -3 and 0: a maximum that begins at 0 is larger than any of them."""
    return -drawing.normal().abs() - 2.0**-10


def _small(drawing: Drawing) -> torch.Tensor:
    """Mean 0, standard deviation 2**-8: squares as large as an eps of 1e-5, so that it matters where eps is added."""
    return drawing.normal() * 2.0**-8


def _overflowing_half(drawing: Drawing) -> torch.Tensor:
    """From 2**9 to 2**13 in magnitude: a half holds them, and none of their squares."""
    sign = drawing.integers(0, 1) * 2 - 1
    return sign * torch.exp2(9 + 4 * drawing.uniform())


def _beyond_half(drawing: Drawing) -> torch.Tensor:
    """From 2**20 to 2**40 in magnitude: a bfloat16 or a float holds them and their squares, a half none of them."""
    sign = drawing.integers(0, 1) * 2 - 1
    return sign * torch.exp2(20 + 20 * drawing.uniform())


def _integers(drawing: Drawing) -> torch.Tensor:
    """Whole numbers from -8 to 8: sums and products of them are exact."""
    return drawing.integers(-8, 8)


def _minus_infinity_mask(drawing: Drawing) -> torch.Tensor:
    """A normal value, or minus infinity with one chance in four, as in a mask added to scores."""
    return drawing.normal().masked_fill(drawing.integers(0, 3) == 0, -math.inf)


def _mean_of_x(drawing: Drawing) -> torch.Tensor:
    """Of each row of the input `x`, drawn before, its mean: what a forward pass has saved."""
    return drawing.earlier["x"].double().mean(1)


def _rstd_of_x(drawing: Drawing) -> torch.Tensor:
    """Of each row of `x` one over its standard deviation, the biased one, with an eps of 1e-5 inside the root."""
    x = drawing.earlier["x"].double()
    return ((x - x.mean(1, keepdim=True)).square().mean(1) + 1e-5).rsqrt()


def _rising(drawing: Drawing) -> torch.Tensor:
    """Each row rises from about 0 to about 64: every element is larger than all before it."""
    width = max(drawing.columns, 1)
    place = torch.arange(drawing.count, device=drawing.random.device) % width
    return (place + drawing.uniform() / 2) * (64 / width)


def _one_huge(drawing: Drawing) -> torch.Tensor:
    """A normal value, but above 100 in one place of each row: what was added up before it no longer counts."""
    width = max(drawing.columns, 1)
    values = drawing.normal()
    at = torch.randint(0, width, (drawing.count // width,), generator=drawing.random, device=drawing.random.device)
    values.view(-1, width).scatter_(1, at[:, None], 100 + values.view(-1, width)[:, :1].abs())
    return values


def _weights(drawing: Drawing) -> torch.Tensor:
    """Mean 0, variance one over the number of rows: a matrix [inputs, outputs] that keeps the size of what it gets."""
    rows = max(drawing.count // max(drawing.columns, 1), 1)
    return drawing.normal() * (1 / math.sqrt(rows))


def _first_row(drawing: Drawing) -> torch.Tensor:
    """1 throughout the first row, and 0 in all rows after it: one key of an attention outweighs the others alike."""
    values = torch.zeros(drawing.count, dtype=torch.float64, device=drawing.random.device)
    values[: drawing.columns] = 1
    return values


def _zeros(drawing: Drawing) -> torch.Tensor:
    """0 everywhere, as what is carried from step to step begins."""
    return torch.zeros(drawing.count, dtype=torch.float64, device=drawing.random.device)


def _not_a_number(drawing: Drawing) -> torch.Tensor:
    """NaN everywhere: whoever reads it where nobody should spreads it."""
    return torch.full((drawing.count,), math.nan, dtype=torch.float64, device=drawing.random.device)


GENERATORS: Mapping[str, Callable[[Drawing], torch.Tensor]] = {
    "normal": _normal,
    "large_offset": _large_offset,
    "far_below": _far_below,
    "mixed_magnitudes": _mixed_magnitudes,
    "constant_rows": _constant_rows,
    "denormals": _denormals,
    "cancelling": _cancelling,
    "alike": _alike,
    "negative": _negative,
    "small": _small,
    "overflowing_half": _overflowing_half,
    "beyond_half": _beyond_half,
    "integers": _integers,
    "minus_infinity_mask": _minus_infinity_mask,
    "mean_of_x": _mean_of_x,
    "rstd_of_x": _rstd_of_x,
    "rising": _rising,
    "one_huge": _one_huge,
    "weights": _weights,
    "first_row": _first_row,
    "zeros": _zeros,
    "not_a_number": _not_a_number,
}


def torch_type(buffer: Buffer, params: Mapping[str, Number]) -> torch.dtype:
    """PyTorch's type for the buffer's elements."""
    return TORCH_TYPES[dtype_of(buffer, params).name]


def draw_inputs(part: Part, case: Case, seed: int, device: str = "cpu") -> dict[str, torch.Tensor]:
    """The In and InOut buffers of a case, in their shapes and types, on the device; each kind has values of its own."""
    drawn: dict[str, torch.Tensor] = {}
    for buffer in part.buffers:
        if buffer.is_read:
            random = torch.Generator(device).manual_seed(buffer_seed(seed, buffer.name, case))
            drawn[buffer.name] = _draw(part, buffer, case, random, drawn)
    return drawn


def _draw(
    part: Part, buffer: Buffer, case: Case, random: torch.Generator, earlier: Mapping[str, torch.Tensor]
) -> torch.Tensor:
    dtype, chosen = dtype_of(buffer, case.params), part.default_inputs
    usual = chosen if isinstance(chosen, str) else chosen.get(buffer.name, "normal")
    default = usual if dtype.is_float else "integers"
    name = case.inputs.get(buffer.name, default)
    shape = shape_of(buffer, case.params)
    if callable(name):
        return _computed(part, case, name, earlier).to(TORCH_TYPES[dtype.name]).reshape(shape).contiguous()
    if name not in GENERATORS:
        raise PuzzleError(f"{part.name}: {name!r} is no generator of inputs; there are {', '.join(GENERATORS)}.")
    drawing = Drawing(random, element_count(buffer, case.params), shape[-1] if shape else 1, dtype, earlier)
    return GENERATORS[name](drawing).to(TORCH_TYPES[dtype.name]).reshape(shape).contiguous()


def _computed(
    part: Part, case: Case, function: Callable[..., torch.Tensor], earlier: Mapping[str, torch.Tensor]
) -> torch.Tensor:
    """What `function` gives for the inputs drawn before, in float64, and the scalars, which it takes by name."""
    values: dict[str, object] = {name: tensor.double() for name, tensor in earlier.items()}
    values |= {scalar.name: scalar_value(scalar, case.params) for scalar in part.scalars}
    computed: torch.Tensor = call_by_name(function, values)
    return computed


def buffer_seed(seed: int, name: str, case: Case) -> int:
    """The seed of one buffer of a case, 63 bits."""
    text = json.dumps([seed, name, sorted(case.params.items()), sorted(case.inputs.items())])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def derived_seed(seed: int, run: int) -> int:
    """The seed of the run after the first: other inputs, and yet repeated by the one seed that is shown."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{run}".encode()).digest()[:4], "little") >> 1


def poisoned(buffer: Buffer, case: Case, run: int = 0) -> torch.Tensor:
    """A result or workspace as the entry finds it: every element holds the poison of this run."""
    dtype = dtype_of(buffer, case.params)
    filled = torch.full(shape_of(buffer, case.params), _POISON[dtype.name][run % 2], dtype=_BITS[dtype.bytes])
    return filled.view(TORCH_TYPES[dtype.name])


def memory_for(part: Part, case: Case, seed: int, run: int = 0) -> dict[str, torch.Tensor]:
    """Every buffer of a case before a run: inputs drawn from `seed`, the others poisoned; contiguous, on the CPU."""
    drawn = draw_inputs(part, case, seed)
    return {
        buffer.name: drawn[buffer.name] if buffer.is_read else poisoned(buffer, case, run) for buffer in part.buffers
    }
