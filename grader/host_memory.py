"""How much memory this machine has free."""

from __future__ import annotations

import sys
from pathlib import Path


def free_bytes() -> int:
    """What a process can still have without anything being moved to disk; where nobody can say, we hope."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, ValueError, StopIteration):
        return sys.maxsize
