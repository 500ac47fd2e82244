"""What an ordinary run tries of what is many times the same proof: a part that changes with the commit.

`make thorough` tries all. A copy without a history always tries the same.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from grader.author.mutants import sample_of
from grader.author.rates import commit_of
from tests.judging import ROOT

One = TypeVar("One")

THOROUGH = bool(os.environ.get("GRADER_THOROUGH"))
COMMIT = commit_of(ROOT) or "no checkout"


def sampled(every: Sequence[One], one_in: int) -> list[One]:
    """One in `one_in` of them, in their order, and at least one where there is any."""
    return list(every) if THOROUGH else sample_of(every, -(-len(every) // one_in), COMMIT)


def one_of_each(every: Sequence[One], kinds: Sequence[Iterable[Hashable]]) -> list[One]:
    """Few of them, in their order, so that each kind is there and none could go; `kinds` are those of each of them."""
    if THOROUGH:
        return list(every)
    shuffled = random.Random(COMMIT).sample(range(len(every)), len(every))
    seen: set[Hashable] = set()
    chosen = []
    for place in shuffled:
        if not seen.issuperset(kinds[place]):
            seen.update(kinds[place])
            chosen.append(place)
    times = Counter(kind for place in chosen for kind in set(kinds[place]))
    for place in list(chosen):
        if all(times[kind] > 1 for kind in kinds[place]):  # those that came later show as much
            chosen.remove(place)
            times.subtract(set(kinds[place]))
    return [every[place] for place in sorted(chosen)]
