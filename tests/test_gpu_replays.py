"""The loop that the scripts for a real GPU share, on a pretended one: what is right there, and what is not."""

from __future__ import annotations

from pathlib import Path

from grader.build import Build, build
from grader.catalog import load_catalog
from grader.cuda.session import RealGPU
from grader.puzzle import Part
from tests.gpu.replays import Row, problems_of
from tests.judging import ROOT
from tests.test_sweep_timed import KERNEL, PRETENDED


def replayed(folder: Path, source: str) -> tuple[Row, list[str], Part]:
    """The pretended GPU adds, whatever `source` does."""
    path = folder / "own.cu"
    path.write_text(source)
    part = load_catalog(ROOT).part_named("vector_add_block").part
    built: Build = build(path, target=90)
    row = Row("1.1", part.name)
    with RealGPU(part, command=PRETENDED) as gpu:
        return row, list(problems_of(gpu, part, built, row, seed=7, bits_count=True)), part


def test_every_case_is_replayed_in_every_way(tmp_path: Path) -> None:
    row, problems, part = replayed(tmp_path, KERNEL)
    cases = len(list(part.cases()))
    assert problems == []
    assert (row.plain["cases"], row.plain["replays"]) == (cases, 2 * cases)
    assert row.plain["right"] == row.plain["bits_of_the_software_gpu"] == 2 * cases


def test_other_bits_than_the_software_gpu_gives_are_a_problem(tmp_path: Path) -> None:
    row, problems, _ = replayed(tmp_path, KERNEL.replace("a[i] + b[i]", "a[i] + 2.0f * b[i]"))
    assert row.plain["right"] == row.plain["replays"]
    assert any("0 wrong, and other bits than the software GPU gives" in problem for problem in problems)
