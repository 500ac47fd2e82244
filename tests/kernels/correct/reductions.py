"""What the kernels of reductions.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


def floats(count: int) -> torch.Tensor:
    return whole_numbers(count, dtype=torch.float32)


@kernels.entry(floats(250))
def tree_with_barriers(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(128))
def tree_from_neighbours(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(100))
def tree_of_any_size(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(201))
def tree_then_one_warp(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(128))
def tree_then_syncwarp(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(256))
def upper_warps_leave(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(160))
def two_levels_thrice(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x.sum(), (x * x).sum(), torch.tensor(160.0)])


@kernels.entry(floats(128))
def everybody_gets_the_sum(x: torch.Tensor) -> torch.Tensor:
    return x * 128 - x.sum()


@kernels.entry(floats(320))
def own_slots_first(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(96))
def votes_of_a_block(x: torch.Tensor) -> torch.Tensor:
    return ((x > 0).sum() + 1000 * (x > 49).any() + 10000).float().expand(96)


@kernels.entry(floats(128))
def until_all_are_done(x: torch.Tensor) -> torch.Tensor:
    return torch.ceil(x.abs().amax() / 10).expand(128)


@kernels.entry(floats(100))
def where_the_largest_is(x: torch.Tensor) -> torch.Tensor:
    first = (x == x.amax()).nonzero()[0, 0]
    return torch.stack([x.amax(), first.float()])


@kernels.entry(floats(490))
def rows_by_warps(x: torch.Tensor) -> torch.Tensor:
    return x.view(7, 70).sum(1)


@kernels.entry(floats(1000))
def one_atomic_a_block(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(1000))
def one_atomic_a_warp(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(1000))
def one_atomic_a_thread(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(2000))
def last_block_adds_up(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(900))
def last_block_reads_volatile(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


@kernels.entry(floats(256))
def last_block_reads_all(x: torch.Tensor) -> torch.Tensor:
    return 2 * x.view(8, 32).sum(0)


@kernels.entry(floats(1100), workspace=36)
def two_launches(x: torch.Tensor) -> torch.Tensor:
    return x.sum()
