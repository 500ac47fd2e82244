"""Attacks by parts in Python: each achieves its aim outside its cage, fails inside, and its twin passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.cage import Cage
from grader.catalog import Located, load_catalog
from grader.op_list.calls import ListRefused
from grader.op_list.listing import answered_by
from tests.judging import ROOT
from tests.red_team.attacks import attack, attacks
from tests.red_team.building import FOLDER

ALL = attacks("python")
CALLS = 5  # of the solution


@pytest.fixture(scope="module")
def located() -> Located:
    return load_catalog(ROOT).part_named("backward_linear", "the red team")


def answered(located: Located, file: str, mark: Path) -> dict[str, Any]:
    """What the process that runs the file answers."""
    text = (FOLDER / "python" / file).read_text()
    text = text.replace("@SOLUTION@", str(located.solution_path)).replace("@MARK@", str(mark))
    part: Any = located.part
    message = {"do": "make", "file": file, "entry": part.name, "names": part.names, "numbers": part.number_names}
    return answered_by(part, {**message, "lists": {}}, text.encode())


@pytest.fixture
def no_cage(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of Python that may read and write everything, and start others."""
    everything = Cage(read=(Path("/"),), write=(Path("/"),))
    monkeypatch.setattr("grader.caged_python.process.Cage", lambda **_: everything)


@pytest.mark.usefixtures("no_cage")
@pytest.mark.parametrize("name", ALL)
def test_it_succeeds_without_the_cage(name: str, located: Located, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    answer = answered(located, f"{name}.py", mark)
    assert len(answer["calls"]) == CALLS
    assert mark.exists() == (name != "takes_the_solutions_list")


@pytest.mark.parametrize("name", ALL)
def test_it_fails_in_the_cage(name: str, located: Located, tmp_path: Path) -> None:
    with pytest.raises(ListRefused) as refused:
        answered(located, f"{name}.py", tmp_path / "mark")
    assert refused.value.kind == attack(name).finding
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("name", ALL)
def test_its_twin_passes(name: str, located: Located, tmp_path: Path) -> None:
    assert len(answered(located, f"{name}.twin.py", tmp_path / "mark")["calls"]) == CALLS
