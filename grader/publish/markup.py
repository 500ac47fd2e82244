"""The few forms of MyST Markdown that a chapter's functions return: code, folds, tabs, tables, raw HTML.

A fence is always longer than any inside it, so that forms can stand in one another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_LANGUAGES = {".cu": "cuda", ".cuh": "cuda", ".hpp": "cuda", ".cpp": "c++", ".py": "python", ".toml": "toml"}


def language_of(name: str) -> str:
    """The highlighter's name for a file of this name."""
    return next((language for suffix, language in _LANGUAGES.items() if name.endswith(suffix)), "text")


def code(
    text: str,
    language: str,
    *,
    caption: str | None = None,
    first_line: int | None = None,
    marked: Sequence[int] = (),
    class_: str | None = None,
) -> str:
    """A block of code as it stands. `first_line` numbers its lines from there; of `marked` lines, from 1, each stands
    out.
    """
    options = {
        "caption": caption,
        "lineno-start": first_line,
        "emphasize-lines": ",".join(map(str, marked)) or None,
        "class": class_,
    }
    return directive("code-block", language, text.rstrip("\n"), options, sign="`")


def folded(title: str, body: str, class_: str) -> str:
    """What a reader opens by its title."""
    return directive("dropdown", title, body, {"class-container": class_})


def tabs(pages: Iterable[tuple[str, str]], class_: str) -> str:
    """Pages of which one is seen, each under its title; a title chosen is chosen wherever it stands."""
    items = [directive("tab-item", title, body, {"sync": title}) for title, body in pages]
    return directive("tab-set", "", "\n\n".join(items), {"class": class_, "sync-group": class_})


def raw(html: str) -> str:
    """HTML that goes into the page as it is."""
    return directive("raw", "html", html, {}, sign="`")


def directive(name: str, argument: str, body: str, options: dict[str, str | int | None], *, sign: str = ":") -> str:
    """One of MyST's directives; options that are None are left out."""
    fence = sign * max(3, 1 + max((len(run) for run in re.findall(re.escape(sign) + "+", body)), default=0))
    given = [f":{key}: {value}" for key, value in options.items() if value is not None]
    head = f"{fence}{{{name}}} {' '.join(argument.split())}".rstrip()
    return "\n".join([head, *given, *([""] if given else []), body.strip("\n"), fence])


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int | None = None) -> str:
    """A table; columns from `numbers_from` on stand at the right."""
    first = len(heads) if numbers_from is None else numbers_from
    rule = ["---" if place < first else "---:" for place in range(len(heads))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows))
