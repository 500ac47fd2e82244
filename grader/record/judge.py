"""Turns what the recorder said, and how it ended, into findings.

Every name, size and limit is checked here again: whatever the child says comes from a process that runs hostile code.
"""

from __future__ import annotations

import functools
import itertools
import re
import signal
from collections.abc import Iterator

from grader import cage
from grader.build import Build
from grader.record.agreement import Moves, difference
from grader.record.device import Device
from grader.record.errors import SUCCESS
from grader.record.findings import (
    HostFinding,
    capture_finding,
    failure_finding,
    fault_finding,
    forgery_finding,
    input_finding,
    once,
    refusal_finding,
    returned_finding,
    timeout_finding,
    unsupported_finding,
)
from grader.record.fit import check_fit
from grader.record.limits import Refusal, cooperative_refusal, judge
from grader.record.operations import check_operations
from grader.record.parameters import bytes_read
from grader.record.protocol import Event, Forgery, RecordedCall, Transcript
from grader.record.request import EntryCall

_STATUS_FAULT = 3
_SHELL_SIGNAL = 128  # a program that stands between passes a signal on as 128 + its number


class Judge:
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
        """All findings, the first call's first; raises Forgery or PlanInvalid for what only forgers write."""
        for number, call in enumerate(transcript.calls):
            self._check(call, second=number == 1)
        found = once(self._all(transcript, finished))
        if not found and len(transcript.calls) > 1:
            found += self._disagreement(*transcript.calls[:2])
        if not found and self._call.inject:
            found += itertools.chain.from_iterable(map(self._unheard, transcript.calls[2:]))
        return found

    def _check(self, call: RecordedCall, *, second: bool) -> None:
        """Every name, size, address and limit of what was recorded, again."""
        if call.returned is not None and len(call.host) != self._call.host_bytes:
            raise Forgery("host memory of another size")
        operations = tuple(call.operations(self.line))
        layout = self._call.layout
        addresses = layout.second if second else layout.first
        sizes = (int(buffer.value) for buffer in self._call.buffers)
        check_operations(operations, [(start, start + size) for start, size in zip(addresses, sizes, strict=True)])
        check_fit(operations, self._build, self._device, (layout.arenas[second], layout.arena_bytes))

    def _all(self, transcript: Transcript, finished: cage.Finished) -> Iterator[HostFinding]:
        yield from self._of_events(transcript.loading, second=False)
        for number, call in enumerate(transcript.calls[:2]):
            found = list(self._of_events(call, second=number > 0))
            yield from found
            if not found and call.returned not in (None, SUCCESS):
                yield returned_finding(call)
        yield from self._of_ending(transcript.ending, finished)

    def _of_events(self, call: RecordedCall, *, second: bool) -> Iterator[HostFinding]:
        ignored = call.returned == SUCCESS
        for event in call.events:
            match event.kind:
                case "capture":
                    yield capture_finding(event, self.line)
                case "unsupported" | "limit":
                    yield unsupported_finding(event, self.line)
                case "refused":
                    yield refusal_finding(event, self._refusal(event), self.line, ignored=ignored)
                case "failed" if not ignored or _is_work(event):
                    yield failure_finding(event, self._call, self.line, second=second, ignored=ignored)
                case "memset" | "copy" | "upload":
                    written = input_finding(event, self._call, self.line, second=second)
                    yield from [written] if written is not None else []

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
            return forgery_finding() if number != signal.SIGSYS else HostFinding("forbidden_call", {"variant": "plain"})
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
        @functools.cache
        def read(kernel: str) -> set[int]:
            needs = self._build.kernels[kernel]
            return bytes_read(self._build.ptx.read_text(), kernel, needs.parameter_offsets, needs.parameter_sizes)

        sizes = [int(buffer.value) for buffer in self._call.buffers]
        layout = self._call.layout
        ranges = [(start, start + max(size, 1)) for start, size in zip(layout.first, sizes, strict=True)]
        arena = (layout.arenas[0], layout.arenas[0] + layout.arena_bytes)
        found = difference(
            first.operations(self.line),
            second.operations(self.line),
            (first.returned, second.returned),
            Moves(layout.shifts, [*ranges, arena], read),
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
