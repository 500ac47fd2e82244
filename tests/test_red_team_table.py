"""The table of attacks, the folders of their sources, and the page that shows them."""

from __future__ import annotations

from tests.red_team.attacks import ATTACKS
from tests.red_team.building import FOLDER
from tests.red_team.table import PAGE, written

LEAST = 30


def test_every_source_has_its_row_and_every_row_its_source() -> None:
    files = [*FOLDER.glob("*/*.cu"), *FOLDER.glob("python/*.py")]
    sources = {(path.parent.name, path.name.split(".")[0]) for path in files}
    assert sorted((attack.folder, attack.name) for attack in ATTACKS) == sorted(sources)


def test_there_are_enough_of_them() -> None:
    assert len(ATTACKS) >= LEAST


def test_the_page_shows_them_all() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "python -m tests.red_team.table writes it anew"
