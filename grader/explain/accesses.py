"""Accesses to memory that went wrong, outside, too early or at the same time: which of their sentences fits."""

from __future__ import annotations

from typing import Any

from grader.explain.observation import Coordinates, Observation

Facts = dict[str, Any]

_WARP = 32
_FAR = 1 << 28  # an index this far outside comes from an overflow, not from a missing guard


def coordinates(seen: Observation, key: str) -> Coordinates | None:
    value = seen.facts.get(key)
    return (
        (int(value[0]), int(value[1]), int(value[2])) if isinstance(value, list | tuple) and len(value) == 3 else None
    )


def bounds(seen: Observation, facts: Facts) -> str:
    space = seen.facts.get("space")
    if "memory" in seen.facts:
        return str(seen.facts["memory"])
    if seen.buffer is not None and seen.index is not None and "elements" in facts:
        if seen.index < 0:
            return "before"
        if "past" not in facts:
            return "across"
        return "past_one" if facts["past"] == "1" else "past"
    if seen.buffer is not None:
        return "variable"
    if space in ("shared", "local"):
        return str(space)
    address = seen.facts.get("address")
    return "null" if isinstance(address, int) and address < 1 << 16 else "elsewhere"


def bounds_why(seen: Observation, facts: Facts) -> str:
    if "memory" in seen.facts:
        return str(seen.facts["memory"])
    if seen.index is not None and (abs(seen.index) >= _FAR or (seen.index < 0 and "full_size" in seen.facts)):
        return "full_size" if "full_size" in seen.facts else "overflow"
    if bounds(seen, facts) == "across":
        return "across"
    if seen.facts.get("space") == "shared":
        return "shared" if seen.facts.get("variable_bytes") else "no_dynamic"
    if "past" in facts and "covered" in facts:
        return "edge"
    return _past_why(seen, facts) if "past" in facts else "none"


def _past_why(seen: Observation, facts: Facts) -> str:
    """Past the end of a buffer: by a thread's own number, in a matrix, by groups of elements, or in another way."""
    if _one_thread_an_element(seen, facts):
        return "guard"
    wide = facts.get("lanes", 1) > 1
    if facts.get("columns", 0) > 1:
        return "wide_matrix" if wide else "matrix"
    return "wide" if wide else "index"


def _one_thread_an_element(seen: Observation, facts: Facts) -> bool:
    """Whether the index is the thread's own number in a one-dimensional grid: the usual forgotten guard."""
    if seen.block is None or seen.thread is None or "threads" not in facts:
        return False
    return seen.index == seen.block[0] * int(facts["threads"].replace(",", "")) + seen.thread[0]


def where(seen: Observation, facts: Facts) -> str:
    if "variant" in seen.facts:
        return str(seen.facts["variant"])
    if seen.facts.get("space") == "register" or "register" in seen.facts:
        return "register"
    if "element" in facts:
        return "element"
    if seen.facts.get("space") == "shared":
        return "shared"
    return "variable" if seen.buffer else "plain"


def uninitialised(seen: Observation, facts: Facts) -> str:
    return "atomic" if seen.facts.get("write") and "element" in facts else where(seen, facts)


def uninitialised_why(seen: Observation, facts: Facts) -> str:
    variant = uninitialised(seen, facts)
    if "memset" in seen.facts:
        return str(seen.facts["memset"])
    if variant == "element" and facts.get("workspace"):
        return "workspace"
    return "shared" if variant not in ("atomic", "mbarrier") and seen.facts.get("space") == "shared" else variant


def race(seen: Observation, facts: Facts) -> str:
    place = where(seen, facts)
    if place not in ("element", "shared") or not {"write", "other_write"} <= set(seen.facts):
        return place
    return f"{place}_both" if seen.facts["write"] and seen.facts["other_write"] else f"{place}_mixed"


def race_why(seen: Observation, facts: Facts) -> str:
    if "copy" in seen.facts:
        return str(seen.facts["copy"])
    other_block, other = coordinates(seen, "other_block"), coordinates(seen, "other_thread")
    if facts.get("columns", 0) > 1 and seen.facts.get("write") and seen.facts.get("other_write"):
        return "same_element"
    if seen.facts.get("between_blocks") or other_block not in (None, seen.block):
        return "other_block"
    if seen.line == seen.other_line and _one_place(seen):
        return "same_store"
    if seen.facts.get("between_warps") or seen.thread is None or other is None or "block_size" not in facts:
        return "same_block"
    warps = [_linear(thread, facts["block_size"]) // _WARP for thread in (seen.thread, other)]
    return "same_warp" if warps[0] == warps[1] else "same_block"


def _one_place(seen: Observation) -> bool:
    """Whether threads all store to one place on a line, perhaps after they have read it there, as in `out[0] += …`."""
    if seen.facts.get("write") and seen.facts.get("other_write"):
        return True
    return bool(seen.facts.get("one_place")) and seen.count > 1


def _linear(thread: Coordinates, block: Coordinates) -> int:
    return thread[0] + block[0] * (thread[1] + block[1] * thread[2])
