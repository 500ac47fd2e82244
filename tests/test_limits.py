"""What no kernel can beat: the GPU's own rates. Nothing honest is past them, and what did nothing is."""

from __future__ import annotations

import pytest

from grader.catalog import load_catalog
from grader.cuda.driver import DeviceFacts
from grader.cuda.limits import bound_of, bytes_read, bytes_written, past_the_peak, peaks_of
from grader.puzzle import Part, call_by_name
from tests.judging import ROOT

PARTS = {located.label: located.part for puzzle in load_catalog(ROOT).puzzles for located in puzzle.parts}
H200 = DeviceFacts(
    name="NVIDIA H200",
    target=90,
    multiprocessors=132,
    l2_bytes=60 << 20,
    memory_bytes=140 << 30,
    driver=13_000,
    uuid="GPU-0",
    clock_khz=1_980_000,
    memory_khz=3_201_000,
    bus_bits=6144,
)
NO_OP_MS = 0.002
# Milliseconds on an H200 of what is near the limit: torch.add (1.2), the fastest copies, sums, and steps, PyTorch's
# products (2.5, 4.4), its attention (8.5), and a decode that only reads (8.6).
HONEST = {"1.2": 0.73, "3.6": 0.49, "5.5": 0.25, "9.3": 0.72, "2.5": 2.67, "4.4": 0.176, "8.5": 0.8, "8.6": 0.5}


def test_the_rates_are_those_of_the_data_sheets() -> None:
    peaks = peaks_of(H200)
    assert peaks.bytes == pytest.approx(4.9e12, rel=0.01)  # 4.8 TB/s at a slightly lower clock
    assert peaks.flops == pytest.approx(67e12, rel=0.01)
    assert peaks.tensor_flops == pytest.approx(989e12 * 1.98 / 1.83, rel=0.01)  # named for a boost of 1.83 GHz


@pytest.mark.parametrize(
    ("target", "multiprocessors", "clock_khz", "memory_khz", "bus_bits", "gigabytes", "teraflops", "in_half"),
    [
        (75, 40, 1_590_000, 5_001_000, 256, 320, 8.1, 65),  # T4
        (80, 108, 1_410_000, 1_215_000, 5120, 1555, 19.5, 312),  # A100 40 GB
        (89, 128, 2_520_000, 10_501_000, 384, 1008, 82.6, 330),  # RTX 4090
    ],
)
def test_so_are_those_of_other_gpus(
    target: int,
    multiprocessors: int,
    clock_khz: int,
    memory_khz: int,
    bus_bits: int,
    gigabytes: float,
    teraflops: float,
    in_half: float,
) -> None:
    clocks = {"clock_khz": clock_khz, "memory_khz": memory_khz, "bus_bits": bus_bits}
    peaks = peaks_of(DeviceFacts("", target, multiprocessors, 0, 0, 0, "", **clocks))
    found = (peaks.bytes / 1e9, peaks.flops / 1e12, peaks.tensor_flops / 1e12)
    assert found == pytest.approx((gigabytes, teraflops, in_half), rel=0.02)


@pytest.mark.parametrize(("label", "ms"), HONEST.items())
def test_what_is_fast_and_honest_is_not_refused(label: str, ms: float) -> None:
    assert past_the_peak(PARTS[label], PARTS[label].bench, ms, H200) is None


@pytest.mark.parametrize("label", sorted(HONEST))
def test_what_did_nothing_is_refused(label: str) -> None:
    refused = past_the_peak(PARTS[label], PARTS[label].bench, NO_OP_MS, H200)
    assert refused is not None
    assert refused.startswith("0.002 ms cannot be: ")
    assert "NVIDIA H200" in refused


def test_half_of_the_work_is_refused_where_the_rest_runs_at_full_speed() -> None:
    for label in ("1.2", "3.6", "5.5", "8.6"):
        assert past_the_peak(PARTS[label], PARTS[label].bench, HONEST[label] / 2, H200) is not None, label


def test_operations_that_no_tensor_core_could_finish_are_refused() -> None:
    part, ms = PARTS["2.5"], 1e3 * 2 * 4096**3 / peaks_of(H200).tensor_flops
    refused = past_the_peak(part, part.bench, 0.9 * ms, H200)
    assert refused is not None
    assert "operations take" in refused
    assert past_the_peak(part, part.bench, ms, H200) is None


def test_results_may_stay_in_the_cache() -> None:
    part, case = PARTS["3.6"], PARTS["3.6"].bench
    assert bytes_read(part, case) == bytes_written(part, case) == 1 << 30
    large = DeviceFacts(**{**vars(H200), "l2_bytes": 4 << 30})
    ms = 1e3 * (1.5 * (1 << 30)) / peaks_of(H200).bytes
    assert past_the_peak(part, case, ms, H200) is not None
    assert past_the_peak(part, case, ms, large) is None


def test_no_more_has_to_be_read_than_the_part_says() -> None:
    step = PARTS["2.6"]
    assert bytes_read(step, step.bench) == call_by_name(step.work, step.bench.params).bytes - 4 * 4096 * 4096
    untouched = type(step.bench).of({**step.bench.params, "beta": 0.0})
    assert bytes_read(step, step.bench) - bytes_read(step, untouched) == 4 * 4096 * 4096  # the old C
    assert all(
        0 <= bytes_read(part, part.bench) <= call_by_name(part.work, part.bench.params).bytes
        for part in PARTS.values()
        if not part.is_host
    )


def test_a_gpu_whose_clocks_nobody_knows_refuses_nothing() -> None:
    unknown = DeviceFacts("a GPU", 110, 20, 1 << 20, 1 << 34, 13_000, "GPU-1")
    assert past_the_peak(PARTS["1.2"], PARTS["1.2"].bench, NO_OP_MS, unknown) is None
    assert bound_of(PARTS["1.2"], PARTS["1.2"].bench, unknown) == "memory"


@pytest.mark.parametrize(
    ("bound", "labels"),
    [
        ("launch", ["1.1", "4.1", "5.1"]),
        ("memory", ["1.2", "3.2", "5.7", "6.6", "7.1", "7.5", "8.2", "8.3", "8.6", "9.5", "10.4", "10.9"]),
        ("compute", ["2.1", "2.6", "4.5", "7.3", "7.6", "7.8", "8.1", "8.5", "8.7", "10.6", "10.8"]),
    ],
)
def test_what_bounds_a_part_follows_from_its_work(bound: str, labels: list[str]) -> None:
    assert {label for label in labels if bound_of(PARTS[label], PARTS[label].bench, H200) != bound} == set()


def test_every_part_can_be_timed_honestly() -> None:
    for part in PARTS.values():
        if not part.is_host:
            assert past_the_peak(part, part.bench, _at_full_rate(part), H200) is None, part.name


def _at_full_rate(part: Part) -> float:
    """Milliseconds that everything takes at the highest rates, launch apart."""
    peaks, moved = peaks_of(H200), bytes_read(part, part.bench) + bytes_written(part, part.bench)
    flops: int = call_by_name(part.work, part.bench.params).flops
    return 1e3 * max(moved / peaks.bytes, flops / peaks.tensor_flops)
