"""Numbers that a call is made with, told from what Python would make one of: texts, truth values, tensors."""

from __future__ import annotations

import math
import numbers
from typing import Any

_LARGEST = {32: ("float", (2 - 2**-23) * 2.0**127), 64: ("double", (2 - 2**-52) * 2.0**1023)}


def whole(value: Any) -> int:
    """An integer of Python's or of NumPy's, as Python's; raises ValueError for what is none, and says what it is."""
    if type(value) is int:
        return value
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise ValueError(f"a {type(value).__name__}")
    return int(value)


def floating(value: Any, bits: int = 32) -> float:
    """A real number of Python's or of NumPy's, as Python's. A tensor is none: to read one waits for the GPU.

    Raises ValueError, which says what it is, for what is none, or is finite and beyond the range of so many bits.
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise ValueError(f"a {type(value).__name__}")
    name, largest = _LARGEST[bits]
    try:
        number: float | None = float(value)
    except OverflowError:
        number = None  # beyond a double as well
    if number is None or (math.isfinite(number) and abs(number) > largest):
        raise ValueError(f"one beyond the range of a {name}")
    return number


def finite(value: Any) -> float:
    """The same in 32 bits; raises ValueError for infinities and for nan as well."""
    number = floating(value)
    if not math.isfinite(number):
        raise ValueError(str(number))
    return number
