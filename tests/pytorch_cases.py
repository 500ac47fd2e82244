"""Where what a part has for PyTorch is tried: ordinary cases, and what it gives there in shares of the tolerance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from grader.compare import compare, reference_results
from grader.inputs import torch_type
from grader.puzzle import Case, Part, call_by_name, scalar_value, shape_of

_SWITCHES = {"causal", "dtype", "act", "alpha", "beta"}  # scalars that are 0 in ordinary cases

Tensors = Mapping[str, torch.Tensor]


def ordinary_cases(part: Part) -> Iterator[Case]:
    """Cases of every group with usual inputs, nothing of size 0, rows with a variance, and no query without keys."""
    for case in part.cases():
        sizes = {name: value for name, value in case.params.items() if name not in _SWITCHES}
        if not case.inputs and all(sizes.values()) and sizes.get("cols") != 1 and _is_for_attention(part, case):
            yield case


def _is_for_attention(part: Part, case: Case) -> bool:
    """Whether each query sees a key. PyTorch's way back has its mask from the top left, and wants heads in eights."""
    ahead = case.params.get("q_len", 0) - case.params.get("k_len", 0) if case.params.get("causal") else 0
    if part.name == "flash_attention_backward":
        return ahead == 0 and case.params["d"] % 8 == 0
    return ahead <= 0


def given_by_pytorch(part: Part, case: Case, inputs: Tensors) -> dict[str, torch.Tensor | None]:
    """The results for these inputs, which may be changed by it; None for one that PyTorch keeps to itself."""
    assert part.in_pytorch is not None
    scalars = {one.name: scalar_value(one, case.params) for one in part.scalars}
    given = call_by_name(part.in_pytorch, {**inputs, **scalars})
    results = given if isinstance(given, tuple) else (given,)
    return {buffer.name: result for buffer, result in zip(part.results, results, strict=True)}


def share_of_tolerance(part: Part, case: Case, inputs: Tensors, *, in_floats: bool = False) -> float:
    """The largest error of PyTorch's results, 1 for all that is allowed; infinite where type or shape is another.

    `in_floats` gives it single precision, and rounds what comes of it.
    """
    copies = {name: one.to(torch.float32 if in_floats else one.dtype, copy=True) for name, one in inputs.items()}
    given, expected = given_by_pytorch(part, case, copies), reference_results(part, case, inputs)
    results = {}
    for buffer in part.results:
        result, dtype = given[buffer.name], torch_type(buffer, case.params)
        if result is None:
            result = expected[buffer.name].to(dtype)
        results[buffer.name] = result = result.to(dtype) if in_floats else result
        if (result.dtype, tuple(result.shape)) != (dtype, shape_of(buffer, case.params)):
            return float("inf")
    return compare(part, case, inputs, results).of_tolerance
