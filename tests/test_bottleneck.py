"""What holds a kernel back: each look sees what it is for, and says nothing where the reference does no better."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from grader.bottleneck import Counted, bottleneck
from grader.catalog import load_catalog
from grader.evidence import KernelFact, LaunchFact
from grader.explain import sentence
from grader.verdict import Timing
from tests.judging import ROOT, Judge

TIMING = Timing("GPU", 1.0, (0.9, 1.1), 100.0, 30, True, of_limit=0.4, medal="bronze")
SECTORS = "memory_l2_theoretical_sectors_global"


def launch(blocks: int = 1000, threads: int = 256, kernel: str = "k") -> LaunchFact:
    return LaunchFact(kernel, (blocks, 1, 1), (threads, 1, 1), 0, 9)


def counts(line: int = 9, reads: float = 0.0, **of: Any) -> dict[str, Any]:
    """Counters of one kernel whose one line counts all of it."""
    return {"kernels": {"k": of}, "lines": {str(line): of}, "reads": {"elements_a_result": reads}}


COUNTED = Counted((launch(),), {"k": KernelFact(32, 0, 0)}, 132, counts(), counts(), {})


def access(name: str, unit: str, taken: int, fewest: int) -> dict[str, int]:
    return {f"{name}_requests": 1, f"{name}_{unit}": taken, f"{name}_{unit}_ideal": fewest}


def widths(size: int) -> dict[str, Any]:
    return {"compiled": {"global_load_requests_by_bytes": {str(size): 10}}, "global_load_requests": 10}


def both(own: Mapping[str, Any], reference: Mapping[str, Any]) -> Counted:
    return replace(COUNTED, counters=own, reference=reference)


LOOKS = [
    ("idle", replace(COUNTED, launches=(launch(64), launch(1))), "has 64 blocks, and this GPU 132"),
    ("few_threads", replace(COUNTED, launches=(launch(200, 32),)), "There are 48 threads for each"),
    ("no_tensor_cores", both(counts(), counts(matrix_instructions=4)), "No product is made by a matrix"),
    (
        "global_load",
        both(counts(**access("global_load", "sectors", 32, 4)), counts()),
        "On line 9 a warp's load moves 32",
    ),
    ("global_store", both(counts(**access("global_store", "sectors", 32, 4)), counts()), "a warp's store moves 32"),
    ("loaded_again", both(counts(reads=1024, global_load_lanes=5), counts(reads=32)), "loads 1,024 values for each"),
    ("more_moved", both(counts(**{SECTORS: 130}), counts(**{SECTORS: 100})), "asks memory for 1.30 times the bytes"),
    (
        "atomics",
        both(counts(global_atomic_lanes=1000), counts(global_atomic_lanes=4)),
        "It makes 1,000 atomic operations",
    ),
    ("local_memory", replace(COUNTED, kernels={"k": KernelFact(255, 0, 96)}), "keeps 96 bytes in local memory"),
    ("shared_load", both(counts(**access("shared_load", "wavefronts", 32, 1)), counts()), "load takes 32 passes"),
    ("shared_store", both(counts(**access("shared_store", "wavefronts", 8, 1)), counts()), "store takes 8 passes"),
    ("narrow", both(counts(**widths(4)), counts(**widths(16))), "are 4 bytes wide for each lane, the reference's 16"),
    ("instructions", both(counts(warp_instructions=130), counts(warp_instructions=100)), "runs 1.30 times the instr"),
]


@pytest.mark.parametrize(("kind", "counted", "words"), LOOKS, ids=[kind for kind, *_ in LOOKS])
def test_each_look_tells_what_was_counted_and_what_to_try(kind: str, counted: Counted, words: str) -> None:
    held = bottleneck(TIMING, counted)
    assert held is not None
    assert held.kind == kind
    assert words in held.seen
    assert held.advice
    assert "…" not in held.seen + held.advice


@pytest.mark.parametrize(("kind", "counted", "words"), LOOKS, ids=[kind for kind, *_ in LOOKS])
def test_at_the_limit_nothing_is_looked_for(kind: str, counted: Counted, words: str) -> None:
    held = bottleneck(replace(TIMING, of_limit=0.95), counted)
    assert held is not None
    assert (held.kind, held.seen) == ("limit", "")


RELATIVE = [(kind, counted) for kind, counted, _ in LOOKS if counted.counters != counts()]


@pytest.mark.parametrize(("kind", "counted"), RELATIVE, ids=[kind for kind, _ in RELATIVE])
def test_what_the_reference_does_as_well_is_no_bottleneck(kind: str, counted: Counted) -> None:
    assert bottleneck(TIMING, replace(counted, reference=counted.counters)) is None


@pytest.mark.parametrize(
    "counted", [LOOKS[0][1], LOOKS[1][1], LOOKS[8][1]], ids=["idle", "few_threads", "local_memory"]
)
def test_what_does_not_cost_a_kernel_its_gold_is_no_bottleneck(counted: Counted) -> None:
    assert bottleneck(replace(TIMING, medal="gold"), counted) is None


def test_without_a_reference_only_what_is_bad_by_itself_is_told() -> None:
    counted = both(counts(reads=1024, warp_instructions=10**6, **{SECTORS: 10**6}), {})
    assert bottleneck(TIMING, counted) is None
    scattered = bottleneck(TIMING, both(counts(**access("global_load", "sectors", 32, 4)), {}))
    assert scattered is not None
    assert scattered.line == 9


def test_many_launches_count_where_starting_is_most_of_the_time() -> None:
    counted = replace(COUNTED, launches=(launch(), launch(), launch()))
    assert bottleneck(TIMING, counted) is None
    held = bottleneck(replace(TIMING, bound="launch"), counted)
    assert held is not None
    assert held.seen.startswith("It starts 3 kernels")


def test_narrow_loads_matter_only_where_memory_is_the_limit() -> None:
    assert bottleneck(replace(TIMING, bound="compute"), both(counts(**widths(4)), counts(**widths(16)))) is None


def test_a_stride_that_only_the_full_size_has_is_seen_in_its_sample() -> None:
    held = bottleneck(TIMING, replace(COUNTED, sampled=counts(17, **access("global_load", "sectors", 32, 4))))
    assert held is not None
    assert held.line == 17


def test_what_idles_the_gpu_comes_before_what_wastes_its_memory_and_that_before_its_cores() -> None:
    worse = counts(warp_instructions=200, **access("global_load", "sectors", 32, 4))
    counted = both(worse, counts(warp_instructions=100))
    held = [bottleneck(TIMING, one) for one in (replace(counted, launches=(launch(3),)), counted)]
    assert [one.kind for one in held if one is not None] == ["idle", "global_load"]


def test_a_kernel_that_was_compiled_and_not_launched_is_no_matter() -> None:
    kernels = {"k": KernelFact(32, 0, 0), "other": KernelFact(255, 0, 400)}
    assert bottleneck(TIMING, replace(COUNTED, kernels=kernels)) is None


def test_there_are_words_for_a_kernel_in_which_nothing_stands_out() -> None:
    assert "grader sweep 1.2" in sentence("bottleneck", "unknown", "advice", facts={"label": "1.2"})


def test_every_kind_has_its_words_its_place_in_the_schema_and_its_line_in_the_page() -> None:
    sentences = tomllib.loads((ROOT / "grader/explain/en/sentences.toml").read_text(encoding="utf-8"))
    kinds = set(sentences["bottleneck"])
    schema = json.loads((ROOT / "docs/verdict.schema.json").read_text(encoding="utf-8"))
    assert set(schema["$defs"]["bottleneck"]["properties"]["kind"]["enum"]) == kinds
    page = (ROOT / "docs/verdict.md").read_text(encoding="utf-8")
    assert not [kind for kind in kinds if f"`{kind}`" not in page]
    assert {kind for kind, *_ in LOOKS} | {"limit", "launches", "unknown"} == kinds


# ---- kernels that are right and slow --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "file", "kind", "line"),
    [
        ("1.2", "puzzle_01_vector_add/lanes_far_apart.cu", "global_load", 6),
        ("2.2", "puzzle_02_tiled_gemm/even_from_global_memory.cu", "loaded_again", 14),
        ("3.4", "puzzle_03_bank_conflicts/padded_not_at_all.cu", "shared_load", 17),
        ("5.3", "puzzle_05_reductions/sum_an_atomic_a_thread.cu", "atomics", 9),
    ],
)
def test_of_a_slow_kernel_the_reason_and_its_line_are_told(
    judge: Judge, part: str, file: str, kind: str, line: int
) -> None:
    located = load_catalog(ROOT).resolve(part)[1]
    assert located is not None
    verdict = judge(located, ROOT / "tests" / "wrong" / file)
    counted = replace(COUNTED, counters=verdict.counters, reference=verdict.reference_counters)
    held = bottleneck(TIMING, counted)
    assert held is not None
    assert (held.kind, held.line) == (kind, line)
