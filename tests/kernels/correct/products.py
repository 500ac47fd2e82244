"""What the kernels of products.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)
M, N, K = 70, 52, 36


def product(x: torch.Tensor) -> torch.Tensor:
    return x[: M * K].view(M, K) @ x[M * K :].view(K, N)


for name in ("columns_of_results", "tiles_in_registers", "two_tiles_in_turn", "split_along_k", "columns_by_shuffles"):
    matrices = whole_numbers(M * K + K * N)
    kernels.add(name, matrices, product(matrices))


@kernels.entry(whole_numbers(12 * 75))
def largest_of_rows(x: torch.Tensor) -> torch.Tensor:
    rows = x.view(12, 75)
    largest = rows.amax(1)
    return torch.stack([largest, (rows == largest[:, None]).sum(1)], 1).int()


@kernels.entry(whole_numbers(60 * 70))
def sums_of_columns(x: torch.Tensor) -> torch.Tensor:
    return x.view(60, 70).sum(0).int()
