"""Boards in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from grader.catalog import Located
from grader.explain import sentence
from grader.leaderboard import shown
from grader.leaderboard.ranking import Board, PartBoards, Row
from grader.leaderboard.shown import TimeUnit
from grader.verdict import Rival

_LONG_NAME = 30  # columns of a terminal: a longer name is folded before anything is left out
_ANY_WIDTH = 1000
_OPTIONAL = ("date", "rate", "of_pytorch", "of_reference", "limit")  # the first to go where there is no room
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
        console.print(_fitting(console, _device_tables(board)))
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
        console.print(_fitting(console, _overview_tables(of_device)))
        console.print()


def _fitting(console: Console, tables: Iterable[Table]) -> Table:
    """The first of these that there is room for, else the last."""
    chosen = Table()
    for chosen in tables:
        unbounded = console.options.update(width=_ANY_WIDTH)
        if Measurement.get(console, unbounded, chosen).maximum <= console.width:
            break
    for column in chosen.columns:
        column.max_width = None
    return chosen


def _ever_fewer(columns: Sequence[str]) -> Iterable[list[str]]:
    """All columns, then fewer and fewer."""
    left = list(columns)
    yield left
    for column in _OPTIONAL:
        if column in left:
            left = [other for other in left if other != column]
            yield left


def _overview_tables(boards: Sequence[tuple[Located, Board]]) -> Iterable[Table]:
    for columns in _ever_fewer(["part", "fastest", "time", "limit", "of_pytorch", "rate"]):
        yield _overview_table(boards, columns)


def _overview_table(boards: Sequence[tuple[Located, Board]], columns: Sequence[str]) -> Table:
    table = _table(*columns, right=("time", "limit", "of_pytorch", "rate"))
    for located, board in boards:
        first, timing = board.rows[0], board.rows[0].entry.timing
        unit, pytorch = TimeUnit([timing.ms]), first.entry.rival("pytorch")
        cells = {
            "part": Text(f"{located.label:<5}{located.part.name}"),
            "fastest": _name(first),
            "time": Text(f"{unit.text(timing.ms)} {unit.name}"),
            "limit": Text(shown.percent(timing.of_limit)),
            "of_pytorch": Text(shown.times(pytorch)),
            "rate": Text(shown.rate(timing)),
        }
        table.add_row(*(cells[column] for column in columns))
    return table


_DEVICE_COLUMNS = ("rank", "player", "time", "rate", "limit", "of_reference", "of_pytorch", "date")


def _device_tables(board: Board) -> Iterable[Table]:
    for columns in _ever_fewer(_DEVICE_COLUMNS):
        yield _device_table(board, columns)
    yield _device_table(board, ("rank", "player", "time"), interval=False)


def _device_table(board: Board, columns: Sequence[str], *, interval: bool = True) -> Table:
    unit = TimeUnit([line.ms for line in board.lines])
    table = _table(*columns, right=[column for column in columns if column not in ("player", "date")])
    for line in board.lines:
        words = _row(line, unit) if isinstance(line, Row) else _rival_row(line, board, unit)
        cells = dict(zip(_DEVICE_COLUMNS, words, strict=True))
        if not interval:
            cells["time"] = Text(f"{unit.text(line.ms)} {unit.name}")
        table.add_row(*(cells[column] for column in columns), style="dim" if isinstance(line, Rival) else "")
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
        widest = _LONG_NAME if bends else None
        justify: Literal["left", "right"] = "right" if column in right else "left"
        table.add_column(_say(column), justify=justify, no_wrap=not bends, max_width=widest)
    return table
