"""The machine reads a program file without Python's help, and a file that does not fit with one sentence."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.simt.lower import lower
from grader.simt.machine import Machine, MachineError
from grader.simt.program import VERSION, write_program

PTX = sorted((Path(__file__).parent / "ptx").glob("*.ptx"))


def program(directory: Path, source: Path) -> Path:
    path = directory / "program.simt"
    write_program(lower(source.read_text(), source.with_suffix(".cu").name), path)
    return path


@pytest.mark.parametrize("source", PTX, ids=lambda path: path.stem)
def test_every_program_that_is_lowered_can_be_loaded(tmp_path: Path, source: Path) -> None:
    Machine(program(tmp_path, source))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"nowhere\.simt"):
        Machine(tmp_path / "nowhere.simt")


def test_another_version_is_refused_by_its_number(tmp_path: Path) -> None:
    path = program(tmp_path, PTX[0])
    data = bytearray(path.read_bytes())
    data[8:12] = struct.pack("<I", VERSION + 1)
    path.write_bytes(data)
    with pytest.raises(MachineError, match=f"version {VERSION + 1}"):
        Machine(path)


@pytest.mark.parametrize("kept", [0, 4, 11, 100, -1])
def test_a_file_that_ends_too_early_is_refused(tmp_path: Path, kept: int) -> None:
    path = program(tmp_path, PTX[0])
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(MachineError):
        Machine(path)


def test_bytes_behind_the_end_are_refused(tmp_path: Path) -> None:
    path = program(tmp_path, PTX[0])
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(MachineError, match="after its end"):
        Machine(path)


# A process of its own, so that a crash is a failure and not the end of the test run.
_TRY = """
import sys
from pathlib import Path
from grader.simt.machine import Machine, MachineError
from tests.test_machine_loading import launch_everything
for path in sorted(Path(sys.argv[1]).glob("*.mutant")):
    try:
        launch_everything(Machine(path), path)
    except MachineError:
        pass
print("survived")
"""


def launch_everything(machine: Machine, path: Path) -> None:
    """Launches kernels of the unmutated program by name, on no memory at all, with a small budget."""
    for kernel in path.with_suffix(".kernels").read_text().split():
        for block in ((32, 1, 1), (40, 2, 1)):
            machine.launch(
                kernel, (2, 1, 1), block, 0, bytes(256),
                order="forward", seed=0, workers=1, warp_budget=20_000, launch_budget=200_000,
            )  # fmt: skip
            machine.report()


@pytest.mark.parametrize("seed", range(4))
def test_a_mutated_program_is_refused_or_runs_inside_its_bounds(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for number in range(60):
        source = rng.choice(PTX)
        lowered = lower(source.read_text(), source.with_suffix(".cu").name)
        path = tmp_path / f"{number:03}.mutant"
        write_program(lowered, path)
        data = bytearray(path.read_bytes())
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(12, len(data))
            data[at] = rng.choice((0, 1, 2, 127, 128, 255, rng.randrange(256)))
        path.write_bytes(data)
        path.with_suffix(".kernels").write_text(" ".join(f.name for f in lowered.functions if f.flags & 1))
    finished = subprocess.run(
        [sys.executable, "-c", _TRY, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    assert finished.stdout.strip() == "survived"


def test_a_caller_that_was_built_for_another_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(program(tmp_path, PTX[0]))

    monkeypatch.setattr("grader.simt.machine.ctypes.sizeof", lambda _kind: 64)
    order: dict[str, Any] = {"order": "forward", "seed": 0, "workers": 1, "warp_budget": 0, "launch_budget": 0}
    with pytest.raises(MachineError, match="other options than the machine"):
        machine.launch("any", (1, 1, 1), (1, 1, 1), 0, b"", **order)
