"""The plan of a list of op calls as a table: a launch a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.explain import sentence

if TYPE_CHECKING:
    from grader.op_list.planned import PlannedOp

_LEFT, _RIGHT = ("op", "tensors", "variant", "kernel", "grid"), ("bytes", "operations", "line")
_WIDEST = 160


def print_step(console: Console, heading: str, ops: Sequence[PlannedOp]) -> None:
    """The table, never wrapped, and what all of it comes to."""
    console.print(Text(heading, style="bold"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (*_LEFT, *_RIGHT):
        table.add_column(sentence("step", name), justify="right" if name in _RIGHT else "left", no_wrap=True)
    for one in ops:
        table.add_row(*_row(one))
    Console(file=console.file, width=_WIDEST, highlight=False).print(table)
    facts = {
        "launches": len(ops),
        "bytes": f"{sum(one.bytes for one in ops):,}",
        "operations": f"{sum(one.operations for one in ops):,}",
    }
    console.print(Text(sentence("step", "total", facts=facts)), soft_wrap=True)


def _row(one: PlannedOp) -> tuple[str, ...]:
    call = one.call
    attrs = "".join(f" {name}={value}" for name, value in call.attrs.items())
    tensors = f"{', '.join(call.inputs)} → {', '.join(call.outputs)}{attrs}"
    grid = f"{_extent(one.grid)} of {_extent(one.block)}"
    return call.op, tensors, one.variant, one.kernel, grid, f"{one.bytes:,}", f"{one.operations:,}", str(call.line)


def _extent(extent: tuple[int, int, int]) -> str:
    """As it is written, "4×4" for (4, 4, 1)."""
    last = max((place for place, size in enumerate(extent) if size > 1), default=0)
    return "×".join(map(str, extent[: last + 1]))
