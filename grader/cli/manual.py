"""The help of every command as text, for the book's page of reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import typer

_WIDTH = 78


def help_texts(app: typer.Typer) -> Mapping[str, str]:
    """What `--help` prints, by the words that stand between `grader` and it: "check", "author new"."""
    return dict(_texts(typer.main.get_command(app), "grader"))


def _texts(command: Any, name: str, parent: Any = None) -> Iterator[tuple[str, str]]:
    """Of a command, or of all in a group."""
    with command.make_context(name, [], parent=parent, resilient_parsing=True, terminal_width=_WIDTH) as context:
        commands = getattr(command, "commands", None)
        if commands is None:
            yield context.command_path.removeprefix("grader "), context.get_help()
            return
        for word, one in commands.items():
            yield from _texts(one, word, context)
