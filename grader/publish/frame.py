"""What the pages around the chapters are made of: contents, commands, kinds of finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader.publish.settings import Settings


def functions(settings: Settings) -> Mapping[str, Callable[..., object]]:
    """What the front page and the pages of reference can call."""
    return {"contents": lambda: _contents(settings), "edition": lambda: settings}


def _contents(settings: Settings) -> str:
    """The table of contents, part by part, for the sidebar."""
    return "\n".join(_tree(part.title, [f"chapters/{name}" for name in part.chapters]) for part in settings.parts)


def _tree(caption: str, documents: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *documents, "```", ""])
