"""The fuzz of the software GPU: damaged PTX through the reader, damaged programs and wild launches through the machine.

    python -m tests.fuzz.run [--seconds 300] [--seed 1] [--out build/fuzz]

The same seed gives the same cases in the same order; the time says how many of them. Each fault is shown once, made
smaller, and kept in a folder of its own with the command that repeats it. Ends with 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.fuzz import corpus
from tests.fuzz.cases import Failure, Target, keep, machine_target, ptx_target, ran, run_cases
from tests.fuzz.driver import build_driver
from tests.judging import ROOT

_DAMAGED = 64  # damaged texts whose programs the machine gets, beside those of the texts as they are
_ROUND = 20.0  # seconds, of which PTX has a quarter


def fuzz(seconds: float, seed: int, out: Path, say: Callable[[str], None]) -> list[Failure]:
    """Runs cases for so long, the preparation apart; the faults that came to light, each once."""
    driver = build_driver()
    with tempfile.TemporaryDirectory() as work:
        texts, programs = Path(work) / "texts", Path(work) / "programs"
        texts.mkdir()
        programs.mkdir()
        corpus.write_texts(texts)
        corpus.write_programs(texts, programs)
        ptx, machine = ptx_target(texts), machine_target(driver, programs)
        ran(ptx, "run", texts, seed, 0, _DAMAGED, 3600, programs)  # what fails here will fail again below
        say(f"{len(list(texts.iterdir()))} texts, {len(list(programs.iterdir()))} programs, seed {seed}")
        hunt = _Hunt(seed, out, say)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            hunt.go_on(ptx, min(left, _ROUND) / 4)
            hunt.go_on(machine, min(left, _ROUND) * 3 / 4)
        hunt.sum_up()
        return list(hunt.failures.values())


class _Hunt:
    def __init__(self, seed: int, out: Path, say: Callable[[str], None]) -> None:
        self.seed, self.out, self.say = seed, out, say
        self.next: dict[str, int] = {}
        self.failures: dict[str, Failure] = {}

    def go_on(self, target: Target, seconds: float) -> None:
        for event in run_cases(target, self.seed, self.next.get(target.name, 0), seconds):
            if isinstance(event, int):
                self.next[target.name] = event
            elif event[1] not in self.failures:
                self._keep(target, *event)

    def _keep(self, target: Target, number: int, what: str) -> None:
        folder = self.out / f"{target.name.lower()}-{self.seed}-{number}"
        failure = keep(target, self.seed, number, what, folder)
        self.failures[what] = failure
        self.say(f"{target.name}, case {number}: {failure.what}\n  {folder}\n  {failure.repeat}")

    def sum_up(self) -> None:
        cases = ", ".join(f"{count} cases of {name}" for name, count in self.next.items())
        self.say(f"{cases}; {len(self.failures) or 'no'} faults")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz")
    options = parser.parse_args()
    return 1 if fuzz(options.seconds, options.seed, options.out, say=print) else 0


if __name__ == "__main__":
    sys.exit(main())
