"""Tables of measured numbers in the pages of the course, written from `results/`: nobody types them.

`python tests/bench/tables.py` writes them anew between their markers; a test says when that was forgotten.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

from grader.catalog import load_catalog
from grader.cuda.pytorch_rival import called_in
from grader.report.timing import bars, bound_told
from grader.verdict import Rival, Timing

ROOT = Path(__file__).resolve().parents[2]
_BAR_WIDTH = 96
Table: TypeAlias = Callable[[Mapping[str, Any]], str]


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


_CEILINGS = {
    "stream_read": "a kernel that only reads",
    "stream_copy": "a kernel that copies as much",
    "stream_add": "a kernel that reads two and writes one",
}


def solved_products(*labels: str) -> Table:
    """Products of matrices beside PyTorch's own, the parts of these labels."""

    def table(measured: Mapping[str, Any]) -> str:
        rows = ["| | ms | TFLOP/s | of PyTorch's |", "|---|---|---|---|"]
        chosen = _chosen(measured, labels)
        for name in dict.fromkeys(part["bench"]["product"] for part in chosen):
            own = next(product for product in measured["products"].values() if product["name"] == name)
            rows.append(f"| PyTorch, {name.split()[1]} | {own['ms']:.3f} | {own['tflops']:.1f} | |")
            for part in (part for part in chosen if part["bench"]["product"] == name):
                timed = part["bench"]
                share = f"{100 * timed['of_product']:.0f} %"
                rows.append(f"| `{part['part']}` | {timed['ms']:.3f} | {timed['tflops']:.1f} | {share} |")
        return "\n".join(rows)

    return table


def solved_streams(*labels: str) -> Table:
    """Parts beside the kernel that moves as many bytes in the same proportion and does nothing else."""

    def table(measured: Mapping[str, Any]) -> str:
        rows = ["| | ms | GB/s | of the ceiling |", "|---|---|---|---|"]
        chosen = _chosen(measured, labels)
        for name in dict.fromkeys(part["bench"].get("ceiling") for part in chosen):
            if name is not None:
                ceiling = measured["ceilings"][name]
                rows.append(f"| {_CEILINGS[name]} | {ceiling['ms']:.3f} | {ceiling['gb_per_s']:,.0f} | |")
            for part in (part for part in chosen if part["bench"].get("ceiling") == name):
                timed = part["bench"]
                share = f" {100 * timed['of_ceiling']:.0f} % " if name is not None else " "
                rows.append(f"| `{part['part']}` | {timed['ms']:.3f} | {timed['gb_per_s']:,.0f} |{share}|")
        return "\n".join(rows)

    return table


def _chosen(measured: Mapping[str, Any], labels: Sequence[str]) -> list[Mapping[str, Any]]:
    return [part for part in measured["parts"] if part["label"] in labels]


def fused(measured: Mapping[str, Any]) -> str:
    """Layer norm and linear layer by width of the output, in ms: apart, in one kernel, and PyTorch's."""
    head = (
        "| out_features | 7.2 | 7.2 with 7.3's product | 7.3 | 7.2 ÷ 7.3 | with one product | PyTorch | on 16 cores |"
    )
    rows = [head, "|---|---|---|---|---|---|---|---|"]
    for width, ways in measured["widths"].items():
        ms = {name: way["ms"] for name, way in ways.items()}
        here = ms["fused"]
        rows.append(
            f"| {int(width):,} | {ms['unfused']:.3f} | {ms['same_tile']:.3f} | {here:.3f} | {ms['unfused'] / here:.2f} "
            f"| {ms['same_tile'] / here:.2f} | {ms['torch']:.3f} | {ms['torch_cpu']:.1f} |"
        )
    return "\n".join(rows)


