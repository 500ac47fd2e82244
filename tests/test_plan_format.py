"""A Plan is checked wherever it comes from: what is no Plan raises PlanInvalid, and nothing else."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.record.plan import (
    MAX_OPERATIONS,
    Allocation,
    Copy,
    Free,
    Launch,
    Memset,
    Plan,
    PlanBuffer,
    PlanInvalid,
    PlanScalar,
    SymbolCopy,
    SymbolUpload,
    Upload,
    from_json,
    load,
    save,
    to_json,
)

A, B, ARENA = 0x2010_0000_0000, 0x2030_0000_0000, 0x2800_0000_0000


def plan(*operations: Any, **changes: Any) -> Plan:
    given: dict[str, Any] = {
        "target": 80,
        "entry": "entry",
        "module": "0" * 64,
        "buffers": (PlanBuffer("a", A, 400, "in"), PlanBuffer("out", B, 400, "out")),
        "scalars": (PlanScalar("n", "i32", 100), PlanScalar("eps", "f32", 0.5), PlanScalar("beta", "f32", math.inf)),
        "returned": 0,
        "operations": operations,
    }
    return Plan(**{**given, **changes})


LAUNCH = Launch("_Z1kPf", (1, 2, 3), (32, 1, 1), 16, False, b"\1\2\3", 49_152, 12)
FULL = plan(
    LAUNCH,
    Memset(A, 255, 400, 1),
    Copy(B, A, 400, None),
    Upload(B + 4, b"abc", 3),
    SymbolCopy("weights", 0, A, 4, 5),
    SymbolUpload("weights", 8, b"x", 6),
    Allocation(ARENA, 512, 7),
    Memset(ARENA, 0, 512, 8),
    Free(ARENA, 9),
)


def test_a_plan_is_equal_after_a_round_through_json() -> None:
    assert from_json(to_json(FULL)) == FULL
    assert from_json(to_json(FULL).encode()) == FULL


def test_a_plan_is_equal_after_a_round_through_a_file(tmp_path: Path) -> None:
    save(FULL, tmp_path / "plan.json")
    assert load(tmp_path / "plan.json") == FULL


@pytest.mark.parametrize(
    "operation",
    [
        Memset(A, 0, 401),
        Memset(A - 1, 0, 4),
        Memset(A, 256, 4),
        Memset(A, 0, 0),
        Memset(True, 0, 4),
        Memset(ARENA, 0, 4),
        Copy(B, A + 398, 4),
        Copy(B + 398, A, 4),
        Upload(B + 398, b"abc"),
        Upload(B, b""),
        Free(ARENA),
        Allocation(A, 4),
        Allocation(ARENA, 0),
        SymbolUpload("no name", 0, b"x"),
        SymbolUpload("weights", -1, b"x"),
        Memset(A, 0, 4, line=0),
    ],
    ids=str,
)
def test_an_operation_outside_its_bounds_is_refused(operation: Any) -> None:
    with pytest.raises(PlanInvalid):
        plan(operation)


@pytest.mark.parametrize(
    "changes",
    [
        {"grid": (0, 1, 1)},
        {"grid": (1, 65_536, 1)},
        {"grid": (1, 1)},
        {"block": (1024, 2, 1)},
        {"block": (1, 1, 65)},
        {"shared": 49_153},
        {"kernel": "a b"},
        {"kernel": "k" * 65_537},
        {"parameters": b"x" * 32_765},
        {"cooperative": 1},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_launch_past_any_limit_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(PlanInvalid):
        plan(Launch(**{**vars(LAUNCH), **changes}))


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"version": True},
        {"target": "80"},
        {"entry": "1entry"},
        {"module": "x" * 64},
        {"returned": 1 << 31},
        {"buffers": (PlanBuffer("a", A, 400, "in"), PlanBuffer("a", B, 400, "in"))},
        {"buffers": (PlanBuffer("a", A, 400, "in"), PlanBuffer("b", A + 399, 400, "in"))},
        {"buffers": (PlanBuffer("a", A, 400, "secret"),)},
        {"buffers": (PlanBuffer("a", 0, 400, "in"),)},
        {"scalars": (PlanScalar("n", "i32", 1 << 31),)},
        {"scalars": (PlanScalar("n", "u8", 1),)},
        {"scalars": (PlanScalar("n", "f32", 1),)},
        {"operations": (Memset(A, 0, 4),) * 65_537},
        {"operations": (Upload(A, b"x" * 400),) * 65_536 + (Upload(A, b"x"),)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_plan_that_contradicts_the_format_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(PlanInvalid):
        plan(**changes)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", "{" * 100_000, "9" * 10_000, '{"plan": NaN}', b"\xff", '{"plan": 1, "plan": 1}', "1e999"],
    ids=lambda text: str(text[:12]),
)
def test_text_that_is_no_plan_is_refused(text: str | bytes) -> None:
    with pytest.raises(PlanInvalid):
        from_json(text)


def _damage_text(luck: random.Random, text: str) -> str:
    place, length = luck.randrange(len(text)), luck.randint(0, 12)
    return text[:place] + luck.choice(["", "0", '"', "}", "[", "1e9", "null", "-1", "\\"]) + text[place + length :]


def _damage_value(luck: random.Random, text: str) -> str:
    document = json.loads(text)
    node: Any = document
    while True:
        key = luck.choice(list(node) if isinstance(node, dict) else range(len(node))) if node else None
        if key is None:
            break
        if not isinstance(node[key], dict | list) or luck.random() < 0.2:
            node[key] = luck.choice([None, -1, 0, 1 << 70, 1.5, "x", [], {}, True, [[]], "AAAA", "inf", node[key]])
            break
        node = node[key]
    return json.dumps(document)


@pytest.mark.parametrize("damage", [_damage_text, _damage_value])
def test_no_damage_to_a_document_gives_anything_but_plan_invalid(damage: Callable[[random.Random, str], str]) -> None:
    luck, refused = random.Random(20_251_129), 0  # the same damage every time
    for _ in range(2_000):
        try:
            from_json(damage(luck, to_json(FULL)))
        except PlanInvalid:
            refused += 1
    assert refused > 1_000


def test_as_many_allocations_as_a_plan_may_hold_are_checked_at_once() -> None:
    allocations = [Allocation(ARENA + 512 * number, 512) for number in range(MAX_OPERATIONS)]
    begun = time.perf_counter()
    plan(*allocations)
    assert time.perf_counter() - begun < 5
    with pytest.raises(PlanInvalid):
        plan(allocations[7], Allocation(ARENA + 512 * 7 + 511, 512))
