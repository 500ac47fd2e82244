"""Damaged PTX gives an error with its line, or a program that is well formed; never anything else, and never a hang."""

from __future__ import annotations

import random
import time

import pytest

from grader.simt.lower import lower
from grader.simt.program import program_bytes
from grader.simt.program_check import check
from grader.simt.ptx import PtxError
from tests.ptx_mutations import mutated
from tests.ptx_snippets import FIXTURES

TEXTS = [(FIXTURES / f"{name}.ptx").read_text() for name in ("line_numbers", "inline_assembly", "calls", "warps")]


@pytest.mark.parametrize("seed", range(8))
def test_damaged_text_is_refused_with_a_line_or_lowered(seed: int) -> None:
    rng = random.Random(seed)
    refused = lowered = 0
    for _ in range(25):
        text = mutated(rng.choice(TEXTS), rng)
        start = time.process_time()
        line = outcome(text)
        assert time.process_time() - start < 2
        assert line is None or 1 <= line <= text.count("\n") + 1
        refused += line is not None
        lowered += line is None
    assert min(refused, lowered) > 0


def outcome(text: str) -> int | None:
    """The line of the error, None where the text gives a well-formed program."""
    try:
        program = lower(text, "x.cu")
    except PtxError as error:
        return error.line
    check(program)
    program_bytes(program)
    return None
