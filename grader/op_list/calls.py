"""Calls of a list as they are judged, and what is wrong with a list that is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.build import BuildFailed
from grader.op_kinds import OPS, Op


@dataclass(frozen=True)
class Call:
    """One call of an op, by names: an attribute is a number, or the name of a float that the entry gets.

    `line` is the learner's.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, float | str]
    line: int

    @property
    def kind(self) -> Op:
        return OPS[self.op]


class ListRefused(BuildFailed):
    """The file makes no list of op calls: a kind of finding, where its sentence stands in the catalogue, the line, and
    facts for the sentence.
    """

    def __init__(self, kind: str, section: str, key: str, line: int | None, **facts: object) -> None:
        super().__init__(key, None, 0.0)
        self.kind, self.section, self.key, self.line, self.facts = kind, section, key, line, facts


def refuse(key: str, line: int | None, **facts: object) -> ListRefused:
    """What can be run and is no such list: told as what does not compile."""
    return ListRefused("compile_error", "list", key, line, **facts)
