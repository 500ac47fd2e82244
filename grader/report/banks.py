"""Lanes and banks as a picture: above, the banks; below each, the lanes that want a word of it, one below the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from grader.banks.lanes import BANKS, BankMap
from grader.explain import sentence

if TYPE_CHECKING:
    from grader.banks.reads import Read

_MOST_ROWS = 4
_HALF = BANKS // 2
_NOBODY, _MORE, _SHARED = "·", "…", "+"


def bank_picture(banks: BankMap) -> Iterator[str]:
    """Lines of at most 76 columns; half the banks side by side, and no half that nobody asks for.

    Lanes that want the same word are one entry, the first lane with a plus sign; a stack that goes on ends in dots.
    """
    stacks = {bank: [_entry(lanes) for lanes in words.values()] for bank, words in banks.lanes_by_bank().items()}
    head, body = (sentence("banks", key) for key in ("bank", "lanes"))
    label = max(len(head), len(body))
    for first in range(0, BANKS, _HALF):
        half = range(first, first + _HALF)
        height = max(len(stacks.get(bank, ())) for bank in half)
        if height == 0:
            continue
        yield f"{head:<{label}}" + "".join(f"{bank:>4}" for bank in half)
        for row in range(min(height, _MOST_ROWS)):
            yield f"{body if row == 0 else '':<{label}}" + "".join(_cell(stacks.get(bank, []), row) for bank in half)
        if height > _MOST_ROWS:
            deep = (_MORE if len(stacks.get(bank, ())) > _MOST_ROWS else "" for bank in half)
            yield (" " * label + "".join(f"{mark:>4}" for mark in deep)).rstrip()
    if banks.shares_words:
        yield sentence("banks", "shared")


def answer_table(reads: Sequence[Read]) -> Iterator[str]:
    """For each load its passes, what lane i takes, and of how many words each of the 32 banks is asked."""
    head = [sentence("banks", key) for key in ("passes", "load", "words")]
    width = max(len(head[1]), *(len(read.what) for read in reads))
    yield f"{head[0]}  {head[1]:<{width}}  {head[2]}"
    for read in reads:
        stacks = read.banks.lanes_by_bank()
        asked = "".join(_digit(len(stacks.get(bank, ()))) for bank in range(BANKS))
        yield f"{read.passes:>{len(head[0])}}  {read.what:<{width}}  {asked}"


def _digit(words: int) -> str:
    return _NOBODY if not words else str(words) if words < 10 else _SHARED


def _entry(lanes: tuple[int, ...]) -> str:
    return f"{lanes[0]}{_SHARED}" if len(lanes) > 1 else str(lanes[0])


def _cell(stack: list[str], row: int) -> str:
    return f"{stack[row] if row < len(stack) else _NOBODY:>4}"
