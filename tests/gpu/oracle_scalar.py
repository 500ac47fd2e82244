"""What a GPU makes of every instruction that tests/instructions has a case of:
`python -m tests.gpu.oracle_scalar [--out FILE]`.

Each case is a kernel of its own, assembled by ptxas, run once on the operands of the case. What comes back is
results/h200/instructions.npz (tests/oracle/recorded.py). A fault costs a process, no more.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from grader.cuda.driver import DriverError
from tests.gpu.bare import Array, BareGPU, about, save
from tests.instructions.case import PARAMETER, Case, ptx
from tests.oracle.recorded import packed
from tests.test_instructions import CASES

PATIENCE = 20  # seconds for one case


def measurable(case: Case) -> bool:
    """Whether a GPU can be asked: what the machine has to report, a GPU does not survive or does not mind. Products of
    matrices round as the target does, and are measured by themselves (oracle_matrix.py).
    """
    return not case.findings and not case.name.startswith(("track.", "mma.", "wmma.mma."))


def assembled(case: Case, folder: Path, number: int) -> Path | str:
    """The cubin, or what ptxas said."""
    source, cubin = folder / f"{number}.ptx", folder / f"{number}.cubin"
    source.write_text(ptx(case).replace(".target sm_80", ".target sm_90", 1))
    command = ["ptxas", "-arch=sm_90", str(source), "-o", str(cubin)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return cubin if done.returncode == 0 else done.stderr.strip().split("\n")[0].split("; ")[-1]


def ran(gpu: BareGPU, case: Case, cubin: Path) -> Array:
    """The words that the threads leave, (threads, words)."""
    given = np.array(case.rows, np.uint64)
    out = np.zeros((len(case.rows), case.words), np.uint64)
    module = gpu.module(cubin.read_bytes())
    made = gpu.run(module, "k", len(case.rows) // case.block, case.block, [given, out, PARAMETER], out)
    gpu.unload(module)
    return made


def work(wanted: list[tuple[int, Path]], back: Connection) -> None:
    """Runs cases one after the other and sends what came of each; ends at the first fault."""
    gpu = BareGPU()
    for number, cubin in wanted:
        try:
            back.send((number, ran(gpu, CASES[number], cubin)))
        except DriverError as error:
            back.send((number, str(error)))
            return


def measured(cubins: dict[int, Path]) -> dict[int, Array | str]:
    """The words of each case, or what became of it."""
    found: dict[int, Array | str] = {}
    context = multiprocessing.get_context("spawn")
    while left := [(number, cubin) for number, cubin in cubins.items() if number not in found]:
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(left, sending))
        process.start()
        sending.close()
        for number, _ in left:
            # the first answer waits for the driver to start
            if not receiving.poll(PATIENCE if found else 3 * PATIENCE):
                found[number] = "no end in sight"
                break
            try:
                said, result = receiving.recv()
            except EOFError:
                found[number] = "the process ended"
                break
            found[said] = result
            if isinstance(result, str):
                break
        process.kill()
        process.join()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("instructions.npz"))
    options = parser.parse_args()
    numbers = [number for number, case in enumerate(CASES) if measurable(case)]
    failed = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        made = pool.map(lambda number: assembled(CASES[number], Path(folder), number), numbers)
        cubins: dict[int, Path] = {}
        for number, result in zip(numbers, made, strict=True):
            if isinstance(result, str):
                failed[CASES[number].name] = result
            else:
                cubins[number] = result
        print(f"{len(cubins)} assembled, {len(failed)} not", flush=True)
        results = measured(cubins)
    failed |= {CASES[number].name: result for number, result in results.items() if isinstance(result, str)}
    arrays = {CASES[number].name: result for number, result in results.items() if not isinstance(result, str)}
    save(options.out, packed(about("tests.gpu.oracle_scalar"), CASES, arrays, failed))
    print(json.dumps(failed, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
