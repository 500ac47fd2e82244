"""What this machine can give a cage: Landlock or bubblewrap for files, seccomp for system calls."""

from __future__ import annotations

import functools
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.cache import ToolMissing
from grader.native import build_cage


@dataclass(frozen=True)
class Protection:
    """How a caged program is held.

    `files`: "landlock"; "bubblewrap" where the kernel has no Landlock; or "none", and then the compiler is judged
    afterwards by the list of what it read. `landlock` is its version, 0 for none.
    """

    files: Literal["landlock", "bubblewrap", "none"]
    landlock: int
    seccomp: bool
    bubblewrap: Path | None


@functools.cache
def protection() -> Protection:
    """What this machine gives, asked once a process: the answer of `cage --probe`, and a look for bwrap."""
    answers = dict(answer.split("=") for answer in _probe().split())
    landlock = int(answers["landlock"])
    bubblewrap = None if landlock else _bubblewrap()
    return Protection(
        files="landlock" if landlock else "bubblewrap" if bubblewrap else "none",
        landlock=landlock,
        seccomp=answers["seccomp"] == "1",
        bubblewrap=bubblewrap,
    )


def _probe() -> str:
    cage = build_cage()
    try:
        return subprocess.run([cage, "--probe"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ToolMissing(
            f"{cage} cannot be run ({error}): set GRADER_CACHE to a directory on a file system that lets programs run"
        ) from error


def _bubblewrap() -> Path | None:
    """bwrap, if it is there and allowed to make namespaces (many containers forbid it)."""
    found = shutil.which("bwrap")
    if found is None:
        return None
    command = [found, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "/bin/true"]
    tried = subprocess.run(command, capture_output=True, timeout=10, check=False)
    return Path(found) if tried.returncode == 0 else None


def abilities() -> dict[str, str]:
    """For `grader doctor`: what holds a caged program on this machine, by what it protects."""
    given = protection()
    files = {
        "landlock": f"Landlock, version {given.landlock}",
        "bubblewrap": f"bubblewrap ({given.bubblewrap})",
        "none": "no Landlock in this kernel: reads are only checked afterwards; sudo apt install bubblewrap",
    }
    calls = "seccomp: no sockets, tracing, mounts or namespaces" if given.seccomp else "no seccomp in this kernel"
    return {
        "files": files[given.files],
        "system calls": calls,
        "time and size": "limits on processor time, memory, file size and open files; killed as a group",
    }
