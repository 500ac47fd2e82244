"""Boards as web pages: static files without a network, readable without scripts.

Each page holds its own style and script, and a policy by which a browser runs nothing else. Whatever comes from files
is escaped by the templates.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from grader.catalog import Located
from grader.explain import sentence
from grader.leaderboard import shown
from grader.leaderboard.charts import history, intervals
from grader.leaderboard.names import Player
from grader.leaderboard.ranking import PartBoards, Row, is_noisy
from grader.leaderboard.shown import TimeUnit
from grader.medals import MEDALS

_WIDE, _NARROW = 500, 311  # pixels of a chart
_MOST_STANDINGS = 8  # the others are folded away


@dataclass
class Standing:
    """What one player has reached over all parts and devices: medals by name, and how often they are first."""

    player: Player
    own: bool
    medals: Counter[str] = field(default_factory=Counter)
    firsts: int = 0

    @property
    def order(self) -> tuple[int, ...]:
        return (*(-self.medals[medal] for medal in MEDALS), -self.firsts)


def write_pages(folder: Path, parts: Sequence[tuple[Located, PartBoards]], home: str | None = None) -> Path:
    """Writes `index.html` and a page for each part; the path of the index. Raises OSError.

    `home` is the address of a page outside, to which each leads back.
    """
    folder.mkdir(parents=True, exist_ok=True)
    environment = _environment()
    environment.globals["home"] = home
    index = folder / "index.html"
    index.write_text(environment.get_template("index.html").render(_index(parts)), encoding="utf-8")
    for number, (located, boards) in enumerate(parts):
        beside = {"before": parts[number - 1][0] if number else None, "after": _after(parts, number)}
        page = environment.get_template("part.html").render(located=located, boards=boards, **beside)
        (folder / page_name(located)).write_text(page, encoding="utf-8")
    return index


def page_name(located: Located) -> str:
    """The file of a part: "1.2-vector_add.html"."""
    return f"{located.label}-{located.part.name}.html"


def standings(parts: Sequence[tuple[Located, PartBoards]]) -> list[Standing]:
    """The players, those with most medals first."""
    found: dict[str, Standing] = {}
    for row in (row for _, boards in parts for board in boards.boards for row in board.rows):
        standing = found.setdefault(row.entry.player.id, Standing(row.entry.player, row.kept.own))
        standing.medals.update([row.entry.timing.medal] if row.entry.timing.medal else [])
        standing.firsts += row.rank == 1
    return sorted(found.values(), key=lambda standing: standing.order)


def _index(parts: Sequence[tuple[Located, PartBoards]]) -> Mapping[str, Any]:
    every = [board for _, boards in parts for board in boards.boards]
    results = [entry for board in every for entry in board.history]
    return {
        "puzzles": [list(group) for _, group in groupby(parts, key=lambda part: part[0].puzzle.number)],
        "standings": standings(parts),
        "devices": sorted({board.device for board in every}),
        "results": len(results),
        "latest": max((entry.when[:10] for entry in results), default=""),
        "parts": len(parts),
    }


def _after(parts: Sequence[tuple[Located, PartBoards]], number: int) -> Located | None:
    return parts[number + 1][0] if number + 1 < len(parts) else None


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("grader.leaderboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = _text("style.css"), _text("page.js")
    environment.globals |= {
        "style": Markup(style),
        "script": Markup(script),
        "policy": f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:",
        "say": _say,
        "page_name": page_name,
        "unit_of": lambda board: TimeUnit([line.ms for line in board.lines]),
        "history": history,
        "intervals": intervals,
        "is_noisy": is_noisy,
        "widths": {"wide": _WIDE, "narrow": _NARROW},
        "shown": shown,
        "medals": MEDALS,
        "most_standings": _MOST_STANDINGS,
    }
    environment.tests["row"] = lambda line: isinstance(line, Row)
    return environment


def _say(key: str, **facts: object) -> str:
    return sentence("leaderboard", key, facts=facts)


def _text(name: str) -> str:
    return (files("grader.leaderboard") / "templates" / name).read_text(encoding="utf-8").strip()


def _digest(text: str) -> str:
    """How a policy names an inline style or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
