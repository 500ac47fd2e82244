"""Inputs that can be computed at any index, for `Part.sampled`: nobody holds all of their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from grader.puzzle import Buffer, Case, Part, PuzzleError, dtype_of, shape_of

Values: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.float64]]
Key: TypeAlias = "int | slice | NDArray[np.int64]"

_MOST_VALUES = 1 << 24  # of one selection


class Indexed:
    """A buffer of this shape: `A[i, :]` is a matrix of one row, as every dimension is selected by itself and stays.

    `values` gives the elements of flat indices.
    """

    def __init__(self, shape: Sequence[int], values: Values, *, is_float: bool) -> None:
        self._shape = shape
        self._values = values
        self._is_float = is_float
        self.computed = 0

    def __getitem__(self, key: Key | tuple[Key, ...]) -> torch.Tensor:
        """The selected elements, float64, or int64 where the buffer's are integers."""
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) != len(self._shape):
            raise PuzzleError(f"`sampled` indexes a buffer of {len(self._shape)} dimensions by {len(keys)}.")
        chosen = [_chosen(one, extent) for one, extent in zip(keys, self._shape, strict=True)]
        count = int(np.prod([len(one) for one in chosen]))
        if count > _MOST_VALUES:
            raise PuzzleError(f"`sampled` asks for {count:,} values of one buffer at once.")
        self.computed += count
        flat = np.zeros(1, np.int64)
        for extent, one in zip(self._shape, np.ix_(*chosen), strict=True):
            flat = flat * extent + one
        values = torch.from_numpy(self._values(flat))
        return values if self._is_float else values.long()


class Inputs:
    """The input buffers of a case as attributes; `in_` is the buffer `in`, which Python keeps for itself."""

    def __init__(self, part: Part, case: Case, values: Callable[[Buffer], Values]) -> None:
        self._buffers: Mapping[str, Indexed] = {
            buffer.name: Indexed(
                shape_of(buffer, case.params), values(buffer), is_float=dtype_of(buffer, case.params).is_float
            )
            for buffer in part.buffers
            if buffer.is_read
        }

    def __getattr__(self, name: str) -> Indexed:
        try:
            return self._buffers[name.removesuffix("_")]
        except KeyError:
            raise AttributeError(f"`sampled` asks for {name}, which is no input.") from None

    @property
    def computed(self) -> int:
        """How many values were asked for."""
        return sum(buffer.computed for buffer in self._buffers.values())


def _chosen(key: Key, extent: int) -> NDArray[np.int64]:
    if isinstance(key, slice):
        return np.arange(*key.indices(extent), dtype=np.int64)
    return np.atleast_1d(np.asarray(key, np.int64))
