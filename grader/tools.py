"""The tools a check works with, below one roof: build, record, software GPU.

They are loaded when first wanted. PyTorch takes longer to import than a file to compile, so it is imported in a thread
while nvcc and the recorder, which are processes of their own, do their work; so is the software GPU's process started.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from grader.prelude import Companion
from grader.puzzle import Case, Part

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record import Recording
    from grader.simt.software import SoftwareGPU


class Recorder(Protocol):
    """`grader.record.record`."""

    def __call__(self, build: Build, part: Part, case: Case, *, inject: int = 0) -> Recording: ...


class Builder(Protocol):
    """`grader.build.build`."""

    def __call__(self, source: Path, uses: Sequence[Companion] = ()) -> Build: ...


@dataclass(frozen=True)
class Tools:
    """How to build a file, to record its entry, and to make a software GPU for what was built."""

    build: Builder
    record: Recorder
    software_gpu: Callable[[Build], SoftwareGPU]


def default_tools() -> Tools:
    """The real ones. While a file is compiled and recorded, a process for its software GPU is started."""
    from grader.build import build
    from grader.record import record

    def built_and_prepared(source: Path, uses: Sequence[Companion] = ()) -> Build:
        threading.Thread(target=_prepare, name="prepare the software GPU", daemon=True).start()
        return build(source, uses=uses)

    def software_gpu(built: Build) -> SoftwareGPU:
        from grader.simt.software import SoftwareGPU

        return SoftwareGPU(built)

    return Tools(built_and_prepared, record, software_gpu)


def building_for(tools: Tools, target: int) -> Tools:
    """The same tools, building for the architecture `target`, the compute capability times ten."""
    from grader.build import DEFAULT_TARGET, build

    if target == DEFAULT_TARGET:
        return tools

    def built(source: Path, uses: Sequence[Companion] = ()) -> Build:
        return build(source, target=target, uses=uses)

    return replace(tools, build=built)


def _prepare() -> None:
    with contextlib.suppress(Exception):  # whoever wants a software GPU tries again, and hears why there is none
        from grader.simt.process import prepare

        prepare()


class TorchMissing(Exception):
    """PyTorch cannot be imported; the message is one sentence with the next step."""


class TorchLoading:
    """Imports PyTorch, and what stands on it, in a thread that starts at once."""

    def __init__(self) -> None:
        self._failure: Exception | None = None  # of anything, ours too
        self._thread = threading.Thread(target=self._import, name="import torch", daemon=True)
        self._thread.start()

    def _import(self) -> None:
        try:
            for name in ("torch", "grader.compare", "grader.simt.software"):
                importlib.import_module(name)
        except Exception as error:
            self._failure = error

    @property
    def busy(self) -> bool:
        """Whether there is still time to do something else."""
        return self._thread.is_alive()

    def wait(self) -> None:
        """Returns when PyTorch is there; raises `TorchMissing` where it is not."""
        self._thread.join()
        if self._failure is None:
            return
        if "torch" not in sys.modules:
            raise TorchMissing(
                f"PyTorch, which computes the right values, cannot be imported ({self._failure}): pip install torch"
            ) from self._failure
        raise self._failure
