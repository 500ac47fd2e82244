"""What CUB's block and warp primitives compile to is right and gives no finding.

Four files, each slow to compile: an ordinary run takes one of them, which changes with the commit.
"""

from __future__ import annotations

import pytest

from tests.correct_kernels import CorrectKernel, Kernels, kernels_in
from tests.sampling import sampled

FILES = kernels_in("cub")


@pytest.mark.parametrize("kernel", [kernel for kernels in sampled(FILES, len(FILES)) for kernel in kernels], ids=str)
def test_a_primitive_is_right_and_nothing_is_found(kernel: CorrectKernel) -> None:
    kernel.assert_right()


@pytest.mark.parametrize("kernels", FILES, ids=lambda kernels: kernels.source.stem)
def test_every_entry_of_a_file_is_run(kernels: Kernels) -> None:
    assert sorted(kernels.entries()) == sorted(kernel.name for kernel in kernels)
