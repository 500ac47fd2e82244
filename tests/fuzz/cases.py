"""Cases run in child processes. One that ends its process is made smaller and kept, with the command to repeat it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.judging import ROOT

_BATCH = 512  # cases of one process: what it leaves lying about is looked at when it ends
_GRACE = 600.0  # seconds for the last case; it has limits of its own
_ALL = (1 << 64) - 1
_EDITS, _STEPS = 8, 13  # of a case at most: tests/fuzz/main.cpp
_OPTIONS = {
    "ASAN_OPTIONS": "exitcode=99:hard_rss_limit_mb=2048:quarantine_size_mb=16:malloc_context_size=12",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "exitcode=99:halt_on_error=1",
}
_TELLING = re.compile(
    r"(?:fuzz: |runtime error: |SUMMARY: |hard rss limit|WARNING: ThreadSanitizer: |^\w+Error\b).*", re.M
)


@dataclass(frozen=True)
class Target:
    """A program with the verbs run, write and repeat, as described in main.cpp and ptx_cases.py.

    `texts` says that a case's file can be made smaller by leaving out lines.
    """

    name: str
    command: tuple[str, ...]
    corpus: Path
    texts: bool = False


@dataclass(frozen=True)
class Failure:
    """A case that ended its process. `folder` holds its file, what was said, and how to repeat it."""

    target: Target
    seed: int
    number: int
    what: str
    folder: Path
    repeat: str


def run_cases(target: Target, seed: int, first: int, seconds: float) -> Iterator[int | tuple[int, str]]:
    """Runs cases from `first` on; yields the number of the next case, and (number, what was said) for one that failed.

    Ends when the time is over.
    """
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        arguments = (target.corpus, seed, first, _BATCH - first % _BATCH, max(1, round(left)))
        done = ran(target, "run", *arguments)
        last = re.findall(r"^(case|next) (\d+)$", done.stdout, re.M)[-1:] or [("next", str(first))]
        first = int(last[0][1])
        if done.returncode != 0:
            yield first, told(done)
            first += 1
        yield first


def told(done: subprocess.CompletedProcess[str]) -> str:
    """What ended a process, in one line that is the same for the same fault; empty where it ended well."""
    if done.returncode == 0:
        return ""
    if -done.returncode in (signal.SIGPROF, signal.SIGALRM):
        return "it takes too long"
    found = [match[0].strip() for match in _TELLING.finditer(done.stderr)]
    reason = found[-1] if found and found[-1].startswith(("SUMMARY", "WARNING")) else found[0] if found else ""
    return re.sub(r"\S*/source/|0x[0-9a-f]+|==\d+==", "", reason).strip() or f"it ends with {done.returncode}"


def keep(target: Target, seed: int, number: int, what: str, folder: Path) -> Failure:
    """Makes the case smaller as long as it fails in the same way, and keeps it in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"case{'.ptx' if target.texts else '.simt'}"

    def fails(edits: int, steps: int) -> bool:
        ran(target, "write", target.corpus, seed, number, hex(edits), file)
        return told(ran(target, "repeat", file, seed, number, hex(steps))) == what

    if not fails(_ALL, _ALL):
        arguments = (target.corpus, seed, number // _BATCH * _BATCH, number % _BATCH + 1, 3600)
        return _kept(target, seed, number, f"{what} (only after other cases)", folder, ("run", *arguments))
    edits = _without(_ALL, _EDITS, lambda mask: fails(mask, _ALL))
    steps = _without(_ALL, _STEPS, lambda mask: fails(edits, mask))
    fails(edits, steps)
    if target.texts:
        _drop_lines(file, lambda: told(ran(target, "repeat", file, seed, number, hex(steps))) == what)
    return _kept(target, seed, number, what, folder, ("repeat", file, seed, number, hex(steps)))


def _kept(target: Target, seed: int, number: int, what: str, folder: Path, arguments: tuple[object, ...]) -> Failure:
    done = ran(target, *arguments)
    options = " ".join(f"{name}={value}" for name, value in _OPTIONS.items())
    repeat = f"{options} {' '.join(map(str, (*target.command, *arguments)))}"
    (folder / "told.txt").write_text(f"{what}\nseed {seed}, case {number}\n{repeat}\n\n{done.stderr}", encoding="utf-8")
    return Failure(target, seed, number, what, folder, repeat)


def _without(mask: int, bits: int, fails: Callable[[int], bool]) -> int:
    """The mask without those of its lowest bits that can be spared."""
    if fails(mask >> bits << bits):
        return mask >> bits << bits
    for bit in range(bits):
        if fails(mask & ~(1 << bit)):
            mask &= ~(1 << bit)
    return mask


def _drop_lines(file: Path, fails: Callable[[], bool]) -> None:
    """Leaves out as many lines as can be spared: halves, quarters, …, single ones."""
    lines = file.read_text(encoding="utf-8").split("\n")
    size = len(lines) // 2
    while size > 0:
        at = 0
        while at < len(lines):
            shorter = lines[:at] + lines[at + size :]
            file.write_text("\n".join(shorter), encoding="utf-8")
            if fails():
                lines = shorter
            else:
                at += size
        size //= 2
    file.write_text("\n".join(lines), encoding="utf-8")


def ran(target: Target, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A verb of the target and its arguments, run to the end."""
    seconds = float(str(arguments[5])) if arguments[0] == "run" else 0.0
    return subprocess.run(
        [*target.command, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **_OPTIONS, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds + _GRACE,
        check=False,
    )


def ptx_target(corpus: Path) -> Target:
    return Target("PTX", (sys.executable, "-m", "tests.fuzz.ptx_cases"), corpus, texts=True)


def machine_target(driver: Path, corpus: Path) -> Target:
    return Target("machine", (str(driver),), corpus)
