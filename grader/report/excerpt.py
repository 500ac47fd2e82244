"""The lines of the learner's file that a finding speaks of, with arrows and notes below them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

_GAP = 4  # marked lines at most this far apart are shown with what stands between
_TAB = 4


def excerpt(source: str, name: str, marks: Sequence[tuple[int, str]], width: int) -> list[Text]:
    """The marked lines, wrapped to `width` columns, with those between them; nothing where no mark lies in the file."""
    lines = source.split("\n")
    placed = [(line, note) for line, note in sorted(marks, key=lambda mark: mark[0]) if 1 <= line <= len(lines)]
    if not placed:
        return []
    digits = len(str(placed[-1][0]))
    shown = [Text(f"    {Path(name).name}", style="dim")]
    for line in _shown_lines([line for line, _ in placed]):
        if line is None:
            shown.append(Text(f"  {'':{digits + 2}} ⋮", style="dim"))
            continue
        notes = [note for at, note in placed if at == line]
        shown += _source_line(lines[line - 1], line, digits, bool(notes), width)
        shown += [_note(note, lines[line - 1], digits, width) for note in notes if note]
    return shown


def _shown_lines(marked: Sequence[int]) -> Iterator[int | None]:
    """The lines to show, None for a gap."""
    before: int | None = None
    for line in dict.fromkeys(marked):
        if before is not None:
            if line - before <= _GAP:
                yield from range(before + 1, line)
            else:
                yield None
        yield line
        before = line


def _source_line(text: str, line: int, digits: int, marked: bool, width: int) -> Iterator[Text]:
    """A line; where it is marked and too long, the rest of it below, further in."""
    shown = Text("  ▶ " if marked else "    ", style="bold red" if marked else "")
    shown.append(f"{line:>{digits}} │ ", style="dim")
    pieces = _wrapped(visible(text), width - len(shown)) if marked else [visible(text)]
    shown.append(pieces[0], style="bold" if marked else "dim")
    shown.truncate(width, overflow="ellipsis")
    yield shown
    for piece in pieces[1:]:
        below = Text(f"    {'':{digits}} │ ", style="dim")
        below.append(piece, style="bold")
        yield below


def _wrapped(text: str, width: int) -> list[str]:
    """`text` in pieces of `width` columns, those after the first a tab further in than the first."""
    indent = len(text) - len(text.lstrip())
    further = " " * (indent + _TAB)
    if len(further) > width // 2:
        return [text]
    wrapper = textwrap.TextWrapper(width, " " * indent, further, break_on_hyphens=False)
    return wrapper.wrap(text[indent:]) or [text]


def _note(note: str, text: str, digits: int, width: int) -> Text:
    seen = visible(text)
    indent = len(seen) - len(seen.lstrip())
    shown = Text(f"    {'':{digits}} │ ", style="dim")
    shown.append(" " * indent + "└─ ", style="red")
    shown.append(note.replace("`", ""), style="red")
    shown.truncate(width, overflow="ellipsis")
    return shown


def visible(text: str) -> str:
    """The line without tabs, and without characters that would act on the terminal."""
    return "".join(character for character in text.rstrip().expandtabs(_TAB) if character.isprintable())
