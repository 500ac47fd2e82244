"""Measured numbers in the pages are those of `results/`."""

from __future__ import annotations

import pytest

from tests.bench.tables import ROOT, TABLES, beside_pytorch, called_in_pytorch, in_ranges, written


@pytest.mark.parametrize("page", sorted({page for page, *_ in TABLES}))
def test_a_page_shows_the_results_as_measured(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for other, marker, *_ in TABLES:
        assert other != page or f"<!-- {marker} -->" in text
    assert text == written(page), "python tests/bench/tables.py writes them anew"


def rival(name: str, times: float, decision: str = "slower") -> dict[str, object]:
    return {"name": name, "times": times, "decision": decision}


TIMED = {
    "parts": [
        {
            "label": "1.2",
            "part": "vector_add",
            "ms": 0.7379,
            "bound": "memory",
            "gb_per_s": 4365.2,
            "tflop_per_s": 0.4,
            "rivals": [rival("pytorch", 1.004, "tie"), rival("ceiling", 0.994, "tie")],
        },
        {
            "label": "2.5",
            "part": "gemm_register_tiled",
            "ms": 3.123,
            "bound": "compute",
            "gb_per_s": 64.0,
            "tflop_per_s": 44.01,
            "rivals": [rival("pytorch", 0.857), rival("compiled", 0.86), rival("ceiling", 0.857)],
        },
        {
            "label": "5.1",
            "part": "block_sum",
            "ms": 0.00312,
            "bound": "launch",
            "gb_per_s": 1.3,
            "rivals": [rival("compiled", 1.2, "faster"), rival("ceiling", 1.1, "tie")],
        },
    ]
}


def test_times_stand_beside_those_of_pytorch() -> None:
    assert beside_pytorch()(TIMED).splitlines()[2:] == [
        "| 1.2 `vector_add` | 0.738 | 4,365 GB/s | 99 % | tie |  |",
        "| 2.5 `gemm_register_tiled` | 3.12 | 44 TFLOP/s | 86 % | 0.86 × | 0.86 × |",
        "| 5.1 `block_sum` | 0.00312 |  |  |  | 1.20 × |",
        "",
        "No time was left for torch.compile of 1.2.",
    ]
    assert [line.split()[1] for line in beside_pytorch("2.5")(TIMED).splitlines()[2:]] == ["2.5"]


def test_what_pytorch_runs_is_told_once_for_all_parts_that_run_it() -> None:
    rows = called_in_pytorch({}).splitlines()
    assert "| 3.2 to 3.6 | `in.T.contiguous()` |" in rows
    assert rows[2].startswith("| 1.1 to 1.6, 2.1 to 2.5, 2.7, 2.8, 5.1 to 5.8, 7.4, ")


def test_neighbours_are_joined() -> None:
    assert in_ranges(["1.1"]) == "1.1"
    assert in_ranges(["1.1", "1.2", "2.3", "2.4", "2.5", "10.9"]) == "1.1, 1.2, 2.3 to 2.5, 10.9"
