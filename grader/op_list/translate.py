"""A learner's list → what is compiled for it, with the lists of other parts that it builds on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.list_part import ListPart
from grader.op_list.calls import Call
from grader.op_list.entry import entry_text
from grader.op_list.listing import listed
from grader.prelude import Translation

if TYPE_CHECKING:
    from grader.catalog import Located
    from grader.submission import UsedPart


def translation(located: Located, used: Sequence[UsedPart]) -> Translation:
    """How a file of this part, which is a list, becomes C++. It raises ListRefused for a file that is no such list."""
    from grader.build import name_in_cage

    part = _list_part(located)

    def text(source: Path) -> str:
        return entry_text(part, calls_of(located, source, used), name_in_cage(source))

    return Translation(text)


def calls_of(located: Located, source: Path, used: Sequence[UsedPart]) -> list[Call]:
    """The calls of a list, with those of the parts in `used` that are lists themselves. Raises ListRefused."""
    below = {part.label for part in located.used}
    needed = [one for one in used if one.located.label in below and isinstance(one.located.part, ListPart)]
    lists = [(_list_part(one.located), calls_of(one.located, one.path, used)) for one in needed]
    return listed(_list_part(located), source.read_bytes(), source.name, lists)


def _list_part(located: Located) -> ListPart:
    assert isinstance(located.part, ListPart)
    return located.part
