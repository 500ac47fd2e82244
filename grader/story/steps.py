"""Events → the lines a thread ran, one after the other, with loops folded to their first, second and last round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from grader.story.events import Event

_SHOWN_FIRST = 2
_LEAST_FOLDED = 2  # rounds; fewer are shown rather than counted


@dataclass
class Call:
    """A function that a line called, and what it ran there."""

    items: Sequence[Item] = ()


@dataclass
class Step:
    """One line, run once: what it set, read and stored, and the functions that it called in between."""

    function: str
    line: int
    parts: list[Event | Call] = field(default_factory=list)


@dataclass
class Rounds:
    """The loop on a line: the rounds that are shown, by number from 1; those between two shown ones are left out."""

    line: int
    total: int
    shown: list[tuple[int, list[Item]]]


Item = Step | Rounds


def steps(told: Iterable[Event]) -> list[Item]:
    """The steps of a story, folded."""
    return fold(_steps(told))


def _steps(told: Iterable[Event]) -> list[Step]:
    outer: list[Step] = []
    stack: list[tuple[str, list[Step]]] = []  # functions that are being run, the innermost last
    for event in told:
        _enter_or_return(stack, event.function, outer)
        current = stack[-1][1]
        if not current or current[-1].line != event.line:
            current.append(Step(event.function, event.line))
        if event.kind != "line":
            current[-1].parts.append(event)
    return outer


def _enter_or_return(stack: list[tuple[str, list[Step]]], function: str, outer: list[Step]) -> None:
    while len(stack) > 1 and stack[-1][0] != function and any(name == function for name, _ in stack[:-1]):
        stack.pop()
    if not stack:
        stack.append((function, outer))
    elif stack[-1][0] != function:
        inside: list[Step] = []
        if stack[-1][1]:
            stack[-1][1][-1].parts.append(Call(inside))
        stack.append((function, inside))


# ---- loops ----------------------------------------------------------------------------------------------------------


def fold(run: Sequence[Step]) -> list[Item]:
    """A line that is run again begins a round of a loop; lines that no earlier round had come after the loop."""
    head = _first_repeated(run)
    if head is None:
        return [_folded_inside(step) for step in run]
    starts = [place for place, step in enumerate(run) if step.line == head]
    rounds = [list(run[start:end]) for start, end in zip(starts, [*starts[1:], len(run)], strict=True)]
    rounds[-1], after = _cut(rounds[-1], {step.line for one in rounds[:-1] for step in one})
    before: list[Item] = [_folded_inside(step) for step in run[: starts[0]]]
    return [*before, *_shown(rounds), *fold(after)]


def in_rounds(told: Sequence[Event]) -> list[list[Event]]:
    """What one line did, in rounds where the whole loop stands on it: a variable that is set again begins each."""
    seen: set[str] = set()
    again: set[str] = set()
    for event in told:
        if event.kind == "set":
            (again if event.what in seen else seen).add(event.what)
    head = next((event.what for event in told if event.kind == "set" and event.what in again), None)
    if head is None:
        return [list(told)]
    rounds: list[list[Event]] = [[]]
    for event in told:
        if event.kind == "set" and event.what == head and rounds[-1]:
            rounds.append([])
        rounds[-1].append(event)
    return rounds


def _folded_inside(step: Step) -> Step:
    for part in step.parts:
        if isinstance(part, Call):
            part.items = fold([inner for inner in part.items if isinstance(inner, Step)])
    return step


def _first_repeated(run: Sequence[Step]) -> int | None:
    """The first line, in the order run, that is run again after another line."""
    seen: set[int] = set()
    repeated: set[int] = set()
    for step in run:
        (repeated if step.line in seen else seen).add(step.line)
    return next((step.line for step in run if step.line in repeated), None)


def _cut(last: list[Step], known: set[int]) -> tuple[list[Step], list[Step]]:
    for place, step in enumerate(last):
        if step.line not in known:
            return last[:place], last[place:]
    return last, []


def _shown(rounds: Sequence[list[Step]]) -> list[Item]:
    """The loop; a last round of its head alone only finds that the loop is over, and counts with the one before."""
    if len(rounds) > 1 and len(rounds[-1]) == 1:
        *others, last = rounds
        rounds = [*others[:-1], [*others[-1], *last]]
    total = len(rounds)
    numbers = list(range(1, total + 1))
    if total > _SHOWN_FIRST + _LEAST_FOLDED:
        numbers = [*numbers[:_SHOWN_FIRST], total]
    return [Rounds(rounds[0][0].line, total, [(number, _fold_round(rounds[number - 1])) for number in numbers])]


def _fold_round(run: Sequence[Step]) -> list[Item]:
    """A round has its head first, which may come again at its very end."""
    head, rest = run[0], run[1:]
    closing = [rest[-1]] if rest and rest[-1].line == head.line else []
    inner = rest[: len(rest) - len(closing)]
    return [_folded_inside(head), *fold(inner), *map(_folded_inside, closing)]
