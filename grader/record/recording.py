"""Build → Plan: runs the entry's host code in the recorder, twice, and judges what it asked for."""

from __future__ import annotations

import hashlib
import re
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import cage
from grader.build import Build, build_library
from grader.cache import ToolMissing
from grader.puzzle import Case, Part, entry_arguments
from grader.record.agreement import difference
from grader.record.device import Device, device_for
from grader.record.errors import SUCCESS, error_name
from grader.record.findings import (
    HostFinding,
    capture_finding,
    failure_finding,
    fault_finding,
    once,
    refusal_finding,
    timeout_finding,
    unsupported_finding,
)
from grader.record.layout import Layout, software_layout
from grader.record.limits import Refusal, cooperative_refusal, judge
from grader.record.operations import Launch, Operation, PlanInvalid
from grader.record.parameters import bytes_read
from grader.record.plan import Plan, PlanBuffer, PlanScalar
from grader.record.protocol import (
    MAX_STREAM_BYTES,
    Event,
    Forgery,
    RecordedCall,
    Transcript,
    read_transcript,
)
from grader.record.request import WALL_MILLISECONDS, EntryArgument, EntryCall, request

_SYSTEM = tuple(Path(path) for path in ("/usr", "/lib", "/lib64", "/etc/ld.so.cache"))
_GRACE = 2.0  # seconds past the recorder's own clock
_PRINTED = 16_384  # bytes kept of what the launcher prints
_ATTEMPTS = 3  # where the loader puts libraries is left to chance, and may be where a buffer must lie
_STATUS_FAULT = 3
_SHELL_SIGNAL = 128  # a program that stands between passes a signal on as 128 + its number


@dataclass(frozen=True)
class Recording:
    """What came of recording an entry.

    `plan` is that of the first call, as far as it came; it is sound to run only when there are no findings. `printed` is
    what the launcher wrote to its standard output and error, cut at 16 KiB. `seconds` is wall time.
    """

    plan: Plan
    findings: list[HostFinding]
    printed: str
    seconds: float


def record(build: Build, part: Part, case: Case, *, layout: Layout | None = None, inject: bool = False) -> Recording:
    """Records the entry of `part` in `case`; with `inject` a third time with every launch failing.

    Raises ToolMissing where this machine cannot hold a launcher.
    """
    roles = {buffer.name: buffer.role for buffer in part.buffers}
    arguments = [
        EntryArgument(argument.name, argument.kind, argument.value, roles.get(argument.name, ""))
        for argument in entry_arguments(part, case)
    ]
    offsets = [case.offset.get(buffer.name, 0) for buffer in part.buffers]
    return record_entry(build, EntryCall(part.name, arguments, layout or software_layout(offsets), inject))


def record_entry(build: Build, call: EntryCall) -> Recording:
    """The same for an entry that no puzzle describes."""
    started = time.monotonic()
    device = device_for(build.target)
    finished, transcript = _run(build, call, device)
    judged = _Judge(build, call, device)
    if isinstance(transcript, Forgery):
        operations, findings = [], [_forgery()]
    else:
        operations = transcript.calls[0].operations(judged.line) if transcript.calls else []
        findings = judged.findings(transcript, finished)
    returned = transcript.calls[0].returned if isinstance(transcript, Transcript) and transcript.calls else None
    try:
        plan = _plan(build, call, operations, returned)
    except PlanInvalid:  # the runtime records nothing that is no Plan: the launcher wrote this itself
        plan, findings = _plan(build, call, [], None), [_forgery()]
    printed = (finished.stdout + finished.stderr)[:_PRINTED].decode(errors="replace")
    return Recording(plan, findings, printed, time.monotonic() - started)


def _forgery() -> HostFinding:
    return HostFinding("forbidden_call", {"variant": "plain", "why": "it wrote on the grader's own channel"})


