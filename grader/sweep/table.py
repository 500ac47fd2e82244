"""A sweep as a table in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.explain import sentence
from grader.facts import listed
from grader.sweep.shapes import Shape, Swept

_WORDS = ("limited_by", "decision")  # columns
_FIRST_TO_GO = ("limited_by", "registers", "shared", "resident", "occupancy")
_GAP = 2
_STYLES = {"faster": "green", "slower": "dim", "tie": ""}


def print_swept(console: Console, swept: Swept) -> None:
    """What was changed, a row a right shape, those that are not right with the reason, and which is best."""
    key = "heading" if swept.no_times is None else "heading_software"
    _put(console, _say(key, label=swept.label, part=swept.part, device=swept.device), "bold")
    console.print()
    for said in _about(swept):
        _put(console, said)
    console.print()
    right = [shape for shape in swept.shapes if shape.right]
    if right:
        console.print(_table(swept, right, console.width))
        console.print()
    for said in _refusals(swept):
        _put(console, said)
    for said in _conclusions(swept, right):
        _put(console, said)


def _about(swept: Swept) -> Iterator[str]:
    facts = {"name": swept.name, "value": swept.value, "line": swept.line, "file": swept.file, "label": swept.label}
    facts |= {"launch": swept.launch_line, "threads": swept.own.threads}
    yield _say("constant" if swept.name else "number", **facts)
    if swept.others:
        yield _say("others", names=", ".join(swept.others), first=swept.others[0], label=swept.label)
    sizes = listed(swept.checked)
    yield _say("checked" if sizes else "checked_no_sizes", sizes=sizes)


def _conclusions(swept: Swept, right: Sequence[Shape]) -> Iterator[str]:
    for shape in right:
        if shape.untimed is not None:
            yield _say("left_out", value=shape.value, reason=shape.untimed)
    if swept.slowed is not None:
        yield swept.slowed
    if len(right) == 1:
        yield _say("only_own")
    elif swept.no_times is not None:
        yield _say("counted_right", right=len(right), tried=len(swept.shapes))
    else:
        yield _fastest(swept)
    if swept.no_times is not None:
        yield swept.no_times
    yield _say("legend")


def _refusals(swept: Swept) -> Iterator[str]:
    """A line a reason, with the values that it keeps out."""
    values: dict[str, list[str]] = {}
    for shape in swept.shapes:
        if shape.refused is not None:
            values.setdefault(shape.refused, []).append(str(shape.value))
    for reason, kept_out in values.items():
        yield f"  ✘ {', '.join(kept_out)}  {reason}"
    if values:
        yield ""


def _fastest(swept: Swept) -> str:
    best = swept.best
    if best is None or best.time is None:
        return _say("none_faster")
    low, high = best.time.times_interval
    facts = {"name": swept.name, "value": best.value, "label": swept.label, "times": f"{best.time.times:.3f}"}
    return _say("best" if swept.name else "best_number", low=f"{low:.3f}", high=f"{high:.3f}", **facts)


# ---- columns ---------------------------------------------------------------------------------------------------------


def _table(swept: Swept, shapes: Sequence[Shape], width: int) -> Table:
    """A row a shape; where the terminal is narrow, without the columns that say least."""
    columns = {name: [cell(shape) for shape in shapes] for name, cell in _COLUMNS.items()}
    if all(shape.value == shape.threads for shape in shapes):
        del columns["value"]
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    for name in _FIRST_TO_GO:
        if 1 + sum(_GAP + _narrowest(name, cells) for name, cells in columns.items()) > width:
            columns.pop(name, None)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("")
    for name, cells in columns.items():
        justify: Literal["left", "right"] = "left" if name in _WORDS else "right"
        table.add_column(_say(name), justify=justify, min_width=_narrowest(name, cells))
    for place, shape in enumerate(shapes):
        own = shape.value == swept.value
        decision = shape.time.decision if shape.time is not None else None
        style = "bold" if own else _STYLES.get(decision or "", "")
        table.add_row("▶" if own else "", *(cells[place] for cells in columns.values()), style=style)
    return table


def _narrowest(name: str, cells: Sequence[str]) -> int:
    """Columns that a column of the table needs: a heading may be broken between its words."""
    return max(map(len, [*_say(name).split(), *cells]))


def _block(shape: Shape) -> str:
    """As it is written, "32×8" for (32, 8, 1)."""
    sizes = shape.block or ()
    last = max((place for place, size in enumerate(sizes) if size > 1), default=0)
    return "×".join(map(str, sizes[: last + 1]))


def _registers(shape: Shape) -> str:
    if shape.spilled:
        return _say("spilled", registers=shape.registers, bytes=f"{shape.spilled:,}")
    return str(shape.registers) if shape.registers else ""


def _shared(shape: Shape) -> str:
    total = shape.static_shared + shape.dynamic_shared
    return _say("bytes", bytes=f"{total:,}") if total else ""


def _resident(shape: Shape) -> str:
    return str(shape.occupancy.blocks) if shape.occupancy is not None else ""


def _occupancy(shape: Shape) -> str:
    return f"{100 * shape.occupancy.share:.0f} %" if shape.occupancy is not None else ""


def _limited_by(shape: Shape) -> str:
    """Nothing where all warps are there that there is room for."""
    held = shape.occupancy
    return ", ".join(_say(f"by_{name}") for name in held.limited_by) if held is not None and held.share < 1 else ""


def _time(shape: Shape) -> str:
    return f"{shape.time.ms:.4g} ms" if shape.time is not None else ""


def _times(shape: Shape) -> str:
    return f"{shape.time.times:.3f}×" if shape.time is not None and shape.time.decision is not None else ""


def _decision(shape: Shape) -> str:
    return _say(shape.time.decision or "own") if shape.time is not None else ""


_COLUMNS: dict[str, Callable[[Shape], str]] = {
    "value": lambda shape: str(shape.value),
    "block": _block,
    "registers": _registers,
    "shared": _shared,
    "resident": _resident,
    "occupancy": _occupancy,
    "limited_by": _limited_by,
    "time": _time,
    "times": _times,
    "decision": _decision,
}


def _put(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text.replace("`", ""), style=style), soft_wrap=not console.is_terminal)


def _say(key: str, **facts: object) -> str:
    return sentence("sweep", key, facts=facts)
