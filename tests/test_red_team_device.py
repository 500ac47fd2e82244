"""Attacks by kernels and launches, judged on the software GPU: each passes where its defence is off, fails where it is
on, and its twin passes. What only hardware shows is in tests/gpu/red_team.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.build import Build, HeaderFile, build
from grader.puzzle import Tolerance
from grader.tools import Tools, default_tools
from tests.red_team.attacks import attack, attacks
from tests.red_team.building import FOLDER, built_together
from tests.red_team.careless import (
    FEW,
    KNOWN_SEED,
    N,
    Switch,
    answers_behind_the_input,
    first_values,
    impatient,
    inputs_as_left,
    judged,
    known_answers,
    no_budget,
    not_too_far_off,
    old_results,
    part_named,
    same_inputs,
    unwatched,
)

ALL = attacks("device")


@pytest.fixture(scope="module")
def tools() -> Tools:
    return default_tools()


@pytest.fixture(scope="module")
def built() -> Build:
    return built_together("device", answers=known_answers())


def size_for(name: str) -> int:
    return FEW if name.startswith("knows_the_seed") else N


# ---- with the defence off --------------------------------------------------------------------------------------------

# What is taken away for each of them, beside the software GPU's eye for faults.
SWITCHES: dict[str, tuple[Switch, ...]] = {
    "does_nothing": (old_results,),
    "works_on_another_stream": (old_results,),
    "asks_for_too_much_shared_memory": (old_results,),
    "calls_the_host_later": (),
    "writes_the_beginning": (first_values,),
    "overwrites_its_inputs": (inputs_as_left,),
    "answers_nan": (not_too_far_off,),
    "keeps_answers_by_pointer": (same_inputs,),
    "works_once": (same_inputs, old_results),
}
# The same for weak inputs and tolerances, which are the part's.
PARTS = {
    "writes_zeros": part_named("writes_zeros", default_inputs="zeros"),
    "copies_an_input": part_named("copies_an_input", default_inputs={"b": "zeros"}),
    "computes_in_half": part_named("computes_in_half", tolerance=Tolerance(0.01, 0.01, why="as for half precision")),
    "reads_its_neighbour": answers_behind_the_input("reads_its_neighbour"),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_it_passes_a_careless_judge(name: str, built: Build, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    for switch in SWITCHES[name]:
        switch(monkeypatch)
    assert judged(built, part_named(name), unwatched(tools), heed_host=False) == []


@pytest.mark.parametrize("name", PARTS)
def test_it_passes_where_the_part_is_weak(name: str, built: Build, tools: Tools) -> None:
    assert judged(built, PARTS[name], tools) == []


def test_the_answers_to_a_known_seed_are_right_for_it(
    built: Build, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    same_inputs(monkeypatch)
    assert judged(built, part_named("knows_the_seed"), tools, n=FEW, seed=KNOWN_SEED) == []


def test_a_kernel_spins_on_where_no_budget_ends_it(built: Build, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    no_budget(monkeypatch)
    (kind,) = judged(built, part_named("spins"), replace(tools, software_gpu=impatient))
    assert kind == "unsupported"  # its process had to be ended


def test_every_attack_is_shown_to_succeed() -> None:
    assert {*SWITCHES, *PARTS, "knows_the_seed", "spins"} == set(ALL)


# ---- with the defence on ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_it_fails_as_the_grader_judges_it(name: str, built: Build, tools: Tools) -> None:
    assert attack(name).finding in judged(built, part_named(name), tools, n=size_for(name))


@pytest.mark.parametrize("name", ALL)
def test_its_twin_passes(name: str, built: Build, tools: Tools) -> None:
    assert judged(built, part_named(f"{name}_twin"), tools, n=size_for(name)) == []


# ---- what is not named, and gains nothing ----------------------------------------------------------------------------

HIDDEN = """#include "honest.cuh"
#line 1 "cub/block/block_load.cuh"
static __global__ void count_on_zeros(const float* a, const float* b, float* out, int n) {
    __shared__ float sums[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] += i < n ? a[i] + b[i] : 0.f;
    if (i < n) out[i] = sums[threadIdx.x];
}

ENTRY(counts_on_zeros) {
    count_on_zeros<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
"""


def test_who_claims_a_librarys_lines_finds_no_zeros_in_shared_memory(tools: Tools, tmp_path: Path) -> None:
    source = tmp_path / "hidden.cu"
    source.write_text(HIDDEN)
    built = build(source, uses=[HeaderFile("honest.cuh", (FOLDER / "honest.cuh").read_text())])
    assert judged(built, part_named("counts_on_zeros"), tools) == ["wrong_values"]
