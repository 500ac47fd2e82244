"""Values that can be computed at any index: what buffers hold that are too large to be drawn.

Element i of a buffer with a seed is splitmix64(seed + i * 0x9E3779B97F4A7C15), made a number: for floats its top 24
bits in [-1, 1), all of which a float holds exactly, rounded to the element's type; for integers its top 8 bits, 0 to
255. The machine computes the same (machine/fill.cpp). splitmix64 is the output function of Steele, Lea and Flood, "Fast
splittable pseudorandom number generators", 2014.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def values_at(kind: str, seed: int, index: NDArray[np.int64]) -> NDArray[np.float64]:
    """The elements of these indices, of type f32, f16, bf16 or i32, as float64 in the shape of `index`."""
    bits = _splitmix64(np.uint64(seed) + index.astype(np.uint64) * _STEP)
    if kind == "i32":
        return (bits >> np.uint64(56)).astype(np.float64)
    exact = (bits >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1.0
    if kind == "f16":
        return exact.astype(np.float16).astype(np.float64)
    return _to_bf16(exact) if kind == "bf16" else exact


def _splitmix64(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))


def _to_bf16(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to 8 significant bits, to nearest, ties to even; the values are floats, and none is near the largest."""
    bits = values.astype(np.float32).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = (bits + np.uint32(0x7FFF) + odd) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32).astype(np.float64)
