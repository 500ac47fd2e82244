"""What the kernels of shared_memory.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


@kernels.entry(whole_numbers(250))
def window_of_seven(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(x, (3, 3)).unfold(0, 7, 1).sum(1).int()


@kernels.entry(whole_numbers(900))
def four_neighbours(x: torch.Tensor) -> torch.Tensor:
    padded = torch.nn.functional.pad(x.view(30, 30), (1, 1, 1, 1))
    return padded[1:-1, :-2] + padded[1:-1, 2:] + padded[:-2, 1:-1] + padded[2:, 1:-1]


@kernels.entry(whole_numbers(96))
def rounds_in_two_buffers(x: torch.Tensor) -> torch.Tensor:
    for _ in range(5):
        x = x + x.roll(-1) + x.roll(1)
    return x


@kernels.entry(whole_numbers(64 * 7))
def next_tile_ahead(x: torch.Tensor) -> torch.Tensor:
    return (x.view(7, 64) * torch.arange(1, 8)[:, None]).sum(0).int().flip(0)


@kernels.entry(whole_numbers(32 * 8))
def ring_of_three(x: torch.Tensor) -> torch.Tensor:
    total = x.view(8, 32).sum(0).int()
    return total + total.roll(-1) + total.roll(-2)


@kernels.entry(whole_numbers(2000))
def transposed_with_padding(x: torch.Tensor) -> torch.Tensor:
    return x.view(40, 50).T


@kernels.entry(whole_numbers(4096))
def transposed_with_swizzle(x: torch.Tensor) -> torch.Tensor:
    return x.view(64, 64).T


@kernels.entry(whole_numbers(256 * 5))
def tiles_one_after_another(x: torch.Tensor) -> torch.Tensor:
    return x.view(5, 16, 16).transpose(1, 2)


@kernels.entry(whole_numbers(37 * 23 + 23 * 29))
def product_in_tiles(x: torch.Tensor) -> torch.Tensor:
    return x[: 37 * 23].view(37, 23) @ x[37 * 23 :].view(23, 29)


@kernels.entry(whole_numbers(256))
def bitonic_sort(x: torch.Tensor) -> torch.Tensor:
    return x.sort().values


@kernels.entry(whole_numbers(100))
def odd_even_sort(x: torch.Tensor) -> torch.Tensor:
    return x.sort().values


@kernels.entry(whole_numbers(100))
def sort_by_rank(x: torch.Tensor) -> torch.Tensor:
    return x.sort().values


@kernels.entry(whole_numbers(32, low=0))
def diagonals(x: torch.Tensor) -> torch.Tensor:
    rows = (x % 4).tolist()
    table = [[0] * 33 for _ in range(33)]
    for i, row in enumerate(rows):
        for j, column in enumerate(reversed(rows)):
            best = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if row == column else best
    return torch.tensor(table[32][1:], dtype=torch.int32)


@kernels.entry(whole_numbers(1000))
def histogram_merged(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x & 31, minlength=32).int()


@kernels.entry(whole_numbers(1000))
def histogram_of_each_thread(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x & 7, minlength=8).int()


@kernels.entry(whole_numbers(48))
def carved_into_four(x: torch.Tensor) -> torch.Tensor:
    return (4 * x + 6).flip(0)


@kernels.entry(whole_numbers(64))
def used_twice(x: torch.Tensor) -> torch.Tensor:
    pairs = x.flip(0).view(32, 2)
    return (pairs[:, 0] - pairs[:, 1]).roll(-1).repeat(2)


@kernels.entry(whole_numbers(128))
def vectors_in_scalars_out(x: torch.Tensor) -> torch.Tensor:
    first = 2 * (31 - torch.arange(64) // 2)
    return torch.cat([x.flip(0), (first * 100 + first + 1).int()])


@kernels.entry(whole_numbers(64))
def slots_of_each_thread(x: torch.Tensor) -> torch.Tensor:
    def backwards(number: int) -> int:
        result = 0
        while number:
            result, number = result * 4 + number % 4, number // 4
        return result

    return torch.tensor([backwards(abs(int(number))) for number in x], dtype=torch.int32)


@kernels.entry(whole_numbers(128))
def flag_set_by_many(x: torch.Tensor) -> torch.Tensor:
    return torch.full((128,), 2, dtype=torch.int32)


@kernels.entry(whole_numbers(256, low=0))
def flag_set_by_many_blocks(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([1, 0], dtype=torch.int32)


@kernels.entry(whole_numbers(64))
def until_nothing_changes(x: torch.Tensor) -> torch.Tensor:
    return x.sort().values


@kernels.entry(whole_numbers(128))
def own_output_read_back(x: torch.Tensor) -> torch.Tensor:
    return (2 * x).view(2, 64).flip(1) + 1


@kernels.entry(whole_numbers(150))
def guards_around_work(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[start : start + 64].flip(0) for start in range(0, 150, 64)])
