"""Kernels of the course for a pretended GPU: `python -m tests.pretend_gpu --kernels tests.rival_kernels`."""

from __future__ import annotations

from tests.pretend_gpu import Kernel, PretendDriver, add


def stream(gpu: PretendDriver, source: int, sink: int, reads: int, writes: int, quads: int) -> None:
    """As grader/cuda/streaming.cu has it, for one array each way; half as long as what it is held against."""
    assert (reads, writes) == (2, 1)
    first, second = gpu.floats(source, 4 * quads), gpu.floats(source + 16 * quads, 4 * quads)
    gpu.floats(sink, 4 * quads)[:] = memoryview(first)[:]
    assert len(second) == len(first)
    gpu.took(1.0)


KERNELS = {
    "_Z17vector_add_kernelPKfS0_Pfi": Kernel("<QQQi", add),
    "_Z24vector_add_launch_kernelPKfS0_Pfi": Kernel("<QQQi", add),
    "_Z13stream_kernelPK6float4PS_iij": Kernel("<QQiiI", stream),
}
