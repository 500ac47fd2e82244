"""The story of one thread in the terminal: lines in the order run, and below each what it read, set and stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from grader.catalog import markers
from grader.explain import element, sentence
from grader.explain.names import kernel_name
from grader.report.excerpt import visible
from grader.report.terminal import WIDEST, labelled, prose, put_line
from grader.story.events import Event
from grader.story.run import MOST, Element, Story
from grader.story.steps import Call, Item, Rounds, Step, in_rounds

_NARROWEST = 24
_INSIDE = "┆ "  # before each line of a function that was called
_MOST_ROUNDS = 5  # of a loop on one line


def print_story(console: Console, story: Story, heading: str, source: str, name: str, label: str) -> None:
    """`source` is the text of the file `name`, `label` the part's, such as "1.2"."""
    width = min(console.width, WIDEST)
    put_line(console, Text(heading, style="bold"))
    prose(console, _opening(story), width)
    prose(console, _launched(story), width)
    if not story.named:
        prose(console, _say("by_lines"), width)
    console.print()
    put_line(console, Text(f"    {Path(name).name}", style="dim"))
    for shown in _Table(story, source.split("\n"), width).rows():
        put_line(console, shown)
    if story.cut:
        prose(console, _say("cut", most=f"{MOST:,}"), width)
    console.print()
    sizes = ",".join(f"{size}={value}" for size, value in story.case.params.items())
    command = sentence("verdict", "next_case" if sizes else "next_check", facts={"label": label, "case": sizes})
    labelled(console, sentence("verdict", "next"), command, width, style="cyan")
    console.print()


def _say(key: str, **facts: object) -> str:
    return sentence("story", key, facts=facts)


def _opening(story: Story) -> str:
    who = _who(story)
    if story.element is None:
        return _say("found", message=story.found, who=who)
    facts = {**_values(story.element), "who": who, "Who": who[:1].upper() + who[1:]}
    if story.beside is None:
        return _say("wrong", **facts)
    beside = element(story.element.buffer, story.beside)
    return _say("unwritten", **facts, beside=beside, buffer=story.element.buffer)


def _values(wrong: Element) -> dict[str, str]:
    shown = {"got": f"{wrong.got:.7g}", "expected": f"{wrong.expected:.7g}"}
    return {"element": element(wrong.buffer, wrong.index), **shown}


def _who(story: Story) -> str:
    dimensions = _dimensions(story.launch.grid, story.launch.block)
    facts = {"thread": _at(story.thread, dimensions), "block": _at(story.block, dimensions)}
    return sentence("words", "thread_of_block", facts=facts)


def _launched(story: Story) -> str:
    launch = story.launch
    dimensions = _dimensions(launch.grid, launch.block)
    facts = {"grid": _at(launch.grid, dimensions), "block": _at(launch.block, dimensions)}
    return _say("launch", kernel=kernel_name(launch.kernel), arguments=story.arguments or "…", **facts)


def _dimensions(*extents: Sequence[int]) -> int:
    return max(axis + 1 for extent in extents for axis in range(3) if axis == 0 or extent[axis] > 1)


def _at(place: Sequence[int], dimensions: int) -> str:
    shown = [str(value) for value in place[:dimensions]]
    return shown[0] if len(shown) == 1 else f"({','.join(shown)})"


