"""Which nvcc and g++ are taken, and what is said when one is missing. The toolkits here are small scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import toolchain as room
from grader.cage import Cage
from grader.toolchain import ToolMissing, find_toolchain

Toolkit = Callable[..., Path]


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with the system's g++ and no nvcc, and a memory of its own."""
    monkeypatch.setenv("GRADER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("GRADER_NVCC", "CUDA_HOME", "CUDA_PATH", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(room, "_USUAL_PARENTS", (tmp_path / "usual",))
    monkeypatch.setattr(room, "_package_root", lambda: None)


@pytest.fixture
def toolkit(tmp_path: Path) -> Toolkit:
    """Makes a directory that looks like a CUDA toolkit."""

    def make(name: str, version: str = "13.0.88", headers: int = 13000, *, without: str = "") -> Path:
        root = tmp_path / name
        files = {
            "bin/nvcc": f'#!/bin/sh\necho "Cuda compilation tools, release 13, V{version}"\n',
            "bin/nvcc.profile": "",
            "nvvm/bin/cicc": "",
            "include/cuda_runtime_api.h": f"#define CUDART_VERSION  {headers}\n",
            "include/crt/host_config.h": "#if __GNUC__ > 15\n#error\n#endif\n",
            "include/cccl/cuda/std/version": "",
        }
        for path, text in files.items():
            if path != without:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
        (root / "bin/nvcc").chmod(0o755)
        return root

    return make


def test_the_toolkit_named_by_cuda_home_comes_first(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, on_path = toolkit("chosen"), toolkit("on_path")
    monkeypatch.setenv("CUDA_HOME", str(chosen))
    monkeypatch.setenv("PATH", f"{on_path}/bin:/usr/bin:/bin")
    found = find_toolchain()
    assert (found.nvcc, found.version, found.origin) == (chosen / "bin" / "nvcc", "13.0.88", "system")
    assert found.include == (chosen / "include", chosen / "include" / "cccl")
    assert found.runtime_header == chosen / "include" / "cuda_runtime_api.h"


def test_a_wrapper_on_the_path_leads_to_the_toolkit_it_runs(
    toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = toolkit("behind")
    (tmp_path / "wrapper").mkdir()
    wrapper = tmp_path / "wrapper" / "nvcc"
    wrapper.write_text(f'#!/bin/sh\n[ "$1" = --dryrun ] && echo "#$ _HERE_={root}/bin" >&2\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:/usr/bin:/bin")
    assert find_toolchain().nvcc == root / "bin" / "nvcc"


def test_toolkits_of_another_version_are_passed_over(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    toolkit("usual/cuda-12.9", "12.9.41")
    fitting = toolkit("usual/cuda-13.0", "13.0.48")
    monkeypatch.setenv("CUDA_HOME", str(toolkit("newer", "13.1.80")))
    assert find_toolchain().nvcc == fitting / "bin" / "nvcc"


def test_packages_are_taken_where_no_system_toolkit_fits(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    toolkit("usual/cuda-12.9", "12.9.41")
    package = toolkit("nvidia/cu13")
    monkeypatch.setattr(room, "_package_root", lambda: package)
    found = find_toolchain()
    assert (found.nvcc, found.origin) == (package / "bin" / "nvcc", "package")


def test_packages_can_be_asked_for(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    toolkit("usual/cuda-13.0")
    package = toolkit("nvidia/cu13")
    monkeypatch.setattr(room, "_package_root", lambda: package)
    assert find_toolchain().origin == "system"
    monkeypatch.setenv("GRADER_NVCC", "package")
    assert find_toolchain().origin == "package"


# ---- what is said ----------------------------------------------------------------------------------------------------


def test_with_no_nvcc_the_command_that_installs_it_is_given() -> None:
    with pytest.raises(ToolMissing, match=r"^nvcc 13\.0 is missing.*: .+ -m pip install nvidia-cuda-nvcc==13\.0\.88 "):
        find_toolchain()


def test_with_another_nvcc_it_is_named_with_its_version(toolkit: Toolkit) -> None:
    root = toolkit("usual/cuda-12.9", "12.9.41")
    with pytest.raises(
        ToolMissing, match=rf"nvcc 13\.0 is missing \({root}/bin/nvcc is 12\.9\.41\): .+ -m pip install"
    ):
        find_toolchain()


def test_an_empty_placeholder_is_called_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "site" / "nvidia_cuda_nvcc_cu13-0.0.1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-cuda-nvcc-cu13\nVersion: 0.0.1\n")
    (information / "RECORD").write_text("nvidia_cuda_nvcc_cu13-0.0.1.dist-info/METADATA,,\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    with pytest.raises(
        ToolMissing, match=r"nvidia-cuda-nvcc-cu13 0\.0\.1 is an empty placeholder: .+ -m pip uninstall"
    ):
        find_toolchain()


@pytest.mark.parametrize(
    ("without", "package"),
    [
        ("nvvm/bin/cicc", "nvidia-nvvm"),
        ("include/crt/host_config.h", "nvidia-cuda-crt"),
        ("include/cccl/cuda/std/version", "nvidia-cuda-cccl"),
    ],
)
def test_a_companion_package_that_is_missing_is_named(
    without: str, package: str, toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = toolkit("nvidia/cu13", without=without)
    monkeypatch.setattr(room, "_package_root", lambda: root)
    with pytest.raises(ToolMissing, match=rf"{without} is missing \(it comes with {package}\): .+ -m pip install"):
        find_toolchain()


def test_headers_of_another_cuda_are_refused(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    root = toolkit("nvidia/cu13", headers=13050)
    monkeypatch.setattr(room, "_package_root", lambda: root)
    with pytest.raises(
        ToolMissing, match=r"headers in .* are 13\.5, and nvcc is 13\.0: .+ -m pip install .*runtime==13"
    ):
        find_toolchain()


def test_headers_that_are_not_there_are_missed(toolkit: Toolkit) -> None:
    toolkit("usual/cuda-13.0", without="include/cuda_runtime_api.h")
    with pytest.raises(ToolMissing, match=r"the CUDA headers of .* are missing"):
        find_toolchain()


# ---- the host compiler -----------------------------------------------------------------------------------------------


def fake_gcc(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


def test_a_gcc_that_nvcc_refuses_is_passed_over(
    toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit("usual/cuda-13.0")
    fake_gcc(tmp_path / "bin" / "g++", "16.1.0")
    older = fake_gcc(tmp_path / "bin" / "g++-14", "14.2.0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = find_toolchain()
    assert (found.host_compiler, found.host_version) == (older, "14.2.0")


def test_a_compiler_cache_is_not_taken_for_a_compiler(
    toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit("usual/cuda-13.0")
    fake_gcc(tmp_path / "bin" / "ccache", "13.2.0")
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "g++").symlink_to(tmp_path / "bin" / "ccache")
    real = fake_gcc(tmp_path / "second" / "g++", "13.2.0")
    monkeypatch.setenv("PATH", f"{tmp_path}/first:{tmp_path}/second")
    assert find_toolchain().host_compiler == real


@pytest.mark.parametrize(("version", "found"), [(None, ""), ("9.4.0", r" \(.*g\+\+ is 9\.4\.0\)")])
def test_with_no_gcc_the_command_that_installs_it_is_given(
    version: str | None, found: str, toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit("usual/cuda-13.0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    if version:
        fake_gcc(tmp_path / "bin" / "g++", version)
    with pytest.raises(ToolMissing, match=rf"^g\+\+ 11 to 15 is missing{found}: sudo apt install g\+\+"):
        find_toolchain()


# ---- what the cage opens ---------------------------------------------------------------------------------------------


def test_only_the_toolkits_own_directories_are_opened(toolkit: Toolkit, tmp_path: Path) -> None:
    """A toolkit may lie in an environment, in a home directory: what is beside it stays closed."""
    root = toolkit("usual/cuda-13.0")
    readable = find_toolchain().readable
    assert {path for path in readable if path.is_relative_to(tmp_path)} == {
        root / "bin",
        root / "include",
        root / "nvvm",
    }
    for path in (Path("/"), Path("/usr"), Path("/usr/local"), Path.home(), Path("/etc"), Path("/tmp"), Path("/proc")):
        assert path not in readable
    assert Cage(read=readable).read == readable


# ---- memory ----------------------------------------------------------------------------------------------------------


def forget_this_process() -> None:
    room._find.cache_clear()


def test_what_was_found_is_remembered_without_running_anything(
    toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit("usual/cuda-13.0")
    first = find_toolchain()
    forget_this_process()
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a program was run"))
    assert find_toolchain() == first


def test_a_changed_toolkit_is_looked_at_again(toolkit: Toolkit) -> None:
    root = toolkit("usual/cuda-13.0", "13.0.48")
    assert find_toolchain().version == "13.0.48"
    forget_this_process()
    toolkit("usual/cuda-13.0", "13.0.88")
    os.utime(root / "bin" / "nvcc", (0, 0))
    assert find_toolchain().version == "13.0.88"


def test_memory_that_cannot_be_read_is_made_anew(toolkit: Toolkit, tmp_path: Path) -> None:
    toolkit("usual/cuda-13.0")
    first = find_toolchain()
    memory = next((tmp_path / "cache" / "toolchain").iterdir())
    for text in ("", "{}", "[1]", '{"toolchain": 3}'):
        forget_this_process()
        memory.write_text(text)
        assert find_toolchain() == first


def test_doctor_looks_again(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = toolkit("usual/cuda-13.0")
    assert find_toolchain().nvcc.is_relative_to(usual)
    better = toolkit("usual/cuda")
    assert find_toolchain().nvcc.is_relative_to(usual)
    assert find_toolchain(look_again=True).nvcc.is_relative_to(better)
