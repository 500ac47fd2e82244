"""What the kernels of matrices.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


def numbers(count: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    """So small that every sum of 80 products is a whole number that a half can hold."""
    return whole_numbers(count, dtype=dtype, low=-4, high=4)


def tile(x: torch.Tensor, m: int, n: int, k: int = 16) -> torch.Tensor:
    """The product of A [m, k] and B [k, n], one behind the other."""
    exact = x.double()
    return exact[: m * k].view(m, k) @ exact[m * k :].view(k, n)


def add_tile(name: str, m: int, n: int, k: int, kind: torch.dtype, result: torch.dtype) -> None:
    x = numbers(m * k + k * n, kind)
    kernels.add(name, x, tile(x, m, n, k).to(result))


add_tile("square", 16, 16, 16, torch.float16, torch.float32)
add_tile("high", 32, 8, 16, torch.float16, torch.float32)
add_tile("wide", 8, 32, 16, torch.float16, torch.float32)
add_tile("in_halves", 16, 16, 16, torch.float16, torch.float16)
add_tile("wide_in_halves", 8, 32, 16, torch.float16, torch.float16)
add_tile("brain_floats", 16, 16, 16, torch.bfloat16, torch.float32)
add_tile("bytes", 32, 8, 16, torch.int8, torch.int32)
add_tile("tensor_floats", 16, 16, 8, torch.float32, torch.float32)
add_tile("doubles", 8, 8, 4, torch.float64, torch.float64)


@kernels.entry(numbers(512))
def both_transposed(x: torch.Tensor) -> torch.Tensor:
    a, b = x[:256].view(16, 16).double(), x[256:].view(16, 16).double()
    return (a.T @ b.T).T.float()


M, N, K = 48, 64, 80


@kernels.entry(numbers(M * K + K * N))
def a_warp_a_tile(x: torch.Tensor) -> torch.Tensor:
    return (2 * tile(x, M, N, K) + 1).float()


@kernels.entry(numbers(M * K + K * N))
def shared_tiles(x: torch.Tensor) -> torch.Tensor:
    return tile(x, M, N, K).float()


for by_hand in ("registers_by_hand", "rows_by_ldmatrix"):
    operands = numbers(256 + 128)
    product = operands[:256].view(16, 16).double() @ operands[256:].view(8, 16).double().T
    kernels.add(by_hand, operands, product.float())
