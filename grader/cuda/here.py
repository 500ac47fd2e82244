"""This machine's GPU, for commands that do without one as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.build import DEFAULT_TARGET
from grader.cuda.driver import DeviceFacts
from grader.cuda.presence import has_device, why_not
from grader.cuda.session import RealGPU, ReplayFailed
from grader.explain import sentence
from grader.puzzle import Part
from grader.record.device import DEVICES, Device


@dataclass(frozen=True)
class Here:
    """The GPU's name and what to build for: its compute capability times ten. Where there is none, or none that works,
    `missing` says so in a sentence, and the rest is that of the usual target. `limits` are known of most GPUs, `facts`
    are what the driver says of one that is there.
    """

    name: str
    target: int
    limits: Device | None
    facts: DeviceFacts | None = None
    missing: str | None = None


def gpu_here(part: Part, start: Callable[[Part], RealGPU] = RealGPU) -> Here:
    """Asks the driver, in a process of its own that `start` gives and that ends again."""
    why = why_not() if has_device() else sentence("profile", "no_gpu_here")
    if why is None:
        try:
            with start(part) as gpu:
                facts = gpu.device
                return Here(facts.name, facts.target, DEVICES.get(facts.target), facts)
        except ReplayFailed as failed:
            why = str(failed)
    usual = DEVICES[DEFAULT_TARGET]
    return Here(usual.name, DEFAULT_TARGET, usual, missing=why)
