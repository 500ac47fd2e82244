"""The replay process: `python -m grader.cuda.replay`, spoken to over its standard input and output (grader/wire.py).

It reserves addresses, and later maps memory there, loads a cubin and replays a plan, as often as it is asked. It never
sees expected values, and nothing of the learner's but device code runs in it. After the first error, whatever it is, it
says so and ends: a context in which a kernel has faulted cannot be used again.

    {"do": "reserve", "sizes": [...], "hints": [...], "arena": bytes}     addresses for the buffers and for allocations
    {"do": "load", "plan": "..."} + cubin                                 memory, module; the plan is checked again
    {"do": "fill", "buffer": "a"} + values                                of an input
    {"do": "run", "how": "stream" | "graph", "poison": {"out": "adfa..."}}
    {"do": "read", "buffer": "out"}                                       answered with the values
    {"do": "time", "how": ..., "poison": ...}                             many replays, each with a cold L2
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, BinaryIO

from grader.cuda.driver import Driver, DriverError
from grader.cuda.memory import AddressRange, fill
from grader.cuda.script import Script
from grader.cuda.sensors import Sensors
from grader.cuda.timing import LEAST_RUNS, enough
from grader.record.plan import Allocation, Plan, PlanBuffer, PlanInvalid, from_json
from grader.wire import WireBroken, announce, read_into, receive, send

_CHUNK = 32 << 20
_NON_BLOCKING = 1
_WARM_UP = 5
_TIMING_SECONDS = 5.0
_FLUSH_BYTES = 256 << 20  # at least; and four times the L2
_STALE = bytes.fromhex("addbfa7f")  # what stream-ordered memory holds at first: a NaN

Poison = Mapping[str, str]


class Replay:
    """One GPU, the reserved ranges, and at most one loaded plan."""

    def __init__(self, driver: Driver, sensors: Sensors) -> None:
        self._driver = driver
        self._sensors = sensors
        self._stream = driver.call("cuStreamCreate", _NON_BLOCKING)
        self._ranges: list[AddressRange] = []
        self._arena: AddressRange | None = None
        self._arena_used = 0
        self._plan: Plan | None = None
        self._module: Any = None
        self._graph: Any = None
        self._kept: dict[str, int] = {}  # InOut buffers as they were filled, since a run changes them
        self._flush = 0

    # ---- one method a request -----------------------------------------------------------------------------------

    def reserve(self, sizes: list[int], hints: list[int], arena: int) -> dict[str, Any]:
        """A range for each buffer, 256 bytes more for its offset; then one for stream-ordered allocations."""
        *buffers, last = [
            AddressRange(self._driver, size + 256, hint) for size, hint in zip([*sizes, arena], hints, strict=True)
        ]
        self._ranges, self._arena = buffers, last
        return {"addresses": [held.base for held in self._ranges], "arena": last.base}

    def load(self, text: str, cubin: bytes) -> dict[str, Any]:
        """Memory for the plan's buffers, the module, every call made ready, a graph of them; what was loaded goes."""
        self._unload()
        plan = from_json(text)
        self._map(plan)
        self._module = self._driver.call("cuModuleLoadData", cubin)
        self._script = Script(self._driver, self._module, plan, self._stream)
        self._graph = self._script.captured() if self._script.calls else None
        self._plan = plan
        return {}

    def fill(self, name: str, source: BinaryIO, size: int) -> dict[str, Any]:
        """The values of an input, from the stream."""
        buffer = self._buffer(name, size)
        address = self._keep(buffer) if buffer.role == "inout" else buffer.address
        chunk = ctypes.create_string_buffer(min(size, _CHUNK) or 1)
        for place in range(0, size, _CHUNK):
            count = min(_CHUNK, size - place)
            read_into(source, memoryview(chunk)[:count].cast("B"))
            self._driver.call("cuMemcpyHtoD", address + place, ctypes.addressof(chunk), count)
        return {}

    def run(self, how: str, poison: Poison) -> dict[str, Any]:
        """One replay, to its end."""
        self._prepare(poison)
        self._replay(how)
        self._driver.call("cuStreamSynchronize", self._stream)
        return {}

    def read(self, name: str, sink: BinaryIO) -> None:
        """The values of a buffer, into the stream."""
        buffer = self._buffer(name, None)
        announce(sink, {}, buffer.bytes)
        chunk = ctypes.create_string_buffer(min(buffer.bytes, _CHUNK) or 1)
        for place in range(0, buffer.bytes, _CHUNK):
            count = min(_CHUNK, buffer.bytes - place)
            self._driver.call("cuMemcpyDtoH", ctypes.addressof(chunk), buffer.address + place, count)
            sink.write(memoryview(chunk)[:count])
        sink.flush()

    def time(self, how: str, poison: Poison) -> dict[str, Any]:
        """Milliseconds of many replays. Results are poisoned before each, and the last one's can be read afterwards."""
        events = [self._driver.call("cuEventCreate", 0) for _ in range(2)]
        for _ in range(_WARM_UP):
            self._timed(how, poison, *events)
        sensors: dict[str, Any] = {}
        taken: list[float] = []
        end = time.monotonic() + _TIMING_SECONDS
        while not enough(taken) and (len(taken) < LEAST_RUNS or time.monotonic() < end):
            taken.append(self._timed(how, poison, *events))
            if len(taken) == LEAST_RUNS // 2:
                sensors = self._sensors.read()
        for event in events:
            self._driver.call("cuEventDestroy", event)
        return {"ms": taken, "sensors": sensors, "flush_bytes": self._flush_bytes()}

    # ---- parts of them ------------------------------------------------------------------------------------------

    def _map(self, plan: Plan) -> None:
        if len(plan.buffers) != len(self._ranges) or self._arena is None:
            raise PlanInvalid(f"{len(plan.buffers)} buffers, and {len(self._ranges)} reserved ranges")
        for buffer, held in zip(plan.buffers, self._ranges, strict=True):
            if not held.holds(buffer.address, buffer.bytes):
                raise PlanInvalid(f"{buffer.name} does not lie where it was reserved")
        allocations = [operation for operation in plan.operations if isinstance(operation, Allocation)]
        if not all(self._arena.holds(made.address, made.bytes) for made in allocations):
            raise PlanInvalid("an allocation does not lie where it was reserved")
        for buffer, held in zip(plan.buffers, self._ranges, strict=True):
            held.map(buffer.address + buffer.bytes - held.base)
        self._arena_used = max((made.address + made.bytes - self._arena.base for made in allocations), default=0)
        if self._arena_used:
            self._arena.map(self._arena_used)

    def _unload(self) -> None:
        if self._graph is not None:
            self._driver.call("cuGraphExecDestroy", self._graph)
        if self._module is not None:
            self._driver.call("cuModuleUnload", self._module)
        for address in self._kept.values():
            self._driver.call("cuMemFree", address)
        for held in (*self._ranges, *filter(None, [self._arena])):
            held.unmap()
        self._plan, self._graph, self._module, self._kept = None, None, None, {}

    def _buffer(self, name: str, size: int | None) -> PlanBuffer:
        found = [buffer for buffer in self._loaded().buffers if buffer.name == name]
        if not found or size not in (None, found[0].bytes):
            raise PlanInvalid(f"{name} is no buffer of this size")
        return found[0]

    def _loaded(self) -> Plan:
        if self._plan is None:
            raise PlanInvalid("no plan is loaded")
        return self._plan

    def _keep(self, buffer: PlanBuffer) -> int:
        if buffer.name not in self._kept:
            self._kept[buffer.name] = int(self._driver.call("cuMemAlloc", max(buffer.bytes, 1)))
        return self._kept[buffer.name]

    def _prepare(self, poison: Poison) -> None:
        """Every buffer that a replay changes, as the entry is to find it."""
        for buffer in self._loaded().buffers:
            if buffer.role in ("out", "workspace"):
                fill(self._driver, buffer.address, buffer.bytes, bytes.fromhex(poison[buffer.name]), self._stream)
            elif buffer.role == "inout" and buffer.bytes:
                kept = self._keep(buffer)
                self._driver.call("cuMemcpyDtoDAsync", buffer.address, kept, buffer.bytes, self._stream)
        if self._arena is not None and self._arena_used:
            fill(self._driver, self._arena.base, self._arena_used, _STALE, self._stream)

    def _replay(self, how: str) -> None:
        if how == "stream":
            self._script.enqueue()
        elif self._graph is not None:
            self._driver.call("cuGraphLaunch", self._graph, self._stream)

    def _timed(self, how: str, poison: Poison, start: Any, stop: Any) -> float:
        """One replay between two events. The flush still runs while the host enqueues them: no gap is measured."""
        driver, stream = self._driver, self._stream
        self._prepare(poison)
        driver.call("cuStreamSynchronize", stream)
        driver.call("cuCtxResetPersistingL2Cache")
        driver.call("cuMemsetD8Async", self._flush_memory(), 0, self._flush_bytes(), stream)
        driver.call("cuEventRecord", start, stream)
        self._replay(how)
        driver.call("cuEventRecord", stop, stream)
        driver.call("cuStreamSynchronize", stream)
        return float(driver.call("cuEventElapsedTime", start, stop))

    def _flush_bytes(self) -> int:
        return max(_FLUSH_BYTES, 4 * self._driver.attribute("L2_CACHE_SIZE"))

    def _flush_memory(self) -> int:
        if not self._flush:
            self._flush = int(self._driver.call("cuMemAlloc", self._flush_bytes()))
        return self._flush


