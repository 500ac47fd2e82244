"""A launch is judged by what the cubin says of its kernel and by the device's limits."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from grader.record.device import DEVICES, device_for
from grader.record.limits import judge

KIB = 1024


@dataclass(frozen=True)
class Needs:
    registers: int = 32
    static_shared: int = 0
    max_threads: int = 1024


def refusal(needs: Needs = Needs(), threads: int = 256, shared: int = 0, allowed: int = 48 * KIB) -> int | None:
    found = judge(needs, DEVICES[80], grid=(1, 1, 1), block=(threads, 1, 1), shared=shared, max_dynamic_shared=allowed)
    return None if found is None else found.code


@pytest.mark.parametrize(
    ("registers", "threads", "fits"),
    [
        (64, 1024, True),
        (65, 1024, False),  # 72, in portions of 8
        (112, 1024, False),
        (112, 512, True),
        (72, 896, True),
        (80, 800, False),  # 25 warps count as 28
        (80, 768, True),
        (255, 256, True),
        (255, 257, False),
    ],
)
def test_registers_are_given_to_whole_warps_on_four_partitions(registers: int, threads: int, fits: bool) -> None:
    assert refusal(Needs(registers=registers), threads) == (None if fits else 701)


def test_shared_memory_past_48_kib_must_be_asked_for() -> None:
    assert refusal(shared=48 * KIB) is None
    assert refusal(shared=48 * KIB + 1) == 1
    assert refusal(shared=100 * KIB, allowed=100 * KIB) is None


def test_an_unknown_architecture_is_taken_for_the_newest_older_one() -> None:
    assert device_for(87).name == "NVIDIA A10"
    assert device_for(103).name.startswith("NVIDIA H100")
    with pytest.raises(ValueError, match="capability 5"):
        device_for(52)
