"""Correct kernels in many styles are right and give no finding, whichever order blocks and warps run in.

Those of which nvcc makes something else for other architectures are compiled for one more in an ordinary run.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.build import DEFAULT_TARGET
from tests.correct_kernels import CorrectKernel, Kernels, kernels_in
from tests.sampling import sampled

FILES = kernels_in("correct")
OTHERS = sorted({target for kernels in FILES for target in kernels.targets} - {DEFAULT_TARGET})
TARGETS = {DEFAULT_TARGET, *sampled(OTHERS, len(OTHERS))}
RUNS = [(kernel, target) for kernels in FILES for kernel in kernels for target in kernels.targets if target in TARGETS]


@pytest.mark.parametrize(("kernel", "target"), RUNS, ids=str)
def test_a_correct_kernel_is_right_and_nothing_is_found(kernel: CorrectKernel, target: int) -> None:
    kernel.assert_right(target)


def test_a_wrong_result_is_not_taken_for_right() -> None:
    kernel = FILES[0][0]
    with pytest.raises(AssertionError):
        replace(kernel, right=kernel.right + 1).assert_right()


@pytest.mark.parametrize("kernels", FILES, ids=lambda kernels: kernels.source.stem)
def test_every_entry_of_a_file_is_run(kernels: Kernels) -> None:
    assert sorted(kernels.entries()) == sorted(kernel.name for kernel in kernels)
