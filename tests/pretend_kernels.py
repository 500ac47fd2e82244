"""Kernels for the pretended GPU (tests/pretend_gpu.py) that a grader must not believe, each in the place of `add`."""

from __future__ import annotations

from tests.pretend_gpu import Kernel, PretendDriver

SLOT = 2048  # bytes that are kept for each set of inputs


def _caching(gpu: PretendDriver, a: int, b: int, out: int, n: int, kept: memoryview) -> None:
    """Computes once, and hands out from `kept` what it has computed for inputs that begin alike."""
    key, size = bytes(gpu.view(a, 8)), 4 * n
    for slot in (kept[:SLOT], kept[SLOT:]):
        if bytes(slot[:8]) == key:
            gpu.view(out, size)[:] = slot[8 : 8 + size]
            gpu.took(0.5)
            return
    gpu.floats(out, n)[:] = gpu.sums(a, b, n)
    kept[SLOT : 2 * SLOT] = bytes(kept[:SLOT])
    kept[:8], kept[8 : 8 + size] = key, gpu.view(out, size)


def in_variable(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _caching(gpu, a, b, out, n, gpu.variable("cache"))


def in_hidden_variable(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _caching(gpu, a, b, out, n, gpu.variable("hidden"))


def in_shared(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _caching(gpu, a, b, out, n, memoryview(gpu.shared))


def in_local(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _caching(gpu, a, b, out, n, memoryview(gpu.local))


def behind_result(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _caching(gpu, a, b, out, n, gpu.view(out + 4096, 4096))


def only_at_first(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    """Leaves what is there, if the result looks as if it had been computed."""
    if abs(gpu.floats(out, n)[0]) < 100:
        gpu.took(0.1)
        return
    gpu.floats(out, n)[:] = gpu.sums(a, b, n)


def now_and_then(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    """Works in one launch of three, by a clock that nobody else can read."""
    if gpu.launches % 3:
        gpu.took(0.1)
        return
    gpu.floats(out, n)[:] = gpu.sums(a, b, n)


def over_inputs(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    """Right, and then takes away its inputs."""
    gpu.floats(out, n)[:] = gpu.sums(a, b, n)
    gpu.view(a, 4 * n)[:] = bytes(4 * n)
    gpu.view(b, 4 * n)[:] = bytes(4 * n)


def forging(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    """Right, with three quarters of its time hidden from the device's events."""
    gpu.floats(out, n)[:] = gpu.sums(a, b, n)
    gpu.hide(1.5)


def warm(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    """Right, and quick where its input is in the L2, which it asks to keep it."""
    gpu.took(0.5 if gpu.is_cached(a) else 2.0)
    gpu.floats(out, n)[:] = gpu.sums(a, b, n)
    gpu.persist(a)


KERNELS = {
    kernel.__name__: Kernel("<QQQi", kernel)
    for kernel in (
        in_variable,
        in_hidden_variable,
        in_shared,
        in_local,
        behind_result,
        only_at_first,
        now_and_then,
        over_inputs,
        forging,
        warm,
    )
}
