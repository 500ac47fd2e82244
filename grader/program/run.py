"""Runs a built program as a process of its own, with the terminal as it is."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.build import build_library
from grader.program.build import Program
from grader.program.log import Log, read_log
from grader.record.device import Device, device_for
from grader.record.request import device_line, kernel_line

_VARIABLE = "GRADER_PROGRAM"  # as in grader/runtime/software/start.cpp
_SIGNALLED = 128


@dataclass(frozen=True)
class Finished:
    """The program's exit code, 128 + n for signal n, and what its runtime wrote down."""

    exit_code: int
    log: Log


def run_program(program: Program, arguments: Sequence[str]) -> Finished:
    """Run it to its end. Ctrl-C reaches the program, which decides what becomes of it.

    Raises ToolMissing where there is no software GPU.
    """
    machine = build_library("machine")
    with tempfile.TemporaryDirectory(prefix="grader-run-") as directory:
        log = Path(directory) / "log"
        request = Path(directory) / "request"
        request.write_text(_request(program, machine, log, device_for(program.target)))
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            started = subprocess.Popen(
                [program.source.stem, *arguments],
                executable=program.executable,
                env={**os.environ, _VARIABLE: str(request)},
            )
            code = started.wait()
        finally:
            signal.signal(signal.SIGINT, before)
        source = program.source.read_text(encoding="utf-8", errors="replace")
        return Finished(_SIGNALLED - code if code < 0 else code, read_log(log, program.host_lines, source))


def _request(program: Program, machine: Path, log: Path, device: Device) -> str:
    lines = [
        "program 1",
        f"machine {machine}",
        f"lowered {program.lowered}",
        f"log {log}",
        f"workers {len(os.sched_getaffinity(0))}",
        device_line(device),
        *(kernel_line(kernel) for kernel in program.kernels.values()),
        "end",
    ]
    return "\n".join(lines) + "\n"
