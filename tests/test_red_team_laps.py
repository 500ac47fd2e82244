"""Attacks on timed runs, with the stand-in driver: each gains time where its defences are off, none where they are on.

The same sources run on hardware in tests/gpu/red_team.py. What the software GPU says of them is tested here.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.cuda.bench import Bench
from grader.cuda.session import RealGPU
from grader.cuda.variables import read_module
from grader.puzzle import Case
from grader.record.layout import Layout
from grader.record.operations import Allocation, Free, Launch, Operation
from grader.record.plan import Plan, PlanBuffer, PlanScalar
from grader.tools import Tools, default_tools
from tests.pretend_cubin import pretended_cubin
from tests.red_team.attacks import attack, attacks
from tests.red_team.building import build_with, built_alone
from tests.red_team.careless import judged, part_named
from tests.red_team.laps import QUICK, WITHOUT, Outcome, defences_without, outcome_of
from tests.red_team.pretended import CACHE_BYTES, HONEST

ALL = attacks("laps")
N = 500  # the stand-in has little shared memory
UNSEEN = ("behaves_while_it_is_watched",)  # by the software GPU
BY_CHANCE = "skips_laps_by_chance"


def plan_for(name: str, layout: Layout, case: Case) -> Plan:
    """One launch; with memory from the stream where the attack asks for it."""
    n = int(case.params["n"])
    values: tuple[int, ...] = layout.first
    operations: list[Operation] = []
    if name == "finds_old_allocations":
        values += (layout.arenas[0],)
        operations = [Allocation(layout.arenas[0], 8 * n)]
    parameters = struct.pack(f"<{len(values)}Qi", *values, n)
    operations.append(Launch(name, (1, 1, 1), (32, 1, 1), 0, False, parameters, 0, 7))
    operations += [Free(made.address) for made in operations if isinstance(made, Allocation)]
    buffers = zip(part_named(name).buffers, layout.first, strict=True)
    return Plan(
        target=90,
        entry=name,
        module="0" * 64,
        buffers=tuple(PlanBuffer(buffer.name, address, 4 * n, buffer.role) for buffer, address in buffers),
        scalars=(PlanScalar("n", "i32", n),),
        returned=0,
        operations=tuple(operations),
    )


def timed(name: str, folder: Path, without: tuple[str, ...] = ()) -> Outcome:
    """The pretended kernel of this name, timed without these defences."""
    part, case = part_named(name, bench=Case(n=N)), Case(n=N)
    cubin = folder / "kernel.cubin"
    managed = ("cache",) if name == "keeps_answers_in_managed_memory" else ()
    size = 64 if name.endswith("_l2") else CACHE_BYTES  # to put a large one back empties the stand-in's L2
    cubin.write_bytes(pretended_cubin({"cache": size}, managed=managed))
    built: Any = SimpleNamespace(cubin=cubin)
    command = [sys.executable, "-m", "tests.pretend_gpu", "--kernels", "tests.red_team.pretended"]
    command += ["--without", ",".join(without)]
    with RealGPU(part, command=tuple(command)) as gpu:
        plan = plan_for(name, gpu.layout(case), case)
        return outcome_of(Bench(part, case, built, plan, 7, gpu, QUICK, defences_without(*without)))


# ---- with the defences off -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITHOUT)
def test_it_gains_time_without_its_defences(name: str, tmp_path: Path) -> None:
    assert timed(name, tmp_path, WITHOUT[name]).gains(HONEST)


def test_a_kernel_that_behaves_while_it_is_watched_passes_on_the_software_gpu(tools: Tools) -> None:
    assert findings("behaves_while_it_is_watched", tools) == []


def test_every_attack_is_shown_to_succeed() -> None:
    assert {*WITHOUT, *UNSEEN} == set(ALL)


# ---- with the defences on --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ALL if name != "finds_old_heap"])
def test_it_gains_nothing_with_all_of_them(name: str, tmp_path: Path) -> None:
    assert not timed(name, tmp_path).gains(HONEST)


@pytest.mark.parametrize("name", ["finds_old_shared_memory", "finds_old_reserved_memory", "finds_old_local_memory"])
def test_what_is_cleared_between_laps_is_so_though_inputs_stay_the_same(name: str, tmp_path: Path) -> None:
    """With fresh inputs kept answers are wrong; without, only the clearing stands against them."""
    assert not timed(name, tmp_path, ("fresh_inputs",)).gains(HONEST)


def test_laps_that_are_skipped_are_seen_whichever_they_are(tmp_path: Path) -> None:
    findings = timed(BY_CHANCE, tmp_path).findings
    assert findings
    assert set(findings) <= {"never_written", attack(BY_CHANCE).finding}


def test_a_module_with_a_heap_is_not_timed() -> None:
    module = read_module(built_alone("finds_old_heap").cubin.read_bytes())
    assert module.unrestorable is not None
    assert read_module(built_alone("finds_old_heap.twin").cubin.read_bytes()).unrestorable is None


# ---- what the software GPU says --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tools() -> Tools:
    return default_tools()


def findings(entry: str, tools: Tools) -> list[str]:
    return judged(build_with(entry), part_named(entry), tools)


@pytest.mark.parametrize("name", [name for name in ALL if name not in (*UNSEEN, BY_CHANCE)])
def test_the_software_gpu_names_it_where_it_is_a_fault(name: str, tools: Tools) -> None:
    wanted = attack(name).finding
    assert wanted in findings(name, tools) if wanted else findings(name, tools) == []


@pytest.mark.parametrize("name", ALL)
def test_its_twin_passes(name: str, tools: Tools) -> None:
    assert findings(f"{name}_twin", tools) == []
