"""Where a NaN in a result comes from: the first instruction that made one of operands that were none.

The case runs once more on a software GPU that marks each NaN, in its own bits, with the instruction that made it
(machine/origins.hpp); the mark in the wrong element says which line that was. A NaN that reaches no result is nobody's
concern, and one that came in with the inputs has no mark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from grader.explain import Observation

# Of each type: integers that show its bits, and those of them that a mark may take.
_PAYLOADS = {
    torch.float32: (torch.int32, 0x3FFFFF),
    torch.float64: (torch.int64, 0x7FFFFFFFFFFFF),
    torch.float16: (torch.int16, 0x1FF),
    torch.bfloat16: (torch.int16, 0x3F),
}
_WORDS = {
    "add": "{0} + {1}",
    "sub": "{0} − {1}",
    "mul": "{0} × {1}",
    "div": "{0} / {1}",
    "fma": "{0} × {1} + {2}",
    "mad": "{0} × {1} + {2}",
    "sqrt": "the square root of {0}",
    "rsqrt": "1 / the square root of {0}",
    "lg2": "the logarithm of {0}",
    "sin": "the sine of {0}",
    "cos": "the cosine of {0}",
    "atom": "{0} + {1}",
    "red": "{0} + {1}",
    "mma": "a product of matrices",
    "wmma": "a product of matrices",
}


def mark_of(values: torch.Tensor, index: int) -> int:
    """The number that a NaN carries, counted from 1; 0 where it has none. `values` is any contiguous result."""
    if values.dtype not in _PAYLOADS:
        return 0
    bits, mask = _PAYLOADS[values.dtype]
    payload = int(values.reshape(-1)[index].view(bits)) & mask
    if payload == mask:
        return 0
    # A float begins with what a bfloat16 has room for, six bits.
    return (payload & 0xFFFF) << 6 | payload >> 16 if values.dtype is torch.float32 else payload


def with_origin(seen: Observation, values: torch.Tensor, origins: Sequence[Mapping[str, Any]]) -> Observation:
    """The same observation at the line where its NaN was made, where that is known; `values` holds the marked result.

    `origins` are those of `RunResult`: what each number stands for.
    """
    number = mark_of(values, seen.index or 0)
    if not 0 < number <= len(origins) or origins[number - 1]["line"] is None:
        return seen
    origin = origins[number - 1]
    operands = [float(operand) for operand in origin["operands"]]
    facts = {**seen.facts, "origin": _in_words(origin["op"], operands), "cause": cause_of(origin["op"], operands)}
    block, thread = tuple(origin["block"]), tuple(origin["thread"])
    written = seen.line if seen.line != origin["line"] else None
    return replace(
        seen, line=origin["line"], other_line=written, block=block, thread=thread, facts=facts | {"other": "written"}
    )


def _in_words(operation: str, operands: Sequence[float]) -> str:
    shown = [_number(operand) for operand in operands]
    words = _WORDS.get(operation.split(".", maxsplit=1)[0])
    if words is None or len(shown) < words.count("{"):
        return f"`{operation}` of {' and '.join(shown)}"
    return words.format(*shown)


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "(−∞)"
    return f"{value:.4g}" if value >= 0 else f"(−{-value:.4g})"


def cause_of(operation: str, operands: Sequence[float]) -> str:
    """Which of the usual causes it is: a quotient or a difference of infinities, two large ones or two below all
    numbers, zero_by_zero, zero_times, root, logarithm, product, or other.
    """
    base = operation.split(".", maxsplit=1)[0]
    infinite = [math.isinf(operand) for operand in operands]
    if base in ("sqrt", "rsqrt"):
        return "root"
    if base in ("mma", "wmma"):
        return "product"
    if base == "lg2":
        return "logarithm"
    if base == "div":
        return "quotient" if any(infinite) else "zero_by_zero"
    if base in ("mul", "fma", "mad") and any(infinite[:2]) and 0.0 in operands[:2]:
        return "zero_times"
    if not any(infinite):
        return "other"
    below = all(operand < 0 for operand, is_infinite in zip(operands, infinite, strict=True) if is_infinite)
    return "infinities_below" if below else "infinities"
