"""What the kernels of copies.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__, targets=(75, 80, 90))


def weighted(rows: torch.Tensor) -> torch.Tensor:
    """[rounds, threads]: the first row once, the second twice, … , added up by thread."""
    return (torch.arange(1, len(rows) + 1)[:, None] * rows).sum(0).int()


@kernels.entry(whole_numbers(256))
def copied_by_each_thread(x: torch.Tensor) -> torch.Tensor:
    return x.view(2, 128).flip(1) + 1


@kernels.entry(whole_numbers(256))
def sixteen_bytes_a_thread(x: torch.Tensor) -> torch.Tensor:
    return x.view(64, 4).sum(1).flip(0).int()


@kernels.entry(whole_numbers(103))
def zeros_behind_the_end(x: torch.Tensor) -> torch.Tensor:
    full = torch.cat([x, x.new_zeros(25)]).view(32, 4)
    return (full * torch.tensor([1, 10, 100, 1000])).sum(1).flip(0).int()


@kernels.entry(whole_numbers(64 * 7))
def two_stages(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 64).flip(1))


@kernels.entry(whole_numbers(64 * 9))
def four_stages(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 64).flip(1))


@kernels.entry(whole_numbers(192))
def copied_by_the_block(x: torch.Tensor) -> torch.Tensor:
    return x.view(2, 96).flip(1)


@kernels.entry(whole_numbers(256))
def copied_by_tiles(x: torch.Tensor) -> torch.Tensor:
    rows = x.view(4, 64)
    return (rows.flip(1) - rows)[:, :32]


@kernels.entry(whole_numbers(128 * 5))
def two_tiles_under_way(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 128).flip(1))


@kernels.entry(whole_numbers(64 * 6))
def pipeline_of_each_thread(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 64))


@kernels.entry(whole_numbers(128 * 6))
def pipeline_of_two_stages(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 128).flip(1))


@kernels.entry(whole_numbers(128 * 7))
def pipeline_of_three_stages(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 128).flip(1))


@kernels.entry(whole_numbers(96 * 5))
def producers_and_consumers(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 96).flip(1))


@kernels.entry(whole_numbers(128))
def barrier_of_the_block(x: torch.Tensor) -> torch.Tensor:
    for _ in range(4):
        x = 2 * x + x.roll(-31)
    return x


@kernels.entry(whole_numbers(128 * 4))
def copies_told_to_a_barrier(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 128).flip(1))


@kernels.entry(whole_numbers(64 * 5))
def full_and_empty(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 64).flip(1))


@kernels.entry(whole_numbers(64))
def leaving_a_barrier(x: torch.Tensor) -> torch.Tensor:
    return x[:32] + x[32:]
