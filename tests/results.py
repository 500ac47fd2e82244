"""Results for tests: what a board would hold after some weeks, made up here and nowhere else."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from grader.catalog import Located
from grader.cuda.decision import decide
from grader.identity import grader_hash, reference_hash, statement_hash, text_hash
from grader.leaderboard.entry import Entry
from grader.leaderboard.names import Player, player_of
from grader.leaderboard.store import Kept
from grader.medals import medal_beside
from grader.puzzle import call_by_name
from grader.verdict import Rival, Timing

H200, L4 = "NVIDIA H200", "NVIDIA L4"
BEGUN = datetime(2024, 11, 2, 9, tzinfo=UTC)
_WHAT = {
    "reference": "the course's solution",
    "pytorch": "torch.add",
    "compiled": "torch.add, compiled",
    "ceiling": "a kernel that only streams",
}
_INTENSE = 50  # operations for each byte
WIDTH = 0.001  # of a median: half an interval


def rival(name: str, ms: float, own: float, what: str = "") -> Rival:
    """What took `ms` beside a kernel that took `own`."""
    times = ms / own
    low, high = times * (1 - WIDTH), times * (1 + WIDTH)
    interval = (ms * (1 - WIDTH), ms * (1 + WIDTH))
    return Rival(name, what or _WHAT[name], ms, interval, times, (low, high), decide(low, high))


def timing(
    located: Located, ms: float, *, device: str = H200, rivals: Mapping[str, float] | None = None, width: float = WIDTH
) -> Timing:
    """A timing whose numbers agree; `rivals` are their milliseconds by name."""
    work = call_by_name(located.part.work, located.part.bench.params)
    beside = tuple(rival(name, other, ms) for name, other in (rivals or {}).items())
    limit = next((one.times for one in beside if one.name == "ceiling"), None)
    return Timing(
        device=device,
        ms=ms,
        interval_ms=(ms * (1 - width), ms * (1 + width)),
        gb_per_s=work.bytes / ms / 1e6,
        runs=64,
        cold_l2=True,
        tflop_per_s=work.flops / ms / 1e9,
        bound="compute" if work.flops > _INTENSE * work.bytes else "memory",
        of_limit=limit,
        medal=medal_beside(beside),
        rivals=beside,
        sensors={"sm_mhz": 1980, "celsius": 41, "held_down_by": []},
        hashes=hashes(located, device),
    )


def hashes(located: Located, device: str, source: str = "") -> dict[str, str]:
    return {
        "statement": statement_hash(located),
        "source": text_hash(source, {}),
        "reference": reference_hash(located),
        "grader": grader_hash(),
        "cubin": "c" * 32,
        "nvcc": "13.0.88",
        "driver": "580.159.04",
        "device": device,
    }


def result(located: Located, ms: float, who: str = "ada", *, days: float = 0.0, **how: Any) -> Entry:
    """A result of somebody, so many days after the beginning."""
    return Entry(
        puzzle=located.puzzle.name,
        part=located.part.name,
        player=player(who),
        when=(BEGUN + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        params=located.part.bench.params,
        timing=timing(located, ms, **how),
        target=90,
        file=located.path.name,
    )


def player(who: str) -> Player:
    return player_of(b"a key for tests", who)


def few(located: Located) -> list[Kept]:
    """Two players with one rank, a third on another device, and one of an earlier statement."""
    rivals = {"reference": 0.918, "pytorch": 0.99, "ceiling": 0.72}
    entries = [
        result(located, 0.9, "ada", rivals=rivals),
        result(located, 0.902, "bob", days=3),
        result(located, 12.0, "cy", device=L4, rivals={"ceiling": 11.2}),
        with_hash(result(located, 0.5, "eve"), statement="0" * 32),
    ]
    return [Kept(entry, own=number == 0) for number, entry in enumerate(entries)]


def with_hash(entry: Entry, **changed: str) -> Entry:
    """The same result with other hashes."""
    return replace(entry, timing=replace(entry.timing, hashes={**entry.hashes, **changed}))


def season(located: Located, device: str, *, limit: float, players: int, seed: int = 1) -> Iterator[Kept]:
    """What a class leaves in five weeks: everybody gets faster, some to the reference, the first is the owner."""
    random_number = random.Random(f"{seed} {located.label} {device}")
    rivals = {"reference": limit * 1.12, "pytorch": limit * 1.31, "compiled": limit * 1.2, "ceiling": limit}
    for number in range(players):
        ms = limit * random_number.uniform(1.5, 4)
        best = limit * random_number.choice([1.1, 1.11, 1.12, 1.2, 1.35, 1.7, 2.4])
        day = random_number.uniform(0, 20)
        for _ in range(random_number.randint(1, 6)):
            moved = {name: other * random_number.uniform(0.998, 1.002) for name, other in rivals.items()}
            width = random_number.uniform(0.0005, 0.01)
            entry = result(located, ms, f"learner {number}", days=day, device=device, rivals=moved, width=width)
            yield Kept(entry, own=number == 0, rebuilt=random_number.random() < 0.5)
            ms = max(best, best + (ms - best) * random_number.uniform(0, 0.7))
            day += random_number.uniform(0.02, 5)
