"""Whether a result that came from elsewhere fits the course here, or why it is not taken.

It does where it was timed with this statement, this reference and this grader, and where its numbers agree with each
other and with what the case must move and compute. Where nvcc is, its source is compiled here, and has to become the
code that was timed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from grader.cache import ToolMissing
from grader.catalog import Catalog, Located
from grader.cuda.decision import decide, margin_at
from grader.explain import sentence
from grader.identity import cubin_hash, grader_hash, reference_hash, statement_hash
from grader.leaderboard.entry import Entry, entry_from_json
from grader.leaderboard.fields import EntryRefused
from grader.leaderboard.shown import rival_name
from grader.leaderboard.store import Kept
from grader.medals import medal_beside
from grader.puzzle import call_by_name
from grader.submission import written
from grader.toolchain import find_toolchain

_WHAT = {
    "statement": "statement of {label} (what is asked, its cases, a tolerance or a goal is not as here)",
    "reference": "reference solution of {label}",
    "grader": "version of the grader",
}
_CLOCKS_APART = timedelta(days=1)
_ALIKE = 0.01  # of a number that follows from others: they were rounded, perhaps
_RATIOS_ALIKE = 0.25  # the median of ratios beside the ratio of medians: clocks drift, and a race follows them


@dataclass(frozen=True)
class Reason:
    """Why a result was not taken: its number in the file, from 1, whose it is if that could be read, the sentence."""

    number: int
    who: str
    why: str


def admitted(
    results: Sequence[object], catalog: Catalog, tell: Callable[[str], None] = lambda _: None
) -> tuple[list[Kept], list[Reason]]:
    """Of the results of a file those that fit, and of the others why not; `tell` hears how far it is."""
    taken: list[Kept] = []
    reasons: list[Reason] = []
    for number, plain in enumerate(results, 1):
        who = ""
        tell(sentence("leaderboard", "checking", facts={"number": number, "count": len(results)}))
        try:
            entry = entry_from_json(plain)
            who = f" ({entry.player.name}, {entry.part})"
            located = fitting_part(entry, catalog)
            taken.append(Kept(entry, rebuilt=is_rebuilt(entry, located)))
        except EntryRefused as refused:
            reasons.append(Reason(number, who, str(refused)))
    return taken, reasons


def fitting_part(entry: Entry, catalog: Catalog) -> Located:
    """The part that the result is of, once it fits all that is asked here; raises `EntryRefused`."""
    located = _part(entry, catalog)
    here = {"statement": statement_hash(located), "reference": reference_hash(located), "grader": grader_hash()}
    if other := [name for name, content in here.items() if entry.hashes[name] != content]:
        raise EntryRefused(f"It was timed with another {_WHAT[other[0]].format(label=located.label)}; time it again.")
    _refuse_odd_numbers(entry, located)
    return located


def is_rebuilt(entry: Entry, located: Located) -> bool:
    """Whether its source was compiled here, to the same code; False where that cannot be done, for want of the source,
    of a compiler, or of the same compiler. Raises `EntryRefused` where other code comes out.
    """
    try:
        if entry.source is None or find_toolchain().version != entry.hashes["nvcc"]:
            return False
        made = _code_of(entry, located)
    except ToolMissing:
        return False
    if made != entry.hashes["cubin"]:
        raise EntryRefused("Its source compiles here to other code than the one that was timed.")
    return True


def _part(entry: Entry, catalog: Catalog) -> Located:
    parts = (located for puzzle in catalog.puzzles if puzzle.name == entry.puzzle for located in puzzle.parts)
    located = next((located for located in parts if located.part.name == entry.part), None)
    if located is None:
        raise EntryRefused(f"There is no part {entry.part!r} in a puzzle {entry.puzzle!r} here.")
    if entry.params != located.part.bench.params:
        raise EntryRefused(f"It was timed at other sizes than {located.label} asks for.")
    if unknown := entry.uses.keys() - {used.part.name for used in located.used}:
        raise EntryRefused(f"It builds on {min(unknown)!r}, and {located.label} does not.")
    return located


def _refuse_odd_numbers(entry: Entry, located: Located) -> None:
    timing = entry.timing
    if entry.time > datetime.now(UTC) + _CLOCKS_APART:
        raise EntryRefused("It says that it was timed in the future.")
    work = call_by_name(located.part.work, entry.params)
    if not timing.cold_l2:
        raise EntryRefused("It was timed with a warm L2 cache.")
    if not _alike(timing.gb_per_s, work.bytes / timing.ms / 1e6, _ALIKE):
        raise EntryRefused("Its GB/s do not follow from its time and the bytes that the case moves.")
    if not _alike(timing.tflop_per_s, work.flops / timing.ms / 1e9, _ALIKE):
        raise EntryRefused("Its TFLOP/s do not follow from its time and the operations of the case.")
    for rival in timing.rivals:
        if not _alike(rival.times, rival.ms / timing.ms, _RATIOS_ALIKE):
            raise EntryRefused(f"Its ratio to {rival_name(rival)} does not follow from the two times.")
        if rival.decision != decide(*rival.times_interval, margin_at(timing.ms)):
            raise EntryRefused(f"What it says of itself beside {rival_name(rival)} does not follow from their ratio.")
    ceiling = entry.rival("ceiling")
    if timing.of_limit != (None if ceiling is None else ceiling.times):
        raise EntryRefused("Its share of the limit does not follow from the limit's time.")
    if timing.medal != medal_beside(timing.rivals):
        raise EntryRefused("Its medal does not follow from the time of the reference.")


def _alike(number: float, other: float, share: float) -> bool:
    return abs(number - other) <= share * max(number, other)


def _code_of(entry: Entry, located: Located) -> str:
    """The hash of the code that its source becomes; raises `EntryRefused` where it becomes none, and ToolMissing."""
    from grader.build import BuildFailed, build

    with tempfile.TemporaryDirectory(prefix="grader-rebuild-") as folder:
        submission = written(located, entry.file, entry.source or "", entry.uses, Path(folder))
        try:
            built = build(submission.source, target=entry.target, uses=submission.sources())
        except BuildFailed as failed:
            first = "".join(filter(str.isprintable, failed.diagnostics.partition("\n")[0]))
            raise EntryRefused(f"Its source does not compile here: {first}") from None
        return cubin_hash(built.cubin)
