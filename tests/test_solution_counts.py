"""The solutions' counts on the software GPU beside what Nsight Compute says of them on an H200
(results/h200/solution_counts.json); what differs stands here, with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.build import build
from grader.catalog import Located, load_catalog
from grader.inputs import derived_seed, memory_for
from grader.puzzle import Case
from grader.record import record
from grader.simt.software import SoftwareGPU

ROOT = Path(__file__).parent.parent
RECORDED = json.loads((ROOT / "results" / "h200" / "solution_counts.json").read_text())
PARTS = {part["part"]: part for part in RECORDED["parts"]}
# The Source page's numbers, which it works out from addresses, and sums of the GPU's own counters.
SOURCE_PAGE = (
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
)
COUNTERS = {
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_requests": "smsp__inst_executed_op_shared_ld.sum",
    "shared_store_requests": "smsp__inst_executed_op_shared_st.sum",
    "global_load_requests": "smsp__inst_executed_op_global_ld.sum",
    "global_store_requests": "smsp__inst_executed_op_global_st.sum",
}
NOBODY = "the GPU counts an instruction as executed even if its predicate switches all lanes off; here it is no request"
BY_MATRIX = "the GPU counts ldmatrix, by which fragments come from shared memory, under another name"
GENERIC = "the GPU counts loads by generic addresses, which ptxas makes of these, under another name"
LOST_TURN = "the GPU's own counter has passes that lost their turn; the Source page has not"
_HALF_ROWS = {
    "shared_load_wavefronts": LOST_TURN,
    "shared_store_wavefronts": LOST_TURN,
    "global_load_requests": NOBODY,
    "global_store_requests": NOBODY,
}
# Of a part, what differs and why: by our name of the number.
REASONS: dict[str, dict[str, str]] = {
    "gemm_tiled": {"global_load_requests": NOBODY},
    "gemm_register_tiled": {"global_load_requests": NOBODY},
    "gemm_bias_act": {"global_load_requests": NOBODY},
    "transpose_tiled": {"shared_store_requests": NOBODY, "global_load_requests": NOBODY},
    "transpose_padded": {"shared_store_requests": NOBODY, "global_load_requests": NOBODY},
    "transpose_swizzled": {"shared_store_requests": NOBODY, "global_load_requests": NOBODY},
    "gemm_wmma_block": {"shared_load_requests": BY_MATRIX},
    "gemm_wmma_any": {"shared_load_requests": BY_MATRIX},
    "gemm_wmma_bf16": {"global_load_requests": GENERIC},
    "block_sum": {"shared_load_requests": NOBODY, "shared_store_requests": NOBODY},
    "rmsnorm_vec": {
        "shared_store_wavefronts": LOST_TURN,
        "global_load_requests": NOBODY,
        "global_store_requests": NOBODY,
    },
    "rmsnorm_backward": {"global_load_requests": NOBODY, "global_store_requests": NOBODY},
    "rmsnorm_f16": _HALF_ROWS,
    "rmsnorm_bf16": _HALF_ROWS,
}


def counted_on_the_gpu(part: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """By kernel, sums over its launches, under our names."""
    sums: dict[str, dict[str, int]] = {}
    for declared, numbers in part["launches"]:
        found = dict(zip(RECORDED["metrics"], numbers, strict=True))
        into = sums.setdefault(
            declared[: declared.index("(")].rpartition(" ")[2], dict.fromkeys((*SOURCE_PAGE, *COUNTERS), 0)
        )
        for name in into:
            into[name] += found[COUNTERS.get(name, name)]
    return sums


def counted_here(located: Located, params: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """The same numbers, as compiled, of the same case."""
    part, case = located.part, Case.of(params)
    built = build(located.solution_path, target=90)
    plan = record(built, part, case).plan
    memory = memory_for(part, case, derived_seed(0, 0), 0)
    roles = {buffer.name: buffer.role for buffer in part.buffers}
    result = SoftwareGPU(built).run(plan, memory, roles=roles)
    assert result.findings == []
    return {
        _plain(kernel): {name: counts["compiled"].get(name, 0) for name in (*SOURCE_PAGE, *COUNTERS)}
        for kernel, counts in result.counters["kernels"].items()
    }


def _plain(mangled: str) -> str:
    """`column_sum_kernel` of `_Z17column_sum_kernelPKfPfii`."""
    length = re.match(r"_Z(\d+)", mangled)
    assert length is not None
    return mangled[length.end() :][: int(length[1])]


def _located() -> dict[str, Located]:
    catalog = load_catalog()
    puzzles = sorted({part["label"].split(".")[0] for part in RECORDED["parts"]})
    return {one.part.name: one for puzzle in puzzles for one in catalog.resolve(puzzle, None)[0].parts}


@pytest.mark.parametrize("name", PARTS)
def test_a_solution_counts_as_on_the_gpu(name: str) -> None:
    part = PARTS[name]
    theirs, ours = counted_on_the_gpu(part), counted_here(_located()[name], part["params"])
    assert set(theirs) == set(ours)
    differing = {
        number for kernel in theirs for number in ours[kernel] if theirs[kernel][number] != ours[kernel][number]
    }
    assert differing == set(REASONS.get(name, {})), {kernel: (theirs[kernel], ours[kernel]) for kernel in theirs}


def test_what_the_source_page_shows_differs_nowhere() -> None:
    assert not {number for reasons in REASONS.values() for number in reasons} & set(SOURCE_PAGE)


def test_reasons_are_given_for_parts_that_were_measured() -> None:
    assert set(REASONS) <= set(PARTS)
