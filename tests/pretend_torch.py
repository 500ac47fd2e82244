"""PyTorch's process without a GPU: `python -m tests.pretend_torch [MODE]`, for `grader.cuda.pytorch_child`.

Functions run on the CPU; a lap takes 2 ms on the device's clock and as long as it takes on the host's. In mode "eager"
nothing can be captured; "compiled" compiles as torch.compile does, but without its code generator; "crowded" has no
memory; in "absent" there is no such device.
"""

from __future__ import annotations

import functools
import os
import sys
import time

from grader.cuda import pytorch_child
from grader.cuda.pytorch_child import Refused, Run


class CPU:
    """A device that is none."""

    place = "cpu"

    def __init__(self, mode: str) -> None:
        self.mode = mode
        if mode == "absent":
            raise Refused("No CUDA here.")

    def give_back(self) -> None:
        """There is none to give."""

    def captured(self, run: Run) -> Run | None:
        import torch

        if self.mode == "crowded":
            raise torch.OutOfMemoryError
        run()
        return None if self.mode == "eager" else run

    def timed(self, replay: Run) -> tuple[float, float]:
        begun = time.perf_counter()
        replay()
        return 2.0, 1e3 * (time.perf_counter() - begun)


def main() -> int:
    mode = next((argument for argument in sys.argv[1:] if not argument.startswith("--")), "")
    if mode == "compiled":
        import torch

        torch.compile = functools.partial(torch.compile, backend="aot_eager")
    return pytorch_child.main(functools.partial(CPU, mode))


if __name__ == "__main__":
    os._exit(main())  # as pytorch_child: PyTorch takes a second to tidy up
