"""The command `grader run`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cache import ToolMissing, cache_root
from grader.catalog import UsageError, shown_path
from grader.cli.target import readable_source, refuse_over_other, refuse_unchecked, write_text
from grader.explain import sentence

if TYPE_CHECKING:
    from grader.program.build import Program
    from grader.verdict import Finding

_ARCHITECTURES = (75, 80, 86, 87, 88, 89, 90)
_FAULTY = 1


def run_program(
    source: Annotated[str, typer.Argument(metavar="PROGRAM.cu", help="A CUDA program with a main of its own.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGUMENT…]", help="What the program is given.")
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option("-I", metavar="DIR", help="Look there for #include too; may be repeated.")
    ] = None,
    flags: Annotated[
        list[str] | None, typer.Option("--nvcc-flag", metavar="F", help="Pass this to nvcc; may be repeated.")
    ] = None,
    architecture: Annotated[str, typer.Option("--arch", metavar="sm_80", help="The architecture to compile for.")] = (
        "sm_80"
    ),
    json_file: Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the findings there too.")] = (
        None
    ),
) -> None:
    """Run a whole CUDA program on the software GPU, and tell what was wrong in it.

    No GPU is needed. The program has the terminal to itself; what was found is told on standard error when it has
    ended: races, accesses out of bounds, values that nobody has set, errors that nobody looked at. It is your own code
    on your own computer: it runs without a cage.

    Exit code: the program's own, 128 + n where signal n ended it; 1 if that is 0 and something was found, or if nvcc
    does not accept the source; 2 bad usage; 3 could not be run here.
    """
    path = readable_source(Path(source))
    target = _target(architecture)
    if json_file is not None:
        refuse_over_other(Path(json_file))
        write_text(Path(json_file), "")
    try:
        program = _built(path, include or (), flags or (), target)
        raise typer.Exit(_run(program, arguments or (), shown_path(path), json_file) if program else _FAULTY)
    except ToolMissing as missing:
        raise typer.Exit(refuse_unchecked(str(missing))) from None


def _target(architecture: str) -> int:
    number = architecture.removeprefix("sm_")
    if not number.isdigit() or int(number) not in _ARCHITECTURES:
        known = ", ".join(f"sm_{each}" for each in _ARCHITECTURES)
        raise UsageError(f"--arch is one of {known}, not {architecture[:40]!r}.")
    return int(number)


def _built(path: Path, include: Sequence[str], flags: Sequence[str], target: int) -> Program | None:
    from grader.program.build import ProgramNotCompiled, ProgramRefused, Request, build_program

    if not (cache_root() / "machine").exists():
        typer.echo(sentence("verdict", "first_time"), err=True)
    try:
        words = [word for flag in flags for word in shlex.split(flag)]
        program = build_program(Request(path, include, words, target))
    except ValueError as mistake:
        raise UsageError(f"--nvcc-flag cannot be read: {str(mistake).lower()}.") from None
    except ProgramRefused as refused:
        raise UsageError(str(refused)) from None
    except ProgramNotCompiled as failed:
        typer.echo(str(failed).rstrip(), err=True)
        typer.echo(f"grader: {sentence('program', 'not_compiled', facts={'name': shown_path(path)})}", err=True)
        return None
    if program.warnings:
        typer.echo(program.warnings.rstrip(), err=True)
    return program


def _run(program: Program, arguments: Sequence[str], shown: str, json_file: str | None) -> int:
    from grader.program.run import run_program as start
    from grader.program.words import program_findings
    from grader.verdict import SCHEMA, dumps

    finished = start(program, arguments)
    if finished.log.not_started is not None:
        raise ToolMissing(f"the software GPU cannot load this program: {finished.log.not_started}")
    findings = program_findings(program, finished, shown)
    if json_file is not None:
        told = {"schema": SCHEMA, "program": shown, "exit_code": finished.exit_code, "findings": findings}
        write_text(Path(json_file), dumps(told) + "\n")
    if findings:
        _print(program, shown, findings, finished.exit_code)
    return finished.exit_code or (_FAULTY if findings else 0)


def _print(program: Program, shown: str, findings: Sequence[Finding], exit_code: int) -> None:
    from rich.console import Console

    from grader.report.program import print_program

    source = program.source.read_text(encoding="utf-8", errors="replace")
    print_program(Console(stderr=True, highlight=False), shown, source, findings, exit_code)
