"""A part's file in one case, counted by the software GPU, and by Nsight Compute where it is and has a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grader.cache import ToolMissing
from grader.catalog import UsageError
from grader.check import Options, check_part
from grader.cuda.here import Here, gpu_here
from grader.explain import sentence
from grader.facts import as_sentence
from grader.profile.counts import METRICS, Profiled, kernels_of, lines_of
from grader.puzzle import Case
from grader.submission import Submission
from grader.tools import Tools, TorchLoading, building_for
from grader.verdict import PartVerdict, State

Named = tuple[str, Case]  # a case and its group


def profile(submission: Submission, named: Named, *, seed: int, tools: Tools, loading: TorchLoading) -> Profiled:
    """The counts of `named`.

    Raises UsageError for a file of which nothing runs, ToolMissing where a tool is missing or it cannot run here.
    """
    part = submission.located.part
    here = gpu_here(part)
    tools = submission.tools(building_for(tools, here.target))
    verdict = check_part(submission, Options(seed, "software", cases=[named], shrink=0), tools, loading)
    _refuse_what_did_not_run(submission, verdict)
    wrong = as_sentence(verdict.findings[0].message).replace("`", "") if verdict.state is State.wrong else None
    numbers, why = (
        (None, sentence("profile", "not_right")) if wrong else _measured(submission, named, here, tools, seed)
    )
    return Profiled(
        part=part.name,
        label=submission.located.label,
        file=submission.shown,
        params=named[1].params,
        kernels=kernels_of(verdict.counters, numbers),
        lines=lines_of(verdict.counters, submission.text()),
        not_right=wrong,
        measured_on=here.name if numbers is not None else None,
        not_measured=why,
    )


def _refuse_what_did_not_run(submission: Submission, verdict: PartVerdict) -> None:
    if verdict.state is State.unchecked:
        raise ToolMissing(verdict.reason or "")
    if not verdict.counters.get("kernels"):
        facts = {"file": submission.shown, "label": submission.located.label}
        raise UsageError(sentence("profile", "nothing_ran", facts=facts))


def _measured(
    submission: Submission, named: Named, here: Here, tools: Tools, seed: int
) -> tuple[Mapping[str, Mapping[str, int]] | None, str | None]:
    """Nsight Compute's numbers by kernel, or why there are none."""
    if here.missing is not None:
        return None, sentence("profile", "no_gpu", facts={"why": here.missing})
    from grader.cuda.nsight import NotMeasured, layout_of, measured
    from grader.record import record

    part, case = submission.located.part, named[1]
    built = tools.build(submission.source)
    plan = record(built, part, case, layout=layout_of(part, case)).plan
    try:
        return measured(part, case, plan, built.cubin, seed=seed, metrics=METRICS), None
    except NotMeasured as failed:
        return None, str(failed)


def traced(submission: Submission, case: Case, file: Path, *, seed: int, tools: Tools) -> str | None:
    """Writes a trace of the part's calls on this machine's GPU; else says in a sentence why there is none."""
    part = submission.located.part
    here = gpu_here(part)
    if here.missing is not None:
        return sentence("profile", "no_trace", facts={"why": here.missing})
    from grader.cuda.torch_trace import TraceFailed, write_trace

    built = submission.tools(building_for(tools, here.target)).build(submission.source)
    try:
        write_trace(built, part, case, file, seed=seed)
    except TraceFailed as failed:
        return sentence("profile", "no_trace", facts={"why": as_sentence(str(failed))})
    return None
