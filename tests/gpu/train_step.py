"""A training step on a real GPU, by hand: `python -m tests.gpu.train_step [--out FILE] [--commit COMMIT] [--no-ncu]`.

One layer and two, 64×256×128 and 1024³, f32 and f16: ten steps of the solutions' ops, eager and as a captured graph,
equal bit for bit and near what float64 gives, on a stream of their own too; a rate that changes counts in the graph as
well; nothing is allocated, the graph has kernel nodes alone, the loss falls. Then the time of a step: ours and
PyTorch's, eager and captured, TF32 off. Where ncu is there, its metrics of each kernel of one replayed step, and of
forward, backward and update. Exits 0 only if all holds, and our captured step in f32 takes at most 1.5 times PyTorch's
at the small size.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import itertools
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from grader.op_kinds import bytes_moved, operations
from tests.gpu.bare import about as on_this_gpu
from tests.gpu.counting import output
from tests.gpu.first_light import about
from tests.gpu.networks import DTYPES, FORWARD, Network, Size, captured, in_float64, pytorch_by_hand
from tests.gpu.networks import pytorch_step as by_pytorch

SMALL = Size(1, 64, 256, 128)
SIZES = (SMALL, Size(2, 64, 256, 128), Size(1, 1024, 1024, 1024), Size(2, 1024, 1024, 1024))
STEPS, WARM_UP, RUNS, IN_A_RUN = 10, 3, 15, 40
AT_ONCE = 4  # profilers; they take turns at the counters, but not while they start
SLOWEST = 1.5  # times PyTorch's captured step in f32, at the small size
METRICS = {
    "ns": "gpu__time_duration.sum",
    "dram_read": "dram__bytes_read.sum",
    "dram_written": "dram__bytes_write.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "instructions": "smsp__inst_executed.sum",
}
_KERNEL_NODE = 0  # CU_GRAPH_NODE_TYPE_KERNEL


# ---- values ----


def differences(size: Size, name: str) -> Iterator[str]:
    """What is not as it has to be in ten steps of this network."""
    eager, graph, aside = (Network(size, DTYPES[name]) for _ in range(3))
    losses = [eager.loss()]
    wanted = in_float64(eager, STEPS)
    one, other, third = eager.step(), graph.step(), aside.step()
    described = len(one.calls)  # now, so that what follows shows what a step allocates
    for _ in range(STEPS):
        allocated = torch.cuda.memory_stats()["allocation.all.allocated"]
        one()
        if torch.cuda.memory_stats()["allocation.all.allocated"] != allocated:
            yield "a step allocates memory"
        losses.append(eager.loss())
    other.capture()
    for _ in range(STEPS):
        other()
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(STEPS):
            third()
    torch.cuda.synchronize()
    yield from _unlike(eager, graph, "the captured steps")
    yield from _unlike(eager, aside, "steps on a stream of their own")
    if not all(after < before for before, after in itertools.pairwise(losses)):
        yield f"the loss does not fall: {losses}"
    # Ten roundings of each weight; in half also numbers near 0 before a ReLU, whose side rounding decides.
    unit = 2.0**-18 if name == "f32" else 2.0**-6
    for place, (got, right) in enumerate(zip(eager.weights, wanted, strict=True)):
        off = float((got.double() - right).abs().max() / right.abs().max())
        if not off <= unit:
            yield f"weight {place} is off by {off:.2g} of its largest value"
    one.lr = other.lr = size.lr / 2
    one()
    other()
    torch.cuda.synchronize()
    yield from _unlike(eager, graph, "a captured step after the rate has changed")
    yield from _other_nodes(graph, described)
    print(f"{size.name} {name}: loss {losses[0]:.5g}, {losses[-1]:.5g}, {losses[-1] - losses[0]:+.3g}, {STEPS} steps")


def _unlike(one: Network, other: Network, what: str) -> Iterator[str]:
    if not all(torch.equal(a, b) for a, b in zip(one.weights, other.weights, strict=True)):
        yield f"{what} give other bits"


def _other_nodes(network: Network, count_of_ops: int) -> Iterator[str]:
    """Nodes of the graph that are no kernels, or a number of them that is not that of the ops."""
    graph, step = torch.cuda.CUDAGraph(keep_graph=True), network.step()
    step()
    with torch.cuda.graph(graph):
        step()
    driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_size_t(0)
    handle = ctypes.c_void_p(graph.raw_cuda_graph())
    driver.cuGraphGetNodes(handle, None, ctypes.byref(count))
    nodes = (ctypes.c_void_p * count.value)()
    driver.cuGraphGetNodes(handle, nodes, ctypes.byref(count))
    kinds = []
    for node in nodes:
        kind = ctypes.c_int(-1)
        driver.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind))
        kinds.append(kind.value)
    if kinds != [_KERNEL_NODE] * count_of_ops:
        yield f"the graph of {count_of_ops} ops has nodes of the kinds {kinds}"


# ---- times ----


def microseconds(step: Callable[[], object]) -> float:
    """Of one step among many, by device events: the median of some runs."""
    taken = []
    for run in range(WARM_UP + RUNS):
        begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        begun.record()
        for _ in range(IN_A_RUN):
            step()
        ended.record()
        ended.synchronize()
        if run >= WARM_UP:
            taken.append(1e3 * begun.elapsed_time(ended) / IN_A_RUN)
    return float(round(statistics.median(taken), 3))


def timed(size: Size, name: str) -> dict[str, float]:
    dtype = DTYPES[name]
    ours = Network(size, dtype).step()
    found = {"ours_eager": microseconds(ours)}
    ours.capture()
    found["ours_captured"] = microseconds(ours)
    found["pytorch_eager"] = microseconds(by_pytorch(Network(size, dtype)))
    found["pytorch_captured"] = microseconds(captured(by_pytorch(Network(size, dtype))).replay)
    by_hand = pytorch_by_hand(Network(size, dtype))
    if by_hand is not None:
        found["pytorch_by_hand_captured"] = microseconds(captured(by_hand).replay)
    return found


# ---- what ncu counts ----


def replay_once(size: Size, name: str) -> None:
    """What is profiled: one replay, after a step that is not."""
    step = Network(size, DTYPES[name]).step()
    step()
    step.capture()
    step()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()  # type: ignore[no-untyped-call]
    step()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()  # type: ignore[no-untyped-call]


def profiled(size: Size, name: str) -> dict[str, Any]:
    """The kernels of one replayed step with their ops and metrics, and sums of forward, backward and update."""
    network = Network(size, DTYPES[name])
    calls = network.step().calls
    command = ["ncu", "--clock-control", "none", "--profile-from-start", "off", "--csv", "--page", "raw"]
    command += ["--print-units", "base"]
    command += ["--metrics", ",".join(METRICS.values()), sys.executable, "-m", "tests.gpu.train_step"]
    command += ["--replay", name, *map(str, (size.layers, size.rows, size.features, size.outputs))]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100).stdout
    rows = [row for row in csv.DictReader(said[said.index('"ID"') :].splitlines()) if row["ID"]]
    kernels = []
    for call, row in zip(calls, rows, strict=True):
        inputs, outputs = ([tuple(tensor.shape) for tensor in side] for side in (call.inputs, call.outputs))
        sizes = [tensor.element_size() for tensor in (*call.inputs, *call.outputs)]
        counted = {key: int(float(row[metric].replace(",", ""))) for key, metric in METRICS.items()}
        needed = {"bytes": bytes_moved(inputs, outputs, sizes), "operations": operations(call.op, inputs, outputs)}
        kernels.append({"op": call.op.name, "kernel": row["Kernel Name"], **needed, **counted})
    first = FORWARD[size.layers]
    passes = {
        "forward": kernels[:first],
        "backward": [one for one in kernels[first:] if one["op"] != "SgdStep"],
        "update": [one for one in kernels if one["op"] == "SgdStep"],
    }
    return {"size": size.name, "type": name, "kernels": kernels, "passes": {k: _summed(v) for k, v in passes.items()}}


def _summed(kernels: Sequence[dict[str, Any]]) -> dict[str, int]:
    keys = ("bytes", "operations", *METRICS)
    return {"kernels": len(kernels), **{key: sum(one[key] for one in kernels) for key in keys}}


# ---- all of it ----


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("train_step.json"))
    parser.add_argument("--commit")
    parser.add_argument("--no-ncu", action="store_true")
    parser.add_argument("--replay", nargs=5, metavar=("TYPE", "LAYERS", "ROWS", "FEATURES", "OUTPUTS"))
    chosen = parser.parse_args(arguments)
    torch.backends.cuda.matmul.allow_tf32 = False
    if chosen.replay:
        replay_once(Size(*map(int, chosen.replay[1:])), chosen.replay[0])
        return 0
    method = (
        f"device events around {IN_A_RUN} steps in a row with warm caches, a step's share; the median of {RUNS} runs"
    )
    head = about(chosen.commit) | on_this_gpu("tests.gpu.train_step") | {"method": method}
    steps: list[dict[str, Any]] = []
    problems: list[str] = []
    found: dict[str, Any] = {"about": head, "steps": steps, "ncu": [], "problems": problems}
    for size, name in itertools.product(SIZES, DTYPES):
        problems += [f"{size.name} {name}: {said}" for said in differences(size, name)]
        steps.append({"size": size.name, "type": name, "microseconds": timed(size, name)})
        print(json.dumps(steps[-1], ensure_ascii=False), flush=True)
        chosen.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    small = steps[0]["microseconds"]
    if small["ours_captured"] > SLOWEST * min(small["pytorch_captured"], small["pytorch_by_hand_captured"]):
        problems.append(f"the captured step takes more than {SLOWEST} times PyTorch's: {small}")
    if not chosen.no_ncu and shutil.which("ncu"):
        head["ncu"] = output(["ncu", "--version"]).splitlines()[-1]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            every = list(itertools.product(SIZES[:2], DTYPES))
            for (size, name), future in [(one, pool.submit(profiled, *one)) for one in every]:
                try:
                    found["ncu"].append(future.result())
                except (subprocess.SubprocessError, ValueError, KeyError) as failed:
                    said = f"{failed!s:.300} {getattr(failed, 'stdout', '')!s:.300}"
                    problems.append(f"ncu, {size.name} {name}: {said}")
    chosen.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("\n".join(problems) or "all as it has to be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
