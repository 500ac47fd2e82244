"""`make bench`: how long a learner waits, as medians, beside the limits that the course sets itself.

Exits 0 only if every median is within its limit. Numbers are wall-clock seconds of whole processes on this machine.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from grader.catalog import load_catalog

ROOT = Path(__file__).resolve().parents[2]
GRADER = Path(sys.executable).with_name("grader")
REPEATS = 7


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="grader-bench-") as folder:
        source = Path(folder) / "2_vector_add.cu"
        solution = load_catalog(ROOT).resolve("1.2")[1]
        assert solution is not None
        text = solution.solution_path.read_text(encoding="utf-8")
        source.write_text(text, encoding="utf-8")

        def change(repeat: int) -> None:
            source.write_text(f"{text}// change {time.time_ns()} {repeat}\n", encoding="utf-8")

        environment = {**os.environ, "GRADER_DATA": folder}
        rows = [
            ("grader --help", 0.3, wait(["--help"], environment)),
            ("grader check 1.2, warm", 2.0, wait(["check", "1.2", "--file", str(source)], environment)),
            ("grader check 1.2, changed file", 2.5, wait(["check", "1.2", "--file", str(source)], environment, change)),
        ]
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, median of {REPEATS} (fastest to slowest)")
    for name, limit, times in rows:
        middle = statistics.median(times)
        within = "" if middle <= limit else "  TOO SLOW"
        print(f"{name:32} {middle:6.3f} s ({min(times):.3f} to {max(times):.3f}), at most {limit} s{within}")
    return 0 if all(statistics.median(times) <= limit for _, limit, times in rows) else 1


def wait(arguments: list[str], environment: dict[str, str], before: Callable[[int], None] | None = None) -> list[float]:
    """The times of some runs, after one that warms the caches; `before` is not timed."""
    times = []
    for repeat in range(REPEATS + 1):
        if before is not None:
            before(repeat)
        begun = time.perf_counter()
        done = subprocess.run(
            [GRADER, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        times.append(time.perf_counter() - begun)
        if done.returncode != 0:
            sys.exit(f"grader {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return times[1:]


if __name__ == "__main__":
    sys.exit(main())
