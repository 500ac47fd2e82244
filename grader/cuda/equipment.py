"""What of a GPU this machine has: the GPU itself, its driver, and the packages and tools that a timing can use.

The GPU is asked by a replay process, as a check asks it; nothing is imported here that loads CUDA.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.cuda.presence import has_device, why_not
from grader.explain import sentence
from grader.puzzle import Part

_NCU = "/usr/local/cuda/bin/ncu"
_GIB = 1 << 30


@dataclass(frozen=True)
class Equipment:
    """One thing: its name, whether it is there, and what there is to say of it, with the next step where it is not.

    `is_needed`: without it nothing is timed; else it is only missed.
    """

    name: str
    found: bool
    words: str
    is_needed: bool = True


def equipment(part: Part) -> Iterator[Equipment]:
    """All of it; on a machine without a GPU a single line. `part` is one that a replay process can be started for."""
    if not has_device():
        yield Equipment("GPU", False, _say("no_gpu"), is_needed=False)
        return
    yield from _gpu(part)
    yield _package("nvidia-ml-py", "pynvml", "NVML", "no_nvml")
    yield _pytorch()
    ncu = shutil.which("ncu") or (_NCU if Path(_NCU).exists() else None)
    yield Equipment("ncu", ncu is not None, ncu or _say("no_ncu"), is_needed=False)


def _gpu(part: Part) -> Iterator[Equipment]:
    from grader.cuda.session import RealGPU, ReplayFailed

    missing = why_not()
    if missing is not None:
        yield Equipment("GPU", False, missing)
        return
    try:
        with RealGPU(part) as gpu:
            device, driver = gpu.device, gpu.driver
    except ReplayFailed as failed:
        yield Equipment("GPU", False, str(failed))
        return
    facts = {"name": device.name, "target": device.target, "multiprocessors": device.multiprocessors}
    yield Equipment("GPU", True, _say("gpu", **facts, memory=f"{device.memory_bytes / _GIB:.0f}"))
    cuda = f"{device.driver // 1000}.{device.driver % 1000 // 10}"
    yield Equipment("driver", True, _say("driver", version=driver or "?", cuda=cuda))
    yield _package("cuda-bindings", "cuda.bindings", "bindings", "")


def _package(package: str, module: str, name: str, missing: str) -> Equipment:
    try:
        return Equipment(name, True, f"{package} {importlib.metadata.version(package)}")
    except importlib.metadata.PackageNotFoundError:
        found = _can_be_imported(module)
    return Equipment(name, found, module if found else _say(missing), is_needed=False)


def _can_be_imported(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package above it
        return False


def _pytorch() -> Equipment:
    """Whether PyTorch was built for CUDA, which its own page of versions says; importing it takes seconds."""
    found = importlib.util.find_spec("torch")
    page = Path(found.origin).with_name("version.py") if found is not None and found.origin else None
    text = page.read_text(encoding="utf-8") if page is not None and page.exists() else ""
    cuda = re.search(r"^cuda\b.*=\s*'([\d.]+)'", text, re.MULTILINE)
    words = _say("pytorch", cuda=cuda[1]) if cuda else _say("no_pytorch")
    return Equipment("PyTorch", cuda is not None, words, is_needed=False)


def _say(key: str, **facts: object) -> str:
    return sentence("doctor", key, facts=facts)
