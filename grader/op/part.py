"""A part's entry by its name alone, as files in Python ask for it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from grader.op.entry import Entry, load_entry

if TYPE_CHECKING:
    from grader.build import Build
    from grader.puzzle import Part
    from grader.submission import UsedPart


def part_entry(name: str) -> PartEntry:
    """The entry of that name, of any puzzle here: the learner's own file where it has passed, else the reference.

    It is compiled when it is called first. In a check the grader stands in its place.
    """
    return PartEntry(name)


class PartEntry:
    """An entry that is found, compiled and loaded at its first call; see `Entry` for what a call may raise."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: Any) -> None:
        _loaded(self.name)(*arguments)


@functools.cache
def _loaded(name: str) -> Entry:
    return load_entry(*built_part(name))


def built_part(name: str) -> tuple[Build, Part]:
    """A part, compiled for this machine's GPU: the learner's own file where it has passed, else the reference.

    Raises UsageError where no puzzle has it.
    """
    from grader.build import build
    from grader.catalog import load_catalog
    from grader.own_parts import standing_for, used_parts
    from grader.submission import companions

    located = load_catalog().part_named(name)
    chosen: UsedPart = standing_for(located)
    sources = companions(located, used_parts(located))
    return build(chosen.path, target=_target(), uses=sources), located.part


def _target() -> int:
    """The architecture of this machine's GPU, times ten; the usual one where there is none."""
    import torch

    from grader.build import DEFAULT_TARGET

    if not torch.cuda.is_available():
        return DEFAULT_TARGET
    major, minor = torch.cuda.get_device_capability()
    return max(10 * major + minor, DEFAULT_TARGET)
