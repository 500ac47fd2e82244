"""What the kernels of warps.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


def warps(x: torch.Tensor) -> torch.Tensor:
    return x.view(-1, 32)


def for_all_lanes(values: torch.Tensor) -> torch.Tensor:
    """One value a warp, given to its 32 lanes."""
    return values.repeat_interleave(32).int()


@kernels.entry(whole_numbers(192))
def sums_by_shuffle_down(x: torch.Tensor) -> torch.Tensor:
    return warps(x).sum(1).int()


@kernels.entry(whole_numbers(250))
def sums_by_butterfly(x: torch.Tensor) -> torch.Tensor:
    padded = torch.nn.functional.pad(x, (0, 6))
    return for_all_lanes(warps(padded).sum(1))[:250]


@kernels.entry(whole_numbers(90))
def running_sums_by_shuffle_up(x: torch.Tensor) -> torch.Tensor:
    padded = torch.nn.functional.pad(x, (0, 6))
    return warps(padded).cumsum(1).int().flatten()[:90]


@kernels.entry(whole_numbers(64))
def rotation_by_shuffle(x: torch.Tensor) -> torch.Tensor:
    return warps(x).roll(-1, 1)


@kernels.entry(whole_numbers(4))
def lane_zero_tells_all(x: torch.Tensor) -> torch.Tensor:
    return (x[:, None] + torch.arange(32)).int()


@kernels.entry(whole_numbers(64))
def shuffles_in_sections(x: torch.Tensor) -> torch.Tensor:
    up, down = x.view(-1, 16).clone(), x.view(-1, 8).clone()
    up[:, 1:] = x.view(-1, 16)[:, :-1]
    down[:, :5] = x.view(-1, 8)[:, 3:]
    swap = x.view(-1, 2, 2).flip(1)
    first = x.view(-1, 8)[:, :1].expand(-1, 8)
    return torch.cat([part.reshape(-1) for part in (up, down, swap, first)])


@kernels.entry(whole_numbers(32))
def wide_values_by_shuffle(x: torch.Tensor) -> torch.Tensor:
    neighbour = x.view(-1, 2).flip(1).flatten()
    return neighbour + torch.cat([x[4:], x[28:]])


@kernels.entry(whole_numbers(64))
def transposed_in_registers(x: torch.Tensor) -> torch.Tensor:
    return x.view(2, 16, 2).permute(2, 1, 0)


@kernels.entry(whole_numbers(100))
def sum_of_a_ragged_end(x: torch.Tensor) -> torch.Tensor:
    padded = torch.nn.functional.pad(x, (0, 28))
    return for_all_lanes(warps(padded).sum(1))[:100]


@kernels.entry(whole_numbers(116))
def ragged_end_by_shuffle_down(x: torch.Tensor) -> torch.Tensor:
    padded = torch.nn.functional.pad(x, (0, 12))
    return warps(padded).sum(1).int()


@kernels.entry(whole_numbers(64))
def halves_on_their_own_ways(x: torch.Tensor) -> torch.Tensor:
    halves = x.view(2, 2, 16).clone()
    halves[:, 0] = halves[:, 0].sum(1, keepdim=True).int()
    halves[:, 1] = halves[:, 1].view(2, 4, 4).amax(1).repeat(1, 4)
    return halves


@kernels.entry(whole_numbers(64))
def quarters_in_one_function(x: torch.Tensor) -> torch.Tensor:
    quarters = x.view(2, 4, 8)
    sums = quarters.sum(2, keepdim=True).int().expand(2, 4, 8).clone()
    sums[:, 1] *= 2
    sums[:, 2] = quarters[:, 2].view(2, 2, 4).sum(2).int().repeat_interleave(4, 1)
    return sums


@kernels.entry(whole_numbers(64))
def lanes_leave_a_loop(x: torch.Tensor) -> torch.Tensor:
    return ((torch.arange(32) + 1) * warps(x)[:, 31:]).int()


@kernels.entry(whole_numbers(64))
def trip_counts_by_lane(x: torch.Tensor) -> torch.Tensor:
    steps = torch.zeros(64, dtype=torch.int32)
    for i in range(64):
        number = i + 1
        while number != 1:
            number = 3 * number + 1 if number % 2 else number // 2
            steps[i] += 1
    return torch.cat([steps, for_all_lanes(warps(steps).amax(1))])


@kernels.entry(whole_numbers(128))
def rounds_until_nobody_wants(x: torch.Tensor) -> torch.Tensor:
    return for_all_lanes(warps(x.abs() % 7).amax(1))


@kernels.entry(whole_numbers(40))
def block_of_forty(x: torch.Tensor) -> torch.Tensor:
    return x.view(-1, 8).sum(1).int().repeat_interleave(8)


@kernels.entry(whole_numbers(64))
def votes(x: torch.Tensor) -> torch.Tensor:
    both = 2 * (warps(x) > 45).any(1).int() + (warps(x) < 45).all(1).int()
    return torch.cat([for_all_lanes((warps(x) > 0).sum(1)), for_all_lanes(both)])


@kernels.entry(whole_numbers(64))
def positives_first(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([torch.cat([warp[warp > 0], warp[warp <= 0]]) for warp in warps(x)])


@kernels.entry(whole_numbers(64, low=0))
def how_many_are_like_me(x: torch.Tensor) -> torch.Tensor:
    keys = warps(x) % 5
    return (keys[:, :, None] == keys[:, None, :]).sum(2).int()


@kernels.entry(whole_numbers(64))
def are_all_alike(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([32, -1], dtype=torch.int32).repeat_interleave(32)


@kernels.entry(whole_numbers(64, low=0))
def one_speaks_for_its_group(x: torch.Tensor) -> torch.Tensor:
    keys = warps(x) & 3
    return ((keys[:, :, None] == keys[:, None, :]).sum(2) ** 2).int()


def folded(values: list[int], how: str) -> int:
    result = values[0]
    for value in values[1:]:
        result = result & value if how == "and" else result | value if how == "or" else result ^ value
    return result


@kernels.entry(whole_numbers(32))
def reductions_in_one_instruction(x: torch.Tensor) -> torch.Tensor:
    values = [int(value) for value in x]
    mixed = folded([value & 0xFF for value in values], "or") ^ folded(values, "xor")
    four = [sum(values), min(values) + 1000 * max(values), folded([value | 0xF0 for value in values], "and"), mixed]
    return for_all_lanes(torch.tensor(four))


@kernels.entry(whole_numbers(32))
def reduction_of_some_lanes(x: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.arange(32) % 3 == 0, x[::3].sum(), -1).int()


@kernels.entry(whole_numbers(64))
def whoever_is_here(x: torch.Tensor) -> torch.Tensor:
    return (x > 0).int()


@kernels.entry(whole_numbers(128))
def tree_in_one_warp(x: torch.Tensor) -> torch.Tensor:
    return for_all_lanes(warps(x).sum(1))


@kernels.entry(whole_numbers(32))
def tree_with_all_lanes(x: torch.Tensor) -> torch.Tensor:
    return x.sum().int()


@kernels.entry(whole_numbers(32))
def volatile_with_syncwarp(x: torch.Tensor) -> torch.Tensor:
    return for_all_lanes(x.sum()[None])


@kernels.entry(whole_numbers(32))
def half_a_warp_waits(x: torch.Tensor) -> torch.Tensor:
    mirrored = x[:16] + x[:16].flip(0)
    return torch.cat([mirrored.view(8, 2).flip(1).flatten(), x[16:]])


@kernels.entry(whole_numbers(2))
def halves_read_one_place(x: torch.Tensor) -> torch.Tensor:
    return (3 * x + 3).repeat_interleave(16)


@kernels.entry(whole_numbers(128))
def every_warp_its_own_slots(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([warps(x).flip(1) + added for added in range(3)])
