"""Finds nvcc and the host compiler, and says exactly what is missing and how to get it.

nvcc is pinned to 13.0: a newer one emits PTX that an older driver refuses, and the software GPU reads what this one
emits. It comes from a system toolkit that fits ($CUDA_HOME, the PATH, /usr/local/cuda*), else from the packages
nvidia-cuda-nvcc and its companions. GRADER_NVCC=package passes over the system's.

Looking costs two processes and some reading, so what was found is remembered in the cache, for as long as the files are
the same by path, size and time of change.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grader.cache import ToolMissing, cache_root, content_key, writable

__all__ = ["Origin", "ToolMissing", "Toolchain", "find_toolchain"]

Origin = Literal["system", "package"]

_WANTED = "13.0"
_PACKAGES = (
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.88",
    "nvidia-cuda-cccl==13.0.85",
)
_PIP = f"{sys.executable} -m pip"
_INSTALL = f"{_PIP} install {' '.join(_PACKAGES)}"
_USUAL_PARENTS = (Path("/usr/local"), Path("/opt"))
_OLDEST_GCC = 11  # the first whose C++20 builds the software GPU
# What any compiler on a Linux system is made of. Not /usr/local, /usr/share or /usr/src, where people keep their work.
_SYSTEM = tuple(
    Path(path)
    for path in (
        "/usr/bin",
        "/usr/include",
        "/usr/lib",
        "/usr/lib32",
        "/usr/lib64",
        "/usr/libexec",
        "/bin",
        "/lib",
        "/lib64",
        "/etc/ld.so.cache",
    )
)


@dataclass(frozen=True)
class Toolchain:
    """The compilers that builds use.

    `readable` is every directory or file that they read or execute; the cage opens these and nothing else.
    `identity` names compilers and headers by version and content: it goes into the key of everything they build.
    """

    nvcc: Path
    version: str
    origin: Origin
    include: tuple[Path, ...]
    host_compiler: Path
    host_version: str
    readable: tuple[Path, ...]
    identity: str

    @property
    def runtime_header(self) -> Path:
        """cuda_runtime_api.h, from which the stubs of our CUDA runtime are generated."""
        return self.include[0] / "cuda_runtime_api.h"


def find_toolchain(*, look_again: bool = False) -> Toolchain:
    """The toolchain of this machine; `look_again` forgets what was found before.

    Raises ToolMissing with one sentence that names what is missing and the command that brings it.
    """
    if look_again:
        _find.cache_clear()
        _memory().unlink(missing_ok=True)
    return _find(tuple(os.environ.get(name, "") for name in _ENVIRONMENT))


_ENVIRONMENT = ("GRADER_NVCC", "GRADER_CACHE", "XDG_CACHE_HOME", "HOME", "CUDA_HOME", "CUDA_PATH", "PATH", "CXX")


@functools.cache
def _find(_environment: tuple[str, ...]) -> Toolchain:
    return _recall() or _remember(_look())


def _look() -> Toolchain:
    nvcc, origin = _find_nvcc()
    root = nvcc.parent.parent
    include = _include_directories(root, origin)
    newest = _newest_gcc(include[0])
    host, host_version = _find_host_compiler(newest)
    version = _version_of_nvcc(nvcc)
    readable = [*_toolkit_directories(nvcc, include), *_host_directories(host), *_SYSTEM]
    header = hashlib.sha256((include[0] / "cuda_runtime_api.h").read_bytes()).hexdigest()
    compilers = f"{os.uname().machine}, nvcc {version}, g++ {host_version} at {host}"
    return Toolchain(
        nvcc=nvcc,
        version=version,
        origin=origin,
        include=include,
        host_compiler=host,
        host_version=host_version,
        readable=_outermost(readable),
        identity=f"{compilers}, cuda_runtime_api.h {header[:16]}",
    )


# ---- nvcc ------------------------------------------------------------------------------------------------------------


def _find_nvcc() -> tuple[Path, Origin]:
    others: list[str] = []
    if os.environ.get("GRADER_NVCC") != "package":
        for nvcc in _system_candidates():
            version = _version_of_nvcc(nvcc)
            if version.startswith(_WANTED + "."):
                return nvcc, "system"
            others.append(f"{nvcc} is {version or 'no nvcc'}")
    package = _package_root()
    if package is not None:
        nvcc = package / "bin" / "nvcc"
        version = _version_of_nvcc(nvcc)
        if version.startswith(_WANTED + "."):
            return nvcc, "package"
        others.append(f"{nvcc} is {version or 'no nvcc'}")
    raise ToolMissing(_nvcc_is_missing(others))


def _system_candidates() -> Iterator[Path]:
    """Each nvcc that a system toolkit may have, the one chosen by the user first; the real file, not a wrapper."""
    places = [Path(os.environ[name], "bin") for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    places += [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep) if place]
    places += [Path(place, "bin") for parent in _USUAL_PARENTS for place in sorted(parent.glob("cuda*"))]
    seen: set[Path] = set()
    for place in places:
        if os.access(place / "nvcc", os.X_OK):
            nvcc = _behind_wrapper(place / "nvcc")
            if nvcc is not None and nvcc not in seen:
                seen.add(nvcc)
                yield nvcc


def _behind_wrapper(nvcc: Path) -> Path | None:
    """The nvcc itself, beside its nvcc.profile; a wrapper script is asked what it runs."""
    nvcc = nvcc.resolve()
    if os.access(nvcc.parent / "nvcc.profile", os.R_OK):
        return nvcc
    told = _output_of(nvcc, "--dryrun", "-E", "-x", "cu", "/dev/null")
    here = re.search(r"^#\$ _HERE_=(.+)$", told, re.MULTILINE)
    return Path(here[1], "nvcc").resolve() if here and os.access(Path(here[1], "nvcc.profile"), os.R_OK) else None


def _package_root() -> Path | None:
    """nvidia/cu13 of the installed packages, if it holds an nvcc."""
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec("nvidia")
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if os.access(Path(place, "cu13", "bin", "nvcc"), os.X_OK):
                return Path(place, "cu13").resolve()
    return None


def _nvcc_is_missing(others: list[str]) -> str:
    from importlib.metadata import distributions  # slow, and only wanted when there is nothing to build with

    if others:
        return f"nvcc {_WANTED} is missing ({'; '.join(others)}): {_INSTALL}"
    for distribution in distributions():
        name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
        if name.startswith("nvidia-cuda-nvcc") and not any("nvidia" in file.parts for file in distribution.files or ()):
            return (
                f"nvcc {_WANTED} is missing, and the package {name} {distribution.version} is an empty placeholder: "
                f"{_PIP} uninstall -y {name} && {_INSTALL}"
            )
    return f"nvcc {_WANTED} is missing, the compiler for CUDA: {_INSTALL}"


def _version_of_nvcc(nvcc: Path) -> str:
    found = re.search(r"\bV(\d+\.\d+\.\d+)", _output_of(nvcc, "--version"))
    return found[1] if found else ""


def _include_directories(root: Path, origin: Origin) -> tuple[Path, ...]:
    """Where the CUDA headers are; raises ToolMissing where they are not, or are those of another CUDA."""
    places = [root / "include", *sorted(root.glob(f"targets/{os.uname().machine}*-linux/include"))]
    include = next((place for place in places if os.access(place / "cuda_runtime_api.h", os.R_OK)), None)
    remedy = _INSTALL if origin == "package" else f"install CUDA {_WANTED}'s development files, or {_INSTALL}"
    if include is None:
        raise ToolMissing(f"the CUDA headers of {root} are missing (cuda_runtime_api.h): {remedy}")
    wanted = {
        include / "crt" / "host_config.h": "nvidia-cuda-crt",
        include / "cccl" / "cuda" / "std" / "version": "nvidia-cuda-cccl",
        root / "nvvm" / "bin" / "cicc": "nvidia-nvvm",
    }
    for path, package in wanted.items():
        if not os.access(path, os.R_OK):
            raise ToolMissing(f"{path} is missing (it comes with {package}): {remedy}")
    found = re.search(r"#define\s+CUDART_VERSION\s+(\d+)", (include / "cuda_runtime_api.h").read_text())
    number = int(found[1]) if found else 0
    version = f"{number // 1000}.{number % 1000 // 10}"
    if version != _WANTED:
        raise ToolMissing(f"the CUDA headers in {include} are {version}, and nvcc is {_WANTED}: {remedy}")
    return tuple(dict.fromkeys((include.resolve(), (include / "cccl").resolve())))


def _toolkit_directories(nvcc: Path, include: tuple[Path, ...]) -> list[Path]:
    root = nvcc.parent.parent  # its parts and not itself: conda's root is a whole environment
    return [nvcc.parent, root / "nvvm", root / "include", root / "targets", *include]


# ---- the host compiler -----------------------------------------------------------------------------------------------


def _newest_gcc(include: Path) -> int:
    """The newest GCC that this nvcc takes, read from the header that refuses newer ones."""
    found = re.search(r"__GNUC__ > (\d+)", (include / "crt" / "host_config.h").read_text())
    return int(found[1]) if found else 15


def _find_host_compiler(newest: int) -> tuple[Path, str]:
    unfit: list[str] = []
    names = ["g++", *(f"g++-{version}" for version in range(newest, _OLDEST_GCC - 1, -1))]
    chosen = os.environ.get("CXX", "")
    for name in [chosen, *names] if "g++" in chosen else names:
        for path in _on_path(name):
            version = _output_of(path, "-dumpfullversion", "-dumpversion").strip()
            major = version.split(".")[0]
            if major.isdigit() and _OLDEST_GCC <= int(major) <= newest:
                return path, version
            unfit.append(f"{path} is {version or 'no GCC'}")
    found = f" ({'; '.join(dict.fromkeys(unfit))})" if unfit else ""
    package = f"g++-{min(newest, 12)}" if unfit else "g++"
    raise ToolMissing(f"g++ {_OLDEST_GCC} to {newest} is missing{found}: sudo apt install {package}")


def _on_path(name: str) -> Iterator[Path]:
    """Each file of that name on the PATH that is a compiler, not ccache or another that stands in for one."""
    for place in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(place, name)
        if place and os.access(path, os.X_OK) and "g++" in path.resolve().name:
            yield path.absolute()


def _host_directories(host: Path) -> list[Path]:
    """Where a g++ outside /usr (conda's, a cluster's module) keeps its programs, headers and libraries."""
    told = _output_of(host, "-print-search-dirs")
    lists = re.findall(r"^(?:install|programs|libraries): =?(.+)$", told, re.MULTILINE)
    included = _output_of(host, "-E", "-v", "-x", "c++", "/dev/null")
    headers = re.search(r"#include <\.\.\.> search starts here:\n(.*?)End of search list", included, re.DOTALL)
    named = [path for line in lists for path in line.split(os.pathsep)] + (headers[1].split("\n") if headers else [])
    return [host.resolve().parent, *(Path(path.strip()) for path in named if path.strip())]


def _outermost(paths: list[Path]) -> tuple[Path, ...]:
    """The paths that exist, symbolic links followed, without those inside another."""
    too_wide = {Path("/"), Path("/usr"), Path("/usr/local")}
    real = sorted({path.resolve() for path in paths if os.access(path, os.R_OK)} - too_wide)
    return tuple(path for path in real if not any(other in path.parents for other in real))


def _output_of(program: Path, *arguments: str) -> str:
    """What a compiler prints about itself, "" if it cannot be run."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    command = [str(program), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=environment, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


