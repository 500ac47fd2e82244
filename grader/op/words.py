"""What the entry returned and the software GPU wrote down, as an error in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from grader.explain import Observation, sentence
from grader.findings import Place
from grader.op.errors import EntryFailed
from grader.puzzle import Case, Part, dtype_of
from grader.record.device import device_for
from grader.record.limits import cooperative_refusal, judge

if TYPE_CHECKING:
    from grader.build import Build
    from grader.op.library import Outcome
    from grader.program.log import Event
    from grader.verdict import Finding

_WARP_BUDGET = 1 << 28  # as in grader/runtime/software/machine.cpp
_STICKY = ("cudaErrorIllegalAddress", "cudaErrorMisalignedAddress", "cudaErrorAssert", "cudaErrorLaunchFailure",
           "cudaErrorLaunchTimeout", "cudaErrorHardwareStackError", "cudaErrorIllegalInstruction")  # fmt: skip


def failure(build: Build, part: Part, case: Case, outcome: Outcome) -> EntryFailed | None:
    """The error that the call ends with; None where all that was noted are errors that the entry has dealt with."""
    findings = tuple(_findings(build, part, case, outcome)) if outcome.log else ()
    if findings:
        first = findings[0]
        at = f"{build.source.name}:{first.line}: " if first.line else ""
        return EntryFailed(f"{at}{first.message} {first.why}".replace("`", "").rstrip(), outcome.name, findings)
    if outcome.code == 0:
        return None
    key = "returned_late" if outcome.name in _STICKY else "returned"
    facts = {"entry": part.name, "error": outcome.name, "words": outcome.words}
    return EntryFailed(sentence("op", key, facts=facts), outcome.name)


def _findings(build: Build, part: Part, case: Case, outcome: Outcome) -> Iterator[Finding]:
    from grader.program.log import log_of

    place = Place(part, part.name, build.source.name, build.source, case)
    text = build.source.read_text(encoding="utf-8", errors="replace")
    sizes = {buffer.name: dtype_of(buffer, case.params).bytes for buffer in part.buffers}
    log = log_of(outcome.log, build.host_lines, text)
    for event in log.events:
        for seen in _seen(event, build, sizes, text, handled=outcome.code == 0 and event.looked):
            yield place.finding(seen)


def _seen(event: Event, build: Build, sizes: Mapping[str, int], text: str, *, handled: bool) -> Iterator[Observation]:
    fields = event.fields
    match event.kind:
        case "report":
            yield from _of_kernel(event, build, sizes, text)
        case "refused" if not handled:
            facts = {"variant": "said", "error": fields["name"], "reason": _refusal(fields, build)}
            yield Observation("launch_error", event.line, fields["kernel"], facts=facts)
        case "failed" if not handled:
            facts = {"variant": "call", "call": fields["function"], "error": fields["name"]}
            yield Observation("launch_error", event.line, facts=facts)
        case "unsupported":
            yield Observation("unsupported", event.line, facts={"call": fields["function"]})
        case "refused_by_machine":
            facts = {"variant": "refused", "reason": fields["reason"]}
            yield Observation("unsupported", event.line, fields["kernel"], facts=facts)


def _of_kernel(event: Event, build: Build, sizes: Mapping[str, int], text: str) -> Iterator[Observation]:
    from grader.simt.early_return import without_early_returns
    from grader.simt.findings import Budgets, device_findings
    from grader.simt.shared_variables import with_variables
    from grader.simt.software import lowered_program
    from grader.trial import from_device

    report: dict[str, Any] = event.fields["report"]
    raw = without_early_returns(report["findings"], text)
    found = device_findings([report | {"findings": raw}], [event.line], sizes, Budgets(_WARP_BUDGET, 0))
    for finding in with_variables(found, lowered_program(build)):
        yield from_device(finding)


def _refusal(fields: Mapping[str, Any], build: Build) -> str:
    refusal = judge(
        build.kernels[fields["kernel"]],
        device_for(build.target),
        grid=tuple(fields["grid"]),
        block=tuple(fields["block"]),
        shared=fields["shared"],
        max_dynamic_shared=fields["max_dynamic_shared"],
    )
    return (refusal or cooperative_refusal()).reason
