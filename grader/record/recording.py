"""Build → Plan: runs the entry's host code in the recorder, twice, and judges what it asked for."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import cage
from grader.build import Build, build_library
from grader.cache import ToolMissing
from grader.puzzle import Case, Part, Scalar, buffer_bytes, scalar_value
from grader.record.device import Device, device_for
from grader.record.findings import HostFinding, forgery_finding
from grader.record.judge import Judge
from grader.record.layout import Layout, software_layout
from grader.record.operations import Operation, PlanInvalid
from grader.record.plan import Plan, PlanBuffer, PlanScalar
from grader.record.protocol import MAX_STREAM_BYTES, Forgery, RecordedCall, Transcript, read_transcript
from grader.record.request import WALL_MILLISECONDS, EntryArgument, EntryCall, request

_SYSTEM = tuple(Path(path) for path in ("/usr", "/lib", "/lib64", "/etc/ld.so.cache"))
_GRACE = 2.0  # seconds past the recorder's own clock
_PRINTED = 16_384  # bytes kept of what the launcher prints
_ATTEMPTS = 3  # where the loader puts libraries is left to chance, and may be where a buffer must lie


@dataclass(frozen=True)
class Recording:
    """What came of recording an entry.

    `plan` is that of the first call, as far as it came; it is worth running only when there are no findings. `printed`
    is what the first call wrote to its standard output and error, cut at 16 KiB. `seconds` is wall time. `host` is what
    each of the first two calls left in host memory, for an entry that fills some.
    """

    plan: Plan
    findings: list[HostFinding]
    printed: str
    seconds: float
    host: tuple[bytes, ...] = ()


def record(build: Build, part: Part, case: Case, *, layout: Layout | None = None, inject: int = 0) -> Recording:
    """Records the entry of `part` in `case`, once more for each of the first `inject` launches, with that one failing.

    Raises ToolMissing where this machine cannot hold a launcher.
    """
    arguments = entry_arguments(part, case)
    offsets = [case.offset.get(buffer.name, 0) for buffer in part.buffers]
    return record_entry(build, EntryCall(part.name, arguments, layout or software_layout(offsets), inject))


def entry_arguments(part: Part, case: Case) -> list[EntryArgument]:
    """The arguments of the entry of `part` in `case`, in the order of its C parameters, the stream, if any, last."""
    arguments = [
        EntryArgument(param.name, param.dtype.name, scalar_value(param, case.params))
        if isinstance(param, Scalar)
        else EntryArgument(param.name, param.memory, buffer_bytes(param, case.params), param.role)
        for param in part.params
    ]
    return arguments if part.is_host else [*arguments, EntryArgument("stream", "stream")]


def record_entry(build: Build, call: EntryCall) -> Recording:
    """The same for an entry that no puzzle describes."""
    started = time.monotonic()
    device = device_for(build.target)
    finished, transcript = _run(build, call, device)
    judged = Judge(build, call, device)
    try:
        if isinstance(transcript, Forgery):
            raise transcript
        findings = judged.findings(transcript, finished)
        first = transcript.calls[0] if transcript.calls else RecordedCall()
        plan = _plan(build, call, first.operations(judged.line), first.returned)
    except (Forgery, PlanInvalid):  # the runtime writes nothing that is no Plan: the launcher wrote this itself
        plan, findings = _plan(build, call, [], None), [forgery_finding()]
    printed = (finished.stdout + finished.stderr)[:_PRINTED].decode(errors="replace")
    host = () if isinstance(transcript, Forgery) else tuple(one.host for one in transcript.calls[:2])
    return Recording(plan, findings, printed, time.monotonic() - started, host)


@functools.cache
def _programs() -> tuple[Path, Path]:
    """The recorder and our runtime; looking them up means reading all their sources, which is done once a process."""
    return build_library("recorder"), build_library("runtime")


def _run(build: Build, call: EntryCall, device: Device) -> tuple[cage.Finished, Transcript | Forgery]:
    recorder, runtime = _programs()
    asked = request(call, build.library, build.kernels.values(), device)
    held = cage.Cage(
        read=(*_SYSTEM, recorder, runtime.parent, build.library),
        cpu_seconds=None,  # the recorder sets its own limits, which leave room for address ranges of any size
        memory_bytes=None,
        file_bytes=None,
        open_files=None,
    )
    refused = ""
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
        refused = transcript.ending.fields["what"]
    raise ToolMissing(f"launchers cannot be recorded on this machine ({refused}): grader doctor")


def described(call: EntryCall) -> tuple[tuple[PlanBuffer, ...], tuple[PlanScalar, ...]]:
    """The buffers and scalars of a Plan of this call, which follow from what is asked alone."""
    buffers = tuple(
        PlanBuffer(buffer.name, address, int(buffer.value), buffer.role)
        for buffer, address in zip(call.buffers, call.layout.first, strict=True)
    )
    scalars = tuple(
        PlanScalar(argument.name, argument.kind, argument.value)
        for argument in call.arguments
        if argument.kind not in ("buffer", "host", "stream")
    )
    return buffers, scalars


def _plan(build: Build, call: EntryCall, operations: Sequence[Operation], returned: int | None) -> Plan:
    buffers, scalars = described(call)
    return Plan(
        target=build.target,
        entry=call.entry,
        module=hashlib.sha256(build.ptx.read_bytes()).hexdigest(),
        buffers=buffers,
        scalars=scalars,
        returned=returned,
        operations=tuple(operations),
    )
