"""The lanes of a wrong mask, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.explain.catalogue import sentence
from grader.explain.observation import Observation

Facts = dict[str, Any]

_MOST_LANES = 4


def lanes(seen: Observation) -> Facts:
    """The lanes of a wrong mask, and the words that go with one or many."""
    named = seen.facts.get("lanes")
    if not isinstance(named, Sequence) or not named:
        return {}
    one = len(named) == 1
    words = sentence("words", "lane" if one else "lanes", facts={"lane": named[0], "lanes": _listed(named)})
    facts = {key: sentence("words", "one_lane" if one else "many_lanes", key) for key in ("do", "is", "come", "them")}
    mask = seen.facts.get("mask")
    shown = f"0x{mask:08x}" if isinstance(mask, int) else "…"
    return facts | {"lanes": words, "Lanes": words[:1].upper() + words[1:], "mask": shown}


def _listed(named: Sequence[int]) -> str:
    if len(named) == named[-1] - named[0] + 1 and len(named) > 2:
        return sentence("words", "lane_range", facts={"first": named[0], "last": named[-1]})
    shown = [str(lane) for lane in named]
    if len(shown) <= _MOST_LANES:
        return sentence("words", "lanes_and", facts={"first": ", ".join(shown[:-1]), "last": shown[-1]})
    facts = {"first": ", ".join(shown[: _MOST_LANES - 1]), "count": len(shown)}
    return sentence("words", "lanes_more", facts=facts)
