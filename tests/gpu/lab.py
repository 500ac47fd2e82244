"""`grader sweep` and `grader profile` on a real GPU: `python -m tests.gpu.lab [--parts 1.3,3.3] [--out FILE]`.

Of each part, first what Nsight Compute counts beside us and what a trace of it shows, then a sweep over a few sizes,
alone. Takes about a minute; what is done is written as it comes, and a part that fails is a problem in the file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from grader.catalog import Located, load_catalog
from grader.cuda.contest import Rule
from grader.profile.run import profile, traced
from grader.small_case import small_case
from grader.submission import Submission
from grader.sweep import choice
from grader.sweep.run import sweep
from grader.tools import TorchLoading, default_tools
from tests.gpu.bare import about
from tests.gpu.counting import output

PARTS = "1.3,1.4,3.3,5.5"
SIZES = (64, 256, 1024)
RULE = Rule(least_rounds=15, most_rounds=40, seconds=0.5)
SEED = 20_261_130
AT_ONCE = 4


def submission_of(located: Located) -> Submission:
    return Submission(located, located.solution_path, located.path.name, is_solution=True)


def counted(located: Located) -> dict[str, Any]:
    """What `grader profile` says."""
    found = profile(
        submission_of(located), small_case(located.part), seed=SEED, tools=default_tools(), loading=TorchLoading()
    )
    row: dict[str, Any] = json.loads(found.to_json())
    row["differing"] = [
        [kernel.name, metric, kernel.compiled[metric], counted]
        for kernel in found.kernels
        for metric, counted in (kernel.measured or {}).items()
        if counted != kernel.compiled[metric]
    ]
    row["problems"] = [found.not_measured] if found.not_measured is not None else []
    return row


def trace_of(located: Located) -> dict[str, Any]:
    """How often each kernel is in the trace that `grader profile --trace` writes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        why = traced(submission_of(located), located.part.bench, file, seed=SEED, tools=default_tools())
        if why is not None:
            return {"problems": [why]}
        events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    kernels = Counter(event["name"] for event in events if event.get("cat") == "kernel")
    return {"events": len(events), "kernels": kernels, "problems": [] if kernels else ["no kernel in the trace"]}


def swept(located: Located) -> dict[str, Any]:
    """What `grader sweep` says."""
    found = sweep(
        submission_of(located),
        None,
        seed=SEED,
        tools=default_tools(),
        loading=TorchLoading(),
        progress=lambda _: None,
        rule=RULE,
    )
    untimed = [f"{shape.value}: {shape.untimed}" for shape in found.shapes if shape.untimed is not None]
    row: dict[str, Any] = json.loads(found.to_json())
    return {**row, "problems": [*untimed, *([found.no_times] if found.no_times else [])]}


def row_of(what: Callable[[Located], dict[str, Any]], located: Located) -> dict[str, Any]:
    """One of the above, or a problem."""
    begun = time.perf_counter()
    try:
        row = what(located)
    except Exception as error:
        row = {"problems": [f"{type(error).__name__}: {error}"]}
    row["seconds"] = round(time.perf_counter() - begun, 1)
    print(located.label, what.__name__, row["seconds"], *row["problems"], flush=True)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--parts", default=PARTS)
    parser.add_argument("--out", type=Path, default=Path("lab.json"))
    parser.add_argument("--commit", default="")
    options = parser.parse_args()
    choice.SIZES = SIZES
    head = about(f"tests.gpu.lab --parts {options.parts}") | {"commit": options.commit}
    rows: list[dict[str, Any]] = []
    found: dict[str, Any] = {"about": head, "parts": rows}
    try:
        head["ncu"] = output(["ncu", "--version"]).splitlines()[-1]
    except (OSError, subprocess.CalledProcessError) as error:
        rows.append({"problems": [str(error)]})
    parts = [located for label in options.parts.split(",") if (located := load_catalog().resolve(label)[1]) is not None]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        profiles = list(pool.map(lambda one: row_of(counted, one), parts))
    rows += [{"label": one.label, "profile": counts} for one, counts in zip(parts, profiles, strict=True)]
    for located, row in zip(parts, rows[-len(parts) :], strict=True):
        for name, what in (("trace", trace_of), ("sweep", swept)):
            options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            row[name] = row_of(what, located)
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if any(problems_of(found)) else 0


def problems_of(plain: Any) -> Iterator[str]:
    """Whatever stands under "problems", at any depth."""
    for key, value in plain.items() if isinstance(plain, dict) else enumerate(plain):
        if key == "problems":
            yield from value
        elif isinstance(value, dict | list):
            yield from problems_of(value)


if __name__ == "__main__":
    sys.exit(main())
