"""What is said of an error that nobody foresaw."""

from __future__ import annotations

import pytest

from grader.failed import of_itself


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes.")]
)
def test_a_lack_of_memory_is_told_as_that(error: Exception) -> None:
    assert of_itself(error) == "This machine's memory has no room for a case of this size."


def test_another_error_is_the_graders_own() -> None:
    assert of_itself(ZeroDivisionError("x")) == "The grader itself failed (ZeroDivisionError: x)."
