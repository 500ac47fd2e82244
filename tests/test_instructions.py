"""Every instruction of PTX that the software GPU knows, each with the results that the PTX ISA gives it."""

from __future__ import annotations

from collections import Counter

import pytest

from grader.simt.machine import operation_names
from tests.instructions import (
    approximations,
    asynchronous,
    atomics,
    barriers,
    bit_operations,
    comparisons,
    control,
    conversions,
    floats,
    halves,
    integers,
    matrices,
    memory,
    moves,
    undefined,
    warps,
)
from tests.instructions.case import Case, check, outcome

CASES: list[Case] = [
    *integers.CASES,
    *bit_operations.CASES,
    *floats.CASES,
    *approximations.CASES,
    *comparisons.CASES,
    *conversions.CASES,
    *halves.CASES,
    *moves.CASES,
    *memory.CASES,
    *atomics.CASES,
    *warps.CASES,
    *barriers.CASES,
    *matrices.CASES,
    *asynchronous.CASES,
    *control.CASES,
    *undefined.CASES,
]


def by_mnemonic() -> dict[str, list[Case]]:
    """The cases by the first two words of the instruction's name: `cvt.rn`, `setp.eq`."""
    found: dict[str, list[Case]] = {}
    for case in CASES:
        mnemonic = ".".join(case.name.split(" ")[0].split(".")[:2])
        found.setdefault(mnemonic, []).append(case)
    return found


@pytest.mark.parametrize("cases", by_mnemonic().values(), ids=by_mnemonic())
def test_instructions(cases: list[Case]) -> None:
    wrong = []
    for case in cases:
        try:
            check(case)
        except Exception as failed:  # each case is told, not the first alone
            wrong.append(f"{case.name}: {type(failed).__name__}: {failed}")
    assert not wrong, "\n".join(wrong)


def test_every_operation_of_the_machine_is_tried() -> None:
    ran = {name for case in CASES for name in outcome(case).operations}
    assert sorted(set(operation_names()) - ran) == []


def test_a_wrong_result_is_told_with_its_operands() -> None:
    body = "ld.global.b32 %r1, [%in];\n> add.s32 %r2, %r1, 1;\nst.global.b32 [%out], %r2;"
    case = Case("add.s32", body, [(5,), (6,)], 1, lambda: [(6,), (8,)], block=2)
    with pytest.raises(AssertionError, match=r"add.s32 of \(0x6\): word 0 is 0x7 instead of 0x8"):
        check(case)


def test_what_no_thread_reaches_is_not_tried() -> None:
    body = "bra past;\n> add.s32 %r2, %t, 1;\nst.global.b32 [%out], %r2;\npast:\n> st.global.b32 [%out], 7;"
    case = Case("st.global.b32", body, [(0,)], 1, lambda: [(7,)], block=1)
    assert outcome(case).operations == {"st.global.b32"}


def test_no_two_tests_have_one_name() -> None:
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []
