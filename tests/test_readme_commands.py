"""Every command in the READMEs works as it stands there: those of the grader are run, in a fresh workspace.

They are run in this process, which has imported PyTorch once; that whose verdict the course's page shows is one itself.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from grader.catalog import load_catalog
from tests.judging import ROOT, CommandLine

READMES = [ROOT / "README.md", *sorted(ROOT.glob("puzzles/*/README.md"))]
# For another machine, or for the shell that reads them: a container, Windows' Linux, an environment's own script.
ELSEWHERE = ("docker", "sudo", "source")
VERDICT_NOT_PASSED = 1
ASKING = ("reset", "solution")  # at a terminal they wait for an answer; a test has none


def commands() -> dict[str, str]:
    """Command → file, from console blocks and from code in running text that begins with the program's name."""
    found: dict[str, str] = {}
    for path in READMES:
        text = path.read_text(encoding="utf-8")
        blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        typed = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
        typed += re.findall(r"`((?:grader|make) [^`]+)`", text)
        found = {command: path.relative_to(ROOT).as_posix() for command in typed} | found
    return found


def of(program: str) -> list[str]:
    """The commands of one program, without those that have a placeholder: PUZZLE is for the reader to fill in."""
    return [
        command
        for command in commands()
        if command.split()[0] == program and not re.search(r"\b[A-Z]{4,}\b(?!=)", command)
    ]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The puzzles as they are handed out."""
    folder = tmp_path_factory.mktemp("workspace")
    for puzzle in load_catalog(ROOT).puzzles:
        target = folder / "puzzles" / puzzle.name
        shutil.copytree(puzzle.directory, target, ignore=shutil.ignore_patterns("*.bak", "__pycache__"))
        for part in puzzle.parts:
            (target / part.path.name).write_text(part.skeleton(), encoding="utf-8")
    shutil.copytree(ROOT / "tests" / "programs", folder / "tests" / "programs")
    return folder


def arguments_of(command: str) -> list[str]:
    words = shlex.split(command)[1:]
    return [*words, "--yes"] if words[0] in ASKING else words


def expected_of(command: str) -> int:
    return VERDICT_NOT_PASSED if command.startswith("grader check") else 0


@pytest.mark.parametrize("command", of("grader"))
def test_a_command_of_the_grader_does_what_the_page_says(command: str, typed: CommandLine, workspace: Path) -> None:
    done = typed(*arguments_of(command), cwd=workspace)
    assert done.returncode == expected_of(command), done.stdout + done.stderr
    assert done.stdout.strip()
    assert done.stderr == ""


@pytest.mark.parametrize("command", of("make"))
def test_a_verb_of_make_is_there(command: str) -> None:
    done = subprocess.run(
        ["make", "--dry-run", *shlex.split(command)[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_verdict_in_the_readme_is_one_that_was_given(command_line: CommandLine) -> None:
    shown = re.search(r"^```text\n(Puzzle .*?)^```", READMES[0].read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert shown is not None
    given = command_line("check", "1.2", "--file", str(ROOT / "tests/cases/p01_no_guard.cu"), COLUMNS="80").stdout
    assert without_what_changes(given) == without_what_changes(shown[1])


def without_what_changes(verdict: str) -> list[str]:
    """The words of a verdict without its times and its seed, however far apart they stand."""
    return re.sub(r"\b\d+\.\d s\b|\bseed \d+", "…", verdict).split()


def test_every_other_command_is_for_another_machine() -> None:
    assert {command.split()[0] for command in commands()} <= {"grader", "make", *ELSEWHERE}


def test_the_container_has_what_the_readme_asks_for() -> None:
    recipe = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^FROM python:3\.(1[1-9]|[2-9]\d)", recipe, re.MULTILINE)
    assert re.search(r"apt-get install .*\bg\+\+ make\b", recipe)
