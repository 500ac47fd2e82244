"""What the kernels of locks.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)
SCRATCH = 256


@kernels.entry(whole_numbers(384), workspace=SCRATCH)
def lock_for_a_block(x: torch.Tensor) -> torch.Tensor:
    return x.view(6, 64).sum(0).int()


@kernels.entry(whole_numbers(192), workspace=SCRATCH)
def lock_for_a_thread(x: torch.Tensor) -> torch.Tensor:
    return x.sum().int()


@kernels.entry(whole_numbers(128), workspace=SCRATCH)
def lock_asked_for_in_a_loop(x: torch.Tensor) -> torch.Tensor:
    return x.sum().int()


@kernels.entry(whole_numbers(192, low=0), workspace=SCRATCH)
def lock_for_each_bucket(x: torch.Tensor) -> torch.Tensor:
    buckets = torch.arange(7)[:, None] == x % 7
    return torch.stack([buckets.sum(1), (buckets * x).sum(1)], 1).int()


@kernels.entry(whole_numbers(256), workspace=SCRATCH)
def lock_for_a_warp(x: torch.Tensor) -> torch.Tensor:
    return x.view(8, 32).sum(0).int()


@kernels.entry(whole_numbers(1), workspace=SCRATCH)
def ticket_lock(x: torch.Tensor) -> torch.Tensor:
    return torch.full((32,), 2**7 - 1, dtype=torch.int32)


@kernels.entry(whole_numbers(192), workspace=SCRATCH)
def lock_acquired_and_released(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x.sum(), x.amax()]).int()


@kernels.entry(whole_numbers(128))
def lock_in_shared_memory(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([128, int(x.sum())], dtype=torch.int32)


@kernels.entry(whole_numbers(32), workspace=SCRATCH)
def row_from_block_to_block(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x + block for block in range(6)])


@kernels.entry(whole_numbers(32), workspace=SCRATCH)
def thread_to_thread(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([3 * x, 3 * x.flip(0) + 1])


@kernels.entry(whole_numbers(64), workspace=SCRATCH)
def handed_over_by_atomics(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x * x, (x * x).flip(0)])


@kernels.entry(whole_numbers(64), workspace=SCRATCH)
def handed_over_by_release(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([-x, -x.flip(0)])


@kernels.entry(whole_numbers(128), workspace=SCRATCH)
def last_to_arrive_adds_up(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x.sum()[None].int()])


@kernels.entry(whole_numbers(128), workspace=SCRATCH)
def barrier_for_the_grid(x: torch.Tensor) -> torch.Tensor:
    return x.roll(-99) + 3


@kernels.entry(whole_numbers(32))
def warp_to_warp(x: torch.Tensor) -> torch.Tensor:
    return x.flip(0) + 5


@kernels.entry(whole_numbers(32))
def arrive_and_wait(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x.flip(0) * times for times in (1, 2, 3)])


@kernels.entry(whole_numbers(128))
def barriers_for_two_warps(x: torch.Tensor) -> torch.Tensor:
    halves = x.view(2, 64)
    halves = halves + halves.flip(1)
    return torch.stack([halves[0], 2 * halves[1]])
