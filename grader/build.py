"""Source → Build: one caged nvcc call makes the shared object, the PTX and the cubin together.

    build(path) -> Build            in the content-keyed cache: the same bytes are compiled once
    build_library("machine")        our own C++ (see native.py)

What is kept of a build: the shared object with its PTX and cubin, and build.json with what was read from them. Nothing
of the toolchain or of the ELF reader is loaded when the build is in the cache.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.cache import content_key, entry, mark_used, trim
from grader.cage import Cage, Finished, protection, run
from grader.cubin import Kernel, read_kernels, read_variables
from grader.diagnostics import in_source_terms
from grader.forbidden import ASSEMBLER_LIST, outside_reads, refused_path
from grader.hostlines import HostLines, read_host_code
from grader.native import NativeBuildFailed, build_library
from grader.prelude import Companion, HeaderFile, UsedSource, compiled_text, headers, prelude
from grader.toolchain import Toolchain, ToolMissing, find_toolchain

__all__ = [
    "Build",
    "BuildFailed",
    "Companion",
    "HeaderFile",
    "HostLines",
    "Kernel",
    "NativeBuildFailed",
    "ToolMissing",
    "UsedSource",
    "build",
    "build_library",
]

DEFAULT_TARGET = 80
_SECONDS = 120.0  # by the clock: past that it is the machine that is slow
_CPU_SECONDS = 30  # of each of the compilers
_CPU_SPENT = re.compile(r"CPU time limit|signal 24")
# A name for the working directory that is right wherever it lies: the same bytes make the same program everywhere.
_ANYWHERE = "/proc/self/cwd"
_PRELUDE = "uses.cuh"
_MOST_BYTES = 1 << 20
_MOST_OUTPUT = 64 << 20  # any one file; CUB's preprocessed source has about ten
_MOST_MEMORY = 3 << 30  # of each of the compilers; CUB's heaviest files take about one
_MOST_DIAGNOSTICS = 1 << 18
_KEPT = 1024  # builds; one is about 150 KB, and a run of all tests makes some 600


class BuildFailed(Exception):
    """The source does not compile.

    `diagnostics` is what the compilers said, under the file's bare name (see `Build.source_name`). `forbidden` is the
    line and path of the first #include or .incbin that reaches for what a source may not read. `timed_out` tells that
    the compilers were stopped.
    """

    def __init__(
        self, diagnostics: str, forbidden: tuple[int, str] | None, seconds: float, *, timed_out: bool = False
    ) -> None:
        super().__init__(diagnostics)
        self.diagnostics = diagnostics
        self.forbidden = forbidden
        self.seconds = seconds
        self.timed_out = timed_out


@dataclass(frozen=True)
class Build:
    """A compiled source.

    `source` is the learner's path, `source_name` the bare name it was compiled under (in line tables, in the PTX's
    .file and in diagnostics). `target` is the architecture times ten: 80. `variables` gives the bytes of each variable
    of the module, `functions`, for each host function by symbol, its first and last line. `seconds` is what the
    compilation took, now or, if `cached`, when it took place.
    """

    key: str
    directory: Path
    source: Path
    source_name: str
    target: int
    library: Path
    ptx: Path
    cubin: Path
    kernels: dict[str, Kernel]
    variables: dict[str, int]
    host_lines: HostLines
    functions: dict[str, tuple[int, int]]
    warnings: str
    seconds: float
    cached: bool


def build(
    source: Path,
    *,
    target: int = DEFAULT_TARGET,
    toolchain: Toolchain | None = None,
    debug: bool = False,
    uses: Sequence[Companion] = (),
) -> Build:
    """Compile `source` for `target`, or take what was compiled from the same bytes before; with `debug` the device code
    is not optimised, and its PTX says where each variable lives. `uses` are compiled with it, see `prelude.py`.

    Raises BuildFailed where the source does not compile, ToolMissing where a compiler is missing, OSError where the
    file cannot be read, and what a translation of it raises.
    """
    toolchain = toolchain or find_toolchain()
    runtime = build_library("runtime")
    name = name_in_cage(source)
    beside = tuple(headers(uses))
    job = _Job(source, compiled_text(source, uses), name, target, toolchain, runtime, debug, prelude(uses), beside)
    made: list[float] = []

    def make(directory: Path) -> None:
        made.append(job.fill(directory))

    directory = entry("builds", job.key, make)
    try:
        found = _load(directory, job, cached=not made)
    except (OSError, ValueError, KeyError, TypeError):  # half an entry, after a power failure: make it anew
        shutil.rmtree(directory, ignore_errors=True)
        found = _load(entry("builds", job.key, make), job, cached=False)
    if made:
        trim("builds", _KEPT)
    else:
        mark_used(directory)
    return found


def name_in_cage(source: Path) -> str:
    """A name that no shell, linker or line table can misread; nearly always the file's own."""
    stem = re.sub(r"[^A-Za-z0-9_.]", "_", source.stem).strip(".")[:100]
    return f"{stem or 'source'}.cu"


