"""What `grader doctor` says of a GPU: one line where there is none, and the next step for all that is missing."""

from __future__ import annotations

import functools
import importlib.metadata
import sys
from pathlib import Path

import pytest

from grader import cli
from grader.cuda import equipment as looked_at
from grader.cuda import session
from grader.cuda.equipment import Equipment, equipment
from grader.proof.puzzle import puzzle

PART = puzzle.parts[0]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with the pretended GPU and nothing else: no NVML, no ncu, a PyTorch without CUDA."""

    def nothing(package: str) -> str:
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(looked_at, "has_device", lambda: True)
    monkeypatch.setattr(looked_at, "why_not", lambda: None)
    monkeypatch.setattr(looked_at, "_NCU", "/nowhere/ncu")
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(importlib.metadata, "version", nothing)
    pretend(monkeypatch)
    return monkeypatch


def pretend(monkeypatch: pytest.MonkeyPatch, *mode: str) -> None:
    command = (sys.executable, "-m", "tests.pretend_gpu", *mode)
    monkeypatch.setattr(session, "RealGPU", functools.partial(session.RealGPU, command=command))


def items() -> dict[str, Equipment]:
    return {item.name: item for item in equipment(PART)}


def test_without_a_gpu_there_is_one_line_and_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked_at, "has_device", lambda: False)
    (item,) = equipment(PART)
    assert (item.found, item.is_needed) == (False, False)
    assert item.words == "none: nothing is timed, and everything else works"


def test_a_gpu_is_named_with_its_driver(machine: pytest.MonkeyPatch) -> None:
    found = items()
    assert found["GPU"].found
    assert found["GPU"].words.startswith("Pretended GPU, sm_90, 4 multiprocessors, 16 GiB")
    assert found["driver"].words.endswith("for CUDA 13.0 and older")


def test_what_is_only_missed_says_what_to_type_and_is_not_needed(machine: pytest.MonkeyPatch) -> None:
    found = items()
    assert "pip install nvidia-ml-py" in found["NVML"].words
    assert "ncu" in found
    assert not any(found[name].found or found[name].is_needed for name in ("NVML", "ncu"))
    machine.setattr("shutil.which", lambda name: f"/bin/{name}")
    assert items()["ncu"] == Equipment("ncu", True, "/bin/ncu", is_needed=False)


def test_a_gpu_without_the_bindings_or_with_a_driver_that_fails_is_wrong(machine: pytest.MonkeyPatch) -> None:
    pretend(machine, "no_driver")
    failed = items()["GPU"]
    assert (failed.found, failed.is_needed) == (False, True)
    assert "libcuda" in failed.words
    machine.setattr(looked_at, "why_not", lambda: "pip install it")
    assert items()["GPU"] == Equipment("GPU", False, "pip install it")


@pytest.mark.parametrize(
    ("line", "cuda"), [("cuda: Optional[str] = '13.0'", True), ("cuda: Optional[str] = None", False)]
)
def test_whether_pytorch_is_built_for_cuda_is_read_and_not_imported(
    machine: pytest.MonkeyPatch, tmp_path: Path, line: str, cuda: bool
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise RuntimeError")
    (tmp_path / "torch" / "version.py").write_text(f"debug = False\n{line}\n")
    machine.syspath_prepend(tmp_path)
    machine.delitem(sys.modules, "torch", raising=False)
    item = items()["PyTorch"]
    assert item.found is cuda
    assert ("13.0" if cuda else "pytorch.org") in item.words


def test_the_command_marks_what_is_missed_and_fails_for_what_is_needed(
    machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.setattr("grader.cli.doctor._examine", lambda: iter([(True, "Python", "3")]))
    assert cli.run(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "✔ GPU           Pretended GPU" in shown
    assert "– NVML          missing" in shown
    pretend(machine, "no_driver")
    assert cli.run(["doctor"]) == 3
    assert "✘ GPU" in capsys.readouterr().out
