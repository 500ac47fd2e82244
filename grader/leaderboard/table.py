"""Boards in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.catalog import Located
from grader.explain import sentence
from grader.leaderboard import shown
from grader.leaderboard.ranking import Board, PartBoards, Row
from grader.leaderboard.shown import TimeUnit
from grader.verdict import Rival

_WIDE = 84  # columns of a terminal: below that, only what matters most
_MEDALS = {"gold": "bold yellow", "silver": "bold white", "bronze": "bold rgb(205,127,50)"}


def _say(key: str, **facts: object) -> str:
    return sentence("leaderboard", key, facts=facts)


def print_part(console: Console, located: Located, boards: PartBoards) -> None:
    """All boards of one part."""
    title = f"{located.puzzle.puzzle.title} · {located.label} {located.part.name}"
    if not boards.boards:
        console.print(Text(title, style="bold"))
        console.print(_say("empty_part", label=located.label), highlight=False)
    for board in boards.boards:
        console.print(Text(f"{title} · {board.device}", style="bold"))
        console.print(_device_table(board, wide=console.width >= _WIDE))
        if any(row.tied for row in board.rows):
            console.print(Text(_say("ranks"), style="dim"))
        console.print()
    if len(boards.boards) > 1:
        console.print(Text(_say("overall"), style="bold"))
        console.print(_overall_table(boards.overall))
        console.print()
    if boards.earlier:
        console.print(Text(_say("earlier_count", count=len(boards.earlier)), style="dim"))


def print_overview(console: Console, parts: Sequence[tuple[Located, PartBoards]]) -> None:
    """One line a part and device: who is first, and how fast."""
    for device in sorted({board.device for _, boards in parts for board in boards.boards}):
        of_device = [(located, board) for located, boards in parts for board in boards.boards if board.device == device]
        console.print(Text(device, style="bold"))
        console.print(_overview_table(of_device, wide=console.width >= _WIDE))
        console.print()


def _overview_table(boards: Sequence[tuple[Located, Board]], *, wide: bool) -> Table:
    columns = ["part", "fastest", "time", "limit", "of_pytorch"]
    table = _table(*columns, *(["rate"] if wide else []), right=("time", "limit", "of_pytorch", "rate"))
    for located, board in boards:
        first, timing = board.rows[0], board.rows[0].entry.timing
        unit, pytorch = TimeUnit([timing.ms]), first.entry.rival("pytorch")
        words = [f"{unit.text(timing.ms)} {unit.name}", shown.percent(timing.of_limit), shown.times(pytorch)]
        words += [shown.rate(timing)] if wide else []
        table.add_row(Text(f"{located.label:<5}{located.part.name}"), _name(first), *map(Text, words))
    return table


def _device_table(board: Board, *, wide: bool) -> Table:
    unit = TimeUnit([line.ms for line in board.lines])
    columns = ["rank", "player", "time", "rate", "limit"]
    columns += ["of_reference", "of_pytorch", "date"] if wide else []
    table = _table(*columns, right=[column for column in columns if column not in ("player", "date")])
    for line in board.lines:
        cells = _row(line, unit) if isinstance(line, Row) else _rival_row(line, board, unit)
        style = "dim" if isinstance(line, Rival) else ""
        table.add_row(*cells[: len(columns)], style=style)
    return table


def _row(row: Row, unit: TimeUnit) -> list[Text]:
    entry, timing = row.entry, row.entry.timing
    words = (
        unit.with_interval(timing.ms, timing.interval_ms),
        shown.rate(timing),
        shown.percent(timing.of_limit),
        shown.times(entry.rival("reference")),
        shown.times(entry.rival("pytorch")),
        shown.date(entry),
    )
    return [_rank(row), _name(row), *map(Text, words)]


def _rival_row(rival: Rival, board: Board, unit: TimeUnit) -> list[Text]:
    words = (
        "",
        f"  {shown.rival_name(rival)}",
        unit.with_interval(rival.ms, rival.interval_ms),
        shown.rate_of(board.rows[0].entry.timing, rival.ms),
        shown.percent(board.share_of(rival)),
        *[""] * 3,
    )
    return [Text(word) for word in words]


def _overall_table(rows: Sequence[Row]) -> Table:
    table = _table("rank", "player", "device", "limit", "date", right=("rank", "limit"))
    for row in rows:
        entry = row.entry
        words = (entry.device, shown.percent(entry.timing.of_limit), shown.date(entry))
        table.add_row(_rank(row), _name(row), *map(Text, words))
    return table


def _rank(row: Row) -> Text:
    return Text(f"{'=' if row.tied else ''}{row.rank or '–'}")


def _name(row: Row) -> Text:
    """The player, with the medal of this result."""
    medal = row.entry.timing.medal
    name = Text("● " if medal else "  ", style=_MEDALS.get(medal or "", ""))
    name.append(row.entry.player.name, style="bold" if row.kept.own else "not bold default")
    remarks = [_say("you")] * row.kept.own + [_say("noisy")] * (row.rank is None)
    if remarks:
        name.append(f" ({', '.join(remarks)})", style="dim")
    return name


def _table(*columns: str, right: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        bends = column in ("player", "fastest")
        table.add_column(_say(column), justify="right" if column in right else "left", no_wrap=not bends)
    return table
