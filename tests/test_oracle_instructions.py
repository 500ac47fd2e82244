"""Every instruction against what an H200 made of it (results/h200/instructions.npz).

Where PTX gives the bits the GPU has them, which holds the expectations of tests/instructions to the hardware; and the
software GPU gives the GPU's bits wherever tests/oracle/differences.py does not say why it does not.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.instructions.case import Case, Word, outcome
from tests.instructions.words import Anything, Near
from tests.oracle.differences import DIFFERENCES, Words, listed
from tests.oracle.recorded import promised, record
from tests.test_instructions import CASES


def _stem(case: Case) -> str:
    """The instruction without types: ld, setp, cvt."""
    return case.name.split(" ")[0].split(".")[0]


STEMS = sorted({_stem(case) for case in CASES})


@functools.cache
def measured() -> list[Case]:
    return [case for case in CASES if record().has(case)]


@functools.cache
def _theirs(case: Case) -> Words:
    """What the H200 made of it."""
    return record().words(case)


def _of(stem: str) -> list[Case]:
    return [case for case in measured() if _stem(case) == stem]


def _ours(case: Case) -> Words:
    return np.array(outcome(case).rows, np.uint64).reshape(len(case.rows), case.words)


def _is_open(word: Word) -> bool:
    """Whether PTX promises nothing: a sine far from zero may be any number of its range."""
    return isinstance(word, Anything) or (isinstance(word, Near) and word.error >= 1 and word.error >= abs(word.number))


@pytest.mark.parametrize("stem", STEMS)
def test_the_gpu_does_what_ptx_says(stem: str) -> None:
    for case in _of(stem):
        if any(difference.kind == "other" for difference in listed(case)):
            continue
        words = _theirs(case)
        for got, wanted in zip(words.tolist(), promised(case), strict=True):
            for bits, word in zip(got, wanted, strict=True):
                assert word == bits if isinstance(word, int) else word.accepts(bits), (case.name, hex(bits), word)


@pytest.mark.parametrize("stem", STEMS)
def test_the_software_gpu_gives_the_same_bits(stem: str) -> None:
    for case in _of(stem):
        theirs, ours = _theirs(case), _ours(case)
        defined = [[not _is_open(word) for word in row] for row in promised(case)]
        differing = (theirs != ours) & np.array(defined).reshape(ours.shape)
        if not differing.any():
            continue
        (difference,) = listed(case)
        assert difference.allows(case, theirs[differing], ours[differing]), case.name


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda difference: difference.cases)
def test_what_is_listed_as_different_is_different(difference: object) -> None:
    cases = [case for case in measured() if difference in listed(case)]
    assert any((_theirs(case) != _ours(case)).any() for case in cases)


def test_a_difference_that_nobody_listed_is_told() -> None:
    """One wrong bit in a result that PTX defines."""
    case = next(case for case in measured() if case.name == "add.s32")
    words = record().words(case)
    assert (words == _ours(case)).all()
    assert listed(case) == []


def test_a_distance_beyond_what_is_said_is_not_allowed() -> None:
    case = next(case for case in measured() if case.name == "rcp.approx.f32")
    (difference,) = listed(case)
    one = np.array([0x3F800000], np.uint64)
    assert difference.allows(case, one, one + np.uint64(1))
    assert not difference.allows(case, one, one + np.uint64(2))


def test_a_record_with_a_wrong_bit_is_refused() -> None:
    """The digest holds what the file does not keep."""
    case = next(case for case in measured() if case.name == "add.s32")
    changed = Case(case.name, case.body, case.rows, case.words, lambda: [(0,)] * len(case.rows), block=case.block)
    assert record().has(changed)
    with pytest.raises(ValueError, match=r"add\.s32: the GPU gave other bits"):
        record().words(changed)


def test_nearly_all_cases_were_measured() -> None:
    """What was added since the last measurement is not known; docs/exactness.md counts it."""
    assert len(measured()) > 0.9 * len(CASES)
