"""Whether this machine may have a GPU that we can use: what a check asks first, answered without importing anything.

Two or three looks into the file system; a machine without a GPU pays some microseconds. Whether the GPU works shows
when the child process starts.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

DEVICE_FILES = ("/dev/nvidiactl", "/dev/dxg")  # Linux; Windows' own driver, seen from WSL2


def has_device() -> bool:
    """Whether a driver's device file is there, and CUDA_VISIBLE_DEVICES does not hide every GPU."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")
    return not hidden and any(Path(name).exists() for name in DEVICE_FILES)


def why_not() -> str | None:
    """None where a GPU may be used; else a sentence with the next step."""
    if not has_device():
        return "No NVIDIA GPU was found here: leave --device away, and the software GPU judges."
    if not _has_bindings():
        return "There is a GPU, but not the package that speaks to its driver: pip install 'cuda-bindings>=13,<14'"
    return None


def _has_bindings() -> bool:
    try:
        return importlib.util.find_spec("cuda.bindings.driver") is not None
    except ModuleNotFoundError:  # not even the package `cuda`
        return False
