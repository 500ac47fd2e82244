"""What the kernels of movement.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


def load_and_store(algorithm: str, threads: int, x: torch.Tensor) -> torch.Tensor:
    thread = torch.arange(threads)
    thread = thread.repeat(4) if algorithm == "striped" else thread.repeat_interleave(4)
    return torch.cat([x + 100 * thread, x[:-5], torch.full((5,), 7)])


def exchange(threads: int, x: torch.Tensor) -> torch.Tensor:
    added = torch.arange(3).repeat_interleave(threads)
    places = torch.arange(3 * threads) * 7 % (3 * threads)
    return torch.cat([x + added, torch.empty_like(x).index_copy(0, places, x)])


def shuffle(threads: int, x: torch.Tensor) -> torch.Tensor:
    offset = torch.cat([x[2:], torch.full((2,), 99)])
    zero = torch.zeros(1)
    numbers = torch.arange(threads)
    return torch.cat([offset, x.roll(-5), torch.cat([zero, numbers[:-1]]), x])


for name in (
    "direct_int_64",
    "striped_float_96",
    "vectorize_float_64",
    "transpose_int_128",
    "warps_float_256",
    "slices_int_128",
    "exchange_int_64",
    "exchange_float_128",
    "shuffle_int_96",
    "shuffle_float_256",
):
    what, kind, size = name.split("_")
    dtype, threads = getattr(torch, kind), int(size)
    x = whole_numbers({"exchange": 3, "shuffle": 1}.get(what, 4) * threads, dtype=dtype)
    if what == "exchange":
        right = exchange(threads, x)
    elif what == "shuffle":
        right = shuffle(threads, x)
    else:
        right = load_and_store(what, threads, x)
    kernels.add(name, x, right.to(dtype))
