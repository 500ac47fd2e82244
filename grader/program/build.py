"""A program's source → the program, linked to our runtime, and its kernels lowered for the software GPU."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.build import build_library
from grader.cache import ToolMissing, content_key, entry, mark_used, trim
from grader.cubin import Kernel, read_kernels
from grader.hostlines import HostLines, read_host_code
from grader.toolchain import Toolchain, find_toolchain

_FORMAT = "1"
_KEPT = 64
# Flags that make something else of the source than one program for one target.
_REFUSED = re.compile(r"-(?:o|c|dc|dw|rdc|dlto|ptx|cubin|fatbin|E|M|arch|gencode|code|cudart|G|shared|lib)(?:=.*)?")


class ProgramRefused(Exception):
    """The program cannot be built as it is asked for; the message is one sentence."""


class ProgramNotCompiled(Exception):
    """nvcc does not accept the source; the message is what it said."""


@dataclass(frozen=True)
class Program:
    """A built program. `executable` finds our runtime by itself; `lowered` is for the machine (docs/program-format.md).

    `kernels` by mangled name; `target` is the architecture times ten.
    """

    source: Path
    target: int
    executable: Path
    lowered: Path
    kernels: dict[str, Kernel]
    host_lines: HostLines
    warnings: str


@dataclass(frozen=True)
class Request:
    """What is to be built: the source, directories for #include in their order, further flags of nvcc, the target."""

    source: Path
    include: Sequence[str] = ()
    flags: Sequence[str] = ()
    target: int = 80


def build_program(request: Request) -> Program:
    """Compile and lower, or take what was made of the same text, headers and flags before.

    Raises ProgramNotCompiled, ProgramRefused, ToolMissing where a compiler is missing or the software GPU cannot read
    what it made, OSError where the source cannot be read.
    """
    for flag in request.flags:
        if _REFUSED.fullmatch(flag):
            raise ProgramRefused(f"--nvcc-flag {flag} cannot be used here: one source is made into one program.")
    toolchain = find_toolchain()
    job = _Job(request, toolchain, build_library("software"))
    directory = entry("programs_of_users", job.key, job.fill)
    if not _is_current(directory):  # a header has changed
        shutil.rmtree(directory, ignore_errors=True)
        directory = entry("programs_of_users", job.key, job.fill)
    mark_used(directory)
    trim("programs_of_users", _KEPT)
    return _loaded(directory, request)


@dataclass(frozen=True)
class _Job:
    request: Request
    toolchain: Toolchain
    runtime: Path

    @property
    def command(self) -> list[str]:
        target = self.request.target
        return [
            str(self.toolchain.nvcc),
            f"-gencode=arch=compute_{target},code=[compute_{target},sm_{target}]",
            f"-ccbin={self.toolchain.host_compiler}",
            "-cudart=none",
            "-lineinfo",
            "-Xcompiler=-g1",
            *(f"-I{directory}" for directory in self.request.include),
            *self.request.flags,
            f"-L{self.runtime.parent}",
            f"-l:{self.runtime.name}",
            f"-Xlinker=-rpath,{self.runtime.parent}",
        ]

    @property
    def key(self) -> str:
        source = self.request.source.resolve()
        where = str(Path.cwd()) if self.request.include or self.request.flags else ""
        return content_key(
            _FORMAT, str(source), source.read_bytes(), where, self.toolchain.identity, *self.command, *_readers()
        )

    def fill(self, directory: Path) -> None:
        work = directory / "work"
        work.mkdir()
        source, stem = self.request.source, self.request.source.stem
        keep = ["--keep", f"--keep-dir={work}", "-MD", "-MF", str(work / "headers.d")]
        done = subprocess.run(
            [*self.command, *keep, "-o", str(directory / "program"), str(source)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        said = done.stderr + done.stdout
        if done.returncode != 0:
            raise ProgramNotCompiled(said)
        cubin = work / f"{stem}.sm_{self.request.target}.cubin"
        kernels = read_kernels(cubin)
        host = read_host_code(directory / "program", source.name, set(kernels), inlined=True)
        _lower(work / f"{stem}.ptx", source.name, directory / "program.simt")
        description = {
            "headers": _hashes(work / "headers.d", self.toolchain),
            "kernels": [asdict(kernel) for kernel in kernels.values()],
            "addresses": host.lines.addresses,
            "lines": host.lines.lines,
            "warnings": said,
        }
        (directory / "program.json").write_text(json.dumps(description))
        shutil.rmtree(work)


def _lower(ptx: Path, source_name: str, to: Path) -> None:
    from grader.simt.lower import lower
    from grader.simt.program import write_program
    from grader.simt.ptx import PtxError

    try:
        write_program(lower(ptx.read_text(encoding="utf-8", errors="replace"), source_name), to)
    except PtxError as error:
        raise ToolMissing(f"the software GPU cannot read what nvcc made of {source_name}: {error}") from None


def _readers() -> list[bytes]:
    """The code that reads what nvcc made, and that lowers it: a program of another version of it is not this one's."""
    package = Path(__file__).parents[1]
    own = [package / "cubin.py", package / "hostlines.py", Path(__file__), *sorted((package / "simt").glob("*.py"))]
    return [path.read_bytes() for path in own]


def _hashes(listed: Path, toolchain: Toolchain) -> dict[str, str]:
    """The headers of the user's own that were read, each with its content's hash."""
    words = listed.read_text(errors="replace").replace("\\\n", " ").split()
    system = tuple(f"{path}{os.sep}" for path in (*toolchain.readable, *toolchain.include))
    paths = {word for word in words[1:] if not word.startswith(system)}
    return {path: _hash(path) for path in sorted(paths)}


def _hash(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def _is_current(directory: Path) -> bool:
    try:
        headers: dict[str, str] = json.loads((directory / "program.json").read_text())["headers"]
    except (OSError, ValueError, KeyError):
        return False
    return all(_hash(path) == known for path, known in headers.items())


def _loaded(directory: Path, request: Request) -> Program:
    saved: dict[str, Any] = json.loads((directory / "program.json").read_text())
    kernels = [Kernel.from_json(kernel) for kernel in saved["kernels"]]
    return Program(
        source=request.source,
        target=request.target,
        executable=directory / "program",
        lowered=directory / "program.simt",
        kernels={kernel.name: kernel for kernel in kernels},
        host_lines=HostLines(tuple(saved["addresses"]), tuple(saved["lines"])),
        warnings=saved["warnings"],
    )
