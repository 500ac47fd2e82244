"""What the kernels of structures.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


@kernels.entry(whole_numbers(300), workspace=4)
def tiles_drawn_by_blocks(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


@kernels.entry(whole_numbers(500), workspace=4)
def tiles_drawn_by_warps(x: torch.Tensor) -> torch.Tensor:
    return -x


@kernels.entry(whole_numbers(256), workspace=8, in_any_order=True)
def room_for_a_block(x: torch.Tensor) -> torch.Tensor:
    return x


@kernels.entry(whole_numbers(300), workspace=1024)
def hash_table(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x + 50, minlength=101).int()


@kernels.entry(whole_numbers(250), workspace=4 * 266)
def linked_lists(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros(16, dtype=torch.int32).index_add(0, x & 15, x)


@kernels.entry(whole_numbers(100))
def bitmap_of_what_is_there(x: torch.Tensor) -> torch.Tensor:
    return (torch.bincount(x + 50, minlength=101) > 0).int()


@kernels.entry(whole_numbers(32 + 32 * 13, low=0))
def sparse_rows_by_eight_lanes(x: torch.Tensor) -> torch.Tensor:
    lengths = 1 + x[:32] % 13
    rows = torch.arange(32).repeat_interleave(lengths)
    return torch.zeros(32, dtype=torch.int32).index_add(0, rows, x[32 : 32 + len(rows)])


@kernels.entry(whole_numbers(180, low=0))
def segments_by_bisection(x: torch.Tensor) -> torch.Tensor:
    segments = torch.arange(20).repeat_interleave(1 + x[:20] % 9)
    return torch.cat([segments, torch.full((180 - len(segments),), -1)]).int()


@kernels.entry(whole_numbers(32 * 11))
def ring_between_warps(x: torch.Tensor) -> torch.Tensor:
    return x.view(-1, 32).flip(1)


@kernels.entry(whole_numbers(128))
def barrier_by_counting(x: torch.Tensor) -> torch.Tensor:
    return x.flip(0)


@kernels.entry(whole_numbers(256))
def own_counter_read_behind_a_barrier(x: torch.Tensor) -> torch.Tensor:
    counts = (x.view(4, 64) > 0).sum(1).int()
    return torch.cat([counts, counts.repeat_interleave(64)])


@kernels.entry(whole_numbers(1000), workspace=4)
def search_that_stops_early(x: torch.Tensor) -> torch.Tensor:
    return x[-1:]
