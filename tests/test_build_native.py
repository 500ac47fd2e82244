"""Our own C++: compiled once for its content, by all cores, with warnings as errors."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from grader import native
from grader.build import NativeBuildFailed, build_library
from grader.cache import ToolMissing
from grader.native import Recipe, build_recipe
from grader.toolchain import find_toolchain


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    """A program of two sources and a header that prints a number."""
    directory = tmp_path / "own code"
    directory.mkdir()
    (directory / "number.hpp").write_text("constexpr int number = 7;\nint twice(int);\n")
    (directory / "main.cpp").write_text(
        '#include <cstdio>\n#include "number.hpp"\nint main() { printf("%d\\n", twice(number)); }\n'
    )
    (directory / "twice.cpp").write_text('#include "number.hpp"\nint twice(int x) { return 2 * x; }\n')
    return Recipe("sample", "sample", directory, ("main.cpp", "twice.cpp"), ("-std=c++20", "-Wall", "-Werror"), ())


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that ninja was asked to compile, run by run."""
    asked: list[str] = []
    run_ninja = native._run_ninja

    def run(work: Path) -> str:
        lines = (work / "build.ninja").read_text().splitlines()
        asked.extend(line.rsplit("/", 1)[1] for line in lines if ": compile " in line)
        return run_ninja(work)

    monkeypatch.setattr(native, "_run_ninja", run)
    return asked


def output_of(program: Path) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()


def test_one_object_a_source_built_once(cache: Path, recipe: Recipe, compiled: list[str]) -> None:
    program = build_recipe(recipe, find_toolchain())
    assert output_of(program) == "14"
    assert build_recipe(recipe, find_toolchain()) == program
    assert compiled == ["main.cpp", "twice.cpp"]
    assert not list((cache / "work").iterdir())


def test_a_change_compiles_what_it_touches(cache: Path, recipe: Recipe, compiled: list[str]) -> None:
    first = build_recipe(recipe, find_toolchain())
    (recipe.directory / "twice.cpp").write_text('#include "number.hpp"\nint twice(int x) { return x + x + 1; }\n')
    second = build_recipe(recipe, find_toolchain())
    assert output_of(second) == "15"
    assert compiled[2:] == ["twice.cpp"]
    (recipe.directory / "number.hpp").write_text("constexpr int number = 8;\nint twice(int);\n")
    assert output_of(build_recipe(recipe, find_toolchain())) == "17"
    assert compiled[3:] == ["main.cpp", "twice.cpp"]
    assert output_of(first) == "14"


def test_a_warning_is_an_error_and_names_our_own_file(cache: Path, recipe: Recipe) -> None:
    (recipe.directory / "twice.cpp").write_text('#include "number.hpp"\nint twice(int x) { int y; return 2 * x; }\n')
    with pytest.raises(NativeBuildFailed, match="the grader's own sample does not build") as failed:
        build_recipe(recipe, find_toolchain())
    assert f"{recipe.directory}/twice.cpp:2:24: error: unused variable" in str(failed.value)
    assert isinstance(failed.value, ToolMissing)


def test_code_for_this_cpu_is_not_taken_for_another(
    cache: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Recipe(**{**vars(recipe), "native": True})
    here = build_recipe(own, find_toolchain())
    monkeypatch.setattr(native, "_cpu", lambda: "another CPU")
    assert build_recipe(own, find_toolchain()) != here
    assert build_recipe(recipe, find_toolchain()) == build_recipe(recipe, find_toolchain())


def test_cpu_is_known_by_what_it_can_do() -> None:
    assert len(native._cpu()) == 64


def test_machine_can_be_built_for_any_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = find_toolchain()
    monkeypatch.delenv("GRADER_PORTABLE", raising=False)
    assert "-march=native" in native._machine(toolchain).compile_flags
    monkeypatch.setenv("GRADER_PORTABLE", "1")
    portable = native._machine(toolchain)
    assert "-march=native" not in portable.compile_flags
    assert not portable.native


def test_runtime_has_the_name_that_learners_objects_ask_for() -> None:
    library = build_library("runtime")
    told = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    assert library.name == "libgrader_cudart.so"
    assert "soname: [libgrader_cudart.so]" in told


def test_recorder_finds_its_runtime_wherever_it_is_started_from(tmp_path: Path) -> None:
    recorder = build_library("recorder")
    told = subprocess.run(["ldd", recorder], capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert f"libgrader_cudart.so => {build_library('runtime')}" in told
    assert os.access(recorder, os.X_OK)
