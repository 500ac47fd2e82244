"""A sweep on a pretended GPU: every shape in turn with the file as it is, and what becomes of those that fail there."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from grader.catalog import load_catalog
from grader.cuda import presence
from grader.cuda.contest import Rule
from grader.cuda.session import RealGPU
from grader.puzzle import Part
from grader.submission import Submission
from grader.sweep import choice
from grader.sweep.run import sweep
from grader.sweep.shapes import Swept
from grader.sweep.table import print_swept
from grader.tools import TorchLoading, default_tools
from tests.judging import ROOT

KERNEL = """
#include <cuda_runtime.h>

constexpr int BLOCK = 256;

extern "C" __global__ void swept_kernel(const float* a, const float* b, float* out, int n, int block) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = a[i] + b[i];
}

extern "C" cudaError_t vector_add_block(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    swept_kernel<<<1, BLOCK, 0, stream>>>(a, b, out, n, BLOCK);
    return cudaGetLastError();
}
"""
PRETENDED = (sys.executable, "-m", "tests.pretend_gpu", "--kernels", "tests.pretend_sweep")


def swept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], *command: str, source: str = KERNEL
) -> tuple[Swept, list[str]]:
    """On a machine that seems to have the pretended GPU."""
    (folder / "nvidiactl").touch()
    monkeypatch.setattr(presence, "DEVICE_FILES", (str(folder / "nvidiactl"),))
    monkeypatch.setattr(presence, "_has_bindings", lambda: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(choice, "SIZES", sizes)
    path = folder / "own.cu"
    path.write_text(source)
    located = load_catalog(ROOT).resolve("1.1")[1]
    assert located is not None
    told: list[str] = []

    def start(part: Part) -> RealGPU:
        return RealGPU(part, command=command or PRETENDED)

    found = sweep(
        Submission(located, path, "own.cu"),
        None,
        seed=7,
        tools=default_tools(),
        loading=TorchLoading(),
        progress=told.append,
        start=start,
        rule=Rule(warm_up=1, least_rounds=12, most_rounds=12),
    )
    return found, told


def test_each_shape_is_timed_beside_the_file_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    found, told = swept(tmp_path, monkeypatch, (64, 128, 256, 512, 1024))
    assert (found.device, found.no_times) == ("Pretended GPU", None)
    times = {shape.value: shape.time for shape in found.shapes if shape.time is not None}
    assert {value: (time.ms, time.times, time.decision) for value, time in times.items()} == {
        64: (4.0, 0.5, "slower"),
        128: (pytest.approx(1.99), pytest.approx(2 / 1.99), "tie"),
        256: (2.0, 1.0, None),
        512: (1.0, 2.0, "faster"),
    }
    (left_out,) = [shape for shape in found.shapes if shape.time is None]
    assert (left_out.value, left_out.refused) == (1024, None)
    assert "memory that is not there" in str(left_out.untimed)
    assert found.best is not None
    assert found.best.value == 512
    assert json.loads(found.to_json())["best"] == 512
    assert told[0] == "Blocks of 256 threads are tried: 1 of 5."
    assert told[-1] == "Blocks of 1024 threads are timed: 4 of 5."

    print_swept(Console(highlight=False, width=60), found)
    narrow = capsys.readouterr().out.split("\n\n")[2].splitlines()
    (row,) = [row for row in narrow if row.split()[:1] == ["64"]]
    assert row.split()[-2:] == ["0.500×", "slower"]
    assert max(map(len, narrow)) <= 60

    print_swept(Console(highlight=False, width=120), found)
    said = capsys.readouterr().out
    assert "Fastest: BLOCK = 512, 2.000 × as fast as the file (2.000 to 2.000)." in said
    assert "1024 was not timed: A kernel read or wrote memory that is not there" in said
    assert "▶" in said


def test_a_tie_is_no_reason_to_change_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    found, _ = swept(tmp_path, monkeypatch, (128, 256))
    assert found.best is None
    print_swept(Console(highlight=False, width=120), found)
    assert "None is faster than the file as it is, beyond what is a tie." in capsys.readouterr().out


def test_a_gpu_that_does_not_work_leaves_everything_but_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = swept(tmp_path, monkeypatch, (128, 256), *PRETENDED[:3], "no_driver")
    assert all(shape.right and shape.occupancy is not None and shape.time is None for shape in found.shapes)
    assert found.no_times is not None
    assert "libcuda" in found.no_times


def test_a_file_that_fails_on_the_gpu_has_no_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = swept(tmp_path, monkeypatch, (512, 1024), source=KERNEL.replace("256", "1024"))
    assert all(shape.right and shape.time is None for shape in found.shapes)
    assert found.no_times is not None
    assert found.no_times.startswith("A kernel read or wrote memory that is not there")
