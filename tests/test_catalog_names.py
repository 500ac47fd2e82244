"""What people may type for a puzzle or a part, and where puzzles are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog import Catalog, UsageError, emptied, is_untouched, load_catalog, regions

PUZZLE = """
from grader.puzzle import Case, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32

def part(name):
    return Part(name, params=[Out("o", f32, "n"), Scalar("n", i32)], reference=lambda n: n, groups={{"g": [Case(n=1)]}},
                bench=Case(n=1), work=lambda n: Work(n, n), tolerance=Tolerance(0, why=""), lesson="")

puzzle = Puzzle("{title}", [part(name) for name in {names}])
"""
SOURCE = "a\n    // --- your code ---\n    x();\n    // --- end ---\nb\n"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    for number, topic, names in ((1, "first", ["one", "first", "three"]), (12, "last_steps", ["four"])):
        folder = tmp_path / "puzzles" / f"puzzle_{number:02}_{topic}"
        folder.mkdir(parents=True)
        (folder / "puzzle.py").write_text(PUZZLE.format(title=topic, names=names))
    return load_catalog(tmp_path)


@pytest.mark.parametrize("text", ["puzzle_1", "1", "01", "puzzle_01_first", "first", "puzzle_01"])
def test_many_names_mean_the_puzzle_and_a_clash_means_the_puzzle(catalog: Catalog, text: str) -> None:
    puzzle, part = catalog.resolve(text)
    assert (puzzle.number, part) == (1, None)


@pytest.mark.parametrize(
    ("text", "label"),
    [("1.3", "1.3"), ("three", "1.3"), ("puzzle_1.2", "1.2"), ("1.first", "1.2"), ("01.1", "1.1"), ("four", "12.1")],
)
def test_many_names_mean_a_part(catalog: Catalog, text: str, label: str) -> None:
    _, part = catalog.resolve(text)
    assert part is not None
    assert part.label == label
    assert part.path.name == f"{part.index}_{part.part.name}.cu"


def test_part_takes_entry_names_only(catalog: Catalog) -> None:
    _, part = catalog.resolve("1", "first")
    assert part is not None
    assert part.label == "1.2"
    with pytest.raises(UsageError, match="one, first, three"):
        catalog.resolve("1", "2")
    with pytest.raises(UsageError, match="name one of them"):
        catalog.resolve("1.1", "first")


@pytest.mark.parametrize(
    "text", ["", "2", "1.4", "1.0", "1.", ".", "one.1", "1.1.1", "-1", "puzzle_", "１", "fist", "../x"]
)
def test_an_unknown_name_is_refused_with_the_next_step(catalog: Catalog, text: str) -> None:
    with pytest.raises(UsageError, match="grader list"):
        catalog.resolve(text)


def test_a_typing_error_is_answered_with_the_name_that_was_meant(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="did you mean 'three'"):
        catalog.resolve("thre")


def test_the_nearest_folder_with_puzzles_is_the_workspace(catalog: Catalog) -> None:
    deep = catalog.root / "notes" / "deep"
    deep.mkdir(parents=True)
    assert load_catalog(deep).root == catalog.root


def test_elsewhere_the_checkout_is_the_workspace(tmp_path: Path) -> None:
    assert (load_catalog(tmp_path).root / "grader" / "catalog.py").is_file()


def test_a_part_keeps_its_number_where_those_before_it_are_missing(catalog: Catalog) -> None:
    source = catalog.root / "puzzles" / "puzzle_12_last_steps" / "puzzle.py"
    source.write_text(source.read_text().replace("Part(name, ", "Part(name, number={'four': 4}[name], "))
    later = load_catalog(catalog.root)
    _, part = later.resolve("12.4")
    assert part is not None
    assert (part.label, part.path.name) == ("12.4", "4_four.cu")
    for missing in ("12.1", "12.5"):
        with pytest.raises(UsageError, match=r"has parts 12\.4 to 12\.4"):
            later.resolve(missing)


@pytest.mark.parametrize("text", ["puzzle = 1", "1 / 0", "raise SystemError", "x = (", ""])
def test_a_puzzle_that_cannot_be_loaded_is_one_sentence(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "puzzles" / "puzzle_01_broken"
    folder.mkdir(parents=True)
    (folder / "puzzle.py").write_text(text)
    with pytest.raises(UsageError, match=r"puzzle\.py"):
        load_catalog(tmp_path)


def test_the_skeleton_is_the_solution_without_what_is_to_be_written() -> None:
    assert regions(SOURCE) == ["    x();\n"]
    assert emptied(SOURCE) == "a\n    // --- your code ---\n    // --- end ---\nb\n"
    assert regions("// --- your code ---\n no end") == []


@pytest.mark.parametrize(
    ("inside", "untouched"),
    [("", True), ("\n   \n", True), ("// an idea\n", True), ("/* two\n lines */\n", True), ("x = 1;\n", False)],
)
def test_comments_alone_are_no_beginning(inside: str, untouched: bool) -> None:
    assert is_untouched(f"// --- your code ---\n{inside}// --- end ---\n") is untouched


def test_a_file_without_markers_is_not_a_skeleton() -> None:
    assert not is_untouched("int x;\n")
