"""Runs a built program as a process of its own, with the terminal as it is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
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
        command = [program.source.stem, *arguments]
        with _passing_signals_on() as children:
            children.append(
                subprocess.Popen(command, executable=program.executable, env={**os.environ, _VARIABLE: str(request)})
            )
            code = children[0].wait()
        source = program.source.read_text(encoding="utf-8", errors="replace")
        return Finished(_SIGNALLED - code if code < 0 else code, read_log(log, program.host_lines, source))


@contextlib.contextmanager
def _passing_signals_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Meanwhile Ctrl-C, which a terminal sends to the children too, is theirs to answer; they are ended with us."""
    children: list[subprocess.Popen[bytes]] = []

    def end(*_: object) -> None:
        for child in children:
            child.terminate()

    before = {signal.SIGINT: signal.getsignal(signal.SIGINT), signal.SIGTERM: signal.getsignal(signal.SIGTERM)}
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, end)
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