def _run(build: Build, call: EntryCall, device: Device) -> tuple[cage.Finished, Transcript | Forgery]:
    recorder, runtime = build_library("recorder"), build_library("runtime")
    asked = request(call, build.library, build.kernels.values(), device)
    held = cage.Cage(
        read=(*_SYSTEM, recorder, runtime.parent, build.library),
        cpu_seconds=None,  # the recorder sets its own limits, which leave room for address ranges of any size
        memory_bytes=None,
        file_bytes=None,
        open_files=None,
    )
    for _ in range(_ATTEMPTS):
        finished = cage.run(
            [recorder],
            cage=held,
            directory=build.directory,
            seconds=WALL_MILLISECONDS / 1000 + _GRACE,
            stdin=asked,
            pipes={3: MAX_STREAM_BYTES},
            output_bytes=_PRINTED,
        )
        try:
            transcript = read_transcript(finished.pipes[3], call.calls)
        except Forgery as forgery:
            return finished, forgery
        if transcript.ending is None or transcript.ending.kind != "unavailable":
            return finished, transcript
    raise ToolMissing(
        f"launchers cannot be recorded on this machine ({transcript.ending.fields['what']}): grader doctor"
    )


def _plan(build: Build, call: EntryCall, operations: Sequence[Operation], returned: int | None) -> Plan:
    return Plan(
        target=build.target,
        entry=call.entry,
        module=hashlib.sha256(build.ptx.read_bytes()).hexdigest(),
        buffers=tuple(
            PlanBuffer(buffer.name, address, int(buffer.value), buffer.role)
            for buffer, address in zip(call.buffers, call.layout.first, strict=True)
        ),
        scalars=tuple(
            PlanScalar(argument.name, argument.kind, argument.value)
            for argument in call.arguments
            if argument.kind not in ("buffer", "stream")
        ),
        returned=returned,
        operations=tuple(operations),
    )


