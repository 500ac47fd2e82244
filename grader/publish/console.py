"""The commands that chapters tell a reader to type: each is typed in a workspace as it is handed out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.catalog import shown_path
from grader.publish.transcripts import BAD_USAGE, Workspace

if TYPE_CHECKING:
    from grader.catalog import Catalog
    from grader.publish.asked import Asked

_BLOCK = re.compile(r"^(`{3,})\{?(?:code-block\} )?console$(.*?)^\1$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^\$ (.+)$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b(?!=)")
_VERB = re.compile(r"^([a-z]+):", re.MULTILINE)
_ASKING = ("reset", "solution")  # at a terminal they wait for an answer
_LASTING = ("book", "bundle", "time")  # they take minutes, a GPU, or never end: that they are there is looked at
_JUDGING = {"check": (0, 1)}


@dataclass(frozen=True)
class Typed:
    """A command, and where it stands."""

    command: str
    place: str


def commands(asked: Iterable[Asked]) -> list[Typed]:
    """The commands in blocks of a console, each once; those with a PLACEHOLDER are for the reader to fill in."""
    found: dict[str, Typed] = {}
    for one in asked:
        for block in _BLOCK.finditer(one.page.text):
            for line in _TYPED.finditer(block[2]):
                number = one.page.text.count("\n", 0, block.start(2) + line.start()) + 1
                place = f"{shown_path(one.page.template)}:{one.page.template_line(number)}"
                if not _PLACEHOLDER.search(line[1]):
                    found.setdefault(line[1], Typed(line[1], place))
    return list(found.values())


def failing(typed: Iterable[Typed], catalog: Catalog) -> Iterator[str]:
    """A sentence for each command of `grader` that does not do, and for each verb that `make` does not have."""
    every = list(typed)
    if not every:
        return
    with Workspace(catalog) as workspace:
        for one in every:
            words = shlex.split(one.command, comments=True)
            if words[0] == "grader" and (said := _said(workspace, words[1:])):
                yield f"{one.place}: `{one.command}` does not work: {said}"
            if words[0] == "make" and (missing := _missing_verbs(catalog, words[1:])):
                yield f"{one.place}: `{one.command}`: make has no {missing[0]}."


def _said(workspace: Workspace, arguments: list[str]) -> str:
    """What is wrong with a command, or nothing."""
    topic = arguments[0] if arguments else ""
    if topic in _LASTING:
        arguments = [*[word for word in arguments if not word.startswith("-")][:2], "--help"]
    if topic in _ASKING:
        arguments = [*arguments, "--yes"]
    said = workspace.typed(arguments)
    if said.code in _JUDGING.get(topic, (0,)) and not said.errors:
        return ""
    return (said.errors or said.output).strip() or f"exit code {said.code or BAD_USAGE}"


def _missing_verbs(catalog: Catalog, words: list[str]) -> list[str]:
    path = catalog.root / "Makefile"
    verbs = _VERB.findall(path.read_text(encoding="utf-8")) if path.is_file() else []
    return [word for word in words if "=" not in word and word not in verbs]