def serve(replay: Replay, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answers until the other side is gone."""
    while True:
        try:
            message, raw_bytes = receive(requests)
        except WireBroken:
            return
        match message:
            case {"do": "reserve", "sizes": list(sizes), "hints": list(hints), "arena": int(arena)}:
                send(replies, replay.reserve(sizes, hints, arena))
            case {"do": "load", "plan": str(text)}:
                cubin = bytearray(raw_bytes)
                read_into(requests, memoryview(cubin))
                send(replies, replay.load(text, bytes(cubin)))
            case {"do": "fill", "buffer": str(name)}:
                send(replies, replay.fill(name, requests, raw_bytes))
            case {"do": "run", "how": str(how), "poison": dict(poison)}:
                send(replies, replay.run(how, poison))
            case {"do": "read", "buffer": str(name)}:
                replay.read(name, replies)
            case {"do": "time", "how": str(how), "poison": dict(poison)}:
                send(replies, replay.time(how, poison))
            case _:
                raise WireBroken("a request of no known kind")


def main(api: Any = None) -> int:
    """Serves on the process's own standard streams; what a kernel prints goes where errors go. `api` as in Driver."""
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)
        try:
            driver = Driver(api)
            facts = driver.facts()
            sensors = Sensors(facts.uuid)
            send(replies, {"device": asdict(facts), "driver": sensors.driver()})
            driver.open()
            serve(Replay(driver, sensors), sys.stdin.buffer, replies)
        except WireBroken:
            return 1
        except DriverError as error:
            send(replies, {"error": str(error), "name": error.name})
            return 1
        except PlanInvalid as error:
            send(replies, {"error": f"The plan cannot be replayed: {error}.", "name": "plan"})
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
