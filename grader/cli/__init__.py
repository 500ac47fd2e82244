"""The command line: thin commands, one file a topic. `main` is the console script `grader`."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from itertools import pairwise

import typer

from grader.catalog import UsageError
from grader.cli import (
    author,
    book,
    bundle,
    check,
    debug,
    doctor,
    explain,
    hint,
    leaderboard,
    listing,
    plan,
    profile,
    program,
    reset,
    solution,
    sweep,
    timed,
    trace,
)

__all__ = ["main", "run"]

app = typer.Typer(
    help="A CUDA course that grades itself: grader check 1, or only one part, grader check 1.2.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("check")(check.check)
app.command("debug")(debug.debug)
app.command("list")(listing.list_puzzles)
app.command("hint")(hint.hint)
app.command("reset")(reset.reset)
app.command("solution")(solution.solution)
app.command("explain")(explain.explain)
app.command("plan")(plan.plan)
app.command("trace")(trace.trace)
app.command("profile")(profile.profile)
app.command("sweep")(sweep.sweep)
app.command("bundle")(bundle.bundle)
app.command("time")(timed.time_bundles)
app.command("run")(program.run_program)
app.command("leaderboard")(leaderboard.leaderboard)
app.command("doctor")(doctor.doctor)
app.add_typer(author.author, name="author")
app.add_typer(book.book, name="book")

# The parser's base class of errors, which typer does not export: a BadParameter is a UsageError, and that is one.
_ParserError: type[Exception] = typer.BadParameter.__mro__[2]

NOT_PASSED, BAD_USAGE, UNCHECKED = 1, 2, 3
_REPEATED = ("--nvcc-flag", "--only")
INTERRUPTED = 130


def main() -> None:
    """Runs the command line and leaves at once: an import of PyTorch that nobody needs any more is not waited for."""
    _write_utf8()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = NOT_PASSED
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """One command; returns its exit code. A mistake in using it is one sentence and never a traceback."""
    try:
        _refuse_repeated_options(arguments)
        _refuse_spelled_out(arguments)
        command = typer.main.get_command(app)
        code = command.main(args=list(arguments) or ["--help"], prog_name="grader", standalone_mode=False)
        if code == INTERRUPTED:  # the parser's own answer to Ctrl-C
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except UsageError as error:
        return _refuse(str(error), arguments)
    except _ParserError as error:
        return _refuse(_parser_sentence(error, arguments), arguments)
    except (KeyboardInterrupt, typer.Abort):
        _refuse("Stopped.", arguments)
        return INTERRUPTED
    except BrokenPipeError:
        return NOT_PASSED
    except Exception as error:
        logging.getLogger(__name__).debug("%s", arguments, exc_info=True)
        from grader.failed import of_itself

        _refuse(of_itself(error), arguments)
        return UNCHECKED


def _refuse(sentence: str, arguments: Sequence[str]) -> int:
    if "--json" in arguments and arguments[0] != "run":  # there it names a file
        from grader.verdict import error_json

        typer.echo(error_json(sentence))
    else:
        typer.echo(f"grader: {sentence}", err=True)
    return BAD_USAGE


def _parser_sentence(error: BaseException, arguments: Sequence[str]) -> str:
    """The parser's message as one sentence, with where to look."""
    message = " ".join(str(error.format_message()).split()) if hasattr(error, "format_message") else str(error)
    message = message.rstrip(".")
    commands = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    topic = next((argument for argument in arguments if argument in commands), None)
    place = f"grader {topic} --help" if topic else "grader --help"
    return f"{message}; `{place}` shows what there is."


def _refuse_repeated_options(arguments: Sequence[str]) -> None:
    """The parser would silently take the last one."""
    seen: set[str] = set()
    for argument in arguments:
        if argument == "--":
            return
        name = argument.partition("=")[0]
        if name.startswith("--") and name in seen and name not in _REPEATED:
            raise UsageError(f"{name} is given twice; give it once.")
        seen.add(name)


def _refuse_spelled_out(arguments: Sequence[str]) -> None:
    """`grader check puzzle 1`, as one says it."""
    for word, number in pairwise(arguments):
        if word.lower() in ("puzzle", "part") and number.replace(".", "").isdigit():
            command = arguments[0]
            raise UsageError(f"Leave out the word {word!r}: `grader {command} {number}`, by the number alone.")


def _write_utf8() -> None:
    """Ticks and arrows are written as such, or as question marks where the terminal cannot show them; never a crash."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
