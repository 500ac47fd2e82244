"""A profile in the terminal: the lines of the file with their counts, then each kernel's sums."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.explain import sentence
from grader.facts import listed
from grader.profile.counts import INSTRUCTIONS, LANES, METRICS, KernelCounts, LineCounts, Profiled
from grader.report.excerpt import visible

_SECTORS, _WAVEFRONTS = "memory_l2_theoretical_sectors_global", "memory_l1_wavefronts_shared"
_NARROWEST, _GAP = 24, 2  # columns of the source, and between two
_WIDEST = 200
_FIRST_TO_GO = ("instructions", "lanes")


def print_profiled(console: Console, profiled: Profiled) -> None:
    """Everything, in the order in which one asks: where, how much in all, and what that means."""
    sizes = listed(profiled.params)
    key = "heading" if profiled.measured_on is None else "heading_measured"
    facts = {"label": profiled.label, "part": profiled.part, "sizes": sizes, "device": profiled.measured_on}
    _put(console, _say(key, **facts), "bold")
    if profiled.not_right is not None:
        _put(console, _say("wrong", why=profiled.not_right), "yellow")
    console.print()
    wide = Console(file=console.file, width=_WIDEST, highlight=False)
    columns = _shown_columns(profiled.lines, width := min(console.width, _WIDEST))
    wide.print(_line_table(profiled.lines, columns, width))
    for kernel in profiled.kernels:
        console.print()
        key = "kernel" if kernel.launches > 1 else "kernel_once"
        _put(console, _say(key, name=kernel.name, launches=kernel.launches), "bold")
        console.print(_kernel_table(kernel))
    console.print()
    for said in _conclusions(profiled, instructions=any(name in _FIRST_TO_GO for name, _ in columns)):
        _put(console, said)


def _conclusions(profiled: Profiled, *, instructions: bool) -> Iterator[str]:
    """`instructions`: whether the columns are there that need words of their own."""
    rows = [(k.compiled[metric], (k.measured or {}).get(metric)) for k in profiled.kernels for metric in _rows(k)]
    rows = [(ours, theirs) for ours, theirs in rows if theirs is not None]
    differing = sum(ours != theirs for ours, theirs in rows)
    if rows:
        yield _say("differs", count=differing, rows=len(rows)) if differing else _say("same")
    if profiled.not_measured is not None:
        yield profiled.not_measured
    if instructions:
        yield _say("legend_instructions")
    yield _say("legend")
    yield _say("legend_kernel")


# ---- lines -----------------------------------------------------------------------------------------------------------


def _lanes(counts: LineCounts) -> str:
    warps = counts.counts[INSTRUCTIONS]
    return f"{counts.counts[LANES] / warps:.3g}" if warps else ""


def _count(name: str) -> Callable[[LineCounts], str]:
    return lambda line: f"{line.counts[name]:,}" if line.counts[name] else ""


def _excess(name: str) -> Callable[[LineCounts], str]:
    """Beyond the fewest possible; "0" where there is something to count and nothing beyond it."""
    return lambda line: f"{line.counts[name] - line.counts[f'{name}_ideal']:,}" if line.counts[name] else ""


_COLUMNS: tuple[tuple[str, Callable[[LineCounts], str]], ...] = (
    ("instructions", _count(INSTRUCTIONS)),
    ("lanes", _lanes),
    ("sectors", _count(_SECTORS)),
    ("excess", _excess(_SECTORS)),
    ("wavefronts", _count(_WAVEFRONTS)),
    ("excess", _excess(_WAVEFRONTS)),
)


_Columns = list[tuple[str, list[str]]]


def _shown_columns(lines: Sequence[LineCounts], width: int) -> _Columns:
    """Those with anything to say; instructions go where the source would be cut too short."""
    columns = [("line", [str(line.line or "") for line in lines])]
    columns += [(name, cells) for name, cell in _COLUMNS if any(cells := [cell(line) for line in lines])]
    if _NARROWEST + _taken(columns) > width:
        columns = [(name, cells) for name, cells in columns if name not in _FIRST_TO_GO]
    return columns


def _line_table(lines: Sequence[LineCounts], columns: _Columns, width: int) -> Table:
    """The source has the columns that the numbers leave, and is cut where it is longer."""
    (_, numbers), *counts = columns
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(_say("line"), justify="right", style="dim", no_wrap=True)
    source = max(width - _taken(columns), _NARROWEST)
    table.add_column(_say("source"), no_wrap=True, overflow="ellipsis", width=source)
    for name, _ in counts:
        table.add_column(_say(name), justify="right", no_wrap=True)
    texts = textwrap.dedent("\n".join(visible(line.text) for line in lines)).split("\n")
    for place, (line, text) in enumerate(zip(lines, texts, strict=True)):
        shown = Text(text if line.line else _say("elsewhere"))
        table.add_row(numbers[place], shown, *(_cell(name, cells[place]) for name, cells in counts))
    return table


def _taken(columns: Sequence[tuple[str, Sequence[str]]]) -> int:
    """What these take of a line, with the gaps."""
    return sum(_GAP + max(map(len, (_say(name), *cells))) for name, cells in columns)


def _cell(name: str, text: str) -> Text:
    return Text(text, style="yellow" if name == "excess" and text not in ("", "0") else "")


# ---- kernels ---------------------------------------------------------------------------------------------------------


def _kernel_table(kernel: KernelCounts) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(_say("metric"), overflow="fold")
    names = ["written", "compiled", *(["measured"] if kernel.measured is not None else [])]
    for name in names:
        table.add_column(_say(name), justify="right", no_wrap=True)
    for metric in _rows(kernel):
        counts = [kernel.written[metric], kernel.compiled[metric]]
        row = [Text(f"{count:,}") for count in counts]
        if kernel.measured is not None:
            counted = kernel.measured.get(metric)
            style = "" if counted in (None, kernel.compiled[metric]) else "yellow"
            row.append(Text("–" if counted is None else f"{counted:,}", style=style))
        table.add_row(metric, *row)
    return table


def _rows(kernel: KernelCounts) -> list[str]:
    """The metrics of which there is anything to say."""
    every = (kernel.written, kernel.compiled, kernel.measured or {})
    return [metric for metric in METRICS if any(counts.get(metric) for counts in every)]


def _put(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text.replace("`", ""), style=style), soft_wrap=not console.is_terminal)


def _say(key: str, **facts: object) -> str:
    return sentence("profile", key, facts=facts)
