"""The leaderboard as part of the site: its static pages, from the files of results that the settings name."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from grader.catalog import Catalog, Located
from grader.leaderboard.admission import admitted
from grader.leaderboard.boards import known_parts, results_in
from grader.leaderboard.pages import write_pages
from grader.leaderboard.ranking import PartBoards
from grader.leaderboard.store import Kept
from grader.publish.settings import Settings

FOLDER = "leaderboard"  # of the site
Known = Sequence[tuple[Located, PartBoards]]


def read_boards(settings: Settings, catalog: Catalog, tell: Callable[[str], None]) -> tuple[Known, list[str]]:
    """The boards of the edition's puzzles, and a sentence for each result that does not fit the course as it is."""
    results: dict[str, Kept] = {}
    refused: list[str] = []
    for file in settings.leaderboard:
        taken, reasons = admitted(results_in(str(file)), catalog, tell)
        results |= {kept.entry.id: kept for kept in taken}  # files of two people may share some
        refused += [f"{file.name}, result {reason.number}{reason.who}: {reason.why}" for reason in reasons]
    parts = [part for puzzle in catalog.puzzles if puzzle.number in settings.puzzles for part in puzzle.parts]
    in_order = sorted(results.values(), key=lambda kept: kept.entry.when)
    return list(known_parts(in_order, parts)), refused


def write_boards(site: Path, known: Known) -> None:
    """Writes the pages into the site, or takes those away that stand there for nothing."""
    folder = site / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    if known:
        write_pages(folder, known, home=f"../{FOLDER}.html")