class _Judge:
    """Turns a transcript into findings."""

    def __init__(self, build: Build, call: EntryCall, device: Device) -> None:
        self._build = build
        self._call = call
        self._device = device

    def line(self, frames: tuple[int, ...]) -> int | None:
        """The learner's line of the innermost frame that has one."""
        lines = (self._build.host_lines.line(offset) for offset in frames)
        return next((line for line in lines if line is not None), None)

    def findings(self, transcript: Transcript, finished: cage.Finished) -> list[HostFinding]:
        """All findings, the first call's first."""
        try:
            found = once(self._all(transcript, finished))
        except Forgery:
            return [_forgery()]
        if not found and len(transcript.calls) > 1:
            found += self._disagreement(*transcript.calls[:2])
        if not found and self._call.inject:
            found += self._unheard(transcript.calls[-1])
        return found

    def _all(self, transcript: Transcript, finished: cage.Finished) -> Iterator[HostFinding]:
        yield from self._of_events(transcript.loading, returned=None)
        for call in transcript.calls[:2]:
            found = list(self._of_events(call, returned=call.returned))
            yield from found
            if not found and call.returned not in (None, SUCCESS):
                yield HostFinding("launch_error", {"variant": "returned", "error": error_name(call.returned or 0)})
        yield from self._of_ending(transcript.ending, finished)

    def _of_events(self, call: RecordedCall, *, returned: int | None) -> Iterator[HostFinding]:
        ignored = returned == SUCCESS
        for event in call.events:
            match event.kind:
                case "capture":
                    yield capture_finding(event, self.line)
                case "unsupported" | "limit":
                    yield unsupported_finding(event, self.line)
                case "refused":
                    yield refusal_finding(event, self._refusal(event), self.line, ignored=ignored)
                case "failed" if not ignored or _is_work(event):
                    yield failure_finding(event, self._call, self.line, ignored=ignored)
                case "launch":
                    self._recheck(event.operation)

    def _refusal(self, event: Event) -> Refusal:
        """Why the launch was refused, found again without the child's word."""
        fields = event.fields
        kernel = self._build.kernels.get(fields["kernel"])
        if kernel is None:
            raise Forgery("a refused launch of no kernel")
        refusal = judge(
            kernel,
            self._device,
            grid=tuple(fields["grid"]),
            block=tuple(fields["block"]),
            shared=fields["shared"],
            max_dynamic_shared=fields["max_dynamic_shared"],
        )
        if refusal is None and fields["cooperative"]:
            refusal = cooperative_refusal()
        if refusal is None or refusal.code != fields["code"]:
            raise Forgery("a launch refused for no reason")
        return refusal

    def _recheck(self, launch: Operation | None) -> None:
        """Every name, size and limit of a recorded launch, again."""
        if not isinstance(launch, Launch):
            return
        kernel = self._build.kernels.get(launch.kernel)
        if kernel is None:
            raise Forgery("a launch of no kernel")
        places = zip(kernel.parameter_offsets, kernel.parameter_sizes, strict=True)
        size = max((offset + size for offset, size in places), default=0)
        room = self._device.shared_per_block_optin - kernel.static_shared
        refusal = judge(
            kernel,
            self._device,
            grid=launch.grid,
            block=launch.block,
            shared=launch.shared,
            max_dynamic_shared=launch.max_dynamic_shared,
        )
        if refusal is not None or len(launch.parameters) != size or launch.max_dynamic_shared > room:
            raise Forgery("a launch that the runtime would have refused")

    def _of_ending(self, ending: Event | None, finished: cage.Finished) -> Iterator[HostFinding]:
        code = finished.returncode
        if ending is None:
            yield self._of_silence(finished)
        elif ending.kind == "done":
            if code != 0:
                raise Forgery("done, and then another end")
        elif code != _STATUS_FAULT:
            raise Forgery("an end that its last line does not tell")
        elif ending.kind == "fault":
            yield fault_finding(ending, self._call, self.line)
        else:
            yield self._missing(ending)

    def _of_silence(self, finished: cage.Finished) -> HostFinding:
        """The process ended, and no line says why: its handlers could not run, or were not let."""
        number = -finished.returncode if finished.returncode < 0 else finished.returncode - _SHELL_SIGNAL
        if finished.ended == "timeout" or number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGPROF):
            return timeout_finding()
        if finished.ended == "flood" or number <= 0 or number == signal.SIGSYS:
            return _forgery() if number != signal.SIGSYS else HostFinding("forbidden_call", {"variant": "plain"})
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        return HostFinding("host_crash", {"variant": "plain", "signal": name})

    def _missing(self, ending: Event) -> HostFinding:
        if ending.kind == "not_loaded":
            symbol = re.search(r"undefined symbol: ([\w$.]+)", ending.fields["why"])
            reason = (
                f"`{symbol.group(1)}` is declared and used, but nowhere defined" if symbol else ending.fields["why"]
            )
            return HostFinding("missing_entry", {"variant": "unloadable", "reason": reason})
        entry = self._call.entry
        mangled = next(
            (name for name in self._build.functions if re.match(rf"_Z\d+{re.escape(entry)}[A-Z\d]?", name)), None
        )
        if mangled is None:
            return HostFinding("missing_entry", {"variant": "plain"})
        return HostFinding("missing_entry", {"variant": "mangled"}, self._build.functions[mangled][0])

    def _disagreement(self, first: RecordedCall, second: RecordedCall) -> Iterator[HostFinding]:
        ptx = self._build.ptx

        def read(kernel: str) -> set[int]:
            needs = self._build.kernels[kernel]
            return bytes_read(ptx.read_text(), kernel, needs.parameter_offsets, needs.parameter_sizes)

        found = difference(
            first.operations(self.line),
            second.operations(self.line),
            (first.returned, second.returned),
            self._call.layout.shifts,
            read,
        )
        if found is not None:
            yield HostFinding("non_deterministic", {"variant": found.variant, "reason": found.reason}, found.line)

    def _unheard(self, call: RecordedCall) -> Iterator[HostFinding]:
        injected = next((event for event in call.events if event.kind == "injected"), None)
        if injected is not None and call.returned == SUCCESS:
            yield HostFinding("ignored_error", {"variant": "injected", "injected": True}, self.line(injected.frames))


def _is_work(event: Event) -> bool:
    """Whether the call that failed was to do something, and not only to ask or to set something."""
    return re.match(r"a launch|cuda(Launch|Memset|Memcpy|MallocAsync|FreeAsync)", event.fields["function"]) is not None
