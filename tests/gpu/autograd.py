"""7.7 on a real GPU, by hand: `python -m tests.gpu.autograd [--out FILE] [--rows 8192]`.

The solution's `fused_layernorm_linear` on CUDA tensors: result and gradients beside PyTorch's in float64, on PyTorch's
current stream and captured by `torch.cuda.graph`; then, by width, the times of forward and of forward and backward:
our kernels, PyTorch's layer_norm and linear one after the other on the same GPU (TF32 off), and those on the CPU.
Medians of device events; on the CPU, of its clock. Exits 0 only if all values are right.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch

from grader.catalog import load_catalog
from tests.gpu.bare import about as on_this_gpu
from tests.gpu.first_light import about

Layer: TypeAlias = Callable[..., torch.Tensor]
RUNS, WARM_UP, CPU_RUNS = 30, 5, 3
HIDDEN, OUT_FEATURES = 1024, (64, 128, 256, 512, 1024)
TOLERANCE = 2.0**-12  # of the largest value of a tensor: sums of 8,192 terms, in another order


def fused() -> Layer:
    """The function of the solution, and with it the entries that it builds on."""
    located = load_catalog().resolve("fused_layernorm_linear")[1]
    assert located is not None
    spec = importlib.util.spec_from_file_location("autograd_solution", located.solution_path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Layer = module.fused_layernorm_linear
    return function


def unfused(
    x: torch.Tensor, ln_weight: torch.Tensor, ln_bias: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    normed = torch.nn.functional.layer_norm(x, x.shape[-1:], ln_weight, ln_bias, 1e-5)
    return torch.nn.functional.linear(normed, weight, bias)


def drawn(rows: int, out_features: int, device: str) -> list[torch.Tensor]:
    """x, ln_weight, ln_bias, weight, bias, each with a gradient to come."""
    random = torch.Generator().manual_seed(7)
    shapes = ((4, rows // 4, HIDDEN), (HIDDEN,), (HIDDEN,), (out_features, HIDDEN), (out_features,))
    tensors = [torch.randn(shape, generator=random) for shape in shapes]
    tensors[3] /= HIDDEN**0.5
    return [tensor.to(device).requires_grad_() for tensor in tensors]


def differences(layer: Layer, rows: int, out_features: int) -> Iterator[str]:
    """Where result or gradients are not PyTorch's in float64, as they are and out of a graph."""
    tensors = drawn(rows, out_features, "cuda")
    exact = [tensor.detach().double().requires_grad_() for tensor in tensors]
    expected = unfused(*exact)
    dy = torch.randn(expected.shape, device="cuda")
    wanted = [expected, *torch.autograd.grad((expected * dy).sum(), exact)]
    for how, got in (("eager", results(layer, tensors, dy)), ("graph", captured(layer, tensors, dy))):
        for name, one, right in zip(("y", "dx", "dgamma", "dbeta", "dW", "dbias"), got, wanted, strict=True):
            off = float(((one.double() - right).abs().max() / right.abs().max()).detach())
            if not off <= TOLERANCE:
                yield f"{how}, out_features {out_features}: {name} is off by {off:.2g} of its largest value"


def results(layer: Layer, tensors: Sequence[torch.Tensor], dy: torch.Tensor) -> list[torch.Tensor]:
    result = layer(*tensors)
    return [result, *torch.autograd.grad(result, list(tensors), dy)]


def captured(layer: Layer, tensors: Sequence[torch.Tensor], dy: torch.Tensor) -> list[torch.Tensor]:
    """The same from a graph, which reads its inputs when it is replayed."""
    graph = torch.cuda.CUDAGraph()
    inputs = [torch.zeros_like(tensor).requires_grad_() for tensor in tensors]
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        got = results(layer, inputs, dy)
    with torch.no_grad():
        for into, tensor in zip(inputs, tensors, strict=True):
            into.copy_(tensor)
    graph.replay()
    torch.cuda.synchronize()
    return got


def milliseconds(function: Callable[[], object], device: str) -> float:
    """The median of some runs."""
    if device == "cpu":
        return round(statistics.median(_clock(function) for _ in range(CPU_RUNS)) * 1e3, 4)
    times: list[float] = []
    for run in range(WARM_UP + RUNS):
        begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        begun.record()
        function()
        ended.record()
        ended.synchronize()
        if run >= WARM_UP:
            times.append(begun.elapsed_time(ended))
    return round(statistics.median(times), 4)


def _clock(function: Callable[[], object]) -> float:
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def timed(layer: Layer, rows: int, out_features: int, device: str) -> dict[str, float]:
    tensors = drawn(rows, out_features, device)
    dy = torch.randn((4, rows // 4, out_features), device=device)
    with torch.no_grad():
        forward = milliseconds(lambda: layer(*tensors), device)
    return {"forward": forward, "forward_backward": milliseconds(lambda: results(layer, tensors, dy), device)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--commit")
    chosen = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    layer, widths = fused(), []
    problems = [problem for width in OUT_FEATURES for problem in differences(layer, 512, width)]
    for width in OUT_FEATURES:
        row: dict[str, Any] = {"out_features": width}
        for name, one, device in (
            ("ours", layer, "cuda"),
            ("pytorch", unfused, "cuda"),
            ("pytorch_cpu", unfused, "cpu"),
        ):
            row[name] = timed(one, chosen.rows, width, device)
        print(json.dumps(row), flush=True)
        widths.append(row)
    head = about(chosen.commit) | on_this_gpu("tests.gpu.autograd")
    result = {"about": head, "rows": chosen.rows, "hidden": HIDDEN, "milliseconds": widths, "problems": problems}
    print("\n".join(problems) or "all values right")
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
