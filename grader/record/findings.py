"""From what the recorder reports to findings: kinds, facts, and lines of the learner's file.

Facts carry a `variant`, which picks the sentence, and the values that the sentence names; the words are those of
grader/explain.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.record.errors import SUCCESS, error_name
from grader.record.layout import PAGE
from grader.record.limits import Refusal
from grader.record.operations import Copy, Memset, Upload
from grader.record.protocol import Event, RecordedCall
from grader.record.request import CPU_MILLISECONDS, EntryCall

LineOf = Callable[[tuple[int, ...]], int | None]

_NULL_END = 1 << 16
_NEAR = 1 << 32  # how far from a buffer an address still counts as reached through its pointer
_WAITING = frozenset(
    """
    nanosleep clock_nanosleep pselect6 ppoll epoll_pwait rt_sigtimedwait rt_sigsuspend futex read readv pread64 wait4
    waitid select poll epoll_wait pause
    """.split()  # noqa: SIM905
)
_ALLOCATING = re.compile(r"cuda(Malloc|Free|Host(Alloc|Register|Unregister))")
# Names that stand for the one that is written: of dladdr where there are several, of system calls where there is none.
_ALIASES = {"gsignal": "raise", "ssignal": "signal", "default_uflow": "getchar", "openat": "open", "exit_group": "exit"}
_STREAMS = {"legacy": "the default stream", "per_thread": "the per-thread default stream", "other": "another stream"}
_CRASHES = {
    signal.SIGABRT: "ABRT",
    signal.SIGSEGV: "SEGV",
    signal.SIGFPE: "FPE",
    signal.SIGILL: "ILL",
    signal.SIGBUS: "BUS",
}


@dataclass(frozen=True)
class HostFinding:
    """Something wrong with an entry's host code: a kind of finding, facts for its sentence, the learner's line."""

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    line: int | None = None


# ---- calls that failed or should not have been made ------------------------------------------------------------------


def returned_finding(call: RecordedCall) -> HostFinding:
    """The entry returned an error that no call of CUDA gave it; it may say itself why."""
    facts = {"variant": "returned", "error": error_name(call.returned or SUCCESS)}
    words = "; ".join(" ".join(line.split()) for line in call.refusal.splitlines())
    words = "".join(character for character in words if character.isprintable()).replace(":;", ":")
    return HostFinding(
        "launch_error", {**facts, "variant": "told", "reason": f"{words.rstrip('.')}."} if words else facts
    )


def capture_finding(event: Event, line_of: LineOf) -> HostFinding:
    """A call that a captured stream forbids."""
    function, stream = event.fields["function"], event.fields["stream"]
    facts = {"call": function, "error": error_name(event.fields["code"])}
    if stream in _STREAMS:
        launch = function == "a launch" or "Launch" in function
        facts |= {"variant": "launch" if launch else "work", "where": _STREAMS[stream]}
    else:
        facts["variant"] = "allocate" if _ALLOCATING.match(function) else "synchronize"
    return HostFinding("capture_unsafe", facts, line_of(event.frames))


def unsupported_finding(event: Event, line_of: LineOf) -> HostFinding:
    """A function of CUDA's runtime that ours does not have, or more work than a Plan holds."""
    call = "more than 65,536 operations, or more than 64 MiB copied from the host, in one call of an entry"
    call = event.fields["function"] if event.kind == "unsupported" else call
    return HostFinding("unsupported", {"variant": "call", "call": call}, line_of(event.frames))


def refusal_finding(event: Event, refusal: Refusal, line_of: LineOf, *, ignored: bool) -> HostFinding:
    """A launch that CUDA would refuse, and whether the entry told."""
    facts = {"variant": "said", "error": error_name(refusal.code), "reason": refusal.reason}
    return HostFinding("ignored_error" if ignored else "launch_error", facts, line_of(event.frames))


def failure_finding(event: Event, call: EntryCall, line_of: LineOf, *, second: bool, ignored: bool) -> HostFinding:
    """Another call that failed, in the first or second call of the entry, and whether the entry told."""
    facts = {"call": event.fields["function"], "error": error_name(event.fields["code"])}
    reason = _misplaced(event, call, second=second)
    facts |= {"variant": "call_said", "reason": reason} if reason else {"variant": "call"}
    if ignored:
        facts["variant"] = "said" if reason else "plain"
    return HostFinding("ignored_error" if ignored else "launch_error", facts, line_of(event.frames))


def _misplaced(event: Event, call: EntryCall, *, second: bool) -> str:
    if "address" not in event.fields:
        return ""
    address, size = event.fields["address"], event.fields["bytes"]
    for name, first, length in _buffers(call, second=second):
        if first <= address < first + length:
            return f"{size:,} bytes from byte {address - first:,} of {name} on; it has {length:,} bytes"
    if second and any(first <= address < first + length for _, first, length in _buffers(call, second=False)):
        return "the address was kept from the first call"
    return "the address is no device memory that the entry was given"


