"""What the kernels of scan.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


def block_scan(threads: int, x: torch.Tensor) -> torch.Tensor:
    largest = torch.cat([torch.tensor([-60]), x[: threads - 1]]).cummax(0).values
    return torch.cat([x.cumsum(0), largest])


def warp_scan(lanes: int, x: torch.Tensor) -> torch.Tensor:
    warps = x.view(-1, lanes)
    running = warps.cumsum(1)
    return torch.stack([running, running - warps, running[:, -1:].expand(-1, lanes)])


for name in (
    "raking_int_128",
    "raking_float_64",
    "memoize_int_96",
    "memoize_float_256",
    "warps_int_256",
    "warps_float_32",
    "warp_int_32",
    "warp_float_32",
    "warp_float_16",
):
    algorithm, kind, size = name.split("_")
    dtype, count = getattr(torch, kind), int(size)
    if algorithm == "warp":
        x = whole_numbers(64, dtype=dtype)
        kernels.add(name, x, warp_scan(count, x).to(dtype))
    else:
        x = whole_numbers(4 * count, dtype=dtype)
        kernels.add(name, x, block_scan(count, x).to(dtype))
