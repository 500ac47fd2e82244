"""The drawings of the chapter on measuring; all points come from what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.publish.numbers import result
from grader.publish.plot import Plot
from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing

_ROOT = Path(__file__).parents[2]

# Solutions that the roofline shows, and where their names stand: right or left of the dot, or above it.
_ROOFLINE = {
    "1.2": "right",
    "1.5": "left",
    "2.1": "left",
    "2.2": "left",
    "2.4": "left",
    "2.5": "left",
    "4.2": "right",
    "4.4": "left",
    "5.3": "left",
    "6.1": "right",
    "6.3": "right",
    "8.4": "right",
    "8.5": "above",
    "9.3": "left",
}
_LANES, _TENSOR = 128, 4096  # of a multiprocessor, compute capability 9.0: FP32 lanes; products of halves a clock, by 2
_DRAM = 4.8  # TB/s, NVIDIA's data sheet of the H200


def timeline() -> Drawing:
    """What the host's clock sees of a kernel, and what events do."""
    sketch = Sketch("A launch on the host, and the kernel that runs later on the GPU")
    sketch.text(10, 40, "host", kind="soft")
    sketch.text(10, 92, "GPU", kind="soft")
    sketch.box(64, 22, 60, 28, "launch", fill="load-past")
    sketch.line(64, 66, 390, 66, dashed=True)
    sketch.bracket(64, 124, 20, "host's clock", above=True)
    sketch.box(64, 74, 96, 28, "flush the L2", fill="empty")
    sketch.box(166, 74, 18, 28, "e", fill="store-past")
    sketch.box(188, 74, 140, 28, "kernel", fill="load")
    sketch.box(332, 74, 18, 28, "e", fill="store-past")
    sketch.arrow(126, 36, 196, 72)
    sketch.text(176, 48, "waits in the stream", kind="soft")
    sketch.bracket(175, 341, 106, "between two events")
    return sketch.drawing()


def read_again() -> Drawing:
    """GB/s of reading the same data again, by its size: in the L2 cache, and too large for it."""
    measured = result(_ROOT, "h200/memory.json")
    points = [(row["mib"], row["gb_per_s"]) for row in measured["read_again"]]
    sketch = Sketch("GB/s of reading data again, by its size in MiB")
    plot = Plot(
        sketch, (3, 5000), (1000, 20_000), x_title="MiB that are read again and again", y_title="GB/s", log=True
    )
    plot.curve(points, "load")
    for mib, rate in points:
        plot.dot(mib, rate, kind="load")
    at = plot.x(measured["l2_mib"])
    sketch.line(at, plot.top, at, plot.top + plot.height, dashed=True)
    sketch.text(at + 6, plot.top + plot.height - 8, f"L2: {measured['l2_mib']} MiB", kind="small")
    return sketch.drawing()


def laps() -> Drawing:
    """Three processes in turn: twice the same kernel, and one with 3 % more to do."""
    race = result(_ROOT, "h200/decisions.json")["kernels"]["memory"]["races"][0]["laps"]
    sketch = Sketch("Microseconds by round: a kernel, the same kernel in another process, and one with 3 % more to do")
    kinds = {"yours": "load", "itself": "store", "more": "w5"}
    times = {name: [1e3 * ms for ms in race[name]] for name in kinds}
    low = min(min(values) for values in times.values())
    high = max(max(values) for values in times.values())
    plot = Plot(
        sketch,
        across=(0, len(times["yours"]) + 1),
        up=(low - 0.6, high + 0.6),
        x_title="round",
        y_title="µs",
        height=170,
    )
    for name, values in times.items():
        for place, value in enumerate(values, 1):
            plot.dot(place, value, kind=kinds[name])
    sketch.legend(48, 256, {"load": "a kernel", "store": "the same, another process", "w5": "3 % more to do"})
    return sketch.drawing()


def roofline() -> Drawing:
    """Solutions by operations a byte, below what memory and arithmetic give at best."""
    parts = {part["label"]: part for part in result(_ROOT, "h200/timings.json")["parts"]}
    light = result(_ROOT, "h200/first_light.json")["about"]
    clock = 1e6 * parts["1.5"]["sensors"]["sm_mhz"] * light["multiprocessors"]
    memory = parts["1.5"]["gb_per_s"] * parts["1.5"]["ms"] / _ceiling(parts["1.5"])["ms"] / 1e3  # TB/s
    floats, halves = (_rate(parts[label]) for label in ("2.1", "4.2"))

    sketch = Sketch("Roofline of an H200: operations a second by operations a byte, both logarithmic")
    plot = Plot(sketch, (0.02, 5000), (0.08, 3000), log=True, x_title="FLOP a byte", y_title="TFLOP/s", height=300)
    low, high = plot.across
    for peak in (2 * _LANES * clock / 1e12, _TENSOR * clock / 1e12):
        plot.curve([(low, low * _DRAM), (peak / _DRAM, peak), (high, peak)], "soft", dashed=True)
    plot.curve([(low, low * memory), (halves / memory, halves), (high, halves)], "good")
    plot.curve([(low, low * memory), (floats / memory, floats), (high, floats)], "load")
    sketch.text(plot.x(60), plot.y(halves), "tensor cores, halves", kind="small", align="end")
    sketch.text(plot.x(5), plot.y(floats), "single precision", kind="small", align="end")
    for label, intensity, rate in _points(parts):
        above = _ROOFLINE[label] == "above"
        plot.dot(intensity, rate, "" if above else label, "store", left=_ROOFLINE[label] == "left")
        if above:
            sketch.text(plot.x(intensity), plot.y(rate) - 8, label, kind="small", align="middle")
    return sketch.drawing()


def _points(parts: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    for label in _ROOFLINE:
        part = parts[label]
        yield label, 1e3 * part["tflop_per_s"] / part["gb_per_s"], part["tflop_per_s"]


def _ceiling(part: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(rival for rival in part["rivals"] if rival["name"] == "ceiling")
    return found


def _rate(part: Mapping[str, Any]) -> float:
    """TFLOP/s of what bounds the part."""
    return float(part["tflop_per_s"] * part["ms"] / _ceiling(part)["ms"])
