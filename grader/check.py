"""Cases × device → verdict: what `grader check` does for one part.

A part is built, and its cases go group by group, easy first: each is recorded in the cage, then run twice on the
software GPU and compared with PyTorch. The first case that fails ends the part unless all are asked for. A part whose
cases are all right is recorded once more with a launch that fails, which an honest entry reports, and at its full
size, where a sample of its blocks is run; then its goals are judged on what was counted.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from grader.ahead import Ahead
from grader.beside import side_by_side
from grader.cache import ToolMissing
from grader.compiled import build_findings, named_fragments, uninitialised, void_entry
from grader.cuda.presence import has_device, why_not
from grader.evidence import CaseEvidence, Evidence
from grader.explain import Observation, sentence
from grader.facts import as_sentence, kernel_facts, launch_facts, printed_by_host
from grader.judged_goals import judged_goals
from grader.launcher import host_observations
from grader.list_part import ListPart, ReadingPart
from grader.notes import Notes
from grader.puzzle import Case, element_count
from grader.python_part import PythonPart
from grader.smallest import Failing, same_way, smallest_case
from grader.submission import Options, Submission
from grader.timed import Progress, TimedPart, explained
from grader.tools import Tools, TorchLoading
from grader.verdict import BENCH_GROUP, CaseResult, PartVerdict, Stage, State

if TYPE_CHECKING:
    from grader.build import Build
    from grader.cuda.session import RealGPU
    from grader.record import Recording
    from grader.trial import Ran, Trial

__all__ = ["DEVICE", "Options", "Submission", "check_part"]

DEVICE = "software"
_MOST_AHEAD = 16  # recordings: plans may carry many megabytes
_MOST_FAILED = 8  # launches


def _nobody(_sentence: str) -> None:
    """Who is told where nobody wants to know."""


def check_part(
    submission: Submission, options: Options, tools: Tools, loading: TorchLoading, progress: Progress = _nobody
) -> PartVerdict:
    """Judges one file; whatever it does, a verdict comes out. `progress` is told in short sentences what takes long."""
    if isinstance(submission.located.part, PythonPart):
        from grader.caged_python.judge import check_python_part

        return check_python_part(submission, options, tools, loading)
    if isinstance(submission.located.part, ReadingPart):
        from grader.op_list.reading import check_reading_part

        return check_reading_part(submission, options)
    check = _PartCheck(submission, options, tools=tools, loading=loading, progress=progress)
    if missing := submission.own_parts_missing():
        return check.not_started(missing)
    verdict = check.verdict()
    if not verdict.passed or options.cases is not None:
        return verdict
    return replace(verdict, comparison=side_by_side(submission, options.seed, tools))


@dataclass(kw_only=True)
class _PartCheck(Notes):
    tools: Tools
    loading: TorchLoading
    progress: Progress
    gpu: RealGPU | None = None
    multiprocessors: int = 0
    failing: Failing | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.recorder = self.tools.record

    def verdict(self) -> PartVerdict:
        return self.concluded(self._judge, self._device)

    def not_started(self, missing: Sequence[str]) -> PartVerdict:
        """Of a part whose file is given, while parts are missing that the learner has to have passed."""
        facts = {"label": self.submission.located.label, "parts": ", ".join(missing)}
        self.reason = sentence("list", "given", facts=facts)
        return self.concluded(lambda: State.not_started, self._device)

    def _device(self) -> str:
        if self.gpu is not None:
            return self.gpu.name
        return DEVICE if self.options.device == "auto" else self.options.device

    def _judge(self) -> State:
        why = why_not() if self.options.device != DEVICE else None
        if self.options.device == DEVICE or (why is not None and self.options.device == "auto"):
            self.untimed = why if has_device() else None
            return self._judge_all()
        if why is not None:
            self.reason = why
            return State.unchecked
        return self._judge_with_gpu()

    def _judge_with_gpu(self) -> State:
        from grader.cuda.session import RealGPU, ReplayFailed

        with RealGPU(self.part) as gpu:
            try:
                self.tools = gpu.tools(self.tools)
            except ReplayFailed as failed:
                if self.options.device == "auto":
                    self.untimed = str(failed)
                    return self._judge_all()
                self.reason = str(failed)
                return State.unchecked
            self.gpu, self.multiprocessors = gpu, gpu.device.multiprocessors
            return self._judge_all()

    def _judge_all(self) -> State:
        self.tools = self.submission.tools(self.tools)
        built = self._build()
        if built is None:
            return State.wrong
        self._run_cases(built)
        self._shrink(built)
        if not self.findings:
            self._fail_a_launch(built)
        if not self.findings:
            self._full_size(built)
        faulty = bool(self.findings)
        state = self._judge_goals(built) if not faulty or self._right_where_there_is_work() else State.wrong
        state = self._state_with_findings() if faulty else state
        self._explain_time(built, state)
        return state

    def _right_where_there_is_work(self) -> bool:
        """Whether all cases with a result to compute are right, so that goals can be told beside what is wrong."""
        passed = [result.passed for result in self.results] + [False] * len(self.cases)
        sizes = [sum(element_count(buffer, case.params) for buffer in self.part.results) for _, case in self.cases]
        return all(right or not size for right, size in zip(passed, sizes, strict=False))

    def _state_with_findings(self) -> State:
        """A kernel that the software GPU cannot run is not wrong: nobody has seen it fail."""
        if all(finding.kind == "unsupported" for finding in self.findings):
            self.reason = self.findings[0].message
            return State.unchecked
        return State.wrong

    # ---- build ----

    def _build(self) -> Build | None:
        from grader.build import BuildFailed

        if not self.submission.source.read_bytes().strip():
            self._found(Observation("missing_entry", facts={"variant": "empty"}))
            return None
        begun = time.perf_counter()
        try:
            built = self.tools.build(self.submission.source)
        except BuildFailed as failed:
            self.findings += build_findings(failed, self.place)
            return None
        finally:
            self._spent("build", begun)
        returns_nothing = void_entry(built, self.submission.text(), self.part.name)
        if returns_nothing is None or self.part.is_host:
            return built
        self._found(returns_nothing)
        return None

    # ---- cases ----

    def _run_cases(self, built: Build) -> None:
        cases = [case for _, case in self.cases]
        most = _MOST_AHEAD if self.gpu is None else 0  # a GPU's addresses are asked for while nothing runs on it
        recordings = Ahead(cases, lambda case: self._record(built, case), everything=self.options.everything, most=most)
        try:
            for group, case in self.cases:
                self.stage = Stage.record
                right = self._run_case(built, recordings.next(), group, case)
                if not right and not self.options.everything:
                    return
        finally:
            recordings.stop()

    def _run_case(self, built: Build, recording: Recording, group: str, case: Case) -> bool:
        if not self._host_is_right(built, recording, group, case):
            return False
        self.loading.wait()
        return self._run(built, recording, group, case)

    def _record(self, built: Build, case: Case, *, inject: int = 0) -> Recording:
        begun = time.perf_counter()
        try:
            return self.tools.record(built, self.part, case, inject=inject)
        finally:
            self._spent("record", begun)

    def _host_is_right(self, built: Build, recording: Recording, group: str, case: Case) -> bool:
        self._print(printed_by_host(recording.printed))
        if not recording.findings:
            return True
        self._host_findings(built, recording, case)
        self.results.append(
            CaseResult(DEVICE, group, case.params, passed=False, inputs=case.inputs, offset=case.offset)
        )
        return False

    def _host_findings(self, built: Build, recording: Recording, case: Case, *, injected: bool = False) -> None:
        place = self._at(case, recording)
        observations = list(host_observations(recording, built, self.part.name, injected=injected))
        for seen in observations:
            self._add(place.finding(seen))
        self._failed(case, observations, recording)

    def _run(self, built: Build, recording: Recording, group: str, case: Case) -> bool:
        from grader.banks.answers import trial_of

        self.stage = Stage.run
        trial = trial_of(self.part, group, case, built, recording, self.options.seed)
        ran: Ran = trial.run(self.tools)
        is_right = all(seen.kind == "unsupported" for seen in ran.observations)
        gpu = self.gpu if is_right and not self.part.is_host else None
        if gpu is not None:
            ran = self._run_on_gpu(gpu, trial, ran)
        seen = named_fragments(ran.observations, self.submission.text())
        ran.observations = [*uninitialised(built, seen), *seen]
        self._note(ran if gpu is None else self._placed(ran, built, recording, case), recording, case)
        self._failed(case, ran.observations, recording)
        facts = launch_facts(recording.plan)
        besides = len(recording.plan.operations) - len(facts)
        self.evidence.append(CaseEvidence(group, case, facts, ran.counters, {}, ran.varied, besides=besides))
        return not ran.observations

    def _run_on_gpu(self, gpu: RealGPU, trial: Trial, seen: Ran) -> Ran:
        """The values, once the software GPU has found no fault; what it counted stands."""
        from grader.cuda.trial import CudaTrial

        ran = CudaTrial(**vars(trial), gpu=gpu).run_on_gpu()
        return replace(ran, counters=seen.counters, printed=seen.printed, seconds=seen.seconds + ran.seconds)

    def _placed(self, ran: Ran, built: Build, recording: Recording, case: Case) -> Ran:
        """What ran on a GPU. Where the hardware has stopped it, the software GPU is asked for the line; if it can tell,
        what it saw is noted here, and nothing is left of the fault.
        """
        from grader.pinpoint import FaultSearch

        if ran.stage is not Stage.run or not ran.observations:
            return ran
        begun = time.perf_counter()
        self.progress(sentence("timing", "asking"))
        found = FaultSearch(self.part, case, built, recording, self.options.seed).run(self.tools)
        self._spent("pinpoint", begun)
        if found is None:
            return ran
        self._failed(found.case, found.observations, found.recording)
        place, reason = self._at(found.case, found.recording), str(ran.observations[0].facts.get("reason", ""))
        for finding in found.findings(place, self.submission.text(), reason):
            self._add(finding)
        return replace(ran, observations=[])

    def _note(self, ran: Ran, recording: Recording, case: Case) -> None:
        self.seconds["run"] = self.seconds.get("run", 0.0) + ran.seconds
        self.stage = Stage.compare if ran.stage is Stage.done else ran.stage
        self._print(ran.printed)
        self.results.append(ran.result)
        place = self._at(case, recording)
        pattern = ran.pattern if ran.stage is Stage.compare else None
        for seen in ran.observations:
            self._add(place.finding(seen, pattern))

    def _failed(self, case: Case, observations: Sequence[Observation], recording: Recording) -> None:
        if self.failing is None and observations:
            launches = launch_facts(recording.plan)
            right = [judged.case for judged in self.evidence if same_way(launches, judged.launches)]
            self.failing = Failing(case, observations[0].kind, launches, right)

    def _shrink(self, built: Build) -> None:
        """Looks for the smallest case that fails: only where one did, and where the part's own cases were asked for."""
        wanted = self.options.shrink > 0 and self.options.cases is None and not self.submission.is_untouched()
        if self.failing is not None and wanted and not self.part.is_host:
            begun = time.perf_counter()
            label, seed = self.submission.located.label, self.options.seed
            self.smallest = smallest_case(self.part, label, built, self.failing, seed, self.tools, self.options.shrink)
            self._spent("shrink", begun)

    # ---- once all cases are right ----

    def _fail_a_launch(self, built: Build) -> None:
        """Whether the entry tells its caller that a launch failed, whichever it is."""
        judged = next((judged for judged in self.evidence if judged.launches), None)
        if judged is not None:
            self.stage = Stage.record
            recording = self._record(built, judged.case, inject=min(len(judged.launches), _MOST_FAILED))
            self._host_findings(built, recording, judged.case, injected=True)

    def _full_size(self, built: Build) -> None:
        """The bench case: recorded, where CUDA may refuse its grid; sampled; on a GPU also run, judged and timed.

        Without a GPU, the part's far case is recorded and sampled as well.
        """
        if self.options.cases is not None or self.part.is_host:
            return
        recording, counters = self._sampled(built, self.part.bench)
        facts = launch_facts(recording.plan)
        self.evidence.append(CaseEvidence(BENCH_GROUP, self.part.bench, facts, {}, {}, sample_counters=counters))
        if self.gpu is not None and not self.findings:
            self._time(self.gpu, built, recording)
        if self.gpu is None and not self.findings and self.part.far is not None:
            self._sampled(built, self.part.far)

    def _sampled(self, built: Build, case: Case) -> tuple[Recording, Mapping[str, Any]]:
        """The recorded case, and what the blocks of it that ran counted: nothing where a sample says nothing."""
        from grader.fullsize import FullSize

        recording = self._record(built, case)
        self._host_findings(built, recording, case)
        if recording.findings:
            return recording, {}
        self.stage = Stage.run
        ran = FullSize(self.part, case, built, recording.plan, self.options.seed).run(self.tools)
        if ran is None:
            return recording, {}
        self._note(ran, recording, case)
        return recording, ran.counters

    def _time(self, gpu: RealGPU, built: Build, recording: Recording) -> None:
        """The race; where it cannot be held, the part is judged by what else was seen, as without a GPU."""
        self.stage = Stage.run
        begun = time.perf_counter()
        timed = TimedPart(
            self.submission, built, recording, gpu, self.tools, compiled=self.options.compiled, progress=self.progress
        )
        try:
            ran, timing = timed.run(self.options.seed)
        except ToolMissing as missing:
            self.untimed = as_sentence(str(missing))
            return
        finally:
            self._spent("time", begun)
        self.tools = replace(self.tools, record=self.recorder)  # the GPU is done, and is not started again
        if not ran.observations:  # how fast something wrong is says nothing
            self.timing, self.untimed = timing, sentence("timing", "no_room") if timing is None else None
        if ran.result.checked or ran.observations:
            self._note(self._placed(ran, built, recording, self.part.bench), recording, self.part.bench)
            self._shrink(built)

    def _explain_time(self, built: Build, state: State) -> None:
        """What holds the kernel back; there is no medal for a part that is not passed."""
        largest = self._largest()
        if self.timing is not None and largest is not None:
            timing = self.timing if state is State.passed else replace(self.timing, medal=None)
            evidence = Evidence(tuple(self.evidence), kernel_facts(built))
            label = self.submission.located.label
            self.timing = explained(timing, evidence, largest, self.multiprocessors, label)

    def _judge_goals(self, built: Build) -> State:
        self.stage = self.stage if self.findings else Stage.goal
        largest = self._largest()
        if largest is not None:
            self.reference_counters = self._reference_counters(largest)
            place = self.evidence.index(largest)
            self.evidence[place] = replace(largest, reference_counters=self.reference_counters)
        evidence = Evidence(tuple(self.evidence), kernel_facts(built), self._losses(built))
        for result, missed in judged_goals(self.part, evidence, built, self.options.seed, self.tools):
            self.goals.append(result)
            if missed is not None:
                self._found(missed)
        return State.goal_open if self.findings else State.passed

    def _losses(self, built: Build) -> Sequence[float]:
        """Of a part that trains and is right: the loss from step to step."""
        if not isinstance(self.part, ListPart) or self.part.loss is None or self.findings:
            return ()
        from grader.op_list.losses import losses

        begun = time.perf_counter()
        try:
            return losses(self.part, built, self.options.seed, self.tools)
        finally:
            self._spent("train", begun)

    def _reference_counters(self, largest: CaseEvidence) -> Mapping[str, Any]:
        """What the reference solution counts on the same case; nothing where it is not at hand."""
        from grader.trial import reference_counters

        if self.submission.is_solution or self.part.is_host:
            return largest.counters
        begun, solution = time.perf_counter(), self.submission.located.solution_path
        counters = reference_counters(solution, self.part, largest.case, self.options.seed, self.tools)
        self._spent("reference", begun)
        return counters
