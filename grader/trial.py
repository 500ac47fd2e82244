"""One case on the software GPU: run twice on fresh inputs, both runs judged.

The second run has other inputs and another order of warps and blocks, on the same device, whose module globals the
first run left behind. What the software GPU finds counts even where the values are right; an element that was never
written is reported as such before any wrong value is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import torch

from grader.compare import BufferComparison, Comparison, compare
from grader.evidence import Varied
from grader.explain import Observation, Pattern, Values, element, find_pattern
from grader.first_values import with_memset
from grader.inputs import derived_seed, memory_for
from grader.not_a_number import with_origin
from grader.puzzle import Buffer, Case, Part, Work, call_by_name, dtype_of, element_count
from grader.simt.early_return import leaves_early
from grader.suppositions import mistakes, suppositions
from grader.verdict import CaseResult, FirstWrong, Stage

if TYPE_CHECKING:
    from grader.build import Build
    from grader.record.plan import Launch, Plan
    from grader.simt.findings import DeviceFinding
    from grader.simt.software import RunResult
    from grader.tools import Tools

DEVICE = "software"
ORDERS = ("forward", "shuffled", "reverse")
_MOST_ASKED = 64  # elements of which it is asked who wrote them
_ALL_ORDERS = 1 << 14  # threads of a plan: a larger one runs in the first two, so that nobody waits for the third
_LEAST_BUDGET, _LEAST_LAUNCH_BUDGET, _BUDGET_PER_OPERATION = 1 << 20, 1 << 24, 16


class _Budgets(TypedDict):
    budget: int
    launch_budget: int


@dataclass
class Ran:
    """What became of one case: `observations` are empty where it passed, else they come from `stage`."""

    result: CaseResult
    observations: list[Observation] = field(default_factory=list)
    stage: Stage = Stage.done
    pattern: Pattern | None = None
    counters: Mapping[str, Any] = field(default_factory=dict)
    printed: str = ""
    seconds: float = 0.0
    varied: Varied | None = None


@dataclass(frozen=True)
class Trial:
    """A recorded case, ready to run."""

    part: Part
    group: str
    case: Case
    build: Build
    plan: Plan
    seed: int

    def run(self, tools: Tools) -> Ran:
        """Runs in two or three orders; stops after a run that shows something."""
        begun = time.perf_counter()
        gpu = tools.software_gpu(self.build)
        ran = Ran(self.result(None))
        orders = ORDERS if sum(map(_threads, launches_of(self.plan))) <= _ALL_ORDERS else ORDERS[:2]
        for run, order in enumerate(orders):
            memory, inputs = self._memory(run)
            result = gpu.run(
                self.plan, memory, roles=self._roles(), order=order, seed=self._seed(run), **self._budgets()
            )
            comparison = compare(self.part, self.case, inputs, memory)
            if run == 0:
                ran.counters, ran.printed = result.counters, result.printed
            self._judge(ran, result, comparison, inputs)
            if ran.observations:
                self._find_origin(ran, run, order, tools)
                if run > 0 and ran.stage is Stage.compare:
                    self._blame_what_was_kept(ran, run, tools)
                break
        if not ran.observations and any(goal.every_order for goal in self.part.goals):
            ran.varied = self._varied(tools)
        ran.seconds = time.perf_counter() - begun
        return ran

    def _varied(self, tools: Tools) -> Varied | None:
        """The first element whose bits depend on the order of warps and blocks, all runs on the first run's inputs."""
        results: list[dict[str, torch.Tensor]] = []
        for order in ORDERS:
            memory, _ = self._memory(0)
            gpu = tools.software_gpu(self.build)
            result = gpu.run(self.plan, memory, roles=self._roles(), order=order, seed=self.seed, **self._budgets())
            results.append(memory)
            for buffer in self.part.results:
                before, after = results[0][buffer.name].flatten(), memory[buffer.name].flatten()
                differs = (before.view(torch.uint8) != after.view(torch.uint8)).reshape(-1, before.itemsize).any(1)
                if bool(differs.any()):
                    first = int(differs.nonzero()[0])
                    values = (float(before[first]), float(after[first]))
                    return Varied(element(buffer.name, first), values, result.writer_line(buffer.name, first))
        return None

    def _seed(self, run: int) -> int:
        return self.seed if run == 0 else derived_seed(self.seed, run)

    def _budgets(self) -> _Budgets:
        """Instructions that one warp, and a whole launch, may take: to do all the work alone, many times over."""
        work: Work = call_by_name(self.part.work, self.case.params)
        operations = _BUDGET_PER_OPERATION * max(work.flops, work.bytes // 4)
        return {"budget": _LEAST_BUDGET + operations, "launch_budget": _LEAST_LAUNCH_BUDGET + operations}

    def _roles(self) -> dict[str, str]:
        return {buffer.name: buffer.role for buffer in self.part.buffers}

    def _memory(self, run: int) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        memory = memory_for(self.part, self.case, self._seed(run), run)
        return memory, {buffer.name: memory[buffer.name].clone() for buffer in self.part.buffers if buffer.is_read}

    def _judge(self, ran: Ran, result: RunResult, comparison: Comparison, inputs: Mapping[str, torch.Tensor]) -> None:
        ran.result = self.result(comparison)
        wrong = comparison.first_wrong()
        if wrong is not None:
            ran.pattern = find_pattern(self._values(wrong, inputs))
        found = [self._with_memset(from_device(finding)) for finding in result.findings]
        unwritten = [] if found else self._never_written(result, ran.pattern)
        if found or unwritten:
            ran.observations, ran.stage = found or unwritten, Stage.run if found else Stage.compare
        elif wrong is not None:
            seen = self._left_alone(wrong, inputs, result, ran.pattern) or self._wrong(wrong, result)
            ran.observations, ran.stage = [seen], Stage.compare
        ran.result = self.result(comparison, passed=not ran.observations, pattern=ran.pattern)

    def _with_memset(self, seen: Observation) -> Observation:
        buffer = next((each for each in self.part.buffers if each.name == seen.buffer), None)
        return with_memset(seen, self.plan, dtype_of(buffer, self.case.params).bytes) if buffer is not None else seen

    def _never_written(self, result: RunResult, pattern: Pattern | None = None) -> list[Observation]:
        seen: list[Observation] = []
        for buffer in self.part.buffers:
            summary = result.unwritten.get(buffer.name)
            if buffer.role == "out" and summary and summary["count"]:
                seen.append(self._unwritten(buffer, summary, result, pattern if not seen else None))
        return seen

    def _unwritten(
        self, buffer: Buffer, summary: Mapping[str, Any], result: RunResult, pattern: Pattern | None
    ) -> Observation:
        name, count, first = buffer.name, int(summary["count"]), int(summary["first"])
        elements = element_count(buffer, self.case.params)
        launches = launches_of(self.plan)
        facts: dict[str, Any] = {"before": element(name, first - 1)}
        facts["variant"] = _unwritten_variant(first, count, elements) if launches else "no_launch"
        if pattern is not None and _place_says_more(facts["variant"], pattern, len(buffer.shape)):
            facts |= {"variant": "place", "place": pattern.words}
        last = launches[-1] if launches else None
        kernel, launched = (last.kernel, last.line) if last is not None else (None, None)
        line = result.writer_line(name, _written(summary, elements)) if count < elements else launched
        facts["mark"] = "others" if count < elements else "none"
        other = None
        if last is not None and len(launches) == 1 and first == _threads(last) == elements - count:
            facts |= {"why": "short_grid", "other": "short_grid"}
            other = launched
        elif line is not None and 0 < count < elements and leaves_early(self._source(), line):
            facts["why"] = "left"
        return Observation("never_written", line, kernel, None, None, name, first, other, count, facts)

    def _source(self) -> str:
        return self.build.source.read_text(encoding="utf-8", errors="replace")

    def _left_alone(
        self, worst: BufferComparison, inputs: Mapping[str, torch.Tensor], result: RunResult, pattern: Pattern | None
    ) -> Observation | None:
        """Of a result that comes with values: its wrong elements, if nobody has written any of them."""
        name, places = worst.buffer.name, worst.wrong.nonzero().flatten()
        if worst.buffer.role != "inout" or not result.tells_writers:
            return None
        asked = {*places[:: max(1, len(places) // _MOST_ASKED)].tolist(), int(places[-1])}
        changed = (worst.got != inputs[name].flatten())[places]
        if bool(changed.any()) or any(set(result.writer(name, element)) != {None} for element in asked):
            return None
        summary = {"count": len(places), "first": int(places[0])}
        place = pattern.place if pattern is not None and pattern.key in ("equals_input", "unmoved") else pattern
        seen = self._unwritten(worst.buffer, summary, result, place)
        return replace(seen, facts={"why": "kept", **seen.facts})

    def _wrong(self, worst: BufferComparison, result: RunResult) -> Observation:
        kind, first, count = "wrong_values", worst.first, worst.count
        not_a_number = worst.not_a_number
        if bool(not_a_number.any()):
            kind, first, count = "not_a_number", int(not_a_number.nonzero()[0]), int(not_a_number.sum())
        elif worst.narrow is not None:
            kind = "low_precision"
        return Observation(
            kind,
            line=result.writer_line(worst.buffer.name, first),
            buffer=worst.buffer.name,
            index=first,
            count=count,
            facts=_value_facts(kind, worst, first, count),
        )

    def _blame_what_was_kept(self, ran: Ran, run: int, tools: Tools) -> None:
        """Says why only a later run is wrong: its inputs, its order, or what the first run left behind."""
        if not self._right_on_a_fresh_device(run, "forward", tools):
            return  # the inputs show it, and the finding stands
        kept = self._right_on_a_fresh_device(run, ORDERS[run], tools)
        seen = ran.observations[0]
        ran.observations = [
            Observation(
                "non_deterministic",
                line=seen.line,
                buffer=seen.buffer,
                index=seen.index,
                facts={"variant": "second_run" if kept else "order"},
            )
        ]

    def _find_origin(self, ran: Ran, run: int, order: str, tools: Tools) -> None:
        """Of a NaN in a result: the line that made it, by running once more."""
        seen = ran.observations[0]
        if seen.kind != "not_a_number" or seen.buffer is None:
            return
        memory, _ = self._memory(run)
        gpu = tools.software_gpu(self.build)
        result = gpu.run(
            self.plan, memory, roles=self._roles(), order=order, seed=self._seed(run), workers=1, mark_nans=True
        )
        ran.observations = [with_origin(seen, memory[seen.buffer], result.origins), *ran.observations[1:]]

    def _right_on_a_fresh_device(self, run: int, order: str, tools: Tools) -> bool:
        memory, inputs = self._memory(run)
        gpu = tools.software_gpu(self.build)
        result = gpu.run(self.plan, memory, roles=self._roles(), order=order, seed=self._seed(run))
        return not compare(self.part, self.case, inputs, memory).wrong and not self._never_written(result)

    def _values(self, wrong: BufferComparison, inputs: Mapping[str, torch.Tensor]) -> Values:
        last = next(iter(launches_of(self.plan)[-1:]), None)
        grid, block = (last.grid, last.block) if last is not None else ((0, 0, 0), (0, 0, 0))
        return Values(
            got=wrong.got,
            expected=wrong.expected,
            wrong=wrong.wrong,
            shape=wrong.shape,
            inputs=inputs,
            scalars=self.case.params,
            grid=grid,
            block=block,
            allowed=wrong.allowed,
            mistaken=mistakes(self.part, self.case, wrong.buffer, inputs),
            supposed=suppositions(self.part, self.case, wrong.buffer, inputs, block[0] * block[1] * block[2], grid),
        )

    def result(
        self, comparison: Comparison | None, *, passed: bool = False, pattern: Pattern | None = None
    ) -> CaseResult:
        """The case as the verdict shows it, with what was compared."""
        first = comparison.first_wrong() if comparison is not None else None
        return CaseResult(
            device=DEVICE,
            group=self.group,
            params=self.case.params,
            passed=passed,
            checked=comparison.checked if comparison is not None else 0,
            wrong=comparison.wrong if comparison is not None else 0,
            max_abs_error=comparison.max_abs_error if comparison is not None else 0.0,
            max_rel_error=comparison.max_rel_error if comparison is not None else 0.0,
            of_tolerance=comparison.of_tolerance if comparison is not None else 0.0,
            first_wrong=_first_wrong(first) if first is not None else None,
            pattern=pattern.words if pattern is not None else None,
            inputs=self.case.inputs,
            offset=self.case.offset,
        )


def launches_of(plan: Plan) -> Sequence[Launch]:
    """The launches of a plan in stream order."""
    from grader.record.plan import Launch

    return [operation for operation in plan.operations if isinstance(operation, Launch)]


def _written(summary: Mapping[str, Any], elements: int) -> int:
    """An element that was written, beside the first that was not."""
    first = int(summary["first"])
    ranges = summary.get("ranges") or [[first, first]]
    return first - 1 if first else min(int(ranges[0][1]) + 1, elements - 1)


def _unwritten_variant(first: int, count: int, elements: int) -> str:
    if count == elements:
        return "all_one" if count == 1 else "all"
    if first + count == elements:
        return "tail_one" if count == 1 else "tail_first" if first == 1 else "tail"
    return "some_one" if count == 1 else "some"


def _place_says_more(variant: str, pattern: Pattern, dimensions: int) -> bool:
    """Whether the pattern tells better where the elements lie than the variant: one in 32, the last block row."""
    if pattern.key in ("scattered", "all"):  # of all that is wrong, which may be more than what nobody wrote
        return False
    return variant == "some" or (variant == "tail" and dimensions > 1 and not pattern.key.startswith("element"))


def _threads(launch: Launch) -> int:
    count = 1
    for extent in (*launch.grid, *launch.block):
        count *= extent
    return count


def from_device(finding: DeviceFinding) -> Observation:
    """A finding of the software GPU as an observation."""
    return Observation(
        finding.kind,
        line=finding.line,
        kernel=finding.kernel,
        block=finding.block,
        thread=finding.thread,
        buffer=finding.buffer,
        index=finding.index,
        other_line=finding.other_line,
        count=finding.count,
        facts=finding.facts,
    )


def _first_wrong(worst: BufferComparison) -> FirstWrong:
    flat = worst.first
    index: list[int] = []
    for extent in reversed(worst.shape):
        index.insert(0, flat % extent)
        flat //= extent
    return FirstWrong(
        worst.buffer.name, tuple(index), float(worst.expected[worst.first]), float(worst.got[worst.first])
    )


def _value_facts(kind: str, worst: BufferComparison, first: int, count: int) -> dict[str, Any]:
    checked = worst.got.numel()
    facts: dict[str, Any] = {
        "wrong": count,
        "checked": checked,
        "got": f"{float(worst.got[first]):.7g}",
        "expected": f"{float(worst.expected[first]):.7g}",
        "max_abs_error": f"{worst.max_abs_error:.1e}",
    }
    if worst.narrow is not None:
        facts |= {"narrow": worst.narrow.name, "digits": worst.narrow.digits}
    if kind == "low_precision" and count == checked:
        facts["variant"] = "only" if checked == 1 else "all"
    if kind == "wrong_values":
        facts["variant"] = "only" if checked == 1 else "one" if count == 1 else "all" if count == checked else "first"
    if kind == "not_a_number":
        facts["variant"] = "one" if count == 1 else "all" if count == checked else "some"
    return facts


def count_once(part: Part, case: Case, build: Build, plan: Plan, seed: int, tools: Tools) -> Mapping[str, Any]:
    """The counters of one run, nothing judged: for the reference, beside the learner's."""
    roles = {buffer.name: buffer.role for buffer in part.buffers}
    result = tools.software_gpu(build).run(plan, memory_for(part, case, seed), roles=roles, order=ORDERS[0], seed=seed)
    return result.counters


def reference_counters(solution: Path, part: Part, case: Case, seed: int, tools: Tools) -> Mapping[str, Any]:
    """What the reference solution counts on a case; nothing where it is not at hand."""
    from grader.build import BuildFailed

    if not solution.is_file():
        return {}
    try:
        built = tools.build(solution)
    except BuildFailed:
        return {}
    return count_once(part, case, built, tools.record(built, part, case).plan, seed, tools)
