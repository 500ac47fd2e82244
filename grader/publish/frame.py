"""What the pages around the chapters are made of: contents, commands, kinds of finding, boards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from grader.catalog import Located
from grader.explain import KINDS, page, title
from grader.leaderboard.pages import page_name
from grader.leaderboard.ranking import PartBoards
from grader.publish.boards import FOLDER
from grader.publish.context import Book, BookError
from grader.publish.settings import Settings


@dataclass(frozen=True)
class Kind:
    """A kind of finding: its name, its title, and what `grader explain` says below it."""

    name: str
    title: str
    text: str

    @property
    def label(self) -> str:
        """What a link to it says: `[a race](#finding-data-race)`."""
        return f"finding-{self.name.replace('_', '-')}"


@dataclass(frozen=True)
class BoardLink:
    """A part on the leaderboard: its page's address, whose result is first on which device, of how many players."""

    located: Located
    address: str
    device: str
    first: str
    players: int


def functions(
    settings: Settings, book: Book, known: Sequence[tuple[Located, PartBoards]] = ()
) -> Mapping[str, Callable[..., object]]:
    """What the front page and the pages of reference can call, and `help` of every chapter."""
    return {
        "edition": lambda: settings,
        "contents": lambda: _contents(settings),
        "commands": lambda: dict(book.helps),
        "help": lambda command: _help(book, command),
        "findings": lambda: [_kind(name) for name in KINDS],
        "boards": lambda: [link for located, boards in known for link in _links(located, boards)],
    }


def _contents(settings: Settings) -> str:
    """The contents part by part, which become the sidebar's too."""
    return "\n".join(_tree(part.title, [f"chapters/{name}" for name in part.chapters]) for part in settings.parts)


def _tree(caption: str, documents: Sequence[str]) -> str:
    return "\n".join(["```{toctree}", ":maxdepth: 1", f":caption: {caption}", "", *documents, "```", ""])


def _help(book: Book, command: str) -> str:
    if command not in book.helps:
        raise BookError(f"There is no command {command!r}; there are {', '.join(book.helps)}.")
    return f"```text\n{book.helps[command]}\n```\n"


def _kind(name: str) -> Kind:
    """Of a page of `grader explain`, whose first line is its heading."""
    return Kind(name, title(name), page(name).partition("\n")[2].strip())


def _links(located: Located, boards: PartBoards) -> list[BoardLink]:
    address = f"{FOLDER}/{page_name(located)}"
    return [
        BoardLink(located, f"{address}#device-{number}", board.device, board.rows[0].entry.player.name, len(board.rows))
        for number, board in enumerate(boards.boards, 1)
    ]
