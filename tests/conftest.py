"""What tests of the whole chain share: a way to judge a file as a part, and the command line.

Judging happens in this process, with the tools that `grader check` uses, so that PyTorch is imported once. Everything
built goes into the ordinary cache; notes on a learner's progress go into a folder of the test run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from grader import cli
from grader.catalog import Located
from grader.check import Options, Submission, check_part
from grader.puzzle import Case
from grader.tools import TorchLoading, default_tools
from grader.verdict import PartVerdict
from tests.judging import ROOT, CommandLine, Judge

SEED = 20_261_129


def pytest_configure() -> None:
    """One thread of PyTorch in each worker, set before it is imported: several, on cores that the workers share, spin
    while they wait for each other, and judging takes three times the processor time.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's job in the background; some tests press Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def own_notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or changes the notes of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_DATA", str(tmp_path_factory.mktemp("notes")))
        yield


@pytest.fixture(scope="session")
def judge() -> Judge:
    tools, loading = default_tools(), TorchLoading()

    def judged(part: Located, source: Path, *, cases: Sequence[tuple[str, Case]] | None = None) -> PartVerdict:
        submission = Submission(part, source, source.name, is_solution=source == part.solution_path)
        return check_part(submission, Options(seed=SEED, cases=cases, shrink=0), tools, loading)

    return judged


@pytest.fixture(scope="session")
def command_line() -> CommandLine:
    program = Path(sys.executable).with_name("grader")

    def ran(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *arguments],
            cwd=cwd,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return ran


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line in this process, for what takes no process of its own: PyTorch has been imported here."""

    def ran(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patch:
            patch.chdir(cwd)
            for name, value in environment.items():
                patch.setenv(name, value)
            code = cli.run(arguments)
        said = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return ran
