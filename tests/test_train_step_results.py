"""What was measured of a training step on an H200: all held, our captured step keeps up, ncu saw the plan's kernels."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from grader.build import build
from grader.catalog import load_catalog
from grader.list_part import ListPart
from grader.op_list.planned import PlannedOp, planned_ops
from grader.op_list.translate import calls_of
from grader.puzzle import Case
from grader.record import record
from grader.submission import references, used_sources
from tests.judging import ROOT

FILE = ROOT / "results" / "h200" / "train_step.json"
SLOWEST = 1.5  # times PyTorch's captured step


@cache
def measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def planned(layers: int, rows: int, features: int, outputs: int, dtype: int) -> list[PlannedOp]:
    """The launches of the solutions' list: of a whole step of two layers, of the way back through one."""
    located = load_catalog(ROOT).resolve("10", "train_step" if layers == 2 else "backward_linear")[1]
    assert located is not None
    part, source, companions = located.part, located.solution_path, used_sources(located)
    assert isinstance(part, ListPart)
    sizes: dict[str, float] = {"rows": rows, "features": features, "hidden": features, "outputs": outputs}
    sizes |= {"dtype": dtype, "lr": 0.5, "steps": 1}
    case = Case.of({scalar.name: sizes[scalar.name] for scalar in part.scalars})
    plan = record(build(source, uses=companions), part, case).plan
    return planned_ops(part, case, calls_of(located, source, references(located)), plan, companions)


def kernel(told: str) -> str:
    """A kernel's own name in what ncu says of it: "void bias_add_kernel<float>(const T1 *, …)"."""
    return re.split(r"[<(]", told)[0].split()[-1].rpartition("::")[2]


def test_all_that_was_looked_at_held() -> None:
    assert measured()["problems"] == []
    assert {"device", "driver", "nvcc", "date", "command", "commit", "method"} <= measured()["about"].keys()


def test_our_captured_step_keeps_up_with_pytorchs() -> None:
    small = next(one for one in measured()["steps"] if one["size"] == "1 × 64×256×128" and one["type"] == "f32")
    times = small["microseconds"]
    assert times["ours_captured"] <= SLOWEST * min(times["pytorch_captured"], times["pytorch_by_hand_captured"])
    assert times["ours_captured"] < times["ours_eager"]


@pytest.mark.parametrize("place", range(4))
def test_ncu_saw_the_kernels_of_the_plan_with_what_they_have_to_do(place: int) -> None:
    counted = measured()["ncu"][place]
    numbers = re.match(r"(\d) × (\d+)×(\d+)×(\d+)", counted["size"])
    assert numbers is not None
    layers, rows, features, outputs = map(int, numbers.groups())
    seen = counted["kernels"][0 if layers == 2 else 2 :]
    ops = planned(layers, rows, features, outputs, ("f32", "f16").index(counted["type"]))
    assert [(one["op"], kernel(one["kernel"])) for one in seen] == [(one.call.op, one.kernel) for one in ops]
    assert [(one["bytes"], one["operations"]) for one in seen] == [(one.bytes, one.operations) for one in ops]


@pytest.mark.parametrize("place", range(4))
def test_forward_backward_and_update_are_the_sums_of_their_kernels(place: int) -> None:
    counted = measured()["ncu"][place]
    assert list(counted["passes"]) == ["forward", "backward", "update"]
    for key in ("ns", "bytes", "operations", "dram_read", "instructions"):
        whole = sum(one[key] for one in counted["kernels"])
        assert sum(one[key] for one in counted["passes"].values()) == whole
    assert sum(one["kernels"] for one in counted["passes"].values()) == len(counted["kernels"])
