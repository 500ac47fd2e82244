"""One result as it is kept and exchanged: who timed which part, when, and what came of it.

A file of results is {"schema": 1, "entries": [...]}; `docs/leaderboard.md` says what each field means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from grader.cache import content_key
from grader.identity import HASHED, own_uses, text_hash
from grader.leaderboard.fields import EntryRefused, Fields
from grader.leaderboard.names import Player, why_no_name
from grader.medals import MEDALS
from grader.submission import Submission
from grader.verdict import Rival, Timing, dumps, rival_among

SCHEMA = 1
MOST_ENTRIES = 10_000  # of one file
LARGEST_SOURCE = 1 << 20  # bytes; as of a file that is checked
_LONGEST_NAME = 255  # bytes of a file's name; file systems have no longer ones

_DECISIONS = ("faster", "slower", "tie")
_BOUNDS = ("compute", "launch", "memory")
_RIVALS = ("ceiling", "compiled", "pytorch", "reference")
# What an entry tells of a timing: nothing of the source, and nothing that can be worked out.
_TIMING = (  # noqa: SIM905 - as a list it would fill the page
    "device ms interval_ms gb_per_s runs cold_l2 tflop_per_s bound of_limit medal rivals sensors slowed refused hashes"
).split()
_HEX = re.compile(r"[0-9a-f]+")
_SOURCE_FILE = re.compile(r"[^./\\][^/\\]*\.(cu|py)")
_WHEN = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A result. `when` is UTC, 2026-11-30T12:34:56Z; `params` are of the timed case; `target` is the architecture it
    was compiled for, 90. `file` is the source's bare name; `source` its text and `uses`, by entry, the texts of the own
    parts that it builds on, where they come with it.
    """

    puzzle: str
    part: str
    player: Player
    when: str
    params: Mapping[str, int | float]
    timing: Timing
    target: int
    file: str
    source: str | None = None
    uses: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """What the result is known by: the content of all of it but the name of its player and its texts."""
        told = json.loads(
            dumps({**self._told(), "player": self.player.id}), parse_int=float
        )  # 1 and 1.0 are one number
        return content_key(json.dumps(told, sort_keys=True, ensure_ascii=False))

    @property
    def time(self) -> datetime:
        return datetime.strptime(self.when, _WHEN).replace(tzinfo=UTC)

    @property
    def hashes(self) -> Mapping[str, str]:
        return self.timing.hashes

    @property
    def device(self) -> str:
        return self.timing.device

    def rival(self, name: str) -> Rival | None:
        """What was timed beside it under that name."""
        return rival_among(self.timing.rivals, name)

    def without_texts(self) -> Entry:
        """The same result without its sources."""
        return replace(self, source=None, uses={})

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        texts = {"source": self.source, "uses": self.uses}
        told = {"schema": SCHEMA, "id": self.id, **self._told(), "player": self.player, **texts}
        plain: dict[str, Any] = json.loads(dumps(told))
        return plain

    def _told(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in ("puzzle", "part", "when", "params", "target", "file")}
        return {**told, "timing": {name: getattr(self.timing, name) for name in _TIMING}}


def entry_of(
    submission: Submission, timing: Timing, player: Player, *, target: int, when: datetime | None = None
) -> Entry:
    """The result of a file that passed and was timed, now if no other time is given; `timing` has its hashes."""
    located = submission.located
    return Entry(
        puzzle=located.puzzle.name,
        part=located.part.name,
        player=player,
        when=(when or datetime.now(UTC)).strftime(_WHEN),
        params=located.part.bench.params,
        timing=timing,
        target=target,
        file=submission.source.name,
        source=submission.text(),
        uses=own_uses(submission),
    )


def results_text(entries: Sequence[Entry]) -> str:
    """A file of results."""
    return dumps({"schema": SCHEMA, "entries": [entry.to_json() for entry in entries]}) + "\n"


