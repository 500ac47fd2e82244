"""Where CUDA's own runtime library is: the one that PyTorch has loaded, else that of the toolkit, else the system's."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "GRADER_CUDART"  # names the library to use
_NAME = re.compile(r"libcudart\.so\.(\d+)[\d.]*")


def candidates(major: int) -> Iterator[str]:
    """Paths and names to try in their order, for kernels that were compiled with CUDA `major`.

    The library of PyTorch comes first: with it our calls and PyTorch's share one state.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        yield chosen
        return
    yield from dict.fromkeys([*_loaded(major), *_installed(major), f"libcudart.so.{major}"])


def _loaded(major: int) -> Iterator[str]:
    """Of this process."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        fields = line.split(maxsplit=5)
        found = _NAME.fullmatch(Path(fields[5]).name) if len(fields) == 6 else None
        if found is not None and int(found[1]) == major:
            yield fields[5]


def _installed(major: int) -> Iterator[str]:
    """Of the packages beside PyTorch, and of the toolkit that nvcc belongs to."""
    from grader.toolchain import find_toolchain

    name = f"libcudart.so.{major}"
    packages = importlib.util.find_spec("nvidia")
    for folder in packages.submodule_search_locations or () if packages is not None else ():
        yield from map(str, sorted(Path(folder).glob(f"*/lib/{name}")))
    toolkit = find_toolchain().include[0].parent
    yield from (str(path) for path in (toolkit / "lib64" / name, toolkit / "lib" / name) if path.is_file())
