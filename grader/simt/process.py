"""The parent's side of the software GPU's process: starts it, asks, waits no longer than it may, and ends it.

The process (serve.py) runs what learners wrote, on C++ of ours. Whatever becomes of it, the grader goes on: it waits
for each answer with a deadline, watches the memory that is really used, and tells a process that died from an answer.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from grader.cache import ToolMissing
from grader.link import Link
from grader.native import build_library
from grader.simt.machine import MachineError
from grader.simt.sharing import SharedMemory
from grader.wire import WireBroken, announce, read_into, receive

CALL_SECONDS = 30.0  # for what is no launch: loading a program, a fill, a question
_LAST_WORDS = 10.0  # seconds for an answer to arrive once it has begun, and for a dead process to be gone
_LOOK_EVERY = 0.1  # seconds between two looks at the memory of a process that works
_PAGE = resource.getpagesize()
_ROOT = Path(__file__).parents[2]
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from grader.simt.serve import main; main(*sys.argv[1:])"


class MachineDied(MachineError):
    """The process of the software GPU is gone. `variant` says why, and `facts` what belongs to it.

    "late": it did not answer in time; "memory": it used more than it may; "killed": the system ended it, mostly for
    want of memory; "signal": a fault of the machine itself, `signal` its name; "ended": it went without a word.
    """

    def __init__(self, variant: str, **facts: object) -> None:
        super().__init__(f"the process of the software GPU is gone ({variant})")
        self.variant = variant
        self.facts = facts


class MachineProcess:
    """One process, and the memory shared with it; `program` is the only one that it has seen, if any.

    Raises ToolMissing where it cannot be built or started.
    """

    def __init__(self) -> None:
        self.program: str | None = None
        self.memory = SharedMemory()
        self._owner = os.getpid()
        self._closed = False
        self._killed_for: MachineDied | None = None
        self._most_resident = sys.maxsize
        ours, theirs = socket.socketpair()
        inherited = [theirs.fileno(), self.memory.descriptor]
        command = [sys.executable, "-I", "-S", "-c", _START, str(_ROOT), *map(str, inherited), *_libraries()]
        self._link = Link(ours)
        self._stream = cast("BinaryIO", self._link)  # as far as a wire needs one
        try:
            self._process = _started(command, inherited)
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return not self._closed and self._process.poll() is None

    @property
    def resident(self) -> int:
        """Bytes of it that lie in memory, those that are shared among them; 0 where nobody says."""
        with contextlib.suppress(OSError, ValueError):
            return self._statistics()[0]
        return 0

    def allow(self, memory_bytes: int, cpu_seconds: int, reserved_bytes: int = 0) -> None:
        """What it may use from now on, beyond what it holds: memory and processor time.

        `reserved_bytes` are memory that it may ask for as well, but not use.
        """
        with contextlib.suppress(OSError, ValueError):  # a process that is gone says so when it is asked
            resident, data = self._statistics()
            self._most_resident = resident + memory_bytes
            asked = max(data + memory_bytes, 0) + reserved_bytes
            for limit, value in ((resource.RLIMIT_DATA, asked), (resource.RLIMIT_CPU, cpu_seconds)):
                _, hard = resource.prlimit(self.pid, limit)
                soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.prlimit(self.pid, limit, (soft, hard))

    def ask(self, call: str, *arguments: object, raw: bytes | None = None, deadline: float | None = None) -> Any:
        """The answer, waited for until `deadline` by the monotonic clock.

        Raises MachineError for what the machine refuses, MachineDied where no answer came: it is gone then.
        """
        return self._conversation(call, arguments, raw, deadline, 0)[0]

    def ask_for_bytes(self, size: int, call: str, *arguments: object) -> bytes:
        """The same where `size` bytes are the answer."""
        return self._conversation(call, arguments, None, None, size)[1]

    def _conversation(
        self, call: str, arguments: Sequence[object], raw: bytes | None, deadline: float | None, expected: int
    ) -> tuple[Any, bytes]:
        self._link.deadline = deadline if deadline is not None else time.monotonic() + CALL_SECONDS
        message = {"call": call, "arguments": arguments, "raw": raw is not None}
        try:
            announce(self._stream, message, len(raw or b""))
            self._link.write(raw or b"")
            self._wait_for_answer()
            answer, answered = receive(self._stream)
            if answered != (expected if "value" in answer else 0):
                raise WireBroken(f"{answered} bytes, and not {expected}")
            held = bytearray(answered)
            read_into(self._stream, memoryview(held))
        except (WireBroken, OSError) as broken:
            raise self._death(broken) from broken
        except BaseException:  # an interruption: the next answer would be that of this question
            self.close()
            raise
        if "unavailable" in answer:
            self.close()
            raise ToolMissing(f"the software GPU cannot be locked in on this machine ({answer['unavailable']})")
        if "error" in answer:
            raise MachineError(str(answer["error"]))
        return answer["value"], bytes(held)

    def close(self) -> None:
        """Ends it, whatever it is doing."""
        if os.getpid() == self._owner:  # a copy that fork has made owns nothing
            self._process.kill()
        self._closed = True
        self._link.close()
        self.memory.close()

    def _wait_for_answer(self) -> None:
        while True:
            left = self._link.deadline - time.monotonic()
            if left <= 0:
                self._kill_for(MachineDied("late"))
            if self._link.readable(min(max(left, 0), _LOOK_EVERY)):
                self._link.deadline = time.monotonic() + _LAST_WORDS
                return
            with contextlib.suppress(OSError, ValueError):
                if self._statistics()[0] > self._most_resident:
                    self._kill_for(MachineDied("memory"))

    def _kill_for(self, why: MachineDied) -> None:
        self._killed_for = why
        raise WireBroken(str(why))

    def _statistics(self) -> tuple[int, int]:
        """Bytes that lie in memory, and bytes of private memory that were asked for; see proc(5), statm."""
        fields = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * _PAGE, int(fields[5]) * _PAGE

    def _death(self, broken: Exception) -> MachineDied:
        if self._killed_for is None and isinstance(broken.__cause__ or broken, TimeoutError):
            self._killed_for = MachineDied("late")
        if self._killed_for is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LAST_WORDS)
        code = self._process.poll()
        self.close()
        if self._killed_for is not None:
            return self._killed_for
        if code is None or code >= 0:
            return MachineDied("ended")
        if -code == signal.SIGKILL:
            return MachineDied("killed")
        if -code == signal.SIGXCPU:
            return MachineDied("late")
        return MachineDied("signal", signal=signal.Signals(-code).name)


@cache
def _libraries() -> tuple[str, str]:
    """Looking them up means reading all their sources, which is done once."""
    return str(build_library("machine")), str(build_library("confinement"))


def _started(command: list[str], inherited: list[int]) -> subprocess.Popen[bytes]:
    """A process with a thread of its own that waits for its end.

    It ends with its parent, by which Linux means the thread that started it; so that thread has to live as long.
    """
    started: queue.SimpleQueue[subprocess.Popen[bytes] | OSError] = queue.SimpleQueue()

    def keep() -> None:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=inherited,
                cwd="/",
                env={},
                start_new_session=True,
            )
        except OSError as error:
            started.put(error)
            return
        with contextlib.suppress(OSError):  # when memory is short, it is the first to go
            Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000", encoding="ascii")
        started.put(process)
        process.wait()

    threading.Thread(target=keep, name="software GPU", daemon=True).start()
    process = started.get()
    if isinstance(process, OSError):
        raise ToolMissing(f"the process of the software GPU cannot be started ({process}): grader doctor")
    return process


# ---- processes that wait for work -----------------------------------------------------------------------------------

_MOST_IDLE = 3  # the learner's, the reference's, and a fresh one
_MOST_KEPT_BYTES = 192 << 20
_idle: deque[MachineProcess] = deque()
_starting = threading.Lock()


def prepare() -> None:
    """Starts a process, so that it is there when somebody wants one; a machine that is not there yet is built."""
    with _starting:
        if all(process.program is not None for process in _idle):
            _idle.append(MachineProcess())


def acquire(program: str) -> MachineProcess:
    """A process that nobody else uses until `release`, and that has seen no other program than this."""
    with _starting:
        for seen in (program, None):
            for process in [idle for idle in tuple(_idle) if idle.program == seen]:
                with contextlib.suppress(ValueError):  # `release`, in another thread, has found it to be one too many
                    _idle.remove(process)
                if process.alive:
                    process.program = program
                    return process
                process.close()
        process = MachineProcess()
        process.program = program
        return process


def release(process: MachineProcess) -> None:
    """Keeps it for the same program's next device, unless it is gone or holds much memory."""
    if process.alive and process.memory.bytes + process.resident <= _MOST_KEPT_BYTES:
        _idle.append(process)
    else:
        process.close()
    while len(_idle) > _MOST_IDLE:
        _idle.popleft().close()


def _end_idle() -> None:
    while _idle:
        _idle.popleft().close()


atexit.register(_end_idle)
os.register_at_fork(after_in_child=_idle.clear)
