"""What the kernels of scans.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


def running(x: torch.Tensor) -> torch.Tensor:
    """Sums up to each element, itself included."""
    return x.cumsum(0).int()


def before(x: torch.Tensor) -> torch.Tensor:
    """Sums up to each element, itself left out."""
    return running(x) - x


@kernels.entry(whole_numbers(120))
def in_place_two_barriers(x: torch.Tensor) -> torch.Tensor:
    return running(x)


@kernels.entry(whole_numbers(128))
def ping_pong_one_barrier(x: torch.Tensor) -> torch.Tensor:
    return running(x)


@kernels.entry(whole_numbers(256))
def up_and_down_the_tree(x: torch.Tensor) -> torch.Tensor:
    return before(x)


@kernels.entry(whole_numbers(128))
def tree_with_gaps(x: torch.Tensor) -> torch.Tensor:
    return before(x)


@kernels.entry(whole_numbers(200))
def warps_then_block(x: torch.Tensor) -> torch.Tensor:
    return running(x)


@kernels.entry(whole_numbers(500))
def one_block_all_tiles(x: torch.Tensor) -> torch.Tensor:
    return running(x)


@kernels.entry(whole_numbers(256))
def in_registers_of_each_thread(x: torch.Tensor) -> torch.Tensor:
    return running(x)


@kernels.entry(whole_numbers(500), workspace=4 * 17)
def scan_then_propagate(x: torch.Tensor) -> torch.Tensor:
    return running(x)


@kernels.entry(whole_numbers(700), workspace=4 * 25)
def chained(x: torch.Tensor) -> torch.Tensor:
    return running(x)


@kernels.entry(whole_numbers(1000), workspace=12 * 16)
def look_back_volatile(x: torch.Tensor) -> torch.Tensor:
    return running(x)


@kernels.entry(whole_numbers(1000), workspace=8 * 16)
def look_back_one_word(x: torch.Tensor) -> torch.Tensor:
    return running(x)


@kernels.entry(whole_numbers(2500), workspace=8 * 40)
def look_back_by_a_warp(x: torch.Tensor) -> torch.Tensor:
    return running(x)


@kernels.entry(whole_numbers(1000), workspace=4 * 48)
def look_back_acquire_release(x: torch.Tensor) -> torch.Tensor:
    return running(x)