@dataclass(frozen=True)
class _Job:
    """One compilation: the source's bytes, read once, and with what they are compiled."""

    source: Path
    text: bytes
    name: str
    target: int
    toolchain: Toolchain
    runtime: Path
    debug: bool = False
    prelude: str = ""
    headers: Sequence[HeaderFile] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        return (
            f"-gencode=arch=compute_{self.target},code=[compute_{self.target},sm_{self.target}]",
            f"-ccbin={self.toolchain.host_compiler}",
            "-cudart=none",
            "-G" if self.debug else "-lineinfo",
            "--keep",
            "--no-compress",
            "-std=c++17",
            "-shared",
            "-Xcompiler=-fPIC,-g1,-Wall,-Wextra,-Werror=return-type",  # what such an entry returns is chance
            f"-Xcompiler=-Wa\\,--MD\\,{ASSEMBLER_LIST}",
            "-Xlinker=--no-undefined",  # a function declared and never defined is an error with a line, here
            f"-Xcudafe=--orig_src_path_name={_ANYWHERE}/{self.name}",  # names in anonymous namespaces hash the path
            *([f"-include={_PRELUDE}"] if self.prelude else []),
        )

    @property
    def key(self) -> str:
        made_with = (self.toolchain.identity, self.runtime.parent.name, *self.flags)
        beside = (text for header in self.headers for text in (header.path, header.text))
        return content_key(_readers(), self.name, self.text, self.prelude, *made_with, *beside)

    def fill(self, directory: Path) -> float:
        """Compile into `directory`; the seconds that it took."""
        if len(self.text) > _MOST_BYTES:
            raise BuildFailed(f"{self.source.name} is larger than {_MOST_BYTES} bytes", None, 0.0)
        work = directory / "work"
        work.mkdir()
        (work / self.name).write_bytes(self.text)
        if self.prelude:
            (work / _PRELUDE).write_text(self.prelude, encoding="utf-8")
        for header in self.headers:
            beside = work / header.path
            beside.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(header.text, encoding="utf-8")
        for written in work.rglob("*"):
            os.utime(written, (0, 0))  # ptxas writes the time into its line table
        finished = self._run(work)
        said = self._said(finished, work)
        self._raise_if_failed(finished, said, work)
        stem = Path(self.name).stem
        (work / "library.so").rename(directory / "library.so")
        (work / f"{stem}.ptx").rename(directory / "kernel.ptx")
        (work / f"{stem}.sm_{self.target}.cubin").rename(directory / "kernel.cubin")
        shutil.rmtree(work)
        _describe(directory, self.name, said, finished.seconds)
        return finished.seconds

    def _run(self, work: Path) -> Finished:
        link = (f"-L{self.runtime.parent}", f"-l:{self.runtime.name}")
        return run(
            [self.toolchain.nvcc, *self.flags, *link, "-o", "library.so", self.name],
            cage=Cage(
                read=(*self.toolchain.readable, self.runtime.parent),
                write=(work,),
                cpu_seconds=_CPU_SECONDS,
                memory_bytes=_MOST_MEMORY,
                file_bytes=_MOST_OUTPUT,
            ),
            directory=work,
            seconds=_SECONDS,
            environment={
                "PATH": f"{self.toolchain.host_compiler.parent}:/usr/bin:/bin",
                "TMPDIR": str(work),
                "PWD": _ANYWHERE,
                "LC_ALL": "C",
            },
            output_bytes=_MOST_DIAGNOSTICS,
        )

    def _said(self, finished: Finished, work: Path) -> str:
        """What the compilers said, by lines of the source rather than of the PTX, and without the cage's paths."""
        said = (finished.stderr + finished.stdout).decode(errors="replace")
        said = said.replace(f"{work}/", "").replace(f"{_ANYWHERE}/", "")
        ptx = work / f"{Path(self.name).stem}.ptx"
        return in_source_terms(said, ptx.read_text(errors="replace") if said and ptx.is_file() else "", self.name)

    def _raise_if_failed(self, finished: Finished, said: str, work: Path) -> None:
        text = self.text.decode(errors="replace")
        forbidden = None
        if protection().files == "none":
            forbidden = outside_reads(said, text, work, self.name, self.toolchain.readable)
        if forbidden is not None:  # what was said may quote the file
            said = f"{self.name}:{forbidden[0]}: error: {forbidden[1]}: Permission denied\n"
        elif finished.returncode != 0:
            forbidden = refused_path(said, text, self.source, self.name)
        if finished.ended == "timeout":
            raise ToolMissing(
                f"nvcc was not done after {_SECONDS:.0f} s, most of which it waited: this machine is too busy. "
                "Try again when it has less to do."
            )
        timed_out = finished.returncode != 0 and bool(_CPU_SPENT.search(said))
        if timed_out:
            said += f"nvcc did not come to an end in {_CPU_SECONDS} s\n"
        if forbidden is not None or finished.returncode != 0:
            raise BuildFailed(said, forbidden, finished.seconds, timed_out=timed_out)


