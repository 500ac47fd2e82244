"""The notebook that times a class: it is one, and its cells do what they say on a pretended machine with a GPU."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from grader.cli import run
from grader.leaderboard.entry import entry_from_json, read_results
from tests.judging import ROOT
from tests.small_course import make_course

NOTEBOOK = ROOT / "notebooks" / "time_a_class.ipynb"
MAGIC = re.compile(r"^(?P<indent> *)(?P<sign>[!%])(?P<command>.*)$", re.MULTILINE)

# What a command of the notebook is on the pretended machine; each notes that it was called.
COMMANDS = {
    "git": 'cp -r "$COURSE_AT" "${@: -1}"',
    "pip": ":",
    "apt-get": ":",
    "nvidia-smi": 'echo "$DRIVER"',
}
GRADER = """import sys
from grader.cli import main, timed
from grader.cuda import rivals
from grader.cuda.session import RealGPU

timed._no_gpu = lambda: None
rivals.rivals_of = lambda *_, **__: []
RealGPU.__init__.__kwdefaults__["command"] = (sys.executable, "-m", "tests.pretend_gpu")
main()
"""


def cells() -> list[str]:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    return [str(cell.source) for cell in notebook.cells if cell.cell_type == "code"]


def as_python(cell: str) -> str:
    """A cell with its shell commands and magics as calls."""
    return MAGIC.sub(lambda found: f"{found['indent']}command({found['sign']!r}, {found['command']!r})", cell)


def test_it_is_a_valid_notebook_without_anybodys_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=nbformat.NO_CONVERT)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    assert (notebook.nbformat, NOTEBOOK.stat().st_size < 10_000) == (4, True)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")


def test_its_cells_are_python() -> None:
    for cell in cells():
        ast.parse(as_python(cell))


def test_what_it_installs_is_there_to_be_installed() -> None:
    extras = re.search(r'"\$folder\[([\w,]+)\]"', "\n".join(cells()))
    assert extras is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras[1].split(",")) <= project["optional-dependencies"].keys()


class Machine:
    """Runs cells: programs of COMMANDS are stand-ins, `grader` is ours on a pretended GPU."""

    def __init__(self, root: Path, course: Path, driver: str) -> None:
        self.root = root
        self.names: dict[str, object] = {"command": self.command}
        programs = root / "bin"
        programs.mkdir()
        for name, does in COMMANDS.items():
            self._program(programs / name, f'echo {name} "$@" >> "{root}/called"\n{does}\n')
        (root / "program.py").write_text(GRADER)
        self._program(programs / "grader", f'exec {sys.executable} "{root}/program.py" "$@"\n')
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "COURSE_AT": str(course),
            "DRIVER": driver,
        }

    @staticmethod
    def _program(path: Path, text: str) -> None:
        path.write_text(f"#!/bin/bash\n{text}")
        path.chmod(0o755)

    def run(self, cell: str) -> None:
        exec(as_python(cell), self.names)

    def command(self, sign: str, words: str) -> None:
        filled = re.sub(r"\$(\w+)", lambda found: str(self.names[found[1]]), words)
        if sign == "%":
            magic, _, argument = filled.partition(" ")
            assert magic == "cd"
            os.chdir(argument)
            return
        done = subprocess.run(["/bin/bash", "-c", filled], capture_output=True, text=True, check=False)
        self.said = done.stdout + done.stderr
        assert done.returncode == 0, f"{filled}: {self.said}"

    @property
    def called(self) -> str:
        return (self.root / "called").read_text()


NEW_DRIVER, OLD_DRIVER = "580.95.05", "550.54.15"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, str], Machine]:
    def started(course: Path, driver: str) -> Machine:
        (tmp_path / "content").mkdir()
        monkeypatch.chdir(tmp_path / "content")
        made = Machine(tmp_path, course, driver)
        monkeypatch.setenv("LD_LIBRARY_PATH", "")
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        return made

    return started


def test_its_cells_time_the_bundles(
    machine: Callable[[Path, str], Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = make_course(tmp_path / "course")
    (course / "pyproject.toml").touch()
    (course / "bundles").mkdir()
    monkeypatch.chdir(course)
    assert run(["bundle", "1.1", "--for", "H100", "--out", "bundles/mine.zip"]) == 0
    colab = machine(course, NEW_DRIVER)
    for cell in cells():
        colab.run(cell.replace("https://…/course.zip", "https://example.org/course.git"))
    (entry,) = (entry_from_json(plain) for plain in read_results(Path("results.json").read_text()))
    assert entry.timing.device == "Pretended GPU"
    assert "pip install -q -e fetched[nvcc,gpu]" in colab.called
    assert "cuda-compat-13-0" not in colab.called
    assert os.environ["LD_LIBRARY_PATH"] == ""


def test_an_old_driver_gets_the_package_for_forward_compatibility(
    machine: Callable[[Path, str], Machine], tmp_path: Path
) -> None:
    colab = machine(tmp_path, OLD_DRIVER)
    (cell,) = (cell for cell in cells() if "nvidia-smi" in cell)
    colab.run(cell)
    assert "apt-get -qq install -y cuda-compat-13-0" in colab.called
    assert "/usr/local/cuda-13.0/compat" in os.environ["LD_LIBRARY_PATH"]
