"""Gold, silver and bronze: how fast a kernel is beside the reference solution of its part, both timed in turn.

The reference is what a good solution of the lesson reaches, on the same GPU in the same minute; so a medal means the
same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable

from grader.verdict import Rival, rival_among

MEDALS = ("gold", "silver", "bronze")
SILVER = 0.8  # of the reference's speed, and more
BRONZE = 0.5


def medal_beside(rivals: Iterable[Rival]) -> str | None:
    """The medal "gold" for a tie with the reference or better, "silver" or "bronze" below; None for less, and where
    the reference was not timed.
    """
    reference = rival_among(rivals, "reference")
    if reference is None:
        return None
    if reference.decision != "slower":
        return "gold"
    return "silver" if reference.times >= SILVER else "bronze" if reference.times >= BRONZE else None
