"""PyTorch's process: `python -m grader.cuda.pytorch_child`, spoken to over its standard input and output (wire.py).

It runs what a part has for PyTorch, or a product of matrices, as a replay runs a plan: on tensors of the part's own
types at addresses that stay, as a CUDA graph, with a cold L2 cache and fresh inputs. Results are allocated within the
graph. Where PyTorch cannot capture a function, it is called. Single precision is single precision: TF32 is off.

PyTorch is imported at once, with `--compiled` its compiler too; the GPU is touched when there is something to run.

    {"do": "part", "folder": "...", "part": "rmsnorm", "params": {...}, "sets": [{"x": path}], "compiled": false}
    {"do": "product", "dtype": "float16", "size": 4096}            C = A · B, square
                                                                   both answered with {"captured": true}
    {"do": "lap", "inputs": 0}                                     answered with {"ms": ..., "host_ms": ...}
"""

from __future__ import annotations

import functools
import gc
import importlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from grader.wire import WireBroken, receive, send

if TYPE_CHECKING:
    import torch

_WARM_UP = 3  # as PyTorch's page on graphs has it; the first compiles
_FLUSH_BYTES = 256 << 20  # at least; and four times the L2

Run = Callable[[], object]


class Refused(Exception):
    """The function cannot be run here; the message is one sentence."""


class Device(Protocol):
    """Where tensors lie and functions run."""

    place: str

    def give_back(self) -> None:
        """Frees the memory that nothing holds any more."""

    def captured(self, run: Run) -> Run | None:
        """A replay of what `run` does, made ready; None where it cannot be captured."""

    def timed(self, replay: Run) -> tuple[float, float]:
        """Milliseconds between two events, and by the host's clock; the L2 cache is cold before."""


class CUDA:
    """The first GPU, through torch."""

    place = "cuda"

    def __init__(self) -> None:
        import torch

        from grader.cuda.driver import Driver

        self._cuda: Any = torch.cuda
        self._cuda.init()
        self._driver = Driver()
        self._persists = self._driver.attribute("MAX_PERSISTING_L2_CACHE_SIZE") > 0
        size = max(_FLUSH_BYTES, 4 * self._cuda.get_device_properties(0).L2_cache_size)
        self._flush = torch.empty(size, dtype=torch.uint8, device=self.place)
        self._start, self._stop = (self._cuda.Event(enable_timing=True) for _ in range(2))

    def give_back(self) -> None:
        gc.collect()
        self._cuda.empty_cache()

    def captured(self, run: Run) -> Run | None:
        cuda = self._cuda
        stream = cuda.Stream()
        stream.wait_stream(cuda.current_stream())
        with cuda.stream(stream):
            for _ in range(_WARM_UP):
                run()
        cuda.synchronize()
        graph = cuda.CUDAGraph()
        try:
            with cuda.graph(graph):
                run()
        except RuntimeError:  # something in it waits for the GPU, or is only enqueued once
            cuda.synchronize()
            return None
        replay: Run = graph.replay
        return replay

    def timed(self, replay: Run) -> tuple[float, float]:
        """All is enqueued while the flush runs, so that between the events there is nothing but the function."""
        self._cuda.synchronize()
        if self._persists:  # another process may have left lines there
            self._driver.call("cuCtxResetPersistingL2Cache")
        self._flush.zero_()
        self._start.record()
        replay()
        self._stop.record()
        self._start.synchronize()
        begun = time.perf_counter()
        self._stop.synchronize()
        return self._start.elapsed_time(self._stop), 1e3 * (time.perf_counter() - begun)


class Prepared:
    """One function, its sets of inputs, and the tensors that it runs on."""

    def __init__(
        self, device: Device, function: Callable[..., Any], sets: Sequence[Mapping[str, torch.Tensor]]
    ) -> None:
        self._device = device
        self._sets = [{name: tensor.to(device.place) for name, tensor in one.items()} for one in sets]
        self._given = {name: tensor.clone() for name, tensor in self._sets[0].items()}
        run = functools.partial(function, **self._given)
        replay = device.captured(run)
        self.captured = replay is not None
        self._replay = replay or run

    def lap(self, number: int) -> tuple[float, float]:
        """A lap on the set of inputs of this number, where there are several."""
        for name, tensor in self._sets[number % len(self._sets)].items():
            self._given[name].copy_(tensor)
        return self._device.timed(self._replay)


