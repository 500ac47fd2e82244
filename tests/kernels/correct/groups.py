"""What the kernels of groups.cu make."""

from __future__ import annotations

from functools import reduce
from operator import xor

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


def spread(values: torch.Tensor, lanes: int) -> torch.Tensor:
    """One value a group, given to its lanes."""
    return values.repeat_interleave(lanes).int()


def alike(x: torch.Tensor, lanes: int) -> torch.Tensor:
    """[groups, lanes, lanes]: which lanes of a group have the same lower two bits."""
    keys = x.view(-1, lanes) & 3
    return keys[:, :, None] == keys[:, None, :]


@kernels.entry(whole_numbers(192))
def block_as_a_group(x: torch.Tensor) -> torch.Tensor:
    return x.view(2, 96).flip(1)


@kernels.entry(whole_numbers(500))
def grid_as_a_group(x: torch.Tensor) -> torch.Tensor:
    return 5 * x


@kernels.entry(whole_numbers(128))
def one_function_for_every_group(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x.sum()[None], x.view(8, 16).sum(1)]).int()


@kernels.entry(whole_numbers(64))
def shuffles_of_a_tile(x: torch.Tensor) -> torch.Tensor:
    tiles = x.view(8, 8)
    return spread(tiles.sum(1), 8) + tiles.flip(1).flatten() - x


@kernels.entry(whole_numbers(64))
def reductions_of_a_tile(x: torch.Tensor) -> torch.Tensor:
    warps, tiles = x.view(2, 32), x.view(16, 4)
    mixed = torch.tensor([reduce(xor, tile) for tile in tiles.tolist()])
    sums = spread(warps.sum(1), 32)
    return torch.cat([sums, spread(tiles.amax(1), 4), sums, spread(mixed, 4)])


@kernels.entry(whole_numbers(64))
def scans_of_a_tile(x: torch.Tensor) -> torch.Tensor:
    running = x.view(4, 16).cumsum(1).int().flatten()
    return torch.cat([running, running - x])


@kernels.entry(whole_numbers(64))
def votes_of_a_tile(x: torch.Tensor) -> torch.Tensor:
    tiles = x.view(4, 16)
    of_all = (tiles > 0).sum(1) + 100 * (tiles > 45).any(1) + 200 * (tiles < 45).all(1)
    return spread(of_all, 16) + 1000 * alike(x, 16).sum(2).int().flatten()


@kernels.entry(whole_numbers(64))
def tiles_part_ways(x: torch.Tensor) -> torch.Tensor:
    tiles = x.view(8, 8).clone()
    tiles[::2] = tiles[::2].flip(1)
    tiles[1::2] = tiles[1::2].amin(1, keepdim=True)
    return tiles


@kernels.entry(whole_numbers(64))
def coalesced_lanes(x: torch.Tensor) -> torch.Tensor:
    return (x > 0).int()


@kernels.entry(whole_numbers(64))
def parted_by_label(x: torch.Tensor) -> torch.Tensor:
    same = alike(x, 32)
    largest = torch.where(same, x.view(2, 1, 32), -1000).amax(2)
    return (100 * largest + same.sum(2)).int()


@kernels.entry(whole_numbers(128), in_any_order=True)
def gathered_by_groups(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x % 3 == 0, x, 1)


@kernels.entry(whole_numbers(128))
def atomic_references(x: torch.Tensor) -> torch.Tensor:
    steps, bits = 0, 0
    for value in x.tolist():
        steps = (steps * 3 + 1) % 1009
        bits |= 1 << (value & 31)
    return torch.tensor([int(x.sum()), int(x.amax()), (bits + (1 << 31)) % (1 << 32) - (1 << 31), steps]).int()


@kernels.entry(whole_numbers(128))
def last_warp_of_a_block(x: torch.Tensor) -> torch.Tensor:
    return x.sum().int()


@kernels.entry(whole_numbers(32))
def fences_around_flags(x: torch.Tensor) -> torch.Tensor:
    handed = x + 9
    return torch.cat([handed, handed.flip(0), torch.tensor([32], dtype=torch.int32)])