def fused_backward(measured: Mapping[str, Any]) -> str:
    """The way back of both, in ms: 7.4 and 7.5 with the normed rows kept, 7.6, and PyTorch's."""
    rows = ["| out_features | 7.4, then 7.5 | 7.6 | PyTorch | on 16 cores |", "|---|---|---|---|---|"]
    for width, ways in measured["widths"].items():
        ms = {name: way["ms"] for name, way in ways.items()}
        rows.append(
            f"| {int(width):,} | {ms['backward_apart']:.3f} | {ms['backward_fused']:.3f} | {ms['backward_torch']:.3f} "
            f"| {ms['backward_torch_cpu']:.1f} |"
        )
    return "\n".join(rows)


def through_autograd(measured: Mapping[str, Any]) -> str:
    """7.7 beside PyTorch's two layers by width of the output, in ms: forward, and forward with backward."""
    rows = ["| out_features | 7.7 | with backward | PyTorch | with backward |", "|---|---|---|---|---|"]
    for width in measured["milliseconds"]:
        ms = [width[who][what] for who in ("ours", "pytorch") for what in ("forward", "forward_backward")]
        rows.append(f"| {width['out_features']:,} | " + " | ".join(f"{one:.3f}" for one in ms) + " |")
    return "\n".join(rows)


def attention(measured: Mapping[str, Any]) -> str:
    """8.5 beside PyTorch's own, and 8.6 beside a copy."""
    rows = ["| | ms | | beside | |", "|---|---|---|---|---|"]
    for part in measured["parts"]:
        for timed in part.get("attention", ()):
            other, name = timed.get("pytorch", timed.get("copy")), f"`{part['part']}`"
            if "pytorch" in timed:
                shown = f"{timed['tflops']:.0f} TFLOP/s"
                name += ", causal" if timed["params"]["causal"] else ", no mask"
                beside = f"PyTorch, {other['ms']:.3f} ms"
            else:
                shown, beside = f"{timed['gb_per_s']:,.0f} GB/s", f"a copy, {other['gb_per_s']:,.0f} GB/s"
            rows.append(f"| {name} | {timed['ms']:.3f} | {shown} | {beside} | {100 * timed['share']:.0f} % |")
    return "\n".join(rows)


def training_steps(measured: Mapping[str, Any]) -> str:
    """A training step, eager and captured, ours and PyTorch's, in microseconds."""
    ways = ("ours_eager", "ours_captured", "pytorch_eager", "pytorch_captured", "pytorch_by_hand_captured")
    rows = ["| layers × sizes | type | eager | captured | PyTorch | captured | by hand, captured |", "|---" * 7 + "|"]
    for step in measured["steps"]:
        times = [f"{step['microseconds'][way]:.1f}" if way in step["microseconds"] else "" for way in ways]
        rows.append(f"| {step['size']} | {step['type']} | " + " | ".join(times) + " |")
    return "\n".join(rows)


def training_passes(measured: Mapping[str, Any]) -> str:
    """What ncu counts in forward, backward and update of the first network."""
    step = measured["ncu"][0]
    columns = ("kernels", "ns", "bytes", "dram_read", "load_sectors", "store_sectors", "instructions")
    heads = "kernels | ns | bytes | read from DRAM | sectors loaded | stored | warp instructions"
    rows = [f"| {step['size']}, {step['type']} | {heads} |", "|---" * 8 + "|"]
    rows += [
        f"| {name} | " + " | ".join(f"{counts[column]:,}" for column in columns) + " |"
        for name, counts in step["passes"].items()
    ]
    return "\n".join(rows)


_SHOWN = ("1.5", "2.5", "3.6", "4.4", "5.3", "5.7", "6.3", "7.3", "8.5", "8.6", "9.3", "10.8", "10.9")


