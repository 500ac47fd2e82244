"""What the kernels of reduce.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


def block_reduce(threads: int, x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x[:threads].sum(), x[: threads * 3 // 4].amax(), x.sum()])


def warp_reduce(lanes: int, x: torch.Tensor) -> torch.Tensor:
    warps = x.view(-1, lanes)
    of_warps = torch.stack([warps.sum(1), warps[:, : lanes - 3].amax(1)], 1)
    segments = torch.zeros_like(warps)
    for start in range(0, lanes, 3):
        segments[:, start] = warps[:, start : start + 3].sum(1)
    return torch.cat([of_warps.flatten(), segments.flatten()])


for name in (
    "raking_int_128",
    "raking_float_256",
    "commutative_int_96",
    "commutative_float_32",
    "warps_int_256",
    "warps_float_64",
    "warps_int_100",
    "raking_int_40",
    "warp_int_32",
    "warp_float_32",
    "warp_int_16",
    "warp_float_8",
):
    algorithm, kind, size = name.split("_")
    dtype, count = getattr(torch, kind), int(size)
    if algorithm == "warp":
        x = whole_numbers(64, dtype=dtype)
        kernels.add(name, x, warp_reduce(count, x).to(dtype))
    else:
        x = whole_numbers(3 * count, dtype=dtype)
        kernels.add(name, x, block_reduce(count, x).to(dtype))
