"""Attacks by way of the compiler: each achieves its aim without the cage, fails with it, and its twin compiles."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from grader.build import Build, BuildFailed, build
from grader.cage import Finished
from grader.toolchain import find_toolchain
from tests.fresh_cache import fresh_cache
from tests.judging import ROOT
from tests.red_team.attacks import attack, attacks
from tests.red_team.building import FOLDER

ALL = attacks("compiler")
SECRET = "root: between us\n"
LONG = 3.0  # seconds; a compiler that is to come to its end takes one and a half
LIMIT = 64 << 20  # bytes of one file


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Nothing that is built here without the cage may be found by anybody else."""
    with fresh_cache(tmp_path_factory.mktemp("cache")) as directory:
        yield directory


def source_of(name: str, directory: Path, *, twin: bool = False) -> Path:
    secret = directory / "secret"
    secret.write_text(SECRET)
    text = (FOLDER / "compiler" / f"{name}.cu").read_text()
    text = text.replace("@SECRET@", str(secret))
    text = text.replace("@SOLUTION@", str(ROOT / "solutions" / "puzzle_01_vector_add" / "2_vector_add.cu"))
    source = directory / f"{name}.cu"
    source.write_text(f"#define TWIN 1\n{text}" if twin else text)
    return source


def uncaged(
    command: Sequence[str | Path], *, directory: Path, seconds: float, environment: Mapping[str, str], **_: Any
) -> Finished:
    """`grader.cage.run` without a cage: no limits but on the time by the clock, and every file can be read."""
    begun = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=directory, env=environment, start_new_session=True
    )
    try:
        said, code, ended = process.communicate(timeout=seconds), process.returncode, "exit"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, code, ended = process.communicate(), -signal.SIGKILL, "timeout"
    return Finished(code, *said, {}, time.monotonic() - begun, ended)  # type: ignore[arg-type]


@pytest.fixture
def no_cage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The compiler without its cage, and what it builds in a cache that ends with the test."""
    with fresh_cache(tmp_path / "cache without a cage"):
        monkeypatch.setattr("grader.build.run", uncaged)
        yield


def built(name: str, directory: Path) -> Build:
    return build(source_of(name, directory))


# ---- with the defence off --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_cage")
def test_a_solution_is_included_without_the_cage(tmp_path: Path) -> None:
    assert "vector_add_kernel" in str(built("includes_a_solution", tmp_path).kernels)


@pytest.mark.usefixtures("no_cage")
def test_a_file_is_quoted_without_the_cage(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed) as failed:
        built("quotes_a_file", tmp_path)
    assert "root" in failed.value.diagnostics


@pytest.mark.usefixtures("no_cage")
def test_a_file_is_embedded_without_the_cage(tmp_path: Path) -> None:
    assert SECRET.encode() in built("embeds_a_file", tmp_path).library.read_bytes()


@pytest.mark.usefixtures("no_cage")
def test_a_compiler_works_on_without_the_cage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.build._SECONDS", LONG)
    with pytest.raises(Exception, match=f"nvcc was not done after {LONG:.0f} s"):
        built("never_compiles", tmp_path)


@pytest.mark.usefixtures("no_cage")
def test_a_file_grows_without_the_cage(tmp_path: Path) -> None:
    assert built("fills_the_disk", tmp_path).library.stat().st_size > LIMIT


def test_a_kernel_may_launch_another_where_device_code_is_linked(tmp_path: Path) -> None:
    source = source_of("launches_from_the_device", tmp_path)
    command = [str(find_toolchain().nvcc), "-rdc=true", "-arch=sm_80", "-ptx", source.name]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


# ---- with the defence on ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_it_fails_in_the_cage(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "never_compiles":
        monkeypatch.setattr("grader.build._CPU_SECONDS", 1)
    with pytest.raises(BuildFailed) as failed:
        built(name, tmp_path)
    assert (failed.value.forbidden is not None) == (attack(name).finding == "forbidden_call")
    assert failed.value.timed_out == (name == "never_compiles")
    assert "between us" not in failed.value.diagnostics


def test_their_twins_compile(tmp_path: Path) -> None:
    twins = [source_of(name, tmp_path, twin=True).read_text() for name in ALL if name != "quotes_a_file"]
    together = tmp_path / "twins.cu"
    together.write_text("\n".join(twins))
    assert {name.split("Pf")[0] for name in build(together).kernels} >= {"_Z5first", "_Z5later"}


def test_a_twin_that_does_not_compile_has_its_own_words_quoted(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="n must be even") as failed:
        build(source_of("quotes_a_file", tmp_path, twin=True))
    assert failed.value.forbidden is None
