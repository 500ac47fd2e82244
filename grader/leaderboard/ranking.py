"""Results in order: one board a part and device, and one over all devices by the share of the machine's limit.

Of each player the fastest result counts. Results are ranked as in a competition, 1 1 3: who cannot be told apart from
the fastest of a group, by the rule that decides in `grader check` too, shares its rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from grader.cuda.decision import decide, margin_at
from grader.leaderboard.entry import Entry
from grader.leaderboard.store import Kept
from grader.verdict import Rival, rival_among

NOISY = 0.1  # of the median: an interval that is wider says too little to be ranked by
_RIVALS = ("ceiling", "reference", "compiled", "pytorch")

Interval = tuple[float, float, float]  # low, middle, high


@dataclass(frozen=True)
class Row:
    """A player's result and its rank, shared if `tied`; None if it is too noisy to have one."""

    kept: Kept
    rank: int | None
    tied: bool = False

    @property
    def entry(self) -> Entry:
        return self.kept.entry

    @property
    def ms(self) -> float:
        return self.entry.timing.ms


@dataclass(frozen=True)
class Board:
    """One part on one device: `rows` in order, the noisy ones last; `rivals` are what was timed in turn with them, of
    each the median; `history` all results, the oldest first.
    """

    device: str
    rows: tuple[Row, ...]
    rivals: tuple[Rival, ...]
    history: tuple[Entry, ...]

    @property
    def lines(self) -> tuple[Row | Rival, ...]:
        """Players and rivals together, the fastest first, and what is too noisy to be ranked behind them."""
        ranked = [row for row in self.rows if row.rank is not None]
        together: list[Row | Rival] = [*self.rivals, *ranked]
        together.sort(key=lambda line: line.ms)
        return (*together, *(row for row in self.rows if row.rank is None))

    def share_of(self, rival: Rival) -> float | None:
        """A rival's share of the limit, where one was timed."""
        limit = rival_among(self.rivals, "ceiling")
        return None if limit is None else limit.ms / rival.ms


@dataclass(frozen=True)
class PartBoards:
    """All that is known of one part: a board for each device, `overall` by share of the limit over all devices, and
    results that were timed with an earlier statement, which are not compared.
    """

    boards: tuple[Board, ...]
    overall: tuple[Row, ...]
    earlier: tuple[Kept, ...]


def part_boards(results: Sequence[Kept], statement: str) -> PartBoards:
    """The boards of one part from all its results; `statement` is the hash of what is asked today."""
    current = [kept for kept in results if kept.entry.hashes["statement"] == statement]
    by_device = groupby(sorted(current, key=_device), key=_device)
    return PartBoards(
        boards=tuple(_board(device, list(kept)) for device, kept in by_device),
        overall=_overall(current),
        earlier=tuple(kept for kept in results if kept not in current),
    )


def competition_ranks(intervals: Sequence[Interval], margins: Sequence[float]) -> list[tuple[int, bool]]:
    """The rank of each, and whether it is shared, of intervals with the smallest middle first.

    `margins` say of each by what share it has to differ from another.
    """
    ranks: list[int] = []
    for position, ((low, _, high), margin) in enumerate(zip(intervals, margins, strict=True), 1):
        first = ranks[-1] - 1 if ranks else None
        apart = first is None or _is_behind((low, high), intervals[first], max(margin, margins[first]))
        ranks.append(position if apart else ranks[-1])
    return [(rank, ranks.count(rank) > 1) for rank in ranks]


def _is_behind(mine: tuple[float, float], first: Interval, margin: float) -> bool:
    return decide(mine[0] / first[2], mine[1] / first[0], margin) == "faster"


def time_interval(entry: Entry) -> Interval:
    """In milliseconds."""
    low, high = entry.timing.interval_ms
    return low, entry.timing.ms, high


def share_interval(entry: Entry) -> Interval:
    """The share of the limit; nothing where there was none."""
    share, (low, ms, high) = entry.timing.of_limit or 0.0, time_interval(entry)
    return share * ms / high, share, share * ms / low


def is_noisy(entry: Entry) -> bool:
    """Whether the interval is too wide for a rank."""
    low, middle, high = time_interval(entry)
    return high - low > NOISY * middle


def _device(kept: Kept) -> str:
    return kept.entry.device


def _board(device: str, results: Sequence[Kept]) -> Board:
    rows = _rows(results, time_interval)
    rivals = [_typical([row.entry for row in rows], name) for name in _RIVALS]
    history = tuple(sorted((kept.entry for kept in results), key=lambda entry: entry.when))
    return Board(device, rows, tuple(rival for rival in rivals if rival is not None), history)


def _overall(results: Sequence[Kept]) -> tuple[Row, ...]:
    """What is left of the limit is compared as times are."""

    def unused(entry: Entry) -> Interval:
        low, middle, high = share_interval(entry)
        return 1 / high, 1 / middle, 1 / low

    return _rows([kept for kept in results if kept.entry.timing.of_limit], unused)


def _rows(results: Iterable[Kept], interval: Callable[[Entry], Interval]) -> tuple[Row, ...]:
    def order(kept: Kept) -> tuple[bool, float, str]:
        return is_noisy(kept.entry), interval(kept.entry)[1], kept.entry.when

    best: dict[str, Kept] = {}
    for kept in sorted(results, key=order):
        best.setdefault(kept.entry.player.id, kept)
    steady = [kept for kept in best.values() if not is_noisy(kept.entry)]
    margins = [margin_at(kept.entry.timing.ms) for kept in steady]
    ranks = competition_ranks([interval(kept.entry) for kept in steady], margins)
    noisy = [Row(kept, None) for kept in best.values() if is_noisy(kept.entry)]
    return (*(Row(kept, rank, tied) for kept, (rank, tied) in zip(steady, ranks, strict=True)), *noisy)


def _typical(entries: Sequence[Entry], name: str) -> Rival | None:
    """The rival of the median time: one result that was spoilt, or made up, does not move it far."""
    found = sorted((rival for entry in entries if (rival := entry.rival(name)) is not None), key=lambda one: one.ms)
    return found[(len(found) - 1) // 2] if found else None
