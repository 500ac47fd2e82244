"""The command `grader explain`."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from grader.catalog import UsageError
from grader.explain import KINDS, page, title


def explain(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="A kind of finding, such as data_race.")] = None,
) -> None:
    """Explain a kind of finding, such as data_race.

    What it is, the smallest example, how to look for it. Without KIND, list the kinds.
    """
    if kind is None:
        width = max(map(len, KINDS))
        for known in KINDS:
            typer.echo(f"{known:<{width}}  {title(known)}")
        return
    if kind not in KINDS:
        close = difflib.get_close_matches(kind.replace(" ", "_").replace("-", "_"), KINDS, n=1)
        suggestion = f"did you mean {close[0]}? " if close else ""
        raise UsageError(f"There is no kind of finding {kind[:80]!r}; {suggestion}`grader explain` lists all of them.")
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(highlight=False)
    console.print(Markdown(page(kind), code_theme="ansi_dark"), width=min(console.width, 100))