def of_part(
    device: Device,
    folder: str,
    name: str,
    params: Mapping[str, int | float],
    sets: Sequence[Mapping[str, str]],
    compiled: bool,
) -> Prepared:
    """What the part of this name, in the puzzle of this folder, has for PyTorch; inputs from files of raw bytes."""
    import torch

    from grader.catalog import load_puzzle
    from grader.inputs import torch_type
    from grader.puzzle import call_by_name, scalar_value, shape_of

    root = Path(folder)
    part = next(part for part in load_puzzle(root, root.parents[1]).puzzle.parts if part.name == name)
    function = part.in_pytorch
    if function is None:
        raise Refused(f"PyTorch has nothing like {name}.")
    scalars = {scalar.name: scalar_value(scalar, params) for scalar in part.scalars}
    shaped = {buffer.name: (torch_type(buffer, params), shape_of(buffer, params)) for buffer in part.buffers}
    tensors = [{one: _from_file(path, *shaped[one]) for one, path in paths.items()} for paths in sets]
    chosen = torch.compile(function, dynamic=False) if compiled else function

    def called(**inputs: torch.Tensor) -> object:
        return call_by_name(chosen, {**inputs, **scalars})

    return Prepared(device, called, tensors)


def of_product(device: Device, dtype: str, size: int) -> Prepared:
    """The product of two square matrices."""
    import torch

    drawn = [torch.randn(size, size, device=device.place).to(getattr(torch, dtype)) for _ in range(2)]
    return Prepared(device, torch.matmul, [dict(zip(("input", "other"), drawn, strict=True))])


def _from_file(path: str, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    import torch

    size = Path(path).stat().st_size
    if not size:  # which cannot be mapped
        return torch.empty(shape, dtype=dtype)
    return torch.from_file(path, size=size // dtype.itemsize, dtype=dtype).reshape(shape)


def serve(make: Callable[[], Device], requests: BinaryIO, replies: BinaryIO) -> None:
    """Answers until the other side is gone. The device is made when it is wanted: till then others may be timed."""
    device, prepared = functools.cache(make), None

    def emptied() -> Device:
        nonlocal prepared
        if prepared is not None:
            prepared = None
            device().give_back()
        return device()

    while True:
        try:
            message, _ = receive(requests)
        except WireBroken:
            return
        match message:
            case {"do": "part", "folder": str(folder), "part": str(name), "params": dict(params), "sets": list(sets)}:
                prepared = of_part(emptied(), folder, name, params, sets, bool(message.get("compiled")))
                send(replies, {"captured": prepared.captured})
            case {"do": "product", "dtype": str(dtype), "size": int(size)}:
                prepared = of_product(emptied(), dtype, size)
                send(replies, {"captured": prepared.captured})
            case {"do": "lap", "inputs": int(number)} if prepared is not None:
                ms, host_ms = prepared.lap(number)
                send(replies, {"ms": ms, "host_ms": host_ms})
            case _:
                raise Refused("A request of no known kind.")


def main(make: Callable[[], Device] = CUDA) -> int:
    """Serves on the process's own standard streams; what PyTorch prints goes where errors go."""
    os.environ["CUDA_MODULE_LOADING"] = "LAZY"  # torch has thousands of kernels, and a few of them are wanted
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)
        try:
            import torch

            if "--compiled" in sys.argv:
                importlib.import_module("torch._inductor.compile_fx")
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
            serve(make, sys.stdin.buffer, replies)
        except WireBroken:
            return 1
        except Exception as error:  # of PyTorch's, its compiler's or a puzzle's own function
            send(replies, _said(error))
            return 1
    return 0


def _said(error: Exception) -> dict[str, str]:
    """What failed, in a sentence; a lack of memory under the driver's name for it."""
    if isinstance(error, Refused):
        return {"error": str(error)}
    if type(error).__name__ == "OutOfMemoryError":
        return {"error": "The GPU has not enough free memory for this case.", "name": "CUDA_ERROR_OUT_OF_MEMORY"}
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return {"error": f"PyTorch says {type(error).__name__}: {first[:300]}"}


if __name__ == "__main__":
    os._exit(main())  # PyTorch takes a second to tidy up what the end of the process frees
