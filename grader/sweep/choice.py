"""The constant that the size of a launch's block hangs on, and the values of it to try."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.catalog import UsageError
from grader.explain import sentence
from grader.record.operations import Triple
from grader.sweep.arithmetic import Unknown
from grader.sweep.constants import Block, Constant, Source

SIZES: tuple[int, ...] = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # threads a block; whole warps
WARP = 32
_LARGEST = max(SIZES)
_NEAR = 5  # lines: of a statement that is written over several, the compiler names one


class NothingToSweep(UsageError):
    """No constant of the file says how large the block is; the message says why, in a sentence."""


@dataclass(frozen=True)
class Choice:
    """The constant to change, and the launch recorded at `line`, whose block was `block`. `values` are to be tried,
    each with the threads that a block should have then; `others` are names of constants that would change it too.
    """

    constant: Constant
    line: int
    block: Triple
    values: Mapping[int, int]
    others: tuple[str, ...] = ()


def choose(source: Source, line: int, block: Triple, name: str | None = None) -> Choice:
    """What to sweep of the launch at `line`, which was recorded with `block`; `name` is that of the wanted constant.

    Raises `NothingToSweep`, and UsageError for a name that is none of the file's choices.
    """
    said = source.block_at(line)
    if said is None or abs(said.line - line) > _NEAR:
        raise NothingToSweep(_say("no_launch", line=line))
    swept = {constant: _values(source, said, block, constant) for constant in source.constants_of(said)}
    swept = {constant: values for constant, values in swept.items() if len(values) > 1}
    if not swept:
        raise NothingToSweep(_say("no_constant", line=said.line, block=said.text, threads=math.prod(block)))
    if name is not None and name not in {constant.name for constant in swept}:
        known = ", ".join(constant.name for constant in swept if constant.name)
        raise UsageError(_say("no_such_constant" if known else "no_named_constant", name=name, known=known))
    chosen = next(constant for constant in _preferred(swept, math.prod(block)) if name in (None, constant.name))
    others = tuple(constant.name for constant in swept if constant != chosen and constant.name)
    return Choice(chosen, line, block, swept[chosen], others)


def _preferred(swept: Mapping[Constant, Mapping[int, int]], threads: int) -> list[Constant]:
    """The block's size itself first, then what makes it larger; the size of a warp, which never changes, last."""

    def rank(constant: Constant) -> tuple[bool, bool, bool]:
        values = swept[constant]
        return constant.value != threads, constant.value == WARP, values[max(values)] != max(values.values())

    return sorted(swept, key=rank)


def _values(source: Source, said: Block, block: Triple, constant: Constant) -> dict[int, int]:
    """Value → threads a block: its own, and those that make whole warps of one of `SIZES`, the roundest for each."""
    found = {math.prod(block): constant.value}
    for value, threads in sorted(_threads_by_value(source, said, block, constant), key=lambda one: one[0].bit_count()):
        if threads in SIZES:
            found.setdefault(threads, value)
    return {value: threads for threads, value in sorted(found.items())}


def _threads_by_value(source: Source, said: Block, block: Triple, constant: Constant) -> Iterator[tuple[int, int]]:
    threads = math.prod(block)
    try:
        if math.prod(source.sizes(said, {})) == threads:
            for value in range(1, _LARGEST + 1):
                yield value, math.prod(source.sizes(said, {constant: value}))
            return
    except Unknown:
        pass
    # The launcher works it out. What stands for the size that came of it is taken to be that size.
    if constant.value == threads:
        yield from ((size, size) for size in SIZES)
    elif constant.value != WARP and constant.value in block:
        rest = threads // constant.value
        yield from ((size // rest, size) for size in SIZES if size % rest == 0)


def _say(key: str, **facts: object) -> str:
    return sentence("sweep", key, facts=facts)