@functools.cache
def _readers() -> str:
    """The code that reads what nvcc made: a build described by another version of it is not this one's."""
    package = Path(__file__).parent
    return content_key(*((package / name).read_bytes() for name in ("build.py", "cubin.py", "hostlines.py")))


def _describe(directory: Path, name: str, warnings: str, seconds: float) -> None:
    kernels = read_kernels(directory / "kernel.cubin")
    host = read_host_code(directory / "library.so", name, set(kernels))
    description = {
        "kernels": [asdict(kernel) for kernel in kernels.values()],
        "variables": read_variables(directory / "kernel.cubin"),
        "addresses": host.lines.addresses,
        "lines": host.lines.lines,
        "functions": host.functions,
        "warnings": warnings,
        "seconds": seconds,
    }
    (directory / "build.json").write_text(json.dumps(description))


def _load(directory: Path, job: _Job, *, cached: bool) -> Build:
    saved: dict[str, Any] = json.loads((directory / "build.json").read_text())
    kernels = [Kernel.from_json(kernel) for kernel in saved["kernels"]]
    return Build(
        key=directory.name,
        directory=directory,
        source=job.source,
        source_name=job.name,
        target=job.target,
        library=directory / "library.so",
        ptx=directory / "kernel.ptx",
        cubin=directory / "kernel.cubin",
        kernels={kernel.name: kernel for kernel in kernels},
        variables=dict(saved["variables"]),
        host_lines=HostLines(tuple(saved["addresses"]), tuple(saved["lines"])),
        functions={symbol: (first, last) for symbol, (first, last) in saved["functions"].items()},
        warnings=saved["warnings"],
        seconds=saved["seconds"],
        cached=cached,
    )
