"""Everything about a block on one sheet, or all about one line: the pictures one below the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.facts import listed
from grader.trace.accesses import Access, Trace
from grader.trace.banks import bank_map
from grader.trace.record import MOST
from grader.trace.sectors import sector_map
from grader.trace.steps import steps_of, worst
from grader.trace.svg import MARGIN, Drawing, document, text
from grader.trace.tiles import drawn_arrays, tiles
from grader.trace.tree import shared_tree, warp_tree
from grader.trace.words import launched, say

_MOST_ACCESSES, _MOST_ARRAYS = 12, 4


@dataclass(frozen=True)
class Place:
    """All accesses of one kind to one array on one line."""

    accesses: Sequence[Access]

    @property
    def first(self) -> Access:
        return self.accesses[0]

    @property
    def cost(self) -> int:
        return sum(access.cost for access in self.accesses)

    @property
    def ideal(self) -> int:
        return sum(access.ideal for access in self.accesses)

    @property
    def worst(self) -> Access:
        return worst(self.accesses) or self.first


def places(trace: Trace, line: int | None = None) -> list[Place]:
    """Where the block touches memory, in the order of the source; on one line, or on all."""
    found: dict[tuple[object, ...], list[Access]] = {}
    for access in trace.accesses:
        if line in (None, access.line):
            array = (access.array.name, access.array.address) if access.array is not None else ()
            found.setdefault((access.line, access.kind, access.space, array), []).append(access)
    return [Place(accesses) for _, accesses in sorted(found.items(), key=lambda item: item[1][0].line)]


def picture(access: Access) -> Drawing:
    """The bank map of an access to shared memory, the sectors of one to global memory."""
    return bank_map(access) if access.space == "shared" else sector_map(access)


def sheet(trace: Trace, heading: str, line: int | None = None) -> str:
    """An SVG file of what `pictures` are drawn. `heading` names the part."""
    return document(pictures(trace, heading, line), heading)


def pictures(trace: Trace, heading: str, line: int | None = None) -> list[Drawing]:
    """The heading, then of each line and array the access that costs most beyond what it needs; then the arrays over
    time, and the tree of a reduction where there is one. With a line, the accesses on it alone.
    """
    drawings, left_out = _accesses(trace, line)
    if line is None:
        drawings += _arrays(trace)
    return [_head(trace, heading, left_out), *drawings]


def _accesses(trace: Trace, line: int | None) -> tuple[list[Drawing], int]:
    """At most so many, those with the largest excess first in line; and how many there are more."""
    all_places = [place for place in places(trace, line) if place.cost]
    chosen = sorted(all_places, key=lambda place: place.ideal - place.cost)[:_MOST_ACCESSES]
    return [picture(place.worst) for place in all_places if place in chosen], len(all_places) - len(chosen)


def _arrays(trace: Trace) -> Iterator[Drawing]:
    fields = drawn_arrays(trace, _MOST_ARRAYS)
    steps = [step.array for step in steps_of(trace)]
    drawn = [tiles(trace, field.array) for field in fields if steps.count(field.array) > 1]
    trees = [shared_tree(trace, field.array) for field in fields if field.array.space == "shared"]
    yield from (drawing for drawing in (*drawn, warp_tree(trace), *trees) if drawing is not None)


def _head(trace: Trace, heading: str, left_out: int) -> Drawing:
    lines = about(trace)
    if left_out:
        lines.append(say("cut_pictures", number=left_out))
    body = text(MARGIN, 14, heading, "head")
    body += "".join(text(MARGIN, 32 + 15 * number, line, "soft") for number, line in enumerate(lines))
    return Drawing(heading, 18 + 15 * len(lines), (body,))


def about(trace: Trace) -> list[str]:
    """What stands below a heading: what was launched, in which sizes, and what is missing."""
    return [launched(trace), *([listed(trace.sizes)] if trace.sizes else []), *notes(trace)]


def notes(trace: Trace) -> list[str]:
    """What is missing from the trace, in words."""
    faulty = [say("faulty")] if trace.faulty else []
    return faulty + ([say("cut_trace", most=f"{MOST:,}")] if trace.cut else [])
