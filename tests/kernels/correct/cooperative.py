"""What the kernels of cooperative.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__, targets=(75, 80, 90))


def weighted(rows: torch.Tensor) -> torch.Tensor:
    """[rounds, threads]: the first row once, the second twice, … , added up by thread."""
    return (torch.arange(1, len(rows) + 1)[:, None] * rows).sum(0).int()


@kernels.entry(whole_numbers(320), workspace=4 * 10)
def sum_of_the_grid(x: torch.Tensor) -> torch.Tensor:
    return x.sum().int().expand(320).clone()


@kernels.entry(whole_numbers(192), workspace=4 * 192)
def rounds_of_the_grid(x: torch.Tensor) -> torch.Tensor:
    for _ in range(5):
        x = x + x.roll(-50) - x.roll(1)
    return x


@kernels.entry(whole_numbers(128), workspace=4 * 128)
def arrive_work_wait(x: torch.Tensor) -> torch.Tensor:
    return x * x + 3 * x.flip(0)


@kernels.entry(whole_numbers(19_200), workspace=4 * 600)
def many_blocks(x: torch.Tensor) -> torch.Tensor:
    return x + torch.arange(600, 0, -1).repeat_interleave(32).int()


@kernels.entry(whole_numbers(320), workspace=4 * 10)
def as_many_blocks_as_fit(x: torch.Tensor) -> torch.Tensor:
    return x.sum().int().expand(320).clone()


@kernels.entry(whole_numbers(128 * 4))
def two_halves(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 2, 64).flip(2).reshape(-1, 128))


@kernels.entry(whole_numbers(64 * 7))
def stores_and_reads(x: torch.Tensor) -> torch.Tensor:
    return weighted(x.view(-1, 64).flip(1))


@kernels.entry(whole_numbers(96))
def parts_and_the_whole(x: torch.Tensor) -> torch.Tensor:
    total = x[:64].sum().int()
    return total + torch.cat([total[None], x[1:]]).flip(0)


@kernels.entry(whole_numbers(64), workspace=4 * 64)
def handed_to_another_block(x: torch.Tensor) -> torch.Tensor:
    return 2 * x.flip(0)


@kernels.entry(whole_numbers(128))
def tiles_of_two_warps(x: torch.Tensor) -> torch.Tensor:
    pairs = x.view(2, 64)
    return (pairs.sum(1, keepdim=True) + pairs.flip(1)).int()


@kernels.entry(whole_numbers(64))
def those_who_came(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    for warp in (slice(0, 32), slice(32, 64)):
        came = x[warp] % 3 != 0
        alike = [int((came & ((x[warp] < 0) == (value < 0))).sum()) for value in x[warp]]
        out[warp] = torch.where(came, x[warp][came].sum() + 1000 * torch.tensor(alike), 0).int()
    return out
