"""A cubin from a bundle: what its ELF says, read in a process of its own, `python -m grader.bundle.cubins PATH`.

The reader is honest and the file may not be: one that leads it round in circles is given up.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.bundle.format import BundleInvalid
from grader.cubin import Kernel, read_kernels, read_variables
from grader.identity import cubin_hash

_SECONDS = 20.0
_MOST_MEMORY = 2 << 30
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Cubin:
    """What is known of a module whose source was not compiled here; `code` is its hash (grader/identity.py).

    It stands for a Build where a plan is replayed.
    """

    cubin: Path
    target: int
    kernels: Mapping[str, Kernel]
    variables: Mapping[str, int]
    code: str


def read_cubin(path: Path, target: int) -> Cubin:
    """The kernels and variables of a cubin from anywhere; raises `BundleInvalid`."""
    command = [sys.executable, "-m", "grader.bundle.cubins", str(path.absolute())]
    try:
        told = subprocess.run(command, cwd=_ROOT, capture_output=True, timeout=_SECONDS, check=True).stdout
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        raise BundleInvalid("its cubin cannot be read") from None
    plain: dict[str, Any] = json.loads(told)
    kernels = [Kernel.from_json(kernel) for kernel in plain["kernels"]]
    return Cubin(path, target, {kernel.name: kernel for kernel in kernels}, plain["variables"], plain["code"])


def main(path: Path) -> None:
    """Prints what is in a cubin as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    kernels = [asdict(kernel) for kernel in read_kernels(path).values()]
    told = {"kernels": kernels, "variables": read_variables(path), "code": cubin_hash(path)}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
