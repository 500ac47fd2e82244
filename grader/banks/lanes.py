"""Which lanes of a warp want which words of shared memory, and where they meet.

Word w lies in bank w mod 32. Lanes that want different words of one bank are served one after the other; lanes that
want the same word are served together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LANES = BANKS = 32
WORD = 4  # bytes


@dataclass(frozen=True)
class BankMap:
    """One access of a warp: "load" or "store", the bytes of a lane, and the first word that each lane wants, counted
    from the start of shared memory; None for a lane that takes no part.
    """

    access: str
    bytes: int
    words: tuple[int | None, ...]

    def lanes_by_bank(self) -> Mapping[int, Mapping[int, tuple[int, ...]]]:
        """Bank → word → the lanes that want it, lowest lane first."""
        found: dict[int, dict[int, tuple[int, ...]]] = {}
        for lane, first in enumerate(self.words):
            for word in range(first, first + max(self.bytes // WORD, 1)) if first is not None else ():
                stack = found.setdefault(word % BANKS, {})
                stack[word] = (*stack.get(word, ()), lane)
        return dict(sorted(found.items()))

    def fullest(self) -> tuple[int, list[int]]:
        """The bank of which most different words are wanted, and the first lane that wants each; the lowest such."""
        stacks = self.lanes_by_bank()
        bank = max(stacks, key=lambda bank: (len(stacks[bank]), -bank))
        return bank, [lanes[0] for lanes in stacks[bank].values()]

    @property
    def shares_words(self) -> bool:
        """Whether several lanes want the same word."""
        return any(len(lanes) > 1 for stack in self.lanes_by_bank().values() for lanes in stack.values())
