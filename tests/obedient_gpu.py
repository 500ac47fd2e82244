"""The pretended GPU, whose driver takes hints: `python -m tests.obedient_gpu PLACES [as tests.pretend_gpu]`.

PLACES are numbers of grader.cuda.addresses.PLACES with commas between them: those whose addresses the driver gives. It
has also the kernel `subtract`, which is no sum.
"""

from __future__ import annotations

import sys
from typing import Any

from grader.cuda.addresses import PLACES
from tests import pretend_gpu
from tests.pretend_gpu import Kernel, PretendDriver, Status

GIVEN = {
    hint for number in filter(None, sys.argv[1:2] and sys.argv[1].split(",")) for hint in PLACES[int(number)].hints(25)
}


class ObedientDriver(PretendDriver):
    def cuMemAddressReserve(self, size: int, alignment: int, hint: int, flags: int) -> tuple[Any, ...]:  # noqa: N802
        if hint in GIVEN:
            return Status.CUDA_SUCCESS, hint
        return super().cuMemAddressReserve(size, alignment, hint, flags)


def subtract(gpu: PretendDriver, a: int, b: int, out: int, n: int) -> None:
    gpu.floats(out, n)[:] = gpu.floats(a, n)


if __name__ == "__main__":
    places = sys.argv.pop(1)
    GIVEN |= {hint for number in filter(None, places.split(",")) for hint in PLACES[int(number)].hints(25)}
    pretend_gpu.KERNELS["subtract"] = Kernel("<QQQi", subtract)
    pretend_gpu.PretendDriver = ObedientDriver  # type: ignore[misc]
    sys.exit(pretend_gpu.main())
