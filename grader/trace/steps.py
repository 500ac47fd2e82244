"""A block's events as steps that all its warps take together.

The software GPU runs one warp after the other, up to a barrier, and a GPU in an order that nobody can foretell. So a
step is what the warps do at the same place: the same instruction, for the same time since the last barrier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from grader.trace.accesses import Access, Array, Barrier, Event, Shuffle, Trace

_Key: TypeAlias = tuple[int, int, str, int]  # barriers passed, instruction, what it does, how many times since then


@dataclass(frozen=True)
class Step:
    """One instruction, by all warps that run it. `phase` is how many barriers they have passed."""

    phase: int
    events: tuple[Access | Shuffle, ...]

    @property
    def line(self) -> int:
        return self.events[0].line

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        return tuple(event for event in self.events if isinstance(event, Access))

    @property
    def shuffles(self) -> tuple[Shuffle, ...]:
        return tuple(event for event in self.events if isinstance(event, Shuffle))

    @property
    def array(self) -> Array | None:
        return self.accesses[0].array if self.accesses else None

    @property
    def cost(self) -> int:
        return sum(access.cost for access in self.accesses)

    @property
    def ideal(self) -> int:
        return sum(access.ideal for access in self.accesses)

    @cached_property
    def worst(self) -> Access | None:
        """The access that costs most beyond what it needs; of equals, that of the lowest warp."""
        return worst(self.accesses)


def worst(accesses: Sequence[Access]) -> Access | None:
    """The access with the largest excess; of equals the one that costs most, and of those the first."""
    return max(accesses, key=lambda access: (access.excess, access.cost), default=None)


def steps_of(trace: Trace) -> list[Step]:
    """All steps of a trace, in the order of the first warp that takes them: lanes that part may come in another one."""
    at: dict[_Key, list[Access | Shuffle]] = {}
    order: list[_Key] = []
    for warp in range(trace.warps):
        _merge(order, _keys([event for event in trace.events if event.warp == warp], at))
    order.sort(key=lambda key: key[0])  # stable: only phases are put in order
    return [Step(key[0], tuple(at[key])) for key in order]


def _keys(events: Sequence[Event], at: dict[_Key, list[Access | Shuffle]]) -> list[_Key]:
    """The keys of one warp's events in order; `at` is told which events they stand for."""
    phase, seen, keys = 0, Counter[tuple[int, str]](), []
    for event in events:
        if isinstance(event, Barrier):
            phase, seen = phase + 1, Counter()
            continue
        does = (event.instruction, event.kind if isinstance(event, Access) else "shuffle")
        key = (phase, *does, seen[does])
        seen[does] += 1
        at.setdefault(key, []).append(event)
        keys.append(key)
    return keys


def _merge(order: list[_Key], keys: Sequence[_Key]) -> None:
    """Puts what is new among the keys behind the one that came before it."""
    known = {key: place for place, key in enumerate(order)}
    if not order:
        order.extend(keys)
        return
    behind = -1
    added: dict[int, list[_Key]] = {}
    for key in keys:
        if key in known:
            behind = known[key]
        else:
            added.setdefault(behind, []).append(key)
    merged = list(added.get(-1, ()))
    for place, key in enumerate(order):
        merged += [key, *added.get(place, ())]
    order[:] = merged
