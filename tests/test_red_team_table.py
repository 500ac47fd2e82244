"""The table of attacks, the folders of their sources, and the page that shows them."""

from __future__ import annotations

import json

from tests.red_team.attacks import ATTACKS, attacks
from tests.red_team.building import FOLDER
from tests.red_team.table import MEASURED, PAGE, written

LEAST = 30
LEAST_SHOWN = 10  # of those that need hardware to succeed


def test_every_source_has_its_row_and_every_row_its_source() -> None:
    files = [*FOLDER.glob("*/*.cu"), *FOLDER.glob("python/*.py")]
    sources = {(path.parent.name, path.name.split(".")[0]) for path in files}
    assert sorted((attack.folder, attack.name) for attack in ATTACKS) == sorted(sources)


def test_there_are_enough_of_them() -> None:
    assert len(ATTACKS) >= LEAST


def test_no_attack_succeeded_on_hardware_against_its_defence() -> None:
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    rows = [(name, row) for kind in ("bare", "values", "laps") for name, row in found[kind].items()]
    assert all(row["held"] and row["twin_passes"] for _, row in rows)
    assert {*attacks("device", "laps")} == {*(name for name, _ in rows), *found["not_shown"]}
    assert sum(row.get("succeeds", False) for _, row in rows) >= LEAST_SHOWN


def test_the_page_shows_them_all() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "python -m tests.red_team.table writes it anew"
