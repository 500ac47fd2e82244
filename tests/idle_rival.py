"""A rival's process that runs nothing: `python -m tests.idle_rival [crowded]`, in the place of PyTorch's.

It answers as `grader.cuda.pytorch_child` does, and a lap takes 2 ms. It is for tests of who races whom, which need no
PyTorch: importing it takes a process two seconds. `tests.pretend_torch` is the stand-in that runs it. "crowded" has no
memory.
"""

from __future__ import annotations

import sys

from grader.wire import WireBroken, receive, send

FULL = {"error": "The GPU has not enough free memory for this case.", "name": "CUDA_ERROR_OUT_OF_MEMORY"}


def main() -> None:
    """Answers until the other side is gone."""
    while True:
        try:
            message, _ = receive(sys.stdin.buffer)
        except WireBroken:
            return
        if "crowded" in sys.argv:
            send(sys.stdout.buffer, FULL)
            return
        send(sys.stdout.buffer, {"ms": 2.0, "host_ms": 2.0} if message["do"] == "lap" else {"captured": True})


if __name__ == "__main__":
    main()
