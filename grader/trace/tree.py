"""Who adds to whom: the shuffles of a warp, or the steps of a sum in a shared array, as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.banks.lanes import LANES
from grader.trace.accesses import Access, Array, Barrier, Shuffle, Trace
from grader.trace.svg import MARGIN, WIDTH, Drawing, number, tag, text
from grader.trace.words import say

_LEFT, _TOP, _LEVEL = 46, 48, 38
_MOST_ACROSS = 32  # values side by side; of a wider tree only the steps with no more are drawn
_MOST_SOURCES = 4  # of a value: more is no step of a tree, but a loop over everything
_MOST_LEVELS = 12


@dataclass(frozen=True)
class Level:
    """One step: for each place that gets a new value, the places whose values it is made of, its own included."""

    line: int
    made_of: dict[int, tuple[int, ...]]


def warp_tree(trace: Trace) -> Drawing | None:
    """The first shuffles of warp 0 that make a tree: on one line, with nothing between them, and no two alike."""
    levels: list[Level] = []
    for event in trace.events:
        if event.warp != 0:
            continue
        level = _shuffled(event) if isinstance(event, Shuffle) else None
        level = level if level is not None and level.made_of else None
        if level is not None and all(level.line == other.line and level != other for other in levels):
            levels.append(level)
        elif len(levels) > 1:
            break
        else:
            levels = [level] if level is not None else []
    return _tree(say("shuffle_tree"), levels, LANES, "lane_short") if 1 < len(levels) <= _MOST_LEVELS else None


def shuffle_map(shuffle: Shuffle) -> Drawing:
    """One shuffle: above the lanes that are read, below those that read them."""
    level = _shuffled(shuffle)
    everybody = set(range(LANES))
    title = say("shuffle", line=shuffle.line, warp=shuffle.warp)
    readers = len(level.made_of)
    return _drawing(title, say("readers", number=readers), [level], LANES, [everybody, everybody])


def _shuffled(shuffle: Shuffle) -> Level:
    """A lane whose source lies outside reads its own value, which is no step for it."""
    return Level(
        shuffle.line,
        {lane: (lane, source) for lane, source in enumerate(shuffle.sources) if source is not None and source != lane},
    )


def shared_tree(trace: Trace, array: Array) -> Drawing | None:
    """The steps in which elements of a shared array are made of others of it; None where there is no such tree."""
    levels = _narrow([level for level in _levels(trace, array) if level.made_of])
    if len(levels) < 2:
        return None
    across = max(max(place, *sources) for level in levels for place, sources in level.made_of.items()) + 1
    return _tree(say("shared_tree", what=array.name), levels, across, "element_short") if across > 2 else None


def _levels(trace: Trace, array: Array) -> list[Level]:
    """By barrier: what each thread stores, and what it loaded for it since it stored the last time.

    An element that a thread stored itself may still be in its register: it counts as loaded.
    """
    found: dict[int, Level] = {}
    loaded: dict[tuple[int, int], list[int]] = {}
    own: dict[tuple[int, int], int] = {}
    phases = [0] * trace.warps
    for event in trace.events:
        if isinstance(event, Barrier):
            phases[event.warp] += 1
        elif isinstance(event, Access) and event.array == array:
            for lane, address in enumerate(event.lanes):
                if address is None:
                    continue
                thread, index = (event.warp, lane), array.index(address)
                if event.kind == "load":
                    loaded.setdefault(thread, []).append(index)
                    continue
                sources = loaded.pop(thread, [])
                if sources and own.get(thread) == index and index not in sources:
                    sources.insert(0, index)
                own[thread] = index
                if len(set(sources)) > _MOST_SOURCES:
                    return []
                if sources:
                    level = found.setdefault(phases[event.warp], Level(event.line, {}))
                    level.made_of[index] = tuple(dict.fromkeys(sources))
    return [found[phase] for phase in sorted(found)]


def _narrow(levels: Sequence[Level]) -> list[Level]:
    """The last levels, from the first on that reaches over no more than can be drawn."""
    kept: list[Level] = []
    for level in reversed(levels[-_MOST_LEVELS:]):
        if max(max(place, *sources) for place, sources in level.made_of.items()) >= _MOST_ACROSS:
            break
        kept.insert(0, level)
    return kept


def _tree(title: str, levels: Sequence[Level], across: int, name: str) -> Drawing:
    told = _told(levels)
    (root,) = told[-1]
    return _drawing(title, say("reaches", place=say(name, number=root)), levels, across, told)


def _drawing(title: str, below_it: str, levels: Sequence[Level], across: int, told: Sequence[set[int]]) -> Drawing:
    """Places side by side, levels from top to bottom; strong is what `told` names, by depth."""
    wide = (WIDTH - _LEFT - MARGIN) / across

    def x(place: int) -> float:
        return _LEFT + (place + 0.5) * wide

    body = text(MARGIN, 14, title, "head") + text(MARGIN, 30, below_it, "soft")
    body += "".join(text(x(place), _TOP - 6, str(place), "label middle") for place in range(0, across, 4))
    edges = {True: "", False: ""}
    nodes = {True: "", False: ""}
    for depth, level in enumerate(levels):
        top, below = _TOP + depth * _LEVEL + 3, _TOP + (depth + 1) * _LEVEL - 3
        for place, sources in level.made_of.items():
            for source in sources:
                edges[place in told[depth + 1]] += f"M{number(x(source))} {top}L{number(x(place))} {below}"
        for place in told[depth + 1] - set(level.made_of):
            edges[True] += f"M{number(x(place))} {top}L{number(x(place))} {below}"
        body += text(_LEFT - 8, below - _LEVEL / 2 + 6, say("line_short", line=level.line), "label end")
    for depth in range(len(levels) + 1):
        for place in _nodes(levels, depth) | told[depth]:
            nodes[place in told[depth]] += tag("circle", cx=x(place), cy=_TOP + depth * _LEVEL, r=min(2.6, wide / 2.6))
    body += tag("path", d=edges[False], class_="edge") + tag("path", d=edges[True], class_="edge told")
    body += tag("g", nodes[False], class_="node") + tag("g", nodes[True], class_="node told")
    return Drawing(title, _TOP + len(levels) * _LEVEL + 12, (body,))


def _told(levels: Sequence[Level]) -> list[set[int]]:
    """By depth, the places whose values reach the lowest place that the last level makes."""
    told = [{min(levels[-1].made_of)}]
    for level in reversed(levels):
        told.insert(0, {source for place in told[0] for source in level.made_of.get(place, (place,))})
    return told


def _nodes(levels: Sequence[Level], depth: int) -> set[int]:
    """The places that the level above made, and those that the level below makes something of."""
    made = set(levels[depth - 1].made_of) if depth else set()
    return made.union(*levels[depth].made_of.values()) if depth < len(levels) else made
