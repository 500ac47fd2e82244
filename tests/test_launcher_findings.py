"""What the recorder and the compilers found, told with what the build, the plan and the text say beside it."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from grader.catalog import load_catalog
from grader.compiled import uninitialised, void_entry
from grader.explain import Observation
from grader.launcher import host_observations
from grader.record import HostFinding
from grader.record.plan import Launch, Plan, PlanBuffer
from tests.judging import ROOT

BUFFER = 0x2010_0000_0000


def built(functions: Mapping[str, tuple[int, int]] | None = None, warnings: str = "") -> Any:
    return SimpleNamespace(functions=functions or {}, warnings=warnings)


def observed(
    found: HostFinding, *, argument: int = BUFFER, functions: Any = None, injected: bool = False
) -> Observation:
    launch = Launch("k", (1, 1, 1), (32, 1, 1), 0, False, argument.to_bytes(8, "little"), 0, 9)
    plan = Plan(80, "add", "0" * 64, (PlanBuffer("out", BUFFER, 1024, "out"),), (), 0, (launch,))
    recording: Any = SimpleNamespace(plan=plan, findings=[found])
    (seen,) = host_observations(recording, built(functions), "add", injected=injected)
    return seen


def test_a_name_nearly_like_the_entrys_is_shown() -> None:
    missing = HostFinding("missing_entry", {"variant": "plain"})
    near = observed(missing, functions={"_Z4Add_Pf": (3, 4), "_Z4add1Pf": (7, 9)})
    assert (near.line, near.facts["near"]) == (7, "add1")
    assert observed(missing, functions={"other": (3, 4)}).facts["variant"] == "plain"


def test_an_argument_that_points_into_the_hosts_memory_is_told() -> None:
    differs = HostFinding("non_deterministic", {"variant": "arguments"}, 9)
    assert observed(differs, argument=0x55D0_1234_5678).facts["variant"] == "host_pointer"
    assert observed(differs, argument=BUFFER + 8).facts["variant"] == "arguments"


def test_an_exception_for_a_launch_that_fails_is_an_error_not_returned() -> None:
    thrown = HostFinding("host_crash", {"variant": "abort", "type": "thrust::system_error"}, 6)
    assert observed(thrown).kind == "host_crash"
    assert observed(thrown, injected=True).kind == "ignored_error"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('\nextern "C" void add(float* a) {\n}\n', 2),
        ('extern "C" {\nvoid\nadd(float* a) {}\n}\n', 2),
        ('// void add(int)\nextern "C" cudaError_t add(float* a) {}\n', None),
        ('__global__ void add(float* a, int n) {}\nextern "C" cudaError_t add(float* a) {}\n', None),
        ('extern "C" cudaError_t add(float* a) { puts("void add("); }\n', None),
    ],
)
def test_an_entry_that_returns_nothing_is_seen_in_the_text(text: str, line: int | None) -> None:
    seen = void_entry(built({"add": (1, 2)}), text, "add")
    assert (seen.line if seen is not None else None) == line


def test_a_variable_without_a_first_value_explains_wrong_values_and_nothing_else() -> None:
    warned = built(warnings='k.cu(6): warning #549-D: variable "sum" is used before its value is set\n')
    (seen,) = uninitialised(warned, [Observation("not_a_number")])
    assert (seen.kind, seen.line, seen.facts["name"]) == ("uninitialised_read", 6, "sum")
    assert uninitialised(warned, [Observation("never_written")]) == []
    assert uninitialised(warned, []) == []


def test_the_kernel_is_given_where_only_the_launch_is_to_be_written() -> None:
    parts = load_catalog(ROOT).puzzles[0].parts
    assert [part.part.name for part in parts if part.kernel_is_given()] == ["vector_add_launch"]
