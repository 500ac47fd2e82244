"""`grader run`: whole programs that check themselves run as on a GPU, and near twins of them are found out.

A wrong program says in its second line which kind of finding it must show; `//: here` stands behind the line of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.judging import CommandLine

PROGRAMS = Path(__file__).parent / "programs"
RIGHT = sorted(PROGRAMS.glob("*.cu"))
WRONG = sorted((PROGRAMS / "wrong").glob("*.cu"))
_FAULTY = 1


def wanted(program: Path) -> tuple[str, list[int]]:
    """The kind of finding that a wrong program shows, and the lines at which it may be told."""
    text = program.read_text()
    kind = re.search(r"^//: (\w+)$", text, re.MULTILINE)
    assert kind is not None
    return kind[1], [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("//: here")]


@pytest.mark.parametrize("program", RIGHT, ids=lambda path: path.stem)
def test_a_right_program_passes_its_own_check_and_nothing_is_found(program: Path, command_line: CommandLine) -> None:
    done = command_line("run", str(program))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "PASS"
    assert done.stderr == ""


@pytest.mark.parametrize("program", WRONG, ids=lambda path: path.stem)
def test_a_wrong_program_is_found_out(program: Path, command_line: CommandLine, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    done = command_line("run", str(program), "--json", str(told))
    assert done.returncode == _FAULTY, done.stdout + done.stderr
    findings: list[dict[str, Any]] = json.loads(told.read_text())["findings"]
    kind, lines = wanted(program)
    assert {finding["kind"] for finding in findings} == {kind}, done.stderr
    assert {finding["line"] for finding in findings} <= set(lines), done.stderr
    assert findings[0]["message"][:40].split()[0] in done.stderr
