"""What the kernels of sort.cu make."""

from __future__ import annotations

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


def radix(x: torch.Tensor) -> torch.Tensor:
    found = x.sort(descending=True, stable=True)
    return torch.cat([found.values, found.indices])


def heads(x: torch.Tensor) -> torch.Tensor:
    edge = torch.ones(1, dtype=torch.bool)
    differs = x[1:] != x[:-1]
    return torch.cat([edge, differs]).int() + 2 * torch.cat([differs, edge]).int()


for name in ("radix_int_64", "radix_float_128"):
    _, kind, size = name.split("_")
    x = whole_numbers(2 * int(size), dtype=getattr(torch, kind))
    kernels.add(name, x, radix(x).to(x.dtype))

for name, rows in {"merge_int_128": 1, "merge_float_32": 1, "warps_int_32": 2, "warps_float_16": 4}.items():
    _, kind, size = name.split("_")
    x = whole_numbers(2 * int(size) * rows, dtype=getattr(torch, kind))
    kernels.add(name, x, x.view(rows, -1).sort(1).values)

for name in ("heads_int_96", "heads_float_64"):
    _, kind, size = name.split("_")
    x = whole_numbers(2 * int(size), dtype=getattr(torch, kind), low=0, high=1)
    kernels.add(name, x, heads(x).to(x.dtype))

for name, threads in {"bins_atomic_128": 128, "bins_sort_64": 64}.items():
    x = whole_numbers(2 * threads, low=0, high=15)
    kernels.add(name, x, torch.bincount(x, minlength=16).int())
