"""Tables of measured numbers in the pages of the course, written from `results/`: nobody types them.

`python tests/bench/tables.py` writes them anew between their markers; a test says when that was forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def times(measured: Mapping[str, Any]) -> str:
    """Puzzle 1's solutions beside a copy of the same data."""
    copy = measured["copy"]
    ceiling = copy["bytes"] / copy["ms"]
    rows = [
        "| | ms | GB/s | of a copy's |",
        "|---|---|---|---|",
        f"| a copy | {copy['ms']:.3f} | {ceiling / 1e6:,.0f} | |",
    ]
    for name, part in measured["parts"].items():
        rate = part["bytes"] / part["ms"]
        rows.append(f"| `{name}` | {part['ms']:.3f} | {rate / 1e6:,.0f} | {100 * rate / ceiling:.0f} % |")
    return "\n".join(rows)


def block_sizes(measured: Mapping[str, Any]) -> str:
    """Puzzle 1's plain kernel and its grid-stride loop by block size."""
    rows = ["| threads a block | blocks at once | occupancy | one element a thread, ms | grid-stride loop, ms |"]
    rows.append("|---|---|---|---|---|")
    for row in measured["block_sizes"]:
        occupancy = 100 * row["threads"] * row["resident_blocks"] / row["most_threads"]
        rows.append(
            f"| {row['threads']:,} | {row['resident_blocks']} | {occupancy:.0f} % "
            f"| {row['ms_one_element']:.3f} | {row['ms_grid_stride']:.3f} |"
        )
    return "\n".join(rows)


def products(measured: Mapping[str, Any]) -> str:
    """Puzzle 2's solutions beside cuBLAS's product of the same matrices."""
    best = measured["products"]["cublas"]["ms"]
    rows = ["| | ms | TFLOP/s | of cuBLAS's |", "|---|---|---|---|"]
    for name, part in measured["products"].items():
        shown = "cuBLAS, single precision" if name == "cublas" else f"`{name}`"
        rate, share = part["flops"] / part["ms"] / 1e9, "" if name == "cublas" else f"{100 * best / part['ms']:.0f} %"
        rows.append(f"| {shown} | {part['ms']:.2f} | {rate:.1f} | {share} |".replace("|  |", "| |"))
    return "\n".join(rows)


def transposes(measured: Mapping[str, Any]) -> str:
    """Puzzle 3's solutions beside a copy of as many bytes."""
    copy = measured["transposes"]["copy"]["ms"]
    rows = ["| | ms | GB/s | of a copy's |", "|---|---|---|---|"]
    for name, part in measured["transposes"].items():
        shown = "a copy" if name == "copy" else f"`{name}`"
        rate, share = part["bytes"] / part["ms"] / 1e6, "" if name == "copy" else f"{100 * copy / part['ms']:.0f} %"
        rows.append(f"| {shown} | {part['ms']:.3f} | {rate:,.0f} | {share} |".replace("|  |", "| |"))
    return "\n".join(rows)


def tensor_products(measured: Mapping[str, Any]) -> str:
    """Puzzle 4's solutions, of square matrices and of odd ones."""
    rows = ["| | M = N = K | ms | TFLOP/s |", "|---|---|---|---|"]
    rows += [f"| `{row['name']}` | {row['M']:,} | {row['ms']:.2f} | {row['tflops']:.0f} |" for row in measured["times"]]
    return "\n".join(rows)


_SUMS = {
    "thread_a_row": "sums of rows, a thread a row",
    "warp_sum": "sums of rows, a warp a row: `warp_sum`",
    "atomic_a_thread": "one sum, an atomic a thread",
    "atomic_a_warp": "one sum, an atomic a warp",
    "reduce_sum": "one sum, an atomic a block: `reduce_sum`",
    "float4_loads": "one sum, with 16-byte loads",
    "copy": "a copy of as many bytes",
}


def sums(measured: Mapping[str, Any]) -> str:
    """Puzzle 5's solutions beside other ways to the same sums."""
    rows = ["| | ms | GB/s |", "|---|---|---|"]
    for name, shown in _SUMS.items():
        ms = measured["sums"][name]["ms"]
        rows.append(f"| {shown} | {ms:.3g} | {measured['bytes'] / ms / 1e6:,.0f} |")
    return "\n".join(rows)


_CEILINGS = {"read": "a kernel that only reads", "copy": "a copy of as many bytes"}


def _of_ceilings(measured: Mapping[str, Any], names: Sequence[str]) -> str:
    """Parts beside the kernel that moves as many bytes in the same proportion and does nothing else."""
    rows = ["| | ms | GB/s | of the ceiling |", "|---|---|---|---|"]
    for name in names:
        part = measured["parts"][name]
        rate, share = part["bytes"] / part["ms"] / 1e6, ""
        if part["ceiling"]:
            ceiling = measured["parts"][part["ceiling"]]
            share = f"{100 * rate * 1e6 * ceiling['ms'] / ceiling['bytes']:.0f} % "
        shown = _CEILINGS.get(name, f"`{name}`")
        rows.append(f"| {shown} | {part['ms']:.3f} | {rate:,.0f} | {share}|")
    return "\n".join(rows)


def reductions(measured: Mapping[str, Any]) -> str:
    """Puzzle 5's solutions beside what memory gives."""
    sums = ("reduce_sum", "reduce_sum_deterministic", "row_sum", "row_max", "col_sum")
    return _of_ceilings(measured, ("read", *sums, "copy", "row_softmax"))


def norms(measured: Mapping[str, Any]) -> str:
    """Puzzle 6's solutions beside a copy."""
    forward = ("rmsnorm_naive", "rmsnorm", "rmsnorm_vec", "rmsnorm_f16", "rmsnorm_bf16")
    return _of_ceilings(measured, ("copy", *forward, "rmsnorm_backward_dx", "rmsnorm_backward"))


# Page, marker, results, and what makes the table of them.
TABLES: tuple[tuple[str, str, str, Callable[[Mapping[str, Any]], str]], ...] = (
    ("puzzles/puzzle_01_vector_add/README.md", "times", "results/puzzle_01_h200.json", times),
    ("puzzles/puzzle_01_vector_add/README.md", "block sizes", "results/puzzle_01_h200.json", block_sizes),
    ("puzzles/puzzle_02_tiled_gemm/README.md", "times", "results/puzzles_02_03_h200.json", products),
    ("puzzles/puzzle_03_bank_conflicts/README.md", "times", "results/puzzle_03_h200.json", transposes),
    ("puzzles/puzzle_04_wmma/README.md", "times", "results/puzzle_04_h200.json", tensor_products),
    ("puzzles/puzzle_05_reductions/README.md", "times", "results/puzzle_05_h200.json", sums),
    ("puzzles/puzzle_05_reductions/README.md", "parts", "results/puzzles_05_06_h200.json", reductions),
    ("puzzles/puzzle_06_rmsnorm/README.md", "parts", "results/puzzles_05_06_h200.json", norms),
)


def written(page: str) -> str:
    """The text of a page with each of its tables written anew."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for other, marker, results, make in TABLES:
        if other == page:
            table = make(json.loads((ROOT / results).read_text(encoding="utf-8")))
            before, rest = text.split(f"<!-- {marker} -->\n")
            text = f"{before}<!-- {marker} -->\n{table}\n{rest[rest.index('<!-- end -->') :]}"
    return text


if __name__ == "__main__":
    for changed in {page for page, *_ in TABLES}:
        (ROOT / changed).write_text(written(changed), encoding="utf-8")
