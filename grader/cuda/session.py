"""The parent's side of the replay process: starts it, asks, waits no longer than it may, and ends it.

No CUDA is loaded here. A kernel that faults ends the child; one that hangs has it killed; both become `ReplayFailed`,
and the next plan that is loaded starts another child.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from grader.cache import ToolMissing
from grader.cuda.addresses import ARENA_BYTES, PLACES, Place
from grader.cuda.driver import FAULTS, DeviceFacts
from grader.cuda.timing import Times
from grader.puzzle import Case, Part, buffer_bytes
from grader.record.layout import Layout, layout_at
from grader.record.plan import to_json
from grader.wire import WireBroken, announce, read_into, receive, send

if TYPE_CHECKING:
    import torch

    from grader.build import Build, Companion
    from grader.record import Recording
    from grader.record.plan import Plan
    from grader.tools import Tools

START_SECONDS = 60.0  # the first context on a cold machine takes seconds
RUN_SECONDS = 20.0
_SECONDS_A_BYTE = 1 / 50e6  # the slowest pipe that is still waited for
_PRINTED = 16_384  # bytes
_ROOT = Path(__file__).parents[2]
_COMMAND = (sys.executable, "-m", "grader.cuda.replay")


class ReplayFailed(Exception):
    """The replay process could not do what it was asked; the message is one sentence.

    `kind` is "fault" (a kernel's), "hang" (a kernel's), or "unavailable": no GPU, no driver, no memory, a lost child.
    """

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


class RealGPU:
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
        self._child: _Child | None = None
        self._facts: DeviceFacts | None = None
        self._bases: list[int] = []
        self._arena = 0
        self._name: str | None = None
        self.driver: str | None = None
        self.start()

    def __enter__(self) -> RealGPU:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Starts the child and does not wait for it: others may work meanwhile."""
        if self._child is None:
            self._child = _Child(self._command)
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
            answer = self._answer(START_SECONDS)
            try:
                self._facts = DeviceFacts(**answer["device"])
            except (KeyError, TypeError):
                raise ReplayFailed("unavailable", "The replay process said something else than its GPU.") from None
            self._name = self._facts.name
            self.driver = answer.get("driver")
        return self._facts

    @property
    def name(self) -> str:
        """The GPU's name as the verdict has it; what was seen first is kept."""
        return self._name or self.device.name

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

    def fill(self, inputs: Mapping[str, torch.Tensor]) -> None:
        """Values for In and InOut buffers: contiguous CPU tensors by name."""
        for name, tensor in inputs.items():
            self._ask({"do": "fill", "buffer": name}, _bytes_of(tensor))

    def run(self, how: str, poison: Mapping[str, str]) -> None:
        """One replay: "stream", call by call, or "graph", captured before. `poison`: hexadecimal, by buffer."""
        self._ask({"do": "run", "how": how, "poison": dict(poison)})

    def read(self, results: Mapping[str, torch.Tensor]) -> None:
        """Fills contiguous CPU tensors with the values of the buffers of these names."""
        for name, tensor in results.items():
            view = _bytes_of(tensor)
            with self._failing(self._seconds + len(view) * _SECONDS_A_BYTE) as child:
                send(child.requests, {"do": "read", "buffer": name})
                self._check(*child.receive(), expected=len(view))
                read_into(child.replies, view)

    def time(self, how: str, poison: Mapping[str, str]) -> Times:
        """Many replays of what is loaded, each with a cold L2."""
        answer = self._ask({"do": "time", "how": how, "poison": dict(poison)}, seconds=self._seconds + RUN_SECONDS)
        return Times(tuple(float(ms) for ms in answer["ms"]), answer["sensors"])

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

    def _ask(
        self, message: Mapping[str, Any], raw: bytes | memoryview = b"", *, seconds: float | None = None
    ) -> dict[str, Any]:
        allowed = (seconds or self._seconds) + len(raw) * _SECONDS_A_BYTE
        with self._failing(allowed) as child:
            announce(child.requests, message, len(raw))
            child.write(raw)
            return self._check(*child.receive())

    def _answer(self, seconds: float) -> dict[str, Any]:
        with self._failing(seconds) as child:
            return self._check(*child.receive())

    def _check(self, message: dict[str, Any], raw_bytes: int, *, expected: int = 0) -> dict[str, Any]:
        if "error" in message:
            kind = "fault" if message.get("name") in FAULTS else "unavailable"
            raise ReplayFailed(kind, str(message["error"]))
        if raw_bytes != expected:
            raise WireBroken(f"{raw_bytes} bytes, and not {expected}")
        return message

    @contextlib.contextmanager
    def _failing(self, seconds: float) -> Iterator[_Child]:
        """The child, killed if this takes longer; whatever fails, it is gone afterwards."""
        if self._child is None:
            raise ReplayFailed("unavailable", "The replay process has ended, and nothing was loaded again.")
        child = self._child
        timer = threading.Timer(seconds, child.kill)
        timer.daemon = True
        timer.start()
        try:
            yield child
        except ReplayFailed:
            self.close()
            raise
        except WireBroken as broken:
            late = child.killed
            self.close()
            said = child.printed()
            if late:
                raise ReplayFailed("hang", f"Nothing came of it within {seconds:.0f} seconds.") from broken
            raise ReplayFailed("unavailable", f"The replay process ended without a word{_quoted(said)}.") from broken
        finally:
            timer.cancel()


class _Child:
    """The process, its pipes, and what it prints."""

    def __init__(self, command: tuple[str, ...]) -> None:
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path, "CUDA_MODULE_LOADING": "EAGER", "CUDA_CACHE_DISABLE": "1"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self.replies: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self.killed = False
        self._said = bytearray()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def write(self, raw: bytes | memoryview) -> None:
        """Raw bytes after an announcement. A child that has found an error reads no further: its answer says which."""
        try:
            self.requests.write(raw)
            self.requests.flush()
        except OSError as error:
            if self.killed:
                raise WireBroken(str(error)) from error

    def receive(self) -> tuple[dict[str, Any], int]:
        return receive(self.replies)

    def printed(self) -> str:
        return bytes(self._said).decode(errors="replace")

    def kill(self) -> None:
        self.killed = True
        self._process.kill()

    def close(self) -> None:
        """Ends it; one that does not go at the end of its input is killed."""
        for stream in (self.requests, self.replies):
            with contextlib.suppress(OSError):
                stream.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # the driver may hold it a little longer
                self._process.wait(10.0)
        self._listener.join(2.0)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            while chunk := stream.read1(4096):  # type: ignore[attr-defined]
                self._said += chunk[: max(_PRINTED - len(self._said), 0)]


def _bytes_of(tensor: torch.Tensor) -> memoryview:
    """The tensor's own memory; it is contiguous and on the CPU."""
    import torch

    if not tensor.numel():
        return memoryview(b"")
    return tensor.reshape(-1).view(torch.uint8).numpy().data


def _quoted(said: str) -> str:
    lines = said.strip().splitlines()
    return f": {lines[-1][:300]}" if lines else ""
