"""Which blocks of a grid a sample takes, when the grid is too large to run all of it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from math import prod

# An index in `float` is exact up to 2**24; one in `int` or `unsigned` wraps, multiplied by an element's size or not, at
# some power of two between there and 2**32.
_FIRST_POWER = 24


def chosen_blocks(grid: Sequence[int], *, most: int, seed: int, elements: int) -> list[int]:
    """Linear indices of at most `most` blocks, each once, those first that show most.

    The first and the last; those that would write the elements of power-of-two indices, if `elements` of a result were
    spread evenly over the blocks in order, and the ones before; the grid's corners; and chance.
    """
    blocks = prod(grid)
    if blocks <= most:
        return list(range(blocks))
    chosen: dict[int, None] = {}
    for block in itertools.chain((0, blocks - 1), _at_powers(blocks, elements), _corners(grid)):
        if len(chosen) < most - most // 3:
            chosen[block] = None
    chance = random.Random(seed)  # noqa: S311 - nothing secret depends on it
    while len(chosen) < most:
        chosen[chance.randrange(blocks)] = None
    return list(chosen)


def _at_powers(blocks: int, elements: int) -> Iterator[int]:
    """The blocks of the elements 2**k and of those before them, the largest first."""
    for power in range(elements.bit_length() - 1, _FIRST_POWER - 1, -1):
        block = (blocks << power) // elements
        if 0 < block < blocks:
            yield block
            yield block - 1


def _corners(grid: Sequence[int]) -> Iterator[int]:
    x, y, _ = grid
    for place in itertools.product(*((0, extent - 1) for extent in grid)):
        yield place[0] + x * (place[1] + y * place[2])
