"""Findings in a learner's words: picks the variant of each sentence by the facts; the words are the catalogue's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.explain import accesses
from grader.explain.catalogue import has, sentence, title
from grader.explain.lanes import lanes
from grader.explain.names import kernel_name
from grader.explain.observation import Coordinates, Mark, Observation, Said, Setting

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


def say(seen: Observation, setting: Setting) -> Said:
    """Message, reason and marks for one observation."""
    facts = _facts(seen, setting)
    message = _VARIANTS.get(seen.kind, _plain)(seen, facts)
    why = _WHYS.get(seen.kind, _plain)(seen, facts)
    return Said(
        title=title(seen.kind, message),
        message=_told(seen.kind, "message", message, facts),
        why=_told(seen.kind, "why", why, facts),
        marks=_marks(seen, facts),
    )


def _told(kind: str, slot: str, variant: str, facts: Facts) -> str:
    return sentence(kind, slot, variant if has(kind, slot, variant) else "plain", facts=facts)


# ---- facts ----------------------------------------------------------------------------------------------------------


def _facts(seen: Observation, setting: Setting) -> Facts:
    facts: Facts = {
        "entry": setting.entry,
        "label": setting.label,
        "kernel": kernel_name(seen.kernel) if seen.kernel else "the kernel",
    }
    facts |= {"empty": setting.empty, "zero": setting.zero}
    facts |= {"buffer": seen.buffer or seen.facts.get("region") or "memory", "count": f"{seen.count:,}"}
    facts |= {key: _printed(value) for key, value in seen.facts.items() if value is not None}
    dimensions = _dimensions(setting)
    facts["who"] = _who(seen.block, seen.thread, dimensions)
    facts["Who"] = facts["who"][:1].upper() + facts["who"][1:]
    other_block, other = (accesses.coordinates(seen, name) for name in ("other_block", "other_thread"))
    facts["other_who"] = _who(other_block, other, dimensions, "another_thread")
    facts["other_thread_name"] = _who(None, other, dimensions, "another_thread")
    if seen.buffer is not None and seen.index is not None and "element" not in facts:
        facts["element"] = element(seen.buffer, seen.index, setting.shapes.get(seen.buffer, ()))
    if seen.buffer is not None and seen.buffer in setting.elements:
        facts["elements"] = f"{setting.elements[seen.buffer]:,}"
        words = "element_of" if setting.elements[seen.buffer] == 1 else "elements_of"
        facts["noun"] = sentence("words", words, setting.types.get(seen.buffer, "any"))
    facts |= _distance(seen, setting) | _matrix(seen, setting) | _grid(setting) | _edge(seen, setting)
    facts |= _width(seen, setting) | _alignment(seen) | lanes(seen)
    facts["workspace"] = seen.buffer in setting.workspaces
    return facts


def _printed(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        return str(value)
    return f"{value:,}"


def _dimensions(setting: Setting) -> int:
    used = [axis for axis in range(3) for size in (setting.grid, setting.block) if size and size[axis] > 1]
    return max(used, default=0) + 1


def _who(block: Coordinates | None, thread: Coordinates | None, dimensions: int, nobody: str = "a_thread") -> str:
    if thread is None:
        return sentence("words", nobody)
    facts = {"thread": _place(thread, dimensions), "block": _place(block, dimensions) if block else ""}
    return sentence("words", "thread_of_block" if block else "thread", facts=facts)


def _place(at: Coordinates, dimensions: int) -> str:
    shown = at[: max([dimensions, *(axis + 1 for axis in range(3) if at[axis])])]
    return str(shown[0]) if len(shown) == 1 else "(" + ",".join(map(str, shown)) + ")"


def element(buffer: str, index: int, shape: tuple[int, ...] = ()) -> str:
    """How a learner writes an element of a pointer, "`A[1105]`"; inside a matrix its row and column are named too."""
    columns = shape[-1] if len(shape) == 2 else 0
    facts: Facts = {"buffer": buffer, "index": index}
    if columns > 1 and 0 <= index < shape[0] * columns:
        facts |= {"row": index // columns, "column": index % columns}
        return sentence("words", "matrix_element", facts=facts)
    return sentence("words", "element", facts=facts)


def _distance(seen: Observation, setting: Setting) -> Facts:
    elements = setting.elements.get(seen.buffer or "")
    if elements is None or seen.index is None or seen.index < elements:
        return {}
    return {"past": f"{seen.index - elements + 1:,}", "last": elements - 1}


def _matrix(seen: Observation, setting: Setting) -> Facts:
    """Rows and columns of the buffer where it is a matrix, and in which of them the index would lie."""
    shape = setting.shapes.get(seen.buffer or "", ())
    if len(shape) != 2 or min(shape) < 1 or seen.index is None or seen.index < 0:
        return {}
    row, column = divmod(seen.index, shape[1])
    return {"rows": shape[0], "columns": shape[1], "row": row, "column": column, "last_row": shape[0] - 1}


def _grid(setting: Setting) -> Facts:
    if setting.grid is None or setting.block is None:
        return {}
    blocks = setting.grid[0] * setting.grid[1] * setting.grid[2]
    threads = setting.block[0] * setting.block[1] * setting.block[2]
    grid = sentence("words", "one_block" if blocks == 1 else "blocks", facts={"count": f"{blocks:,}"})
    total = f"{blocks * threads:,}"
    return {"grid": grid, "threads": f"{threads:,}", "total": total, "block_size": setting.block}


def _edge(seen: Observation, setting: Setting) -> Facts:
    """A thread past the last row or column of a result that has one thread an element, whichever way it lies."""
    if setting.result is None or setting.grid is None or setting.block is None or setting.block[1] == 1:
        return {}
    if seen.block is None or seen.thread is None:
        return {}
    at = [seen.block[axis] * setting.block[axis] + seen.thread[axis] for axis in (0, 1)]
    rows, columns = setting.result
    for wanted in ((columns, rows), (rows, columns)):
        fits = all(-(-wanted[axis] // setting.block[axis]) == setting.grid[axis] for axis in (0, 1))
        if fits and any(at[axis] >= wanted[axis] for axis in (0, 1)):
            covered = (setting.grid[axis] * setting.block[axis] for axis in (0, 1))
            return {"covered": " × ".join(map(str, covered)), "wanted": " × ".join(map(str, wanted))}
    return {}


def _width(seen: Observation, setting: Setting) -> Facts:
    """How many elements of its buffer one access takes at once, and what CUDA calls so many together."""
    size = seen.facts.get("alignment") or seen.facts.get("bytes")
    if not isinstance(size, int) or size <= 0:
        return {}
    kind = setting.types.get(seen.buffer or "", "f32")
    facts: Facts = {"vector": _VECTORS.get((kind, size), f"{size}-byte value")}
    facts["lanes"] = max(size // _ELEMENT_BYTES.get(kind, 4), 1)
    return facts | {"noun": sentence("words", "elements_of", kind)} if seen.kind == "misaligned_access" else facts


def _alignment(seen: Observation) -> Facts:
    """What a misaligned access must be a multiple of, in bytes."""
    size = seen.facts.get("alignment") or seen.facts.get("bytes")
    if seen.kind != "misaligned_access" or not isinstance(size, int) or size <= 0:
        return {}
    address = seen.facts.get("address")
    return {"alignment": size} | ({"remainder": address % size} if isinstance(address, int) else {})


# ---- variants -------------------------------------------------------------------------------------------------------


def _plain(seen: Observation, _: Facts) -> str:
    return str(seen.facts.get("variant", "plain"))


def _trap(seen: Observation, facts: Facts) -> str:
    return "assert" if "assertion" in seen.facts else _plain(seen, facts)


def _divergence(seen: Observation, facts: Facts) -> str:
    if "other_thread" in seen.facts:
        return "passed_by"
    return "counted" if "arrived" in seen.facts and "threads" in facts else "plain"


def _deadlock(seen: Observation, _: Facts) -> str:
    return "counted" if {"waiting", "wanted"} <= set(seen.facts) else "plain"


def _mask_why(seen: Observation, facts: Facts) -> str:
    variant = _plain(seen, facts)
    return "ended" if variant == "absent" else variant


def _forbidden(seen: Observation, facts: Facts) -> str:
    return "path" if "path" in seen.facts and "call" in seen.facts else _plain(seen, facts)


def _unsupported(seen: Observation, _: Facts) -> str:
    if "variant" in seen.facts or "call" in seen.facts:
        return str(seen.facts.get("variant", "call"))
    return "plain" if "instruction" in seen.facts else "bare"


def _loop(seen: Observation, _: Facts) -> str:
    return "plain" if "budget" in seen.facts else "bare"


def _returned(seen: Observation, facts: Facts) -> str:
    variant = _plain(seen, facts)
    return "returned_empty" if variant == "returned" and facts["empty"] else variant


def _refused_why(seen: Observation, facts: Facts) -> str:
    """An empty grid is refused in every case that asks for one; only where there is work is the grid wrong."""
    reason = str(seen.facts.get("reason", ""))
    if reason.startswith("the address is no device memory"):
        return "host_address"
    if not reason.startswith("a grid of 0 blocks"):
        return _returned(seen, facts)
    return "empty_case" if facts["empty"] else "empty_result" if facts["zero"] else "empty_grid"


def _value_why(seen: Observation, _: Facts) -> str:
    return str(seen.facts.get("why", "plain"))


def _unwritten(seen: Observation, facts: Facts) -> str:
    return str(seen.facts.get("why", "zero" if facts["zero"] else "plain"))


def _cause_why(seen: Observation, facts: Facts) -> str:
    return str(seen.facts.get("cause", _plain(seen, facts)))


def _not_a_number_why(seen: Observation, _: Facts) -> str:
    return str(seen.facts.get("cause", "plain"))


_VARIANTS: dict[str, Callable[[Observation, Facts], str]] = {
    "out_of_bounds_read": accesses.bounds,
    "out_of_bounds_write": accesses.bounds,
    "launch_error": _returned,
    "misaligned_access": accesses.where,
    "uninitialised_read": accesses.uninitialised,
    "data_race": accesses.race,
    "forbidden_call": _forbidden,
    "read_only_violation": accesses.where,
    "barrier_divergence": _divergence,
    "deadlock": _deadlock,
    "device_trap": _trap,
    "unsupported": _unsupported,
    "endless_loop": _loop,
}
_WHYS: dict[str, Callable[[Observation, Facts], str]] = {
    "launch_error": _refused_why,
    "ignored_error": _refused_why,
    "out_of_bounds_read": accesses.bounds_why,
    "out_of_bounds_write": accesses.bounds_why,
    "uninitialised_read": accesses.uninitialised_why,
    "data_race": accesses.race_why,
    "bad_sync_mask": _mask_why,
    "never_written": _unwritten,
    "not_a_number": _not_a_number_why,
    "wrong_values": _value_why,
    "redundant_traffic": _cause_why,
    "goal_missed": _cause_why,
}


# ---- marks ----------------------------------------------------------------------------------------------------------


def _marks(seen: Observation, facts: Facts) -> tuple[Mark, ...]:
    marks = []
    if seen.line:
        marks.append(Mark(seen.line, _told(seen.kind, "mark", _mark_variant(seen, facts), facts)))
    if seen.other_line and seen.other_line != seen.line:
        marks.append(Mark(seen.other_line, _other_mark(seen, facts)))
    for line in dict.fromkeys(seen.facts.get(name) for name in ("called_on", "other_called_on")):
        if line:
            marks.append(Mark(line, sentence("words", "called")))
    return tuple(sorted((mark for mark in marks if mark.text), key=lambda mark: mark.line))


def _mark_variant(seen: Observation, facts: Facts) -> str:
    if seen.kind == "data_race" and seen.line == seen.other_line and "other_thread" in seen.facts:
        return "both"
    if seen.kind == "never_written":
        return str(seen.facts.get("mark", "plain"))
    if seen.kind == "not_a_number":
        return "origin" if "origin" in seen.facts else "plain"
    if seen.facts.get("variant") == "host":
        return "host"
    if seen.kind == "data_race":
        return "write" if seen.facts.get("write") else "read" if "write" in seen.facts else "plain"
    if seen.kind in ("out_of_bounds_read", "out_of_bounds_write", "read_only_violation") and "element" not in facts:
        return "bare"
    if seen.kind == "misaligned_access" and "remainder" not in facts:
        return "bare"
    return str(seen.facts.get("variant", "plain"))


def _other_mark(seen: Observation, facts: Facts) -> str:
    if seen.facts.get("other") == "launch":
        return sentence("words", "launched")
    return _told(seen.kind, "mark", _other_mark_variant(seen), facts)


def _other_mark_variant(seen: Observation) -> str:
    if seen.kind != "data_race":
        return str(seen.facts.get("other", "other"))
    if "other_write" not in seen.facts:
        return "other_plain"
    if seen.facts.get("copy") == "in_flight":
        return "other_in_flight"
    return "other_write" if seen.facts["other_write"] else "other_read"
