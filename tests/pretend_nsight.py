"""Nsight Compute on a GPU that is none: `python -m tests.pretend_nsight MODE [options] COMMAND ... FOLDER`.

It takes ncu's options, replays the plan in FOLDER on the pretended GPU, and writes a table as ncu does: of each launch
the metric number k (from 1 on) is 1000 k, with commas, but for the last, which this GPU has none of. MODE "permission"
may not count, "broken" ends with an error, "silent" writes nothing, "twice" sees each launch twice, "elsewhere" has a
driver that takes no hint.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

from grader.cuda import nsight_child, replay
from grader.record.plan import Launch, load
from tests.pretend_gpu import L2_BYTES, PretendDriver, Status
from tests.pretend_sweep import KERNELS

ENDS = {
    "permission": "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Counters\n",
    "broken": "==PROF== Connected\n==ERROR== The driver is too old.\n",
    "silent": "",
}


class Obliging(PretendDriver):
    """A driver that gives the addresses it is asked for."""

    def cuMemAddressReserve(self, _size: int, _alignment: int, hint: int, _flags: int) -> tuple[Any, ...]:  # noqa: N802
        return Status.CUDA_SUCCESS, hint


def main(arguments: list[str]) -> int:
    mode, *rest = arguments
    parser = argparse.ArgumentParser()
    for option in ("--clock-control", "--page", "--print-units", "--log-file", "--metrics"):
        parser.add_argument(option, required=True)
    parser.add_argument("--csv", action="store_true", required=True)
    options, command = parser.parse_known_args(rest)
    assert command[1:3] == ["-m", "grader.cuda.nsight_child"]
    log, folder = Path(options.log_file), Path(command[-1])
    if mode in ENDS:
        log.write_text(ENDS[mode])
        return 1
    replay._FLUSH_BYTES = L2_BYTES
    driver = PretendDriver(KERNELS) if mode == "elsewhere" else Obliging(KERNELS)
    if nsight_child.main(folder, driver) != 0:
        log.write_text("==ERROR== The application returned an error code (1).\n")
        return 1
    launches = [one for one in load(folder / "plan.json").operations if isinstance(one, Launch)]
    with log.open("w") as stream:
        stream.write("==PROF== Connected to process 7\n==PROF== Disconnected\n")
        _write_table(
            stream, [one.kernel for one in launches] * (2 if mode == "twice" else 1), options.metrics.split(",")
        )
    return 0


def _write_table(stream: Any, kernels: list[str], metrics: list[str]) -> None:
    table = csv.writer(stream, quoting=csv.QUOTE_ALL)
    table.writerow(["ID", "Kernel Name", "Block Size", *metrics])
    table.writerow(["", "", "", *["sector" for _ in metrics]])
    table.writerow(["0", "fill(unsigned int *)", "(1, 1, 1)", *["7" for _ in metrics]])
    for number, kernel in enumerate(kernels, 1):
        counts = [f"{1000 * place:,}" for place in range(1, len(metrics))] + ["n/a"]
        table.writerow([str(number), f"{kernel}(const float *, int)", "(256, 1, 1)", *counts])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
