"""The parent's side of the replay process: starts it, asks, waits no longer than it may, and ends it.

No CUDA is loaded here. A kernel that faults ends the child; one that hangs has it killed; both become `ReplayFailed`,
and the next plan that is loaded starts another child.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.cache import ToolMissing
from grader.closing import Closing
from grader.cuda.addresses import ARENA_BYTES, PLACES, Place
from grader.cuda.child import Child, ReplayFailed
from grader.cuda.driver import DeviceFacts
from grader.cuda.sensors import Sensors
from grader.cuda.shared_file import SharedFile
from grader.cuda.timing import Lap
from grader.puzzle import Case, Part, buffer_bytes
from grader.record.layout import Layout, layout_at
from grader.record.plan import to_json

if TYPE_CHECKING:
    import torch

    from grader.build import Build, Companion
    from grader.record import Recording
    from grader.record.plan import Plan
    from grader.tools import Tools

__all__ = ["ARENA_BYTES", "RUN_SECONDS", "START_SECONDS", "RealGPU", "ReplayFailed"]

START_SECONDS = 60.0  # the first context on a cold machine takes seconds
RUN_SECONDS = 20.0
_SECONDS_A_BYTE = 1 / 50e6  # the slowest pipe that is still waited for
_COMMAND = (sys.executable, "-m", "grader.cuda.replay")


class RealGPU(Closing):
    """A GPU for the cases of one part, whose buffers get addresses that stay the same from case to case.

    `seconds` is how long a replay may take; `place` is where the driver is asked for addresses. Raises `ReplayFailed`.
    """

    def __init__(
        self,
        part: Part,
        *,
        seconds: float = RUN_SECONDS,
        place: Place = PLACES[0],
        command: tuple[str, ...] = _COMMAND,
    ) -> None:
        cases = (*part.cases(), part.bench)
        self._sizes = [max(buffer_bytes(buffer, case.params) for case in cases) for buffer in part.buffers]
        self._part = part
        self._seconds = seconds
        self._place = place
        self._command = command
        self._child: Child | None = None
        self._facts: DeviceFacts | None = None
        self._bases: list[int] = []
        self._arena = 0
        self._name: str | None = None
        self.start()

    def start(self) -> None:
        """Starts the child and does not wait for it: others may work meanwhile."""
        if self._child is None:
            self._child = Child(self._command)
            self._facts = None

    def close(self) -> None:
        """Ends the child."""
        if self._child is not None:
            self._child.close()
        self._child, self._facts, self._bases = None, None, []

    @property
    def device(self) -> DeviceFacts:
        """The GPU; waits until the child has found it."""
        if self._facts is None:
            with self._working() as child:
                answer = child.hear(START_SECONDS)
            try:
                self._facts = DeviceFacts(**answer["device"])
            except (KeyError, TypeError):
                raise ReplayFailed("unavailable", "The replay process said something else than its GPU.") from None
            self._name = self._facts.name
        return self._facts

    @property
    def name(self) -> str:
        """The GPU's name as the verdict has it; what was seen first is kept."""
        return self._name or self.device.name

    @property
    def driver(self) -> str | None:
        """The driver's own version, where the sensors tell it: 580.159.04."""
        return self.sensors().driver()

    @property
    def printed(self) -> str:
        """What kernels printed, and the driver, since the child was started."""
        return self._child.printed() if self._child is not None else ""

    def tools(self, tools: Tools) -> Tools:
        """The same tools, except that they build for this GPU and record at its addresses."""
        from grader.build import build as compiled
        from grader.record import record

        target = self.device.target

        def recorded(build: Build, part: Part, case: Case, *, inject: int = 0) -> Recording:
            try:
                layout = self.layout(case)
            except ReplayFailed as failed:
                raise ToolMissing(str(failed)) from failed
            return record(build, part, case, layout=layout, inject=inject)

        def built(source: Path, uses: Sequence[Companion] = ()) -> Build:
            return compiled(source, target=target, uses=uses)

        return replace(tools, build=built, record=recorded)

    def layout(self, case: Case) -> Layout:
        """Where to record `case`: the reserved addresses, each buffer at its offset past them."""
        self._reserve()
        offsets = [case.offset.get(buffer.name, 0) for buffer in self._part.buffers]
        addresses = [base + offset for base, offset in zip(self._bases, offsets, strict=True)]
        return layout_at(addresses, arena=self._arena, arena_bytes=ARENA_BYTES)

    def load(self, plan: Plan, cubin: Path) -> None:
        """Memory for the plan's buffers, and its module; what was loaded before is gone."""
        self._reserve()
        image = cubin.read_bytes()
        self._ask({"do": "load", "plan": to_json(plan)}, image, seconds=START_SECONDS)

    def fill(self, inputs: Mapping[str, torch.Tensor], number: int = 0) -> None:
        """Values for In and InOut buffers, kept as the set of this number: contiguous CPU tensors by name."""
        for name, tensor in inputs.items():
            with SharedFile(_bytes(tensor)) as shared:
                shared.tensor(tensor.dtype, tuple(tensor.shape)).copy_(tensor)
                self.fill_from({name: shared.path}, number)

    def fill_from(self, paths: Mapping[str, str], number: int) -> None:
        """The same, from files in memory that hold the values, by name (grader/cuda/shared_file.py)."""
        for name, path in paths.items():
            self._ask({"do": "fill", "buffer": name, "set": number, "file": path}, seconds=self._copying(name))

    def run(self, how: str, poison: Mapping[str, str]) -> None:
        """One replay: "stream", call by call, or "graph", captured before. `poison`: hexadecimal, by buffer."""
        self._ask({"do": "run", "how": how, "poison": dict(poison)})

    def lap(self, poison: Mapping[str, str], number: int = 0, *, how: str = "graph") -> Lap:
        """One timed replay on the inputs of this set; what it leaves in the results can be read until the next."""
        answer = self._ask({"do": "lap", "how": how, "poison": dict(poison), "set": number})
        return Lap(float(answer["ms"]), float(answer["host_ms"]))

    def read(self, results: Mapping[str, torch.Tensor]) -> None:
        """Fills contiguous CPU tensors with the values of the buffers of these names."""
        for name, tensor in results.items():
            tensor.copy_(self.taken(name, tensor.dtype, tuple(tensor.shape)))

    def taken(self, name: str, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
        """The values of a buffer, which is of this type and shape."""
        with SharedFile(math.prod(shape) * dtype.itemsize) as shared:
            self._ask({"do": "read", "buffer": name, "file": shared.path}, seconds=self._copying(name))
            return shared.tensor(dtype, shape)

    def peek(self, name: str, places: Sequence[int], size: int) -> bytes:
        """The bytes of single elements, `size` bytes each, of a buffer."""
        asked = {"do": "peek", "buffer": name, "places": list(places), "bytes": size}
        with self._working() as child:
            return child.ask_bytes(asked, len(places) * size, seconds=self._seconds)

    def unchanged(self, name: str, number: int, *, kept: bool) -> bool:
        """Whether an input, or the copy that is kept of it, has the values that this set was filled with."""
        return bool(self._ask({"do": "unchanged", "buffer": name, "set": number, "kept": kept})["unchanged"])

    def sensors(self) -> Sensors:
        """What this GPU's sensors say; nothing where they cannot be had."""
        return Sensors(self.device.uuid)

    # ---- the conversation -----------------------------------------------------------------------------------------

    def _reserve(self) -> None:
        if self._bases:
            return
        self.start()
        assert self.device is not None  # its word comes first
        hints = self._place.hints(len(self._sizes) + 1)
        answer = self._ask(
            {"do": "reserve", "sizes": self._sizes, "hints": hints, "arena": ARENA_BYTES}, seconds=START_SECONDS
        )
        self._bases, self._arena = [int(base) for base in answer["addresses"]], int(answer["arena"])

    def _copying(self, name: str) -> float:
        """Seconds that all values of a buffer may take on their way."""
        sizes = {buffer.name: size for buffer, size in zip(self._part.buffers, self._sizes, strict=True)}
        return self._seconds + sizes.get(name, 0) * _SECONDS_A_BYTE

    def _ask(
        self, message: Mapping[str, Any], raw: bytes | memoryview = b"", *, seconds: float | None = None
    ) -> dict[str, Any]:
        with self._working() as child:
            return child.ask(message, raw, seconds=seconds or self._seconds)

    @contextlib.contextmanager
    def _working(self) -> Iterator[Child]:
        """The child; whatever fails, it is gone afterwards."""
        if self._child is None:
            raise ReplayFailed("unavailable", "The replay process has ended, and nothing was loaded again.")
        try:
            yield self._child
        except ReplayFailed:
            self.close()
            raise


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.itemsize
