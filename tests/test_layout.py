"""The shape of the tree: modules of a size that can be read, imports that run downward, nothing left behind."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.judging import ROOT

MODULES = sorted((ROOT / "grader").rglob("*.py"))
NATIVE = [path for kind in ("*.cpp", "*.hpp") for path in sorted((ROOT / "grader").rglob(kind))]
TEXTS = [
    path
    for folder in ("grader", "tests", "puzzles", "solutions", "docs", ".ci")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.is_file() and path.suffix in (".py", ".cpp", ".hpp", ".cu", ".md", ".json", ".toml", ".txt", "")
] + [path for path in ROOT.iterdir() if path.is_file()]
MOST_LINES, MOST_NATIVE_LINES = 400, 700
GROUND_FLOOR = (
    "puzzle.py",
    "buffers.py",
    "evidence.py",
    "extent.py",
    "cache.py",
    "strict_json.py",
    "record/plan.py",
    "record/operations.py",
)
VAGUE = {"utils", "common", "helpers", "helper", "manager", "misc"}


def imported(path: Path) -> set[str]:
    """Names of the modules that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"grader.{alias.name}" for alias in node.names] if node.module == "grader" else []
            names |= {node.module, *inside}
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    assert path.stem not in VAGUE


@pytest.mark.parametrize("path", NATIVE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_native_file_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_NATIVE_LINES


@pytest.mark.parametrize("name", GROUND_FLOOR)
def test_the_ground_floor_imports_nothing_from_above(name: str) -> None:
    level = {"grader." + other.removesuffix(".py").replace("/", ".") for other in GROUND_FLOOR}
    above = {
        module for module in imported(ROOT / "grader" / name) if module.split(".")[0] in ("grader", "torch", "numpy")
    }
    assert above <= level


FLOORS = (
    "closing",
    "cache",
    "toolchain",
    "cage",
    "build",
    "record",
    "simt",
    "cuda",
    "timed",
    "check",
    "trace",
    "profile",
    "sweep",
    "leaderboard",
    "bundle",
    "publish",
    "cli",
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_run_downward(path: Path) -> None:
    own = path.relative_to(ROOT / "grader").parts[0].removesuffix(".py")
    if own not in FLOORS:
        return
    above = FLOORS[FLOORS.index(own) + 1 :]
    upward = {module for module in imported(path) if module.startswith("grader.") and module.split(".")[1] in above}
    assert not upward


def test_the_command_line_starts_without_torch_and_numpy() -> None:
    program = "import sys, grader.cli; print([name for name in ('torch', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_is_left_to_do_and_no_machine_is_named() -> None:
    left = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")
    machine = f"{ROOT.as_posix()}/"
    for path in TEXTS:
        text = path.read_text(encoding="utf-8", errors="replace")
        assert not left.search(text), path
        assert machine not in text, path
