"""A short run of `make fuzz`, and that it finds what it looks for: a fault is made small, kept, and can be repeated."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cache import content_key
from grader.native import build_sanitized_machine
from tests.fuzz.cases import Target, keep, run_cases, told
from tests.fuzz.driver import SANITIZERS, sanitizers_missing
from tests.fuzz.run import fuzz
from tests.judging import ROOT
from tests.ptx_snippets import kernel

_SECONDS = 4.0  # of each seed; building what it needs, which takes minutes, comes once


def seed_of_the_commit() -> int:
    """Another one for each commit; in a copy without a history, for each state of the software GPU."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    sources = sorted((ROOT / "grader" / "simt").rglob("*.?p*"))
    name = done.stdout if done.returncode == 0 else content_key(*(path.read_bytes() for path in sources))
    return int(name.strip()[:12], 16)


@pytest.fixture(scope="module", autouse=True)
def _sanitizers() -> None:
    if (missing := sanitizers_missing()) is not None:
        pytest.skip(missing)


@pytest.mark.sanitizers
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, seed_of_the_commit()], ids=["fixed", "of the commit"])
def test_damaged_texts_and_programs_are_refused_or_run_within_bounds(tmp_path: Path, seed: int) -> None:
    said: list[str] = []
    assert fuzz(_SECONDS, seed, tmp_path, said.append) == [], "\n".join(said)
    cases = re.findall(r"(\d+) cases", said[-1])
    assert min(map(int, cases)) > 10


@pytest.mark.sanitizers
@pytest.mark.timeout(1800)
def test_the_machine_is_built_with_both_sanitizers() -> None:
    code = build_sanitized_machine(SANITIZERS).read_bytes()
    assert b"__asan_report_store" in code
    assert b"__ubsan_handle" in code
    assert b"_abort" in code  # the handlers that end the process


# A stand-in for the driver, whose case 5 fails by its third edit and its second step, but not by one of them alone.
_STAND_IN = """
import sys
verb, corpus, seed, number, third, *rest = sys.argv[1:]
if verb == "run":
    for case in range(int(number), int(number) + int(third)):
        print("case", case, flush=True)
        if case == 5:
            sys.exit("fuzz: something is wrong in case 0x5")
    print("next", case + 1)
elif verb == "write":
    open(rest[0], "w").write("damaged" if int(third, 16) & 4 else "whole")
elif open(corpus).read() == "damaged" and int(third, 16) & 2:
    sys.exit("fuzz: something is wrong in case 0x7f5")
"""


def test_a_case_that_fails_is_kept_with_nothing_in_it_that_can_be_spared(tmp_path: Path) -> None:
    program = tmp_path / "stand_in.py"
    program.write_text(_STAND_IN)
    target = Target("stand-in", (sys.executable, str(program)), tmp_path)
    events = run_cases(target, 1, 0, 60.0)
    failed = next(event for event in events if isinstance(event, tuple))
    assert failed == (5, "fuzz: something is wrong in case")
    assert next(events) == 6
    failure = keep(target, 1, *failed, tmp_path / "kept")
    assert (tmp_path / "kept" / "case.simt").read_text() == "damaged"
    assert int(failure.repeat.split()[-1], 16) & 0x1FFF == 2
    again = subprocess.run(["bash", "-c", failure.repeat], capture_output=True, text=True, check=False)
    assert told(again) == failure.what
    assert failure.repeat in (tmp_path / "kept" / "told.txt").read_text()


# The reader with a fault: it takes a text with a division and a barrier in it badly.
_FAULTY_READER = """
import sys
from tests.fuzz import ptx_cases
def lower(text, name):
    if "div." in text and "bar.sync" in text:
        raise KeyError("a fault")
    raise ptx_cases.PtxError("refused", 1)
ptx_cases.lower = lower
ptx_cases.main(*sys.argv[1:])
"""


def test_a_text_that_fails_is_kept_with_the_lines_that_matter(tmp_path: Path) -> None:
    program = tmp_path / "faulty_reader.py"
    program.write_text(_FAULTY_READER)
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "both.ptx").write_text(kernel("div.u32 %r1, %r2, %r3;\nadd.u32 %r4, %r1, 1;\nbar.sync 0;\nret;"))
    target = Target("PTX", (sys.executable, str(program)), texts, texts=True)
    failed = next(event for event in run_cases(target, 1, 0, 60.0) if isinstance(event, tuple))
    assert failed[1] == "KeyError: 'a fault'"
    keep(target, 1, *failed, tmp_path / "kept")
    lines = (tmp_path / "kept" / "case.ptx").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) == 2
