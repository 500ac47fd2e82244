"""The attacks on timed runs as kernels of the stand-in driver: `python -m tests.pretend_gpu --kernels` this module.

Each does in Python what its source in `laps` does on a GPU, with what the stand-in keeps from launch to launch. One
that computes takes `HONEST` milliseconds, one that only gives what it has kept takes `KEPT`.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.pretend_gpu import Kernel, PretendDriver

HONEST, KEPT = 2.0, 0.1
_MARK = b"kept"
_SLOTS = 4
CACHE_BYTES = 1 << 16
_luck = random.Random(7)  # the same laps every time


def skips_later_laps(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _unless(gpu.variable("cache"), gpu, lambda: _compute(gpu, a, b, out, n))


def skips_laps_by_chance(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    if _luck.random() < 0.2:
        _compute(gpu, a, b, out, n)
    else:
        gpu.took(KEPT)


def keeps_answers_in_the_module(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    cache, size = gpu.variable("cache"), 4 * n
    for slot in range(_SLOTS):
        known, kept = cache[8 * slot : 8 * slot + 8], cache[64 + slot * size : 64 + (slot + 1) * size]
        now = bytes(gpu.view(a, size)[:8])
        if bytes(known) in (now, bytes(8)):
            _kept_or_computed(gpu, kept, bytes(known) == now, a, b, out, n)
            known[:] = now
            return


def keeps_answers_in_its_inputs(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    inputs = gpu.view(a, 4 * n)
    mark = gpu.view(b, 4 * n)[:4]
    _kept_or_computed(gpu, inputs, bytes(mark) == _MARK, a, b, out, n)
    mark[:] = _MARK


def keeps_answers_behind_its_result(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _marked(gpu, gpu.view(out + 4 * n, 4 * n + 4), a, b, out, n)


def finds_old_allocations(gpu: PretendDriver, a: int, b: int, out: int, kept: int, n: int) -> None:
    _marked(gpu, gpu.view(kept, 4 * n + 4), a, b, out, n)


def finds_old_shared_memory(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _marked(gpu, memoryview(gpu.shared)[: 4 * n + 4], a, b, out, n)


def finds_old_reserved_memory(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _marked(gpu, memoryview(gpu.reserved)[: 4 * n + 4], a, b, out, n)


def finds_old_local_memory(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _marked(gpu, memoryview(gpu.local)[: 4 * n + 4], a, b, out, n)


def finds_old_heap(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _marked(gpu, memoryview(gpu.heap)[: 4 * n + 4], a, b, out, n)


def keeps_answers_in_managed_memory(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    _marked(gpu, gpu.variable("cache")[: 4 * n + 4], a, b, out, n)


def finds_a_warm_l2(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    gpu.took(KEPT if gpu.is_cached(a) and gpu.is_cached(b) else HONEST)
    _compute(gpu, a, b, out, n)


def keeps_lines_in_the_l2(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    finds_a_warm_l2(gpu, a, b, out, n)
    gpu.persist(a)
    gpu.persist(b)


def behaves_while_it_is_watched(gpu: PretendDriver, a: int, _b: int, out: int, n: int) -> None:
    gpu.view(out, 4 * n)[:] = bytes(gpu.view(a, 4 * n))


def _compute(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    gpu.floats(out, n)[:] = gpu.sums(a, b, n)


def _unless(mark: memoryview, gpu: PretendDriver, work: Callable[[], None]) -> None:
    if bytes(mark[:4]) == _MARK:
        gpu.took(KEPT)
    else:
        work()
        mark[:4] = _MARK


def _kept_or_computed(gpu: PretendDriver, kept: memoryview, found: bool, a: int, b: int, out: int, n: int) -> None:
    if found:
        gpu.view(out, 4 * n)[:] = bytes(kept)
        gpu.took(KEPT)
    else:
        _compute(gpu, a, b, out, n)
        kept[:] = bytes(gpu.view(out, 4 * n))


def _marked(gpu: PretendDriver, memory: memoryview, a: int, b: int, out: int, n: int) -> None:
    """Answers, and behind them the mark by which they are known."""
    _kept_or_computed(gpu, memory[: 4 * n], bytes(memory[4 * n :]) == _MARK, a, b, out, n)
    memory[4 * n :] = _MARK


_ATTACKS: tuple[Callable[..., None], ...] = (
    skips_later_laps,
    skips_laps_by_chance,
    keeps_answers_in_the_module,
    keeps_answers_in_its_inputs,
    keeps_answers_behind_its_result,
    finds_old_shared_memory,
    finds_old_reserved_memory,
    finds_old_local_memory,
    finds_old_heap,
    keeps_answers_in_managed_memory,
    finds_a_warm_l2,
    keeps_lines_in_the_l2,
    behaves_while_it_is_watched,
)
KERNELS = {attack.__name__: Kernel("<QQQi", attack) for attack in _ATTACKS}
KERNELS["finds_old_allocations"] = Kernel("<QQQQi", finds_old_allocations)
