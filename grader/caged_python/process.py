"""A caged process of Python, which can read Python and what it is given, and start nothing.

A few files of ours are all that is there of this package, under their own names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.cage import Cage
from grader.cage.conversation import Conversation, Ended

START = 60.0  # seconds: PyTorch may have to be imported
_CPU_SECONDS = 120
_MEMORY, _PRINTED = 8 << 30, 1 << 20
_MOST_JSON, _MOST_RAW = 1 << 16, 64 << 20
_PACKAGE = Path(__file__).resolve().parents[1]
_SERVING = ("wire", "caged_python.serving")
_RUN = """
import importlib.util, sys, types
for name in ("grader", "grader.caged_python"):
    sys.modules[name] = types.ModuleType(name)
for name, path in (argument.split("=", 1) for argument in sys.argv[1:]):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
module.main()
"""
_SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/proc/cpuinfo", "/sys/devices/system/cpu")


class Raised(Exception):
    """The learner's Python ended with an error, or ended altogether.

    `type` is that of the exception, or "late", "flood", "ended"; `line` is what the process says, if anything.
    """

    def __init__(self, type_: str, message: str, line: int | None) -> None:
        super().__init__(message)
        self.type, self.message, self.line = type_, message, line


def started(modules: Sequence[str], packages: Sequence[Path] = ()) -> Conversation:
    """The process that runs `main` of the last of `modules` (of this package: "caged_python.child"); the others are
    there for it to import, and `packages` are folders that it can read besides Python's own.
    """
    files = {f"grader.{name}": _PACKAGE / f"{name.replace('.', '/')}.py" for name in (*_SERVING, *modules)}
    prefixes = (sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).resolve().parent))
    readable = [Path(path) for path in dict.fromkeys((*prefixes, *map(str, packages), *_SYSTEM))]
    cage = Cage(
        read=(*readable, *files.values()),
        fork=False,
        cpu_seconds=_CPU_SECONDS,
        memory_bytes=_MEMORY,
        file_bytes=_PRINTED,
    )
    environment = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-I", "-B", "-c", _RUN, *(f"{name}={path}" for name, path in files.items())]
    return Conversation(command, cage, environment, _MOST_JSON, _MOST_RAW)


def raised_by(answer: Mapping[str, Any]) -> Raised | None:
    """The error that an answer tells of."""
    if "raised" not in answer:
        return None
    line = answer.get("line")
    return Raised(str(answer["raised"]), str(answer.get("message")), line if isinstance(line, int) else None)


def ended_by(ended: Ended) -> Raised:
    """The same, where the process says nothing more."""
    return Raised(ended.why if ended.why in ("late", "flood") else "ended", ended.why, None)
