"""Runs a program in a cage and collects what it writes, within limits."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.cache import ToolMissing
from grader.cage.command import Cage, caged
from grader.cage.pipes import Output, Pipes

_MEBIBYTE = 1 << 20
_REPORT = -1  # the cage's own word, beside the descriptors that the program knows
# How long what a killed group left behind may hold its pipes open before we look away.
_LAST_WORDS = 0.5  # seconds


@dataclass(frozen=True)
class Finished:
    """How a caged program ended, and what it wrote.

    `returncode` is -N for a program killed by signal N. `ended`: it came to its end by itself ("exit"), was killed when
    its time was over ("timeout"), or because it wrote more to one of `pipes` than that pipe's limit ("flood"). stdout
    and stderr hold the first bytes up to their limit; `pipes` has what came on each further descriptor.
    """

    returncode: int
    stdout: bytes
    stderr: bytes
    pipes: Mapping[int, bytes]
    seconds: float
    ended: Literal["exit", "timeout", "flood"]


def run(
    command: Sequence[str | Path],
    *,
    cage: Cage,
    directory: Path,
    seconds: float,
    stdin: bytes = b"",
    pipes: Mapping[int, int] | None = None,
    environment: Mapping[str, str] | None = None,
    output_bytes: int = _MEBIBYTE,
) -> Finished:
    """Run `command` (its first word a path) in `directory`, at most `seconds` by the wall clock.

    `pipes` maps each further descriptor that the program may write to (3 to 63) to the most bytes it may send; more
    ends the program. `environment` is the whole environment. The program and all it started are one process group,
    killed together when the program ends or its time is over. Safe to call while other threads run.

    Raises ToolMissing where the cage or the program cannot be started.
    """
    pipes = pipes or {}
    outputs = {1: Output(output_bytes), 2: Output(output_bytes), _REPORT: Output(_MEBIBYTE)}
    outputs |= {target: Output(limit, floods=True) for target, limit in pipes.items()}
    started = time.monotonic()
    with contextlib.closing(Pipes()) as streams:
        ends = {target: streams.from_program(output) for target, output in outputs.items()}
        process = _start(command, cage, directory, environment or {}, {0: streams.to_program(stdin), **ends})
        try:
            streams.started()
            ended = _watch(process.pid, streams, started + seconds)
        finally:
            _end(process)
        streams.drain(_LAST_WORDS)
    kept = {target: bytes(output.kept) for target, output in outputs.items()}
    _raise_if_not_started(process.returncode, kept[_REPORT], kept[2])
    return Finished(
        returncode=process.returncode,
        stdout=kept[1],
        stderr=kept[2],
        pipes={target: kept[target] for target in pipes},
        seconds=time.monotonic() - started,
        ended="flood" if streams.flooded else ended,
    )


def _start(
    command: Sequence[str | Path], cage: Cage, directory: Path, environment: Mapping[str, str], ends: Mapping[int, int]
) -> subprocess.Popen[bytes]:
    """`ends` are the program's ends of the pipes, by the descriptor that it shall know each by."""
    further = {target: end for target, end in ends.items() if target > 2}
    return subprocess.Popen(
        caged(command, cage, directory, further, ends[_REPORT]),
        stdin=ends[0],
        stdout=ends[1],
        stderr=ends[2],
        pass_fds=(*further.values(), ends[_REPORT]),
        cwd=directory,
        env=dict(environment),
        start_new_session=True,
    )


def _watch(pid: int, streams: Pipes, deadline: float) -> Literal["exit", "timeout"]:
    """Serve the pipes until the program ends, floods one, or its time is over.

    It is not reaped here: until its group has been killed, its id must not become another's.
    """
    with streams.waking_at_exit(pid) as longest:
        while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and not streams.flooded:
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            streams.turn(min(left, longest))
    return "exit"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole group, whether the program is still there or has left others behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _raise_if_not_started(returncode: int, report: bytes, stderr: bytes) -> None:
    lines = report.decode(errors="replace").splitlines()
    failed = next((line for line in lines if line.startswith("error ")), None)
    if failed is not None:
        raise ToolMissing(f"the cage could not start the program ({failed.removeprefix('error ')}): grader doctor")
    if not lines:
        said = stderr.decode(errors="replace").strip() or f"exit code {returncode}"
        raise ToolMissing(f"the cage itself did not start ({said}): grader doctor")