# ---- memory ----------------------------------------------------------------------------------------------------------


def _memory() -> Path:
    chosen = [os.environ.get(name, "") for name in _ENVIRONMENT]
    return cache_root() / "toolchain" / f"{content_key(sys.prefix, *chosen)}.json"


def _stamps(toolchain: Toolchain) -> list[list[Any]]:
    """Path, size and time of change: of what was found, of what looked, and of where a new toolkit would appear."""
    stamps: list[list[Any]] = []
    for path in (toolchain.nvcc, toolchain.host_compiler, toolchain.runtime_header, Path(__file__), Path("/usr/local")):
        status = path.stat()
        stamps.append([str(path), status.st_size, status.st_mtime_ns])
    return stamps


def _remember(toolchain: Toolchain) -> Toolchain:
    plain = {
        name: [str(path) for path in value] if isinstance(value, tuple) else str(value)
        for name, value in vars(toolchain).items()
    }
    memory = _memory()
    writable(memory.parent)
    temporary = memory.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    temporary.write_text(json.dumps({"toolchain": plain, "stamps": _stamps(toolchain)}))
    temporary.replace(memory)
    return toolchain


def _recall() -> Toolchain | None:
    try:
        saved = json.loads(_memory().read_text())
        plain = saved["toolchain"]
        toolchain = Toolchain(
            nvcc=Path(plain["nvcc"]),
            version=plain["version"],
            origin=plain["origin"],
            include=tuple(Path(path) for path in plain["include"]),
            host_compiler=Path(plain["host_compiler"]),
            host_version=plain["host_version"],
            readable=tuple(Path(path) for path in plain["readable"]),
            identity=plain["identity"],
        )
        return toolchain if _stamps(toolchain) == saved["stamps"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
