"""Damaged PTX, case by case.

A case is known by a seed and a number, and always the same:

    python -m tests.fuzz.ptx_cases run CORPUS SEED FIRST COUNT SECONDS [LOWERED]
    python -m tests.fuzz.ptx_cases write CORPUS SEED NUMBER EDITS FILE
    python -m tests.fuzz.ptx_cases repeat FILE SEED NUMBER STEPS

`run` says which case begins, and ends when COUNT are done or SECONDS over; programs go to the folder LOWERED if there
is one. EDITS and STEPS mean nothing here: a text is made smaller line by line. A text may be refused with PtxError or
become a well-formed program; any other exception, and a case that takes long or much memory, ends the process.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import time
from pathlib import Path

from grader.simt.lower import lower
from grader.simt.program import program_bytes
from grader.simt.program_check import check
from grader.simt.ptx import PtxError
from tests.ptx_mutations import mutated

_SECONDS = 5.0  # of processor time, for a text that takes less than one undamaged
_MEMORY = 2 << 30


def case_text(corpus: list[str], seed: int, number: int) -> str:
    rng = random.Random(f"{seed} {number}")
    return mutated(rng.choice(corpus), rng)


def lowered(text: str) -> bytes | None:
    """The program's file, None where the text is refused, with a line of its own."""
    try:
        program = lower(text, "x.cu")
    except PtxError as error:
        if not (1 <= error.line <= text.count("\n") + 1 and str(error).strip()):
            raise ValueError(f"an error of line {error.line} that says: {error}") from error
        return None
    check(program)
    return program_bytes(program)


def try_text(text: str) -> bytes | None:
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        return lowered(text)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def run(corpus: list[str], seed: int, first: int, count: int, seconds: float, folder: Path | None) -> None:
    end = time.monotonic() + seconds
    number = first
    while number < first + count and time.monotonic() < end:
        print(f"case {number}", flush=True)
        program = try_text(case_text(corpus, seed, number))
        if program is not None and folder is not None:
            (folder / f"damaged-{number:06}.simt").write_bytes(program)
        number += 1
    print(f"next {number}", flush=True)


def read_corpus(folder: str) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("*.ptx"))]


def main(verb: str, *words: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    match verb, words:
        case "run", (corpus, seed, first, count, seconds, *lowered_folder):
            folder = Path(lowered_folder[0]) if lowered_folder else None
            run(read_corpus(corpus), int(seed), int(first), int(count), float(seconds), folder)
        case "write", (corpus, seed, number, _, file):
            Path(file).write_text(case_text(read_corpus(corpus), int(seed), int(number)), encoding="utf-8")
        case "repeat", (file, _, _, _):
            try_text(Path(file).read_text(encoding="utf-8"))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
