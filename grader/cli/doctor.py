"""The command `grader doctor`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from grader.cache import ToolMissing

UNCHECKED = 3
_EXPECTED = {"right": None, "racy": "data_race", "wrong": "wrong_values"}


def doctor(
    prove: Annotated[bool, typer.Option("--prove", help="Judge three kernels whose verdict is known.")] = False,
) -> None:
    """Say what this machine has and lacks.

    For what is missing, the next command to type; then the exit code is 3.
    """
    whole = True
    for found, name, words in _examine():
        whole &= found
        _say(found, name, words)
    whole &= _examine_gpu()
    if prove and whole:
        for found, name, words in _prove():
            whole &= found
            _say(found, name, words)
    elif prove:
        typer.echo("  – proof         not tried: something above is missing first")
    raise typer.Exit(0 if whole else UNCHECKED)


def _say(found: bool, name: str, words: str) -> None:
    mark = typer.style("✔", fg="green") if found else typer.style("✘", fg="red")
    typer.echo(f"  {mark} {name:<13} {words}")


def _examine() -> Iterator[tuple[bool, str, str]]:
    yield True, "Python", platform.python_version()
    yield _package("torch", "PyTorch", "pip install torch")
    yield _package("ninja", "ninja", "pip install ninja")
    yield from _compilers()


def _examine_gpu() -> bool:
    """Says what of a GPU there is; whether nothing is missing that a timing needs, where there is one."""
    from grader.cuda.equipment import equipment
    from grader.proof.puzzle import puzzle

    whole = True
    for item in equipment(puzzle.parts[0]):
        if item.found or item.is_needed:
            _say(item.found, item.name, item.words)
        else:
            typer.echo(f"  – {item.name:<13} {item.words}")
        whole &= item.found or not item.is_needed
    return whole


def _package(module: str, name: str, remedy: str) -> tuple[bool, str, str]:
    if importlib.util.find_spec(module) is None:
        return False, name, f"missing: {remedy}"
    return True, name, importlib.metadata.version(module)


def _compilers() -> Iterator[tuple[bool, str, str]]:
    from grader.toolchain import find_toolchain

    try:
        toolchain = find_toolchain(look_again=True)
    except ToolMissing as missing:
        yield False, "compilers", str(missing)
        return
    yield True, "nvcc", f"{toolchain.version}, {toolchain.nvcc} ({toolchain.origin})"
    yield True, "g++", f"{toolchain.host_version}, {toolchain.host_compiler}"
    yield from _built()


def _built() -> Iterator[tuple[bool, str, str]]:
    """Our own C++, built now if it was not; then what it says of this machine's cage."""
    from grader.build import NativeBuildFailed, build_library
    from grader.cage import abilities

    try:
        for library in (build_library("runtime"), build_library("recorder"), build_library("machine")):
            yield True, library.stem.removeprefix("libgrader_"), str(library)
    except (NativeBuildFailed, ToolMissing) as failed:
        yield False, "our C++", f"cannot be built: {failed}"
        return
    for what, ability in abilities().items():
        yield True, "cage", f"{what}: {ability}"


def _prove() -> Iterator[tuple[bool, str, str]]:
    from grader.catalog import Located, LocatedPuzzle
    from grader.check import Options, Submission, check_part
    from grader.proof.puzzle import puzzle
    from grader.tools import TorchLoading, default_tools

    folder = Path(__file__).parents[1] / "proof"
    located = Located(puzzle.parts[0], LocatedPuzzle(puzzle, 0, "puzzle_00_proof", folder, folder), 1)
    loading, tools = TorchLoading(), default_tools()
    for name, expected in _EXPECTED.items():
        submission = Submission(located, folder / f"{name}.cu", f"{name}.cu")
        verdict = check_part(submission, Options(seed=1), tools, loading)
        judged = verdict.findings[0].kind if verdict.findings else str(verdict.state)
        words = f"{name}.cu was judged {judged}" + (f": {verdict.reason}" if verdict.reason else "")
        yield judged == (expected or "passed"), "proof", words
