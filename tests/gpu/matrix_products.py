"""PyTorch's own products of matrices, timed as replays are, in a process of their own.

    python -m tests.gpu.matrix_products float32 4096 4096 4096

Prints one JSON object: the median of C = A @ B in milliseconds, its 95 % interval, 10**12 operations a second and the
number of runs. float32 is computed in float32: TF32 is off.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from grader.puzzle import Part, call_by_name, dtype_of

# What a solution has to reach, as a share of PyTorch's speed on the same product in the same run.
PRODUCT_FLOORS = {
    "gemm_register_tiled": 0.70,
    "gemm_bias_act": 0.70,
    "gemm_wmma_block": 0.25,
    "gemm_wmma_any": 0.25,
}
_TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


def product_of(part: Part) -> tuple[str, int, int, int] | None:
    """Type and sizes of the product that the part's bench case is; None for parts that make no product."""
    sizes = part.bench.params
    if not {"M", "N", "K"} <= set(sizes):
        return None
    return _TYPES[dtype_of(part.buffers[0], sizes).name], int(sizes["M"]), int(sizes["N"]), int(sizes["K"])


def measured_product(product: tuple[str, int, int, int]) -> dict[str, Any]:
    """PyTorch's time for it; raises RuntimeError where there is none."""
    command = [sys.executable, "-m", "tests.gpu.matrix_products", *map(str, product)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if ended.returncode:
        raise RuntimeError(ended.stderr.strip()[-300:])
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def teraflops(part: Part, ms: float) -> float:
    """10**12 operations a second of the part's bench case."""
    return float(call_by_name(part.work, part.bench.params).flops) / ms / 1e9


def main() -> None:
    import torch

    from tests.gpu.yardsticks import measured

    torch.backends.cuda.matmul.allow_tf32 = False
    dtype = getattr(torch, sys.argv[1])
    m, n, k = map(int, sys.argv[2:])
    a, b = torch.randn(m, k, device="cuda").to(dtype), torch.randn(k, n, device="cuda").to(dtype)
    out = torch.empty(m, n, dtype=dtype, device="cuda")
    torch.matmul(a, b, out=out)
    row = measured(lambda: torch.matmul(a, b, out=out), out, (m * k + k * n + m * n) * dtype.itemsize)
    row |= {"name": f"torch.matmul {sys.argv[1]} {m} {n} {k}", "tflops": round(2 * m * n * k / row["ms"] / 1e9, 2)}
    print(json.dumps(row))


if __name__ == "__main__":
    main()