def beside_pytorch(*labels: str) -> Table:
    """Solutions beside PyTorch, as it is and compiled, and the limit, all in turn; those of these labels, or all."""

    def table(measured: Mapping[str, Any]) -> str:
        rows = ["| part | ms | | of the limit | PyTorch takes | torch.compile takes |", "|---" * 6 + "|"]
        parts = [part for part in measured["parts"] if not labels or part["label"] in labels]
        lacking = []
        for part in parts:
            rivals = {rival["name"]: rival for rival in part["rivals"]}
            limit = f"{100 * rivals['ceiling']['times']:.0f} %" if part["bound"] != "launch" else ""
            times = [_times(rivals.get(name)) for name in ("pytorch", "compiled")]
            lacking += [part["label"]] if "compiled" not in rivals else []
            rows.append(f"| {part['label']} `{part['part']}` | {part['ms']:.3g} | {_rate(part)} | {limit} | ")
            rows[-1] += " | ".join(times) + " |"
        if lacking:
            rows += ["", f"No time was left for torch.compile of {in_ranges(lacking)}."]
        return "\n".join(rows)

    return table


def called_in_pytorch(_measured: Mapping[str, Any]) -> str:
    """What PyTorch runs, part by part."""
    rows, labels = ["| parts | PyTorch |", "|---|---|"], dict[str, list[str]]()
    for located in (located for puzzle in load_catalog(ROOT).puzzles for located in puzzle.parts):
        if located.part.in_pytorch is not None:
            labels.setdefault(called_in(located.part), []).append(located.label)
    return "\n".join([*rows, *(f"| {in_ranges(of)} | {called} |" for called, of in labels.items())])


_BOUNDS = {"memory": "memory", "compute": "arithmetic", "launch": "its launch"}


def decisions(measured: Mapping[str, Any]) -> str:
    """What is said of kernels beside themselves and beside one with more to do, and how far apart equals were seen."""
    rows = ["| kernel, bound by | ms | beside itself | furthest apart | beside 3 % more |", "|---" * 5 + "|"]
    for bound, kernel in measured["kernels"].items():
        ms = median(race["ms"] for race in kernel["races"])
        furthest = f"{100 * kernel['furthest_from_itself']:.2g} %"
        cells = [f"`{kernel['part']}`, {_BOUNDS[bound]}", f"{ms:.3g}", _said(kernel["itself"]), furthest]
        rows.append(f"| {' | '.join(cells)} | {_said(kernel.get('more', {}))} |")
    return "\n".join(rows)


def _said(counts: Mapping[str, int]) -> str:
    words = {"tie": "a tie"}
    return ", ".join(f"{count} times {words.get(said, said)}" for said, count in counts.items())


def in_ranges(labels: Sequence[str]) -> str:
    """Labels in their order, neighbours joined: "1.1 to 1.6, 2.7, 2.8"."""
    runs: list[list[str]] = []
    for label in labels:
        puzzle, number = map(int, label.split("."))
        if runs and runs[-1][-1] == f"{puzzle}.{number - 1}":
            runs[-1].append(label)
        else:
            runs.append([label])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def bars_of(label: str) -> Table:
    """The bars of a solution as `grader check` draws them."""

    def table(measured: Mapping[str, Any]) -> str:
        part = next(part for part in measured["parts"] if part["label"] == label)
        rivals = tuple(Rival(**rival) for rival in part["rivals"])
        limit = next(rival.times for rival in rivals if rival.name == "ceiling")
        counts = {name: part[name] for name in ("ms", "interval_ms", "gb_per_s", "tflop_per_s", "runs", "bound")}
        device = measured["about"]["device"]
        timing = Timing(device=device, cold_l2=True, of_limit=limit, rivals=rivals, **counts)
        lines = [line.plain for line in bars(timing, _BAR_WIDTH)]
        bound = textwrap.wrap(f"Bound {bound_told(timing)}", _BAR_WIDTH, initial_indent="  ", subsequent_indent="  ")
        return "\n".join(["```text", *lines, "", *bound, "```"])

    return table


def _rate(part: Mapping[str, Any]) -> str:
    """What counts: bytes a second where memory bounds, operations where arithmetic does."""
    if part["bound"] == "compute":
        return f"{part['tflop_per_s']:.3g} TFLOP/s"
    return f"{part['gb_per_s']:,.0f} GB/s" if part["bound"] == "memory" else ""


