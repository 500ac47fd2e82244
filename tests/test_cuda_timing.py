"""The arithmetic on times, what the two processes say to each other, and the look for a GPU."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.cuda import presence
from grader.cuda.sensors import Sensors
from grader.cuda.timing import gigabytes_per_second, median_interval
from grader.explain import sentence
from grader.wire import WireBroken, read_into, receive, send
from tests.gpu.alone import LEAST_RUNS, MOST_RUNS, Times, enough


# n, and k: the k-th smallest and largest of n values bound the median, by tables of the binomial distribution, p = 1/2.
@pytest.mark.parametrize(("count", "rank"), [(6, 1), (10, 2), (20, 6), (30, 10), (50, 18), (100, 40)])
def test_the_interval_of_the_median_is_that_of_the_tables(count: int, rank: int) -> None:
    values = [float(value) for value in range(1, count + 1)]
    assert median_interval(values[::-1]) == (rank, count + 1 - rank)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_values_give_their_whole_range(count: int) -> None:
    assert median_interval([float(value) for value in range(count)]) == (0.0, count - 1.0)


def test_one_slow_run_moves_neither_the_median_nor_its_interval_far() -> None:
    times = Times((*[1.0] * 50, 100.0), {})
    assert times.median == 1.0
    assert times.interval == (1.0, 1.0)


def test_there_are_enough_times_when_the_interval_is_narrow_or_patience_ends() -> None:
    assert not enough([1.0] * (LEAST_RUNS - 1))
    assert enough([1.0] * LEAST_RUNS)
    spread = [1.0 + 0.1 * (number % 10) for number in range(MOST_RUNS)]
    assert not enough(spread[:-1])
    assert enough(spread)


def test_bytes_over_milliseconds_are_gigabytes_a_second() -> None:
    assert gigabytes_per_second(12 << 28, 0.7358) == pytest.approx(4377.9, abs=0.1)
    assert gigabytes_per_second(0, 0.0) == 0.0


def test_a_frame_carries_an_object_and_raw_bytes() -> None:
    stream = io.BytesIO()
    send(stream, {"do": "fill"}, b"values")
    stream.seek(0)
    message, raw_bytes = receive(stream)
    raw = bytearray(raw_bytes)
    read_into(stream, memoryview(raw))
    assert (message, bytes(raw)) == ({"do": "fill"}, b"values")


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"\x02\0\0\0\0\0\0\0\0\0\0\0{",
        b"\x02\0\0\0\0\0\0\0\0\0\0\0[]",
        b"\xff" * 12,
        b"\x01\0\0\0\0\0\0\0\0\0\0\0{",
    ],
)
def test_what_is_no_frame_is_said_so(written: bytes) -> None:
    with pytest.raises(WireBroken):
        receive(io.BytesIO(written))


def test_a_machine_without_a_gpu_is_told_so_in_under_a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "DEVICE_FILES", ("/nonexistent/nvidiactl", "/nonexistent/dxg"))
    begun = time.perf_counter()
    for _ in range(10):
        why = presence.why_not()
    assert time.perf_counter() - begun < 0.01
    assert why == "No NVIDIA GPU was found here: leave --device away, and the software GPU judges."


def test_a_hidden_gpu_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(presence, "DEVICE_FILES", (str(tmp_path),))
    monkeypatch.setattr(presence, "_has_bindings", lambda: True)
    assert presence.why_not() is None
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert presence.why_not() is not None


def test_a_gpu_without_the_bindings_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(presence, "DEVICE_FILES", (str(tmp_path),))
    monkeypatch.setattr(presence, "_has_bindings", lambda: False)
    assert "pip install" in (presence.why_not() or "")


# ---- sensors --------------------------------------------------------------------------------------------------------


def sensors_that_say(reasons: int, monkeypatch: pytest.MonkeyPatch) -> Sensors:
    """Those of a GPU whose clocks are held down by what these bits of nvml.h say."""

    def too_new(_handle: object) -> int:
        raise RuntimeError("not supported")

    library = SimpleNamespace(
        NVML_CLOCK_SM=1,
        NVML_CLOCK_MEM=2,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlSystemGetDriverVersion=lambda: "580.159.04",
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetClockInfo=lambda _handle, clock: {1: 1980, 2: 3201}[clock],
        nvmlDeviceGetTemperature=lambda _handle, _sensor: 61,
        nvmlDeviceGetPowerUsage=too_new,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda _handle: reasons,
    )
    monkeypatch.setitem(sys.modules, "pynvml", library)
    return Sensors("GPU-0")


@pytest.mark.parametrize(
    ("reasons", "said", "acted_on"),
    [
        (0x001, [], []),  # it has nothing to do
        (0x004, ["power cap"], []),  # as ever when it multiplies matrices
        (0x020, ["temperature"], ["temperature"]),
        (0x0C4, ["power cap", "hardware temperature", "power brake"], ["hardware temperature", "power brake"]),
    ],
)
def test_only_what_a_pause_may_end_is_acted_on(
    reasons: int, said: list[str], acted_on: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sensors = sensors_that_say(reasons, monkeypatch)
    assert sensors.read() == {"sm_mhz": 1980, "memory_mhz": 3201, "celsius": 61, "held_down_by": said}
    assert sensors.held_down() == acted_on
    assert all(sentence("held_down", reason) for reason in acted_on)


def test_without_the_library_there_are_no_sensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    sensors = Sensors("GPU-0")
    assert (sensors.read(), sensors.held_down(), sensors.driver()) == ({}, [], None)
