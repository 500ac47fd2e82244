"""Registers without a value are told as a fragment where a matrix call uses them, and as a variable elsewhere."""

from __future__ import annotations

import pytest

from grader.compiled import named_fragments
from grader.explain import Observation

TEXT = "wmma::mma_sync(c, a, b, c);\nwmma::store_matrix_sync (out, c, 16, wmma::mem_row_major);\nout[i] = sum;\n"


def unset(line: int | None, **facts: object) -> Observation:
    return Observation("uninitialised_read", line=line, facts={"space": "register", **facts})


@pytest.mark.parametrize(("line", "call"), [(1, "mma_sync"), (2, "store_matrix_sync")])
def test_a_matrix_call_uses_a_fragment(line: int, call: str) -> None:
    (seen,) = named_fragments([unset(line)], TEXT)
    assert (seen.facts["variant"], seen.facts["call"]) == ("fragment", call)


@pytest.mark.parametrize("seen", [unset(3), unset(None), unset(9), Observation("wrong_values", line=1)])
def test_all_else_stays_as_it_is(seen: Observation) -> None:
    assert named_fragments([seen], TEXT) == [seen]


def test_bytes_of_shared_memory_are_no_fragment() -> None:
    seen = Observation("uninitialised_read", line=1, facts={"space": "shared"})
    assert named_fragments([seen], TEXT) == [seen]