# ---- the table ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    story: Story
    source: Sequence[str]
    width: int

    @property
    def _digits(self) -> int:
        return len(str(len(self.source)))

    def rows(self) -> Iterator[Text]:
        items = list(self.story.items)
        if len(items) > 1 and isinstance(items[0], Step) and not items[0].parts:
            del items[0]  # the kernel's first line, of which the launch has told already
        yield from self._items(items, _last(items))

    def _items(
        self, items: Sequence[Item], last: Step | None, depth: int = 0, *, again: bool = False
    ) -> Iterator[Text]:
        """`again` says that an earlier round has shown what such lines do: their loops stand on one line then, and
        what their functions do is left out, unless the story ends there.
        """
        for item in items:
            if isinstance(item, Rounds):
                if again and not _holds([item], last):
                    yield self._aside(_say("rounds_again", line=item.line, total=item.total), depth)
                else:
                    yield from self._rounds(item, last, depth)
                continue
            yield self._line(item, item is last, depth)
            called = False
            for part in _grouped(item):
                if isinstance(part, Call):
                    called = not again or _holds(part.items, last)
                    if called:
                        shown = part.items if _holds(part.items, last) else self._in_short(part.items)
                        yield from self._items(shown, last, depth + 1)
                    continue
                if called:
                    yield self._aside(_say("back", line=item.line), depth)
                yield from self._notes(item, part, item is last and part[-1] is item.parts[-1], depth)

    def _in_short(self, items: Sequence[Item]) -> Sequence[Item]:
        """Of a function that is given, outside the markers, what it was called with; all of any other."""
        first = items[0] if items else None
        starts, ends = markers("\n".join(self.source))
        if not starts or not isinstance(first, Step):
            return items
        if any(start < first.line < end for start, end in zip(starts, ends, strict=False)):
            return items
        return [Step(first.function, first.line, [part for part in first.parts if isinstance(part, Event)])]

    def _rounds(self, loop: Rounds, last: Step | None, depth: int) -> Iterator[Text]:
        before = 0
        for number, items in loop.shown:
            key = "rounds_first" if not before else "rounds_next" if number == before + 1 else "rounds_skipped"
            facts = {"number": number, "total": loop.total, "count": number - before - 1, "line": loop.line}
            said = _say(key, **facts)
            yield self._aside(said, depth)
            yield from self._items(items, last, depth, again=before > 0)
            before = number

    def _aside(self, said: str, depth: int) -> Text:
        return Text(f"    {'':{self._digits}} {_INSIDE * depth}┄ {said}", style="dim italic")

    def _line(self, step: Step, is_last: bool, depth: int) -> Text:
        shown = Text("  ▶ " if is_last else "    ", style="bold red" if is_last else "")
        shown.append(f"{step.line:>{self._digits}} {_INSIDE * depth}│ ", style="dim")
        shown.append(self._text(step), style="bold" if is_last else "")
        shown.truncate(self.width, overflow="ellipsis")
        return shown

    def _text(self, step: Step) -> str:
        return visible(self.source[step.line - 1]) if 0 < step.line <= len(self.source) else ""

    def _notes(self, step: Step, told: Sequence[Event], is_last: bool, depth: int) -> Iterator[Text]:
        """What the line did, below it; a loop that stands on one line has a row for each round that is shown."""
        text = self._text(step)
        indent = min(len(text) - len(text.lstrip()) + 4, self.width // 3)
        margin = Text(f"    {'':{self._digits}} {_INSIDE * depth}│ {'':{indent}}", style="dim")
        rounds = [[_note(event) for event in one] for one in in_rounds(told)]
        if is_last and self.story.element is not None and self.story.beside is None and rounds[-1]:
            rounds[-1][-1] += f", {_say('expected', **_values(self.story.element))}"
        for notes in _shortened(rounds):
            for row in _packed(notes, max(self.width - len(margin), _NARROWEST)):
                yield margin + Text(row, style="red" if is_last and notes is rounds[-1] else "cyan")


def _shortened(rounds: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    if len(rounds) <= _MOST_ROUNDS:
        yield from rounds
        return
    yield from rounds[:2]
    yield [_say("rounds_left_out", count=len(rounds) - 4)]
    yield from rounds[-2:]


def _grouped(step: Step) -> Iterator[Call | list[Event]]:
    """What a line did before, between and after the functions that it called."""
    together: list[Event] = []
    for part in step.parts:
        if isinstance(part, Event):
            together.append(part)
            continue
        if together:
            yield together
        yield part
        together = []
    if together:
        yield together


def _last(items: Sequence[Item]) -> Step | None:
    """The step at which the story ends."""
    if not items:
        return None
    end = items[-1]
    if isinstance(end, Rounds):
        return _last(end.shown[-1][1])
    final = end.parts[-1] if end.parts else None
    return (_last(final.items) if isinstance(final, Call) else None) or end


def _holds(items: Sequence[Item], last: Step | None) -> bool:
    """Whether the story ends somewhere in these items."""
    for item in items:
        if isinstance(item, Rounds):
            if any(_holds(inner, last) for _, inner in item.shown):
                return True
        elif item is last or any(isinstance(part, Call) and _holds(part.items, last) for part in item.parts):
            return True
    return False


def _note(event: Event) -> str:
    key = event.kind if event.value or event.kind in ("barrier", "set") else f"{event.kind}_outside"
    return _say(key, what=event.what, value=event.value)


def _packed(notes: Sequence[str], width: int) -> Iterator[str]:
    """Notes with commas between them, as many on a row as fit."""
    row = ""
    for note in notes:
        if row and len(row) + 2 + len(note) > width:
            yield f"{row},"
            row = note
        else:
            row = f"{row}, {note}" if row else note
    if row:
        yield row
