"""The replay process: `python -m grader.cuda.replay`, spoken to over its standard input and output (grader/wire.py).

It reserves addresses, and later maps memory there, loads a cubin and replays a plan, as often as it is asked. It never
sees expected values, and nothing of the learner's but device code runs in it. After the first error, whatever it is, it
says so and ends: a context in which a kernel has faulted cannot be used again.

    {"do": "reserve", "sizes": [...], "hints": [...], "arena": bytes}     addresses for the buffers and for allocations
    {"do": "load", "plan": "..."} + cubin                                 memory, module; the plan is checked again
    {"do": "fill", "buffer": "a", "set": 0, "file": "/proc/..."}          an input's values, kept under this number
    {"do": "run", "how": "stream" | "graph", "poison": {"out": "adfa..."}}
    {"do": "lap", "how": ..., "poison": ..., "set": 0}                    one replay, timed, everything else as new
    {"do": "read", "buffer": "out", "file": "/proc/..."}                  all values of a buffer, into the file
    {"do": "peek", "buffer": "out", "places": [...], "bytes": 4}          answered with the bytes at these elements
    {"do": "unchanged", "buffer": "a", "set": 0, "kept": false}           whether an input, or its copy, is as it was
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, BinaryIO

from grader.cuda.defences import ALL, Defences
from grader.cuda.driver import Driver, DriverError
from grader.cuda.kept import KeptInputs, chunks
from grader.cuda.script import Script
from grader.cuda.scrub import Scrubber
from grader.cuda.shared_file import mapped
from grader.cuda.variables import Variables, read_module
from grader.cuda.working import WorkingMemory
from grader.record.plan import Plan, PlanBuffer, PlanInvalid, from_json
from grader.wire import WireBroken, read_into, receive, send

_NON_BLOCKING = 1
_FLUSH_BYTES = 256 << 20  # at least; and four times the L2

Poison = Mapping[str, str]


class Replay:
    """One GPU, the reserved ranges, and at most one loaded plan. `clock` gives the host's seconds."""

    def __init__(
        self, driver: Driver, defences: Defences = ALL, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._driver = driver
        self._defences = defences
        self._clock = clock
        self._stream = driver.call("cuStreamCreate", _NON_BLOCKING)
        self._start, self._stop = (driver.call("cuEventCreate", 0) for _ in range(2))
        self._memory: WorkingMemory | None = None
        self._kept = KeptInputs(driver, self._stream)
        self._copied: int | None = None  # the set that was copied last
        self._plan: Plan | None = None
        self._cubin = b""
        self._module: Any = None
        self._graph: Any = None
        self._script: Script | None = None
        self._variables: Variables | None = None
        self._scrubber: Scrubber | None = None
        self._flush = 0

    # ---- one method a request -----------------------------------------------------------------------------------

    def reserve(self, sizes: list[int], hints: list[int], arena: int) -> dict[str, Any]:
        """A range for each buffer, then one for stream-ordered allocations."""
        self._memory = WorkingMemory(self._driver, sizes, hints, arena)
        return {"addresses": self._memory.addresses, "arena": self._memory.arena}

    def load(self, text: str, cubin: bytes) -> dict[str, Any]:
        """Memory for the plan's buffers, the module, every call made ready, a graph of them; what was loaded goes."""
        self._unload()
        plan = from_json(text)
        if self._memory is None:
            raise PlanInvalid("no addresses are reserved")
        self._memory.map(plan)
        self._plan, self._cubin = plan, cubin
        self._load_module(plan, cubin)
        return {}

    def fill(self, name: str, number: int, path: str) -> dict[str, Any]:
        """The values of an input in a set."""
        self._kept.fill(number, self._buffer(name), path)
        self._copied = None
        return {}

    def run(self, how: str, poison: Poison) -> dict[str, Any]:
        """One replay on the first set, to its end, on the device that the one before left behind."""
        self._fill_buffers(0, poison)
        self._replay(how)
        self._driver.call("cuStreamSynchronize", self._stream)
        return {}

    def lap(self, how: str, poison: Poison, number: int) -> dict[str, Any]:
        """Milliseconds of one replay, by the device and by the host, on a device that remembers nothing.

        The flush still runs while the host enqueues the rest, so that no gap is measured, and the host's clock starts
        when the host sees the first event.
        """
        driver, stream = self._driver, self._stream
        self._forget(number, poison)
        if self._defences.cold_l2:
            driver.call("cuMemsetD8Async", self._flush_memory(), 0, self._flush_bytes(), stream)
        driver.call("cuEventRecord", self._start, stream)
        self._replay(how)
        driver.call("cuEventRecord", self._stop, stream)
        driver.call("cuEventSynchronize", self._start)
        begun = self._clock()
        driver.call("cuStreamSynchronize", stream)
        host_ms = 1e3 * (self._clock() - begun)
        if self._defences.reset_persisting:
            self._demote()  # others are next, whose own flush would not take such lines from the L2
        return {"ms": float(driver.call("cuEventElapsedTime", self._start, self._stop)), "host_ms": host_ms}

    def read(self, name: str, path: str) -> dict[str, Any]:
        """The values of a buffer, into a file."""
        buffer = self._buffer(name)
        if buffer.bytes:
            with mapped(path, buffer.bytes, writable=True) as first:
                for place, count in chunks(buffer.bytes):
                    self._driver.call("cuMemcpyDtoH", first + place, buffer.address + place, count)
        return {}

    def peek(self, name: str, places: list[int], size: int) -> bytes:
        """The bytes of single elements of a buffer, `size` bytes each."""
        buffer = self._buffer(name)
        if not all(0 <= place < buffer.bytes // size for place in places):
            raise PlanInvalid(f"{name} has no such elements")
        return b"".join(self._driver.read(buffer.address + place * size, size) for place in places)

    def unchanged(self, name: str, number: int, kept: bool) -> dict[str, Any]:
        """Whether an input, or the copy that is kept of it, has the values that the set was filled with."""
        return {"unchanged": self._kept.is_unchanged(number, self._buffer(name), kept=kept)}

    # ---- parts of them ------------------------------------------------------------------------------------------

    def _load_module(self, plan: Plan, cubin: bytes) -> None:
        self._module = self._driver.call("cuModuleLoadData", cubin)
        self._script = Script(self._driver, self._module, plan, self._stream)
        self._graph = self._script.captured() if self._script.calls else None

    def _unload_module(self) -> None:
        if self._graph is not None:
            self._driver.call("cuGraphExecDestroy", self._graph)
        if self._module is not None:
            self._driver.call("cuModuleUnload", self._module)
        self._graph, self._module, self._script, self._variables = None, None, None, None

    def _unload(self) -> None:
        self._unload_module()
        self._kept.forget()
        if self._scrubber is not None:
            self._scrubber.close()
        if self._memory is not None:
            self._memory.unmap()
        self._plan, self._scrubber, self._copied = None, None, None

    def _loaded(self) -> tuple[Plan, WorkingMemory]:
        if self._plan is None or self._memory is None:
            raise PlanInvalid("no plan is loaded")
        return self._plan, self._memory

    def _buffer(self, name: str) -> PlanBuffer:
        plan, _ = self._loaded()
        found = next((buffer for buffer in plan.buffers if buffer.name == name), None)
        if found is None:
            raise PlanInvalid(f"{name} is no buffer")
        return found

    def _fill_buffers(self, number: int, poison: Poison) -> None:
        """Inputs as they were given, and everything else poisoned."""
        plan, memory = self._loaded()
        if self._defences.restored_inputs or self._copied != number:
            for buffer in plan.buffers:
                self._kept.copy(number, buffer)
            self._copied = number
        if self._defences.poison:
            memory.poison(poison, self._stream)

    def _forget(self, number: int, poison: Poison) -> None:
        """Whatever a lap before this one could have left is gone, and all of it has been done when this returns."""
        driver, stream, defences = self._driver, self._stream, self._defences
        self._restore_variables()
        self._fill_buffers(number, poison)
        scrubber = self._scrubbing()
        if defences.scrubbed_local:
            scrubber.local(stream)
        if defences.scrubbed_shared:
            scrubber.shared(stream)
        if defences.reset_persisting:
            self._demote()
        driver.call("cuStreamSynchronize", stream)

    def _demote(self) -> None:
        """Lines that the L2 was asked to keep, in whatever is mapped around the buffers, are lines like others."""
        self._scrubbing().demote(self._loaded()[1].mapped, self._stream)
        self._driver.call("cuStreamSynchronize", self._stream)
        self._driver.reset_persisting()

    def _restore_variables(self) -> None:
        plan, _ = self._loaded()
        if self._variables is None:
            module = read_module(self._cubin)
            if module.unrestorable is not None and self._defences.refused_memory:
                raise PlanInvalid(f"{module.unrestorable} outlives a launch, and is not put back between two laps")
            self._variables = Variables(self._driver, self._module, module)
        if not self._defences.restored_globals:
            return
        if self._variables.found:
            self._variables.restore(self._stream)
        else:
            self._unload_module()
            self._load_module(plan, self._cubin)

    def _scrubbing(self) -> Scrubber:
        if self._scrubber is None:
            assert self._script is not None  # it came with the plan
            self._scrubber = Scrubber(self._driver, self._script.local_bytes())
        return self._scrubber

    def _replay(self, how: str) -> None:
        if how == "stream":
            assert self._script is not None  # it came with the plan
            self._script.enqueue()
        elif self._graph is not None:
            self._driver.call("cuGraphLaunch", self._graph, self._stream)

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
            case {"do": "fill", "buffer": str(name), "set": int(number), "file": str(path)}:
                send(replies, replay.fill(name, number, path))
            case {"do": "run", "how": str(how), "poison": dict(poison)}:
                send(replies, replay.run(how, poison))
            case {"do": "lap", "how": str(how), "poison": dict(poison), "set": int(number)}:
                send(replies, replay.lap(how, poison, number))
            case {"do": "read", "buffer": str(name), "file": str(path)}:
                send(replies, replay.read(name, path))
            case {"do": "peek", "buffer": str(name), "places": list(places), "bytes": int(size)}:
                send(replies, {}, replay.peek(name, places, size))
            case {"do": "unchanged", "buffer": str(name), "set": int(number), "kept": bool(kept)}:
                send(replies, replay.unchanged(name, number, kept))
            case _:
                raise WireBroken("a request of no known kind")


def main(api: Any = None, defences: Defences = ALL, clock: Callable[[], float] = time.perf_counter) -> int:
    """Serves on the process's own standard streams; what a kernel prints goes where errors go. `api` as in Driver."""
    with os.fdopen(os.dup(1), "wb") as replies:
        os.dup2(2, 1)
        try:
            driver = Driver(api)
            send(replies, {"device": asdict(driver.facts())})
            driver.open()
            serve(Replay(driver, defences, clock), sys.stdin.buffer, replies)
        except WireBroken:
            return 1
        except DriverError as error:
            send(replies, {"error": str(error), "name": error.name})
            return 1
        except PlanInvalid as error:
            send(replies, {"error": f"The plan cannot be replayed: {error}.", "name": "plan"})
            return 1
        except OSError as error:
            send(replies, {"error": f"The replay process has no file: {error}.", "name": "file"})
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
