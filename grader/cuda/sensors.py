"""What the GPU's sensors say, through nvidia-ml-py where it is installed; nothing where it is not."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

# Why a GPU runs slower than it could; the idle reason, bit 0, is none. Bits as in nvml.h, NVML_CLOCKS_EVENT_REASON_….
_REASONS = {
    0x002: "application clocks",
    0x004: "power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "temperature",
    0x040: "hardware temperature",
    0x080: "power brake",
    0x100: "display clocks",
}


# Those that tell of a GPU that is too hot or badly fed, and that a pause may end. A power cap does not: a large GPU is
# at its own whenever it multiplies matrices.
_PASSING = 0x008 | 0x020 | 0x040 | 0x080


class Sensors:
    """The sensors of one GPU, by its UUID."""

    def __init__(self, uuid: str) -> None:
        self._library: Any = None
        try:
            library = importlib.import_module("pynvml")
            library.nvmlInit()
            self._handle = library.nvmlDeviceGetHandleByUUID(uuid)
        except Exception:  # not installed, no library, no such GPU: the times stand without
            return
        self._library = library

    def driver(self) -> str | None:
        """The driver's own version: 580.159.04."""
        return str(self._library.nvmlSystemGetDriverVersion()) if self._library is not None else None

    def held_down(self) -> list[str]:
        """What holds the clocks down now and may end: temperature, a brake; empty where nobody can say."""
        if self._library is None:
            return []
        with contextlib.suppress(Exception):
            return _reasons(self._library.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle) & _PASSING)
        return []

    def read(self) -> dict[str, float | list[str]]:
        """Clocks in MHz, temperature in °C, power in W, what holds the clocks down; what cannot be read is missing."""
        found: dict[str, float | list[str]] = {}
        if self._library is None:
            return found
        nvml, handle = self._library, self._handle
        for name, read in (
            ("sm_mhz", lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            ("memory_mhz", lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)),
            ("celsius", lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            ("watts", lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000),
            ("held_down_by", lambda: _reasons(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))),
        ):
            with contextlib.suppress(Exception):
                found[name] = read()
        return found


def _reasons(bits: int) -> list[str]:
    return [name for bit, name in _REASONS.items() if bits & bit]
