"""Solutions called on CUDA tensors, by hand on a GPU: `python -m tests.gpu.forwarding 1 2 5 6 [--out FILE]`.

Each small case of these puzzles: called once, on a stream of its own, and captured by `torch.cuda.graph` and replayed
on fresh inputs, always equal to PyTorch; the very first call of a build is captured too. A launch that CUDA refuses is
told by its name and leaves PyTorch as it was. Then how long a call takes on the host, beside `torch.add`. Exits 0 only
if all of it holds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from grader.build import build
from grader.catalog import Located, load_catalog
from grader.compare import compare
from grader.inputs import derived_seed, memory_for
from grader.op import Entry, EntryFailed, load_entry
from grader.puzzle import Case, Part
from tests.gpu.bare import about as on_this_gpu
from tests.gpu.first_light import about
from tests.op.parts import copy_part

SEED, CALLS = 20_261_130, 1000
REFUSED = """
__global__ void copy_kernel(const float* x, float* y, int n) {
    if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x];
}
extern "C" cudaError_t copy(const float* x, float* y, int n, cudaStream_t stream) {
    copy_kernel<<<1, n, 0, stream>>>(x, y, n);
    return cudaGetLastError();
}
"""


def fresh(part: Part, case: Case, run: int) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The memory of a case on the GPU, and the inputs that it holds on the CPU."""
    memory = memory_for(part, case, derived_seed(SEED, run), run)
    inputs = {buffer.name: memory[buffer.name].clone() for buffer in part.buffers if buffer.is_read}
    return {name: tensor.cuda() for name, tensor in memory.items()}, inputs


def call(entry: Entry, case: Case, memory: Mapping[str, torch.Tensor]) -> None:
    entry(*(memory[param.name] if param.name in memory else case.params[param.name] for param in entry.part.params))


def plainly(entry: Entry, case: Case) -> int:
    memory, inputs = fresh(entry.part, case, 0)
    call(entry, case, memory)
    return wrong(entry.part, case, inputs, memory)


def on_side_stream(entry: Entry, case: Case) -> int:
    """Work of another stream is in its way: only in its own order are the results right."""
    memory, inputs = fresh(entry.part, case, 1)
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(1_000_000)  # type: ignore[no-untyped-call]
        call(entry, case, memory)
    stream.synchronize()
    return wrong(entry.part, case, inputs, memory)


def captured(entry: Entry, case: Case) -> int:
    """Captured once, replayed on inputs that came later."""
    memory, _ = fresh(entry.part, case, 2)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a size of 0 nothing is captured
        with torch.cuda.graph(graph):
            call(entry, case, memory)
    later, inputs = fresh(entry.part, case, 3)
    for name, tensor in later.items():
        memory[name].copy_(tensor)
    graph.replay()
    torch.cuda.synchronize()
    return wrong(entry.part, case, inputs, memory)


def wrong(part: Part, case: Case, inputs: Mapping[str, torch.Tensor], memory: Mapping[str, torch.Tensor]) -> int:
    """Of a case that places a buffer askew nothing is said here: PyTorch's tensors lie as they lie."""
    return compare(part, case, inputs, {name: tensor.cpu() for name, tensor in memory.items()}).wrong


WAYS: tuple[Callable[[Entry, Case], int], ...] = (captured, plainly, on_side_stream)


def solutions(names: list[str]) -> Iterator[Located]:
    catalog = load_catalog()
    for name in names:
        puzzle, part = catalog.resolve(name)
        yield from (located for located in ([part] if part else puzzle.parts) if not located.part.is_host)


def problems_of(located: Located, row: dict[str, Any]) -> Iterator[str]:
    entry = load_entry(build(located.solution_path), located.part)
    for case in located.part.cases():
        for way in WAYS:
            row["calls"] += 1
            if count := way(entry, case):
                yield f"{located.label} {dict(case.params)} {way.__name__}: {count} wrong"


def refused() -> Iterator[str]:
    """A launch of 2048 threads a block."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "copy.cu"
        source.write_text(REFUSED)
        copy = load_entry(build(source), copy_part())
        x, y = torch.randn(2048, device="cuda"), torch.zeros(2048, device="cuda")
        try:
            copy(x, y, 2048)
        except EntryFailed as failed:
            print(failed)
            if not failed.error.startswith("cudaErrorInvalid"):
                yield f"the refused launch is told as {failed.error}"
        else:
            yield "the refused launch is not told"
        copy(x[:1000], y[:1000], 1000)
        if not torch.equal(y[:1000], x[:1000]) or y[1000:].any():
            yield "after a refused launch the next is not as it should be"


def microseconds() -> dict[str, float]:
    """What a call takes on the host, the GPU having nothing to wait for."""
    located = load_catalog().resolve("1.2")[1]
    assert located is not None
    add, x = load_entry(build(located.solution_path), located.part), torch.randn(1024, device="cuda")
    out = torch.empty_like(x)

    def timed(function: Callable[[], object]) -> float:
        for _ in range(CALLS // 10):
            function()
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(CALLS):
            function()
        spent = time.perf_counter() - begun
        torch.cuda.synchronize()
        return round(spent / CALLS * 1e6, 2)

    return {"entry": timed(lambda: add(x, x, out, 1024)), "torch.add": timed(lambda: torch.add(x, x, out=out))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--commit")
    chosen = parser.parse_args()
    head = about(chosen.commit) | on_this_gpu(f"tests.gpu.forwarding {' '.join(chosen.names)}")
    row: dict[str, Any] = {"about": head, "calls": 0}
    problems = []
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda located: build(located.solution_path), solutions(chosen.names)))
    for located in solutions(chosen.names):
        found = list(problems_of(located, row))
        print(located.label, located.part.name, "wrong" if found else "right", flush=True)
        problems += found
    problems += refused()
    row |= {"parts": [located.label for located in solutions(chosen.names)], "microseconds": microseconds()}
    row["problems"] = problems
    print(json.dumps(row, indent=1))
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(row, indent=1) + "\n", encoding="utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
