"""Nsight Compute's numbers: a plan is replayed under `ncu`, and what it writes is read.

The plan runs in a process of its own (nsight_child.py), from which no result comes back: who profiles has seen it run
right. Inputs are those of the case, so that what depends on values is counted as it is.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from grader.cuda.addresses import ARENA_BYTES, PLACES
from grader.cuda.input_sets import InputSets
from grader.cuda.nsight_child import FAILED
from grader.cuda.poison import poison_in
from grader.explain import sentence
from grader.explain.names import base_name
from grader.facts import as_sentence
from grader.puzzle import Case, Part, buffer_bytes
from grader.record.layout import Layout

if TYPE_CHECKING:
    from grader.record.plan import Plan

_SECONDS = 120.0  # a launch is run several times, and ncu itself takes seconds to start
_CHILD = (sys.executable, "-m", "grader.cuda.nsight_child")
_ROOT = Path(__file__).parents[2]
_PERMISSION = "ERR_NVGPUCTRPERM"
# The child's own word, which says more than that it has failed; then the profiler's.
_REASONS = (re.compile(rf"^{FAILED}(.+)", re.MULTILINE), re.compile(r"==ERROR==\s*(.+)"))


class NotMeasured(Exception):
    """There are no numbers of Nsight Compute's; the message is one sentence."""


def find_ncu() -> str | None:
    """The path of `ncu`, None where there is none."""
    return shutil.which("ncu")


def layout_of(part: Part, case: Case) -> Layout:
    """Where a plan that is to be measured is recorded: where the driver puts what it has no reason to put elsewhere."""
    return PLACES[0].layout([case.offset.get(buffer.name, 0) for buffer in part.buffers])


def measured(
    part: Part, case: Case, plan: Plan, cubin: Path, *, seed: int, metrics: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Each of `metrics` that this GPU has, summed over the launches of a kernel, by its mangled name.

    Raises `NotMeasured`.
    """
    ncu = find_ncu()
    if ncu is None:
        raise NotMeasured(sentence("profile", "no_ncu"))
    with TemporaryDirectory(prefix="grader-ncu-") as folder, InputSets(part, case, [seed]) as sets:
        work = Path(folder)
        _write_request(work, part, case, plan, cubin, sets.paths[0])
        log = work / "ncu.csv"
        said = _run([ncu, *_options(metrics, log), *_CHILD, str(work)])
        written = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        return _summed(plan, _rows(written, said), metrics)


def _write_request(work: Path, part: Part, case: Case, plan: Plan, cubin: Path, inputs: Mapping[str, str]) -> None:
    from grader.record.plan import save

    save(plan, work / "plan.json")
    shutil.copy(cubin, work / "kernel.cubin")
    asked = {
        "sizes": [buffer_bytes(buffer, case.params) for buffer in part.buffers],
        "hints": PLACES[0].hints(len(part.buffers) + 1),
        "arena": ARENA_BYTES,
        "inputs": dict(inputs),
        "poison": poison_in(part, case, 0),
    }
    (work / "request.json").write_text(json.dumps(asked), encoding="utf-8")


def _options(metrics: Sequence[str], log: Path) -> list[str]:
    named = ["--metrics", ",".join(metrics)]
    return [
        "--clock-control",
        "none",
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
        "--log-file",
        str(log),
        *named,
    ]


def _run(command: Sequence[str]) -> str:
    """What the profiler and the child said."""
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "CUDA_MODULE_LOADING": "EAGER"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotMeasured(sentence("profile", "ncu_failed", facts={"why": str(error)})) from error
    return done.stdout + done.stderr


def _rows(written: str, said: str) -> list[dict[str, str]]:
    """The table in what ncu wrote, a row a launch."""
    begin = written.find('"ID"')
    if begin < 0:
        raise NotMeasured(_why_not(f"{written}\n{said}"))
    return [row for row in csv.DictReader(written[begin:].splitlines()) if row["ID"]]


def _why_not(said: str) -> str:
    if _PERMISSION in said:
        return sentence("profile", "no_permission")
    reasons = [found[1] for pattern in _REASONS if (found := pattern.search(said)) is not None]
    return sentence("profile", "ncu_failed", facts={"why": as_sentence([*reasons, said.strip()[-300:]][0])})


def _summed(plan: Plan, rows: Sequence[Mapping[str, str]], metrics: Sequence[str]) -> dict[str, dict[str, int]]:
    from grader.trial import launches_of

    launches = launches_of(plan)
    names = {base_name(launch.kernel) for launch in launches}
    own = [row for row in rows if any(name in row["Kernel Name"] for name in names)]
    if len(own) != len(launches):
        raise NotMeasured(sentence("profile", "other_launches", facts={"seen": len(own), "asked": len(launches)}))
    found: dict[str, dict[str, int]] = {}
    for launch, row in zip(launches, own, strict=True):
        counts = found.setdefault(launch.kernel, dict.fromkeys(metrics, 0))
        for metric in list(counts):
            number = _number(row.get(metric, ""))
            if number is None:
                del counts[metric]
            else:
                counts[metric] += number
    return found


def _number(text: str) -> int | None:
    """As ncu writes it; None for a metric that this GPU has none of."""
    try:
        return int(float(text.replace(",", "")))
    except ValueError:
        return None