def read_results(text: str) -> list[object]:
    """The results of such a file, each still to be read by `entry_from_json`; raises `EntryRefused`."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        raise EntryRefused("It is no JSON.") from None
    told = Fields(plain, "The file")
    told.whole("schema", SCHEMA, SCHEMA)
    entries = plain.get("entries")
    if not isinstance(entries, list):
        raise EntryRefused("It holds no list of entries.")
    if len(entries) > MOST_ENTRIES:
        raise EntryRefused(f"It holds {len(entries):,} entries, and at most {MOST_ENTRIES:,} are taken at once.")
    return entries


def entry_from_json(plain: object) -> Entry:
    """The result, which is what it says it is: complete, of the right types, the content of its id, and true to its
    own sources. Raises `EntryRefused`.
    """
    told = Fields(plain, "The entry")
    told.whole("schema", SCHEMA, SCHEMA)
    name = told.text("id")
    entry = Entry(
        puzzle=told.text("puzzle"),
        part=told.text("part"),
        player=_player(told.inner("player")),
        when=_when(told.text("when")),
        params=told.numbers("params"),
        timing=timing_from_json(told.inner("timing")),
        target=told.whole("target", 10, 999),
        file=told.text("file", 120),
        source=told.source("source", LARGEST_SOURCE),
        uses=told.sources("uses", LARGEST_SOURCE),
    )
    told.end()
    _refuse_contradictions(entry, name)
    return entry


def timing_from_json(told: Fields) -> Timing:
    """A timing as an entry tells of it, which is a part of what a verdict's JSON has; raises `EntryRefused`."""
    ms = told.number("ms")
    timing = Timing(
        device=told.text("device"),
        ms=ms,
        interval_ms=told.interval("interval_ms", ms),
        gb_per_s=told.number("gb_per_s", zero=True),
        runs=told.whole("runs", 1),
        cold_l2=told.truth("cold_l2"),
        tflop_per_s=told.number("tflop_per_s", zero=True),
        bound=told.one_of("bound", _BOUNDS),
        of_limit=told.optional_number("of_limit"),
        medal=told.optional("medal", MEDALS),
        rivals=tuple(_rival(rival) for rival in told.objects("rivals", "A rival")),
        sensors=told.readings("sensors"),
        slowed=told.optional("slowed"),
        refused=told.optional("refused"),
        hashes=told.texts("hashes"),
    )
    told.end()
    return timing


def _rival(told: Fields) -> Rival:
    ms, times = told.number("ms"), told.number("times")
    rival = Rival(
        name=told.one_of("name", _RIVALS),
        what=told.text("what"),
        ms=ms,
        interval_ms=told.interval("interval_ms", ms),
        times=times,
        times_interval=told.interval("times_interval", times, open_ended=True),
        decision=told.one_of("decision", _DECISIONS),
    )
    told.end()
    return rival


def _player(told: Fields) -> Player:
    player = Player(told.text("id", 16), told.text("name"))
    told.end()
    if len(player.id) != 16 or not _HEX.fullmatch(player.id):
        raise EntryRefused("The player's id is no 16 hexadecimal digits.")
    if why := why_no_name(player.name):
        raise EntryRefused(f"The player's name {why}.")
    return player


def _when(text: str) -> str:
    try:
        told = datetime.strptime(text, _WHEN).strftime(_WHEN)
    except ValueError:
        told = None
    if told != text:  # or 2026-1-2T3:4:5Z, which does not sort
        raise EntryRefused("`when` is no time such as 2026-11-30T12:34:56Z.")
    return text


def _refuse_contradictions(entry: Entry, name: str) -> None:
    """An entry that was changed by hand, or by accident."""
    timing, hashes = entry.timing, entry.hashes
    if timing.refused is not None:
        raise EntryRefused(f"Its times were refused when they were taken: {timing.refused}")
    if missing := [key for key in (*HASHED, "nvcc", "device") if not hashes.get(key)]:
        raise EntryRefused(f"Its hashes lack {missing[0]}.")
    if hashes["device"] != timing.device:
        raise EntryRefused("Its hashes name another device than its timing.")
    if len({rival.name for rival in timing.rivals}) < len(timing.rivals):
        raise EntryRefused("It names one rival twice.")
    if not _SOURCE_FILE.fullmatch(entry.file) or len(entry.file.encode()) > _LONGEST_NAME:
        raise EntryRefused("`file` is no bare name of a source file.")
    if entry.id != name:
        raise EntryRefused("Its content is not what its id says: it was changed after it was written.")
    if entry.source is not None and text_hash(entry.source, entry.uses) != hashes["source"]:
        raise EntryRefused("Its source is not the one that was timed.")