def input_finding(event: Event, call: EntryCall, line_of: LineOf, *, second: bool) -> HostFinding | None:
    """A fill of, or a copy to, a buffer that the entry may only read; None for all else."""
    match event.operation:
        case Memset(address=first, bytes=size):
            function = "cudaMemsetAsync"
        case Copy(destination=first, bytes=size):
            function = "cudaMemcpyAsync"
        case Upload(destination=first, payload=payload):
            function, size = "cudaMemcpyAsync", len(payload)
        case _:
            return None
    inputs = {buffer.name for buffer in call.buffers if buffer.role == "in"}
    for name, start, length in _buffers(call, second=second):
        if name in inputs and first < start + length and start < first + size:
            facts = {"variant": "host", "call": function, "buffer": name}
            return HostFinding("read_only_violation", facts, line_of(event.frames))
    return None


def forgery_finding() -> HostFinding:
    """Something reached the grader's channel that the recorder cannot have written."""
    return HostFinding("forbidden_call", {"variant": "plain", "why": "it wrote on the grader's own channel"})


# ---- ends ------------------------------------------------------------------------------------------------------------


def fault_finding(event: Event, call: EntryCall, line_of: LineOf) -> HostFinding:
    """What ended the launcher early."""
    fields, line = event.fields, line_of(event.frames)
    match fields["signal"]:
        case "SYS":
            return _call_finding(fields, line)
        case "time":
            return timeout_finding(line)
        case "SEGV" | "BUS":
            return HostFinding("host_crash", _memory_facts(fields, call), line)
        case "FPE":
            return HostFinding("host_crash", {"variant": "divide"}, line)
        case "ABRT":
            return HostFinding("host_crash", {"variant": "abort"}, line)
        case "exception":
            return HostFinding("host_crash", {"variant": "abort", "type": fields.get("type", "")}, line)
    return HostFinding("host_crash", {"variant": "plain", "signal": f"SIG{fields['signal']}"}, line)


def timeout_finding(line: int | None = None) -> HostFinding:
    """An entry that does not come back."""
    return HostFinding("host_timeout", {"variant": "limit", "seconds": CPU_MILLISECONDS // 1000}, line)


def _call_finding(fields: Mapping[str, Any], line: int | None) -> HostFinding:
    call = fields.get("call", "other")
    unnamed = f"system call {fields.get('number')}" if call == "other" else call
    function = plain_name(fields.get("function", "") or unnamed)
    raised = fields.get("raised")
    if raised in _CRASHES:
        variant = "abort" if raised == signal.SIGABRT else "plain"
        return HostFinding("host_crash", {"variant": variant, "signal": f"SIG{_CRASHES[raised]}"}, line)
    if call in _WAITING:
        return HostFinding("host_timeout", {"variant": "sleep", "call": function}, line)
    facts = {"variant": "call", "call": function, "system_call": call}
    return HostFinding("forbidden_call", facts | ({"path": fields["path"]} if "path" in fields else {}), line)


def _memory_facts(fields: Mapping[str, Any], call: EntryCall) -> dict[str, Any]:
    address = fields.get("address", 0)
    if fields.get("stack"):
        return {"variant": "stack"}
    if address < _NULL_END and fields.get("known"):
        return {"variant": "null"}
    name = _pointed_to(address, call)
    if name is not None:
        return {"variant": "reads_device", "buffer": name, "address": address}
    return {"variant": "plain", "signal": f"SIG{fields['signal']}"}


def _pointed_to(address: int, call: EntryCall) -> str | None:
    """The argument through which this address was most likely reached."""
    near = [
        (max(first - address, address - (first + length), 0), name)
        for name, first, length in _placed(call)
        if first - _NEAR < address < first + length + _NEAR
    ]
    return min(near)[1] if near else None


def _placed(call: EntryCall) -> Iterator[tuple[str, int, int]]:
    """(name, address, size) of all that the entry was given, in both calls."""
    layout = call.layout
    yield from _buffers(call, second=False)
    yield from _buffers(call, second=True)
    for arena in layout.arenas:
        yield "memory from cudaMallocAsync", arena, layout.arena_bytes
    yield "stream", layout.stream, PAGE - layout.stream % PAGE


def _buffers(call: EntryCall, *, second: bool) -> Iterator[tuple[str, int, int]]:
    addresses = call.layout.second if second else call.layout.first
    for buffer, address in zip(call.buffers, addresses, strict=True):
        yield buffer.name, address, int(buffer.value)


def plain_name(function: str) -> str:
    """A function of libc or libstdc++ under the name that a learner calls it by."""
    name = function.partition("(")[0]
    while "<" in name and (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    if name.startswith("std::"):
        scope, _, _ = name.removeprefix("std::").partition("::")
        return f"std::{scope.removeprefix('basic_')}"
    if name in ("_exit", "_Exit"):
        return name
    name = re.sub(r"^_+(?:GI_|IO_|libc_)*", "", name).removesuffix("64")
    return _ALIASES.get(name, name)


def once(findings: Iterable[HostFinding]) -> list[HostFinding]:
    """Each kind once a line, in order."""
    found: dict[tuple[str, int | None], HostFinding] = {}
    for finding in findings:
        found.setdefault((finding.kind, finding.line), finding)
    return list(found.values())