def _times(rival: Mapping[str, Any] | None) -> str:
    """How many times as long the other takes; a tie is one."""
    if rival is None:
        return ""
    return "tie" if rival["decision"] == "tie" else f"{rival['times']:.2f} ×"


# Page, marker, results, and what makes the table of them. What has not been measured yet stays as it is.
SOLUTIONS, LATER_SOLUTIONS = "results/h200/solutions.json", "results/h200/solutions_7_8_9.json"
TRAIN_STEP = "results/h200/train_step.json"
TIMINGS = "results/h200/timings.json"
TABLES: tuple[tuple[str, str, str, Table], ...] = (
    ("README.md", "bars", TIMINGS, bars_of("5.7")),
    ("README.md", "on an H200", TIMINGS, beside_pytorch(*_SHOWN)),
    ("docs/timings.md", "all", TIMINGS, beside_pytorch()),
    ("docs/races.md", "decisions", "results/h200/decisions.json", decisions),
    ("docs/timings.md", "called", TIMINGS, called_in_pytorch),
    ("puzzles/puzzle_01_vector_add/README.md", "times", "results/puzzle_01_h200.json", times),
    ("puzzles/puzzle_01_vector_add/README.md", "block sizes", "results/puzzle_01_h200.json", block_sizes),
    (
        "puzzles/puzzle_02_tiled_gemm/README.md",
        "parts",
        SOLUTIONS,
        solved_products("2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8"),
    ),
    (
        "puzzles/puzzle_03_bank_conflicts/README.md",
        "parts",
        SOLUTIONS,
        solved_streams("3.2", "3.3", "3.4", "3.5", "3.6"),
    ),
    ("puzzles/puzzle_04_wmma/README.md", "parts", SOLUTIONS, solved_products("4.2", "4.3", "4.4", "4.5")),
    ("puzzles/puzzle_05_reductions/README.md", "times", "results/puzzle_05_h200.json", sums),
    (
        "puzzles/puzzle_05_reductions/README.md",
        "parts",
        SOLUTIONS,
        solved_streams("5.3", "5.4", "5.5", "5.6", "5.7", "5.8"),
    ),
    (
        "puzzles/puzzle_06_rmsnorm/README.md",
        "parts",
        SOLUTIONS,
        solved_streams("6.1", "6.2", "6.3", "6.4", "6.5", "6.6", "6.7"),
    ),
    ("puzzles/puzzle_07_layernorm_linear/README.md", "forward", "results/h200/fusion.json", fused),
    ("puzzles/puzzle_07_layernorm_linear/README.md", "backward", "results/h200/fusion.json", fused_backward),
    ("puzzles/puzzle_07_layernorm_linear/README.md", "autograd", "results/h200/autograd.json", through_autograd),
    ("puzzles/puzzle_08_flash_attention/README.md", "parts", LATER_SOLUTIONS, attention),
    (
        "puzzles/puzzle_09_sgd/README.md",
        "parts",
        LATER_SOLUTIONS,
        solved_streams("9.1", "9.2", "9.3", "9.4", "9.5"),
    ),
    ("puzzles/puzzle_10_train_step/README.md", "steps", TRAIN_STEP, training_steps),
    ("puzzles/puzzle_10_train_step/README.md", "passes", TRAIN_STEP, training_passes),
)


def written(page: str) -> str:
    """The text of a page with each of its tables written anew."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for other, marker, results, make in TABLES:
        if other == page and (ROOT / results).exists():
            table = make(json.loads((ROOT / results).read_text(encoding="utf-8")))
            before, rest = text.split(f"<!-- {marker} -->\n")
            text = f"{before}<!-- {marker} -->\n{table}\n{rest[rest.index('<!-- end -->') :]}"
    return text


if __name__ == "__main__":
    for changed in {page for page, *_ in TABLES}:
        (ROOT / changed).write_text(written(changed), encoding="utf-8")
