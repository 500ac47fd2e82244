"""Numbers that a call is made with, told from what Python would make one of: texts, truth values, tensors."""

from __future__ import annotations

import math
import numbers
from typing import Any

LARGEST_FLOAT = (2 - 2**-23) * 2.0**127  # of 32 bits


def is_number(value: Any) -> bool:
    """Whether it is a real number, of Python's or of NumPy's. A tensor is none: to read one waits for the GPU."""
    return type(value) in (float, int) or (isinstance(value, numbers.Real) and not isinstance(value, bool))


def is_whole(value: Any) -> bool:
    """Whether it is an integer, of Python's or of NumPy's."""
    return type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool))


def finite(value: Any) -> float:
    """The number, as what a kernel takes as a float.

    Raises ValueError for what is none, is not finite or is beyond a float's range; its text says which of them.
    """
    if not is_number(value):
        raise ValueError(f"a {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("a larger one") from None
    if not math.isfinite(number):
        raise ValueError(str(number))
    if abs(number) > LARGEST_FLOAT:
        raise ValueError("a larger one")
    return number
