"""Whole checks on a real GPU, by hand: `python -m tests.gpu.checks [--out FILE] [--only WORD ...]`; some two minutes.

Solutions handed in as a learner would, which race the very same reference; kernels that are right and slow; and one
whose fault only the GPU meets, at full size. Of each stands there what the verdict said of time and medal, what is
held to be the reason, and the text of the terminal. Exits 0 only if all came out as expected.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.catalog import Located, load_catalog
from grader.check import Options, Submission, check_part
from grader.puzzle import Case
from grader.report import Surroundings, print_part
from grader.tools import TorchLoading, default_tools
from grader.verdict import PartVerdict, dumps
from tests.gpu.bare import about
from tests.gpu.first_light import ROOT

HERE = Path(__file__).parent
WIDTH = 100
SEED = 7
FULL_SIZE = Case(n=1 << 24)  # of the part whose small cases do not meet the fault


@dataclass(frozen=True)
class Check:
    """A file to be checked as a part, and what is to come of it: a state, and one of the words of `expected` in what is
    told of the medal or the reason. `far` stands for a part of small cases, whose full size is larger than these.
    """

    label: str
    file: str
    state: str = "passed"
    expected: tuple[str, ...] = ("gold",)
    text: tuple[str, str] = ("", "")
    far: bool = False


WRONG = "tests/wrong"
CHECKS = (
    *(Check(label, "") for label in ("1.2", "2.3", "2.6", "3.4", "4.4", "5.3", "5.7", "6.3", "8.2", "9.2")),
    Check("1.2", f"{WRONG}/puzzle_01_vector_add/lanes_far_apart.cu", "goal_open", ("global_load",)),
    Check("2.3", f"{WRONG}/puzzle_02_tiled_gemm/tiled_without_tiles.cu", "goal_open", ("loaded_again",)),
    Check("3.4", f"{WRONG}/puzzle_03_bank_conflicts/padded_not_at_all.cu", "goal_open", ("shared_load",)),
    Check("5.3", f"{WRONG}/puzzle_05_reductions/sum_one_block.cu", "goal_open", ("idle",)),
    Check("5.3", f"{WRONG}/puzzle_05_reductions/sum_an_atomic_a_thread.cu", "goal_open", ("atomics",)),
    Check("1.2", "tests/gpu/one_thread_astray.cu", "wrong", ("out_of_bounds_write",), far=True),
    Check(
        "1.2",
        "tests/gpu/one_thread_astray.cu",
        "wrong",
        ("device_trap",),
        text=("ASTRAY 100000", "ASTRAY 5000000"),
        far=True,
    ),
)


def main() -> int:
    options = _options()
    found: dict[str, Any] = {"about": {"commit": options.commit, **about("tests.gpu.checks")}, "checks": []}
    tools, loading = default_tools(), TorchLoading()
    for check in CHECKS:
        if options.only and not any(word in f"{check.label} {check.file}" for word in options.only):
            continue
        begun = time.monotonic()
        verdict, text = _judged(check, tools, loading)
        row = _row(check, verdict, text) | {"seconds": round(time.monotonic() - begun, 1)}
        found["checks"].append(row)
        words = ("label", "file", "state", "ms", "medal", "of_limit", "reason", "seconds", "problems")
        print(*(f"{row[word]}" for word in words), sep=" | ", flush=True)
        if options.out is not None:
            options.out.write_text(json.dumps(json.loads(dumps(found)), indent=1) + "\n", encoding="utf-8")
    return 1 if any(row["problems"] for row in found["checks"]) else 0


def _judged(check: Check, tools: Any, loading: TorchLoading) -> tuple[PartVerdict, str]:
    located = _located(check)
    source = ROOT / check.file if check.file else located.solution_path
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / source.name
        path.write_text(source.read_text(encoding="utf-8").replace(*check.text), encoding="utf-8")
        submission = Submission(located, path, source.name)
        verdict = check_part(submission, Options(SEED, "cuda"), tools, loading)
        around = Surroundings(located.puzzle.number, located.puzzle.puzzle.title, located.index, 9, submission.text())
    console = Console(file=io.StringIO(), width=WIDTH, highlight=False)
    print_part(console, verdict, around)
    assert isinstance(console.file, io.StringIO)
    return verdict, console.file.getvalue()


def _located(check: Check) -> Located:
    located = load_catalog(ROOT).resolve(check.label)[1]
    assert located is not None
    if not check.far:
        return located
    groups = {"some": [Case(n=1), Case(n=1000)]}
    return replace(located, part=replace(located.part, groups=groups, bench=FULL_SIZE, far=None, goals=()))


def _row(check: Check, verdict: PartVerdict, text: str) -> dict[str, Any]:
    timing = verdict.timing
    held = timing.bottleneck if timing is not None else None
    kinds = [finding.kind for finding in verdict.findings]
    told = {*kinds, timing.medal if timing is not None else None, held.kind if held is not None else None}
    problems = (
        [f"{verdict.state}, not {check.state}: {verdict.reason or kinds}"] if verdict.state != check.state else []
    )
    if not told & set(check.expected):
        problems.append(f"none of {check.expected} in {sorted(filter(None, told))}")
    if check.state != "wrong" and (timing is None or timing.refused or timing.left_out):
        refused = (timing.refused, dict(timing.left_out)) if timing is not None else verdict.untimed
        problems.append(f"not timed, or not all: {refused}")
    return {
        "label": check.label,
        "file": check.file or "solution",
        "state": verdict.state,
        "findings": kinds,
        "ms": timing.ms if timing is not None else None,
        "medal": timing.medal if timing is not None else None,
        "of_limit": timing.of_limit if timing is not None else None,
        "reason": held.kind if held is not None else None,
        "timing": timing,
        "steps": verdict.seconds,
        "text": text.splitlines(),
        "problems": problems,
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="+", help="checks whose label or file has one of these words")
    parser.add_argument("--commit", help="of the tree that this is, where git cannot say")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
