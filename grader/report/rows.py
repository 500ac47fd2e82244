"""The rows of a verdict: each step of the way with a mark, the cases that it is about, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text

from grader.explain import sentence
from grader.verdict import BENCH_GROUP, CaseResult, PartVerdict, State


def _say(key: str, **facts: object) -> str:
    return sentence("verdict", key, facts=facts)


def steps(part: PartVerdict, width: int) -> list[Text]:
    """A row for each step of the way: the compiler, the groups of cases, the goals."""
    groups: dict[str, list[CaseResult]] = {}
    for result in part.cases:
        groups.setdefault(result.group, []).append(result)
    names = [_say("compiles"), _say("not_reached"), *map(_name, groups), *(goal.name for goal in part.goals)]
    label = max(len(name) for name in names)
    column = max(20, min(40, width - label - 28))
    sizes = Sizes.of(part.cases, groups, column)
    return [_row(*step, label, column) for step in _steps(part, groups, sizes)]


def _steps(
    part: PartVerdict, groups: Mapping[str, Sequence[CaseResult]], sizes: Sizes
) -> Iterator[tuple[str, str, str, str]]:
    if "build" in part.seconds:
        broken = part.stage == "build"
        outcome = part.findings[0].title if broken and part.findings else f"{part.seconds['build']:.1f} s"
        yield "✘" if broken else "✔", _say("compiles"), sizes.heading, outcome
    titles = {finding.kind: finding.title for finding in part.findings}
    for group, results in groups.items():
        failed = [result for result in results if not result.passed]
        right = _say("right" if any(result.checked or not result.sampled for result in results) else "no_fault")
        outcome = next(iter(titles.values()), _say("wrong")) if failed else right
        mark = "✔" if not failed else "?" if part.state is State.unchecked else "✘"
        if all(result.sampled is not None and not result.sampled.blocks for result in results):
            mark, outcome = "–", _say("too_long")
        yield mark, _name(group), sizes.shown(failed or results, results), outcome
    if part.not_reached and part.cases:
        yield "–", _say("not_reached"), ", ".join(part.not_reached), ""
    for goal in part.goals:
        reached = ("✔", goal.name, goal.measured or "", _say("goal_reached"))
        yield reached if goal.reached else ("○", goal.name, "", _say("goal_open"))


def _name(group: str) -> str:
    return _say("bench") if group == BENCH_GROUP else group


def _row(mark: str, name: str, sizes: str, outcome: str, label: int, column: int) -> Text:
    styles = {"✔": "green", "✘": "bold red", "○": "yellow", "?": "yellow", "–": "dim"}
    row = Text("  ")
    row.append(mark, style=styles[mark])
    row.append(f" {name:<{label}}  ")
    row.append(f"{sizes:<{column}}  " if outcome else sizes, style="dim" if mark == "–" else "")
    row.append(outcome, style=styles[mark])
    return row


@dataclass(frozen=True)
class Sizes:
    """What tells cases from each other: the whole numbers in which any two of the part differ, by `names`.

    Where they are too many for a column, they stand above it, once, as `heading`.
    """

    names: tuple[str, ...]
    heading: str
    column: int

    @classmethod
    def of(cls, every: Sequence[CaseResult], groups: Mapping[str, Sequence[CaseResult]], column: int) -> Sizes:
        numbers = {name: [result.params[name] for result in every] for name in (every[0].params if every else ())}
        whole = {name: values for name, values in numbers.items() if all(isinstance(value, int) for value in values)}
        names = tuple(name for name, values in whole.items() if len(set(values)) > 1 or len(every) == 1)
        plain = cls(names, "", column)
        heads = (plain.head(results) + " ".join(["00"] * len(names)) for results in groups.values())
        fits = all(len(head) <= column for head in heads)
        return plain if fits or not names else cls(names, " ".join(names), column)

    def shown(self, results: Sequence[CaseResult], group: Sequence[CaseResult]) -> str:
        """Cases of a group, as many as fit: "n = 256, 1024" or "M N K = 65 33 17".

        Other numbers, and what buffers are filled with, are shown where two cases of the group differ in them.
        """
        head = self.head(results)
        cases = list(dict.fromkeys(self._case(result, group) for result in results))
        text = head + ", ".join(cases)
        while len(text) > self.column and len(cases) > 1:
            cases = cases[:-1]
            text = head + ", ".join(cases) + ", …"
        return text if len(text) <= self.column else text[: self.column - 1] + "…"

    def head(self, results: Sequence[CaseResult]) -> str:
        """What stands before the numbers."""
        sampled = next((result.sampled for result in results if result.sampled), None)
        part = ""
        if sampled:
            part = _say("sampled" if sampled.blocks else "not_sampled", blocks=sampled.blocks, of=f"{sampled.of:,}")
        return part + (f"{' '.join(self.names)} = " if self.names and not self.heading else "")

    def _case(self, result: CaseResult, group: Sequence[CaseResult]) -> str:
        numbers = [_number(result.params[name]) for name in self.names]
        others = [name for name in result.params if isinstance(result.params[name], float)]
        differ = [name for name in others if len({one.params[name] for one in group}) > 1]
        moved = [f"{name}+{offset}" for name, offset in result.offset.items() if offset]
        is_filled = len({tuple(one.inputs.items()) for one in group}) > 1
        filled = [f"{name} {generator}" for name, generator in result.inputs.items()] if is_filled else []
        beside = [*(f"{name}={_number(result.params[name])}" for name in differ), *moved, *filled]
        return " ".join([*numbers, *([f"({' '.join(beside)})"] if beside else [])])


def _number(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
