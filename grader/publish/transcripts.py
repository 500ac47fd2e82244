"""Runs what chapters want the grader to have said, each command in a workspace as it is handed out.

What differs from run to run is not kept: the seconds that something took.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType

from grader.catalog import Catalog, UsageError
from grader.publish.requests import COUNTED, Request

COLUMNS = 78
_BESIDE = ("solutions", "tests", "examples", "results", "docs", "book")  # of the project, lies beside the puzzles
_ENVIRONMENT = {
    "COLUMNS": str(COLUMNS),
    "NO_COLOR": "1",
    "TERM": "dumb",
    "OMP_NUM_THREADS": "1",
    "GRADER_PATIENCE": "60",
    "CUDA_VISIBLE_DEVICES": "",
}
_NOTES = ".grader"
_SPENT_AT_END = re.compile(r"^(  [✔✘].*?) +\d+\.\d s$", re.MULTILINE)
_SPENT_IN_OUTCOME = re.compile(r"^(  .*?) {3,}\d+\.\d s, (seed .*)$", re.MULTILINE)
BAD_USAGE = 2


def answers(
    requests: Sequence[Request], catalog: Catalog, jobs: int, keep: Callable[[Request, str], None]
) -> list[str]:
    """What the grader says to each, `jobs` of them at a time, is given to `keep` as it comes. Returns, in sentences,
    what could not be asked.
    """
    with ExitStack() as stack:
        free: SimpleQueue[Workspace] = SimpleQueue()
        for _ in range(min(jobs, len(requests))):
            free.put(stack.enter_context(Workspace(catalog)))

        def asked(request: Request) -> str:
            workspace = free.get()
            try:
                keep(request, workspace.answer(request))
            except UsageError as error:
                return str(error)
            finally:
                free.put(workspace)
            return ""

        with ThreadPoolExecutor(max(1, min(jobs, len(requests)))) as threads:
            return [sentence for sentence in threads.map(asked, requests) if sentence]


@dataclass(frozen=True)
class Said:
    """What a command ended with, and what it wrote to the terminal."""

    code: int
    output: str
    errors: str


class Workspace:
    """The puzzles as they are handed out, and a process that runs commands among them."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._folder = tempfile.TemporaryDirectory()
        self.root = Path(self._folder.name).resolve()
        for name in _BESIDE:
            if (catalog.root / name).is_dir():
                (self.root / name).symlink_to(catalog.root / name, target_is_directory=True)
        for puzzle in catalog.puzzles:
            target = self.root / "puzzles" / puzzle.name
            shutil.copytree(puzzle.directory, target, ignore=shutil.ignore_patterns("*.bak", "__pycache__", _NOTES))
            for part in puzzle.parts:
                (target / part.path.name).write_text(part.skeleton(), encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grader.cli.typed"],
            env={**os.environ, **_ENVIRONMENT, "GRADER_DATA": str(self.root / _NOTES)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()
        self._folder.cleanup()

    def answer(self, request: Request) -> str:
        """Raises `UsageError` where the command cannot be used so, or names a place of this machine."""
        changed = [self._solve(label) for label in request.solved]
        if request.place:
            changed.append(self.root / request.place)
            changed[-1].write_text(request.text, encoding="utf-8")
        try:
            said = self.typed(request.arguments)
        finally:
            self._as_handed_out(changed)
        output, errors = said.output, said.errors.strip()
        if errors or said.code == BAD_USAGE:
            raise UsageError(f"`{request.command}` says: {errors or output.strip()}")
        if str(self.root) in output or str(self._catalog.root) in output:
            raise UsageError(f"`{request.command}` names a folder of this machine.")
        return counted(output) if COUNTED in request.arguments else without_seconds(output)

    def _solve(self, label: str) -> Path:
        part = self._catalog.resolve(label)[1]
        assert part is not None  # a request names parts by label
        path = self.root / part.path.relative_to(self._catalog.root)
        path.write_text(part.solution_path.read_text(encoding="utf-8"), encoding="utf-8")
        self.typed(("check", label, "--device", "software"))
        return path

    def typed(self, arguments: Sequence[str]) -> Said:
        """Runs one command; what it leaves in the workspace stays."""
        if [*arguments[:1]] == ["run"]:
            return self._program(arguments)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"arguments": arguments, "folder": str(self.root)}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise UsageError(f"`grader {' '.join(arguments)}` ended without an answer.")
        return Said(**json.loads(line))

    def _program(self, arguments: Sequence[str]) -> Said:
        """A program that writes by itself, in a process of its own: what it wrote, then what the grader says of it."""
        done = subprocess.run(
            [sys.executable, "-m", "grader", *arguments], cwd=self.root, env={**os.environ, **_ENVIRONMENT},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = [text.strip("\n") for text in (done.stdout, done.stderr) if text.strip()]
        return Said(done.returncode, "\n\n".join(said), "")

    def _as_handed_out(self, changed: Sequence[Path]) -> None:
        for path in changed:
            relative = path.relative_to(self.root)
            part = next(
                part for puzzle in self._catalog.puzzles for part in puzzle.parts
                if part.path.relative_to(self._catalog.root) == relative
            )  # fmt: skip
            path.write_text(part.skeleton(), encoding="utf-8")
        shutil.rmtree(self.root / _NOTES, ignore_errors=True)


def without_seconds(output: str) -> str:
    """The same text, whatever time it took; its first and last lines are not empty."""

    def outcome(match: re.Match[str]) -> str:
        head, tail = match[1].rstrip(), match[2]
        return head + " " * max(3, COLUMNS - len(head) - len(tail)) + tail

    shown = _SPENT_IN_OUTCOME.sub(outcome, _SPENT_AT_END.sub(r"\1", output))
    return "\n".join(line.rstrip() for line in shown.strip("\n").splitlines()) + "\n"


def counted(output: str) -> str:
    """Of a verdict in JSON, what was counted in each kernel."""
    kernels = json.loads(output)["parts"][0]["counters"].get("kernels", {})
    return json.dumps({"kernels": kernels}, indent=1) + "\n"
