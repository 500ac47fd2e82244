"""Facts in words: the lanes of a wrong mask, and what an access has to be aligned to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.explain.catalogue import sentence
from grader.explain.observation import Observation, Setting

Facts = dict[str, Any]

_ELEMENT_BYTES = {"f16": 2, "bf16": 2, "f64": 8, "i64": 8}
_VECTORS = {
    ("f32", 8): "float2",
    ("f32", 16): "float4",
    ("f16", 4): "half2",
    ("bf16", 4): "__nv_bfloat162",
    ("i32", 8): "int2",
    ("i32", 16): "int4",
    ("f64", 16): "double2",
}
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


def alignment(seen: Observation, setting: Setting) -> Facts:
    """What a misaligned access must be a multiple of, in bytes and in elements of its buffer."""
    size = seen.facts.get("alignment") or seen.facts.get("bytes")
    if seen.kind != "misaligned_access" or not isinstance(size, int) or size <= 0:
        return {}
    kind = setting.types.get(seen.buffer or "", "f32")
    facts: Facts = {"alignment": size, "vector": _VECTORS.get((kind, size), f"{size}-byte value")}
    facts["lanes"] = max(size // _ELEMENT_BYTES.get(kind, 4), 1)
    address = seen.facts.get("address")
    if isinstance(address, int):
        facts["remainder"] = address % size
    return facts | {"noun": sentence("words", "elements_of", kind)}
