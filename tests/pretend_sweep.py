"""The kernel of tests/test_sweep_timed.py on the pretended GPU: how long a launch takes depends on its block."""

from __future__ import annotations

from tests.pretend_gpu import Kernel, PretendDriver, Status

MS = {64: 4.0, 128: 1.99, 256: 2.0, 512: 1.0}


def swept(gpu: PretendDriver, a: int, b: int, out: int, n: int, block: int) -> None:
    if block == 1024:
        gpu.fault = Status.CUDA_ERROR_ILLEGAL_ADDRESS
    gpu.floats(out, n)[:] = gpu.sums(a, b, n)
    gpu.took(MS.get(block, 1.0))


KERNELS = {"swept_kernel": Kernel("<QQQii", swept)}
