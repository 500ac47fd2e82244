"""How a part is judged, with tools that only pretend: states, stages, order of the steps, and the JSON."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import torch

from grader.ahead import Ahead
from grader.build import BuildFailed
from grader.cache import ToolMissing
from grader.catalog import Located, LocatedPuzzle
from grader.check import Options, Submission, check_part
from grader.evidence import Evidence, Goal, Shortfall
from grader.prelude import Companion
from grader.puzzle import Case, In, Out, Part, Puzzle, Scalar, Tolerance, Work, f32, i32
from grader.record.plan import Launch, Plan
from grader.tools import Tools, TorchLoading
from grader.verdict import PartVerdict, Stage, State, Verdict, error_json

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((ROOT / "docs" / "verdict.schema.json").read_text(encoding="utf-8"))
MARKED = "// --- your code ---\n{}// --- end ---\n"
REST = "\n" * 20  # so that findings of the first 20 lines lie in the file
Memory = Mapping[str, torch.Tensor]


def validated(text: str) -> Any:
    document = json.loads(text)
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    return document


def add(memory: Memory, _run: int) -> None:
    memory["out"].copy_(memory["a"] + memory["b"])


def nothing(_memory: Memory, _run: int) -> None:
    pass


@dataclass
class Pretended:
    """Tools whose kernel is a Python function of the memory and the number of the run on that device."""

    kernel: Callable[[Memory, int], None] = add
    device_findings: list[Any] = field(default_factory=list)
    host_findings: Callable[[Case, int], list[Any]] = lambda case, inject: []
    diagnostics: BuildFailed | None = None
    launches: int = 1
    printed: str = ""
    recorded: list[tuple[Any, int]] = field(default_factory=list)
    runs: list[tuple[str, int]] = field(default_factory=list)
    sampled: list[int] = field(default_factory=list)  # elements of the largest result, a case

    def tools(self) -> Tools:
        return Tools(self.build, self.record, self.device)

    def build(self, source: Path, uses: Sequence[Companion] = ()) -> Any:
        if self.diagnostics is not None:
            raise self.diagnostics
        return SimpleNamespace(
            kernels={"k": SimpleNamespace(registers=8, static_shared=0, local=0)},
            functions={},
            warnings="",
            seconds=0.5,
            cached=True,
        )

    def record(self, build: Any, part: Part, case: Case, *, inject: int = 0) -> Any:
        self.recorded.append((case.params["n"], inject))
        launch = Launch("k", (1, 1, 1), (256, 1, 1), 0, False, b"", 49152, 9)
        plan = Plan(80, part.name, "0" * 64, (), (), 0, (launch,) * self.launches)
        return SimpleNamespace(plan=plan, findings=self.host_findings(case, inject), printed=self.printed, seconds=0.0)

    def device(self, build: Any) -> Any:
        return PretendedDevice(self)


@dataclass
class PretendedDevice:
    owner: Pretended
    run_count: int = 0

    def run(
        self, plan: Plan, memory: Memory, *, roles: Mapping[str, str], order: str, seed: int, **options: int
    ) -> Any:
        before = memory["out"].clone()
        self.owner.kernel(memory, self.run_count)
        self.owner.runs.append((order, seed))
        self.run_count += 1
        same = (memory["out"].view(torch.int32) == before.view(torch.int32)).nonzero().flatten()
        return SimpleNamespace(
            findings=self.owner.device_findings,
            counters={"kernels": {"k": {"warp_instructions": 10}}, "lines": {"9": {"warp_instructions": 10}}},
            printed="",
            unwritten={"out": {"count": len(same), "first": int(same[0]) if len(same) else 0}},
            writer_line=lambda buffer, index: 5,
            origins=[],
        )

    def run_sample(self, plan: Plan, sparse: Any, *, elements: int, **options: Any) -> Any:
        self.owner.sampled.append(elements)
        execution = SimpleNamespace(cut=True, launches=())  # says nothing, as of a plan it cannot cut down
        return SimpleNamespace(execution=execution)


def make_part(**changes: Any) -> Part:
    given: dict[str, Any] = {
        "params": [In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
        "reference": lambda a, b: a + b,
        "groups": {"exact": [Case(n=256)], "ragged": [Case(n=257), Case(n=5)], "empty": [Case(n=0)]},
        "bench": Case(n=1 << 20),
        "work": lambda n: Work(12 * n, n),
        "tolerance": Tolerance(2.0**-22, why="one rounding"),
        "lesson": "Add.",
    }
    return Part("add", **(given | changes))


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., PartVerdict]:
    loading = TorchLoading()

    def judged(
        pretended: Pretended, part: Part | None = None, *, source: str = "int x;\n" * 20, **options: Any
    ) -> PartVerdict:
        folder, solutions = tmp_path / "puzzles" / "puzzle_01_add", tmp_path / "solutions"
        folder.mkdir(parents=True, exist_ok=True)
        solutions.mkdir(exist_ok=True)
        located = Located(
            part or make_part(),
            LocatedPuzzle(Puzzle("Add", [part or make_part()]), 1, folder.name, folder, solutions),
            1,
        )
        located.solution_path.write_text(MARKED.format("x();\n") + REST)
        path = folder / "1_add.cu"
        path.write_text(source + REST)
        submission = Submission(located, path, "puzzles/1_add.cu")
        verdict = check_part(submission, Options(**({"seed": 7, "shrink": 0} | options)), pretended.tools(), loading)
        validated(Verdict("puzzle_01_add", "Add", (verdict,)).to_json())
        return verdict

    return judged


def host(kind: str, line: int = 12, **facts: Any) -> Any:
    return SimpleNamespace(kind=kind, facts=facts, line=line)


def device(kind: str, line: int | None = 7, **facts: Any) -> Any:
    return SimpleNamespace(
        kind=kind,
        line=line,
        kernel="k",
        block=(0, 0, 0),
        thread=(3, 0, 0),
        buffer="a",
        index=256,
        other_line=None,
        count=2,
        facts=facts,
    )


def kinds(verdict: PartVerdict) -> list[str]:
    return [finding.kind for finding in verdict.findings]


# ---- passed ----


def test_right_in_every_case_is_passed(judge: Callable[..., PartVerdict]) -> None:
    pretended = Pretended()
    verdict = judge(pretended)
    assert (verdict.state, verdict.stage, verdict.passed, verdict.findings) == (State.passed, Stage.done, True, ())
    assert [(case.group, case.params["n"]) for case in verdict.cases] == [
        ("exact", 256),
        ("ragged", 257),
        ("ragged", 5),
        ("empty", 0),
    ]
    assert verdict.counters["kernels"] == {"k": {"warp_instructions": 10}}
    assert verdict.reference_counters == verdict.counters


def test_each_case_runs_twice_in_another_order_on_other_inputs(judge: Callable[..., PartVerdict]) -> None:
    pretended = Pretended()
    judge(pretended)
    (first_order, first_seed), (second_order, second_seed) = pretended.runs[:2]
    assert (first_order, first_seed) == ("forward", 7)
    assert second_order != first_order
    assert second_seed != first_seed


def test_the_last_recordings_fail_a_launch_and_try_the_full_size(judge: Callable[..., PartVerdict]) -> None:
    pretended = Pretended()
    judge(pretended)
    assert (256, 1) in pretended.recorded
    assert (1 << 20, 0) in pretended.recorded


# ---- build ----


def test_what_does_not_compile_is_told_in_a_sentence_with_the_original(judge: Callable[..., PartVerdict]) -> None:
    failed = BuildFailed('1_add.cu(4): error: identifier "i" is undefined\n', None, 0.5)
    verdict = judge(Pretended(diagnostics=failed))
    (finding,) = verdict.findings
    assert (verdict.state, verdict.stage, finding.kind, finding.line) == (State.wrong, Stage.build, "compile_error", 4)
    assert finding.original == 'identifier "i" is undefined'
    assert "`i`" in finding.message


def test_an_include_of_what_it_may_not_read_is_forbidden(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(
        Pretended(diagnostics=BuildFailed("1_add.cu:2:10: fatal error: ...", (2, "../solutions/x.cu"), 0.1))
    )
    assert (kinds(verdict), verdict.findings[0].line) == (["forbidden_call"], 2)
    assert "../solutions/x.cu" in verdict.findings[0].message


def test_a_compiler_that_was_stopped_is_told_with_the_time_it_had(judge: Callable[..., PartVerdict]) -> None:
    failed = BuildFailed("1_add.cu(1): error: half a wo", None, 30.2, timed_out=True)
    (finding,) = judge(Pretended(diagnostics=failed)).findings
    assert (finding.kind, finding.line) == ("compile_error", None)
    assert "within 30 s" in finding.message


def test_a_line_that_the_file_does_not_have_is_none(judge: Callable[..., PartVerdict]) -> None:
    failed = BuildFailed('1_add.cu(2000000000): error: identifier "i" is undefined\n', None, 0.5)
    (finding,) = judge(Pretended(diagnostics=failed)).findings
    assert (finding.line, finding.marks) == (None, ())
    (finding,) = judge(
        Pretended(host_findings=lambda case, inject: [host("host_timeout", line=2_000_000_000, variant="plain")])
    ).findings
    assert (finding.kind, finding.line, finding.marks) == ("host_timeout", None, ())


def test_a_compiler_that_says_nothing_understandable_is_still_an_error(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(diagnostics=BuildFailed("Segmentation fault\n", None, 0.1)))
    assert kinds(verdict) == ["compile_error"]
    assert "Segmentation fault" in verdict.findings[0].message


def test_an_empty_file_has_no_entry(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(), source=" \n")
    assert (kinds(verdict), verdict.state) == (["missing_entry"], State.wrong)


def test_a_missing_tool_is_unchecked_and_never_not_passed(judge: Callable[..., PartVerdict]) -> None:
    def missing(_case: Case, _inject: int) -> list[Any]:
        raise ToolMissing("nvcc 13.0 is missing: pip install it")

    verdict = judge(Pretended(host_findings=missing))
    assert (verdict.state, verdict.passed) == (State.unchecked, False)
    assert verdict.reason == "Nvcc 13.0 is missing: pip install it."


def test_a_fault_of_the_grader_is_not_the_learners(judge: Callable[..., PartVerdict]) -> None:
    def broken(_memory: Memory, _run: int) -> None:
        raise RuntimeError("boom")

    verdict = judge(Pretended(kernel=broken))
    assert verdict.state is State.unchecked
    assert verdict.reason is not None
    assert "RuntimeError: boom" in verdict.reason


# ---- record ----


def test_a_host_finding_stops_the_case_before_it_runs(judge: Callable[..., PartVerdict]) -> None:
    finding = host("launch_error", variant="said", error="cudaErrorInvalidValue", reason="2,048 threads a block")
    pretended = Pretended(host_findings=lambda case, inject: [finding])
    verdict = judge(pretended)
    assert (verdict.stage, kinds(verdict), pretended.runs) == (Stage.record, ["launch_error"], [])
    assert "2,048 threads a block" in verdict.findings[0].message
    assert [case.passed for case in verdict.cases] == [False]
    assert verdict.not_reached == ("ragged", "empty")


def test_an_entry_that_hides_a_failed_launch_is_wrong(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(
        Pretended(host_findings=lambda case, inject: [host("ignored_error", variant="injected")] if inject else [])
    )
    assert (verdict.state, verdict.stage, kinds(verdict)) == (State.wrong, Stage.record, ["ignored_error"])
    assert all(case.passed for case in verdict.cases)


def test_a_launch_refused_at_full_size_only_is_wrong(judge: Callable[..., PartVerdict]) -> None:
    refused = host("launch_error", error="cudaErrorInvalidValue")
    verdict = judge(Pretended(host_findings=lambda case, inject: [refused] if case.params["n"] == 1 << 20 else []))
    assert kinds(verdict) == ["launch_error"]


# ---- run and compare ----


def test_a_fault_counts_even_where_the_values_are_right(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(device_findings=[device("out_of_bounds_read", bytes=4, write=False)]))
    (finding,) = verdict.findings
    assert (verdict.state, verdict.stage) == (State.wrong, Stage.run)
    assert (finding.kind, finding.line, finding.kernel, finding.buffer, finding.index, finding.count) == (
        "out_of_bounds_read", 7, "k", "a", 256, 2,
    )  # fmt: skip
    assert (verdict.cases[0].wrong, verdict.cases[0].passed) == (0, False)


def test_what_was_never_written_is_said_before_values_are_called_wrong(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(kernel=nothing))
    (finding,) = verdict.findings
    assert (verdict.stage, finding.kind, finding.buffer, finding.count) == (Stage.compare, "never_written", "out", 256)
    assert "No thread writes `out`" in finding.message


def test_nothing_launched_is_nothing_written(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(kernel=nothing, launches=0))
    assert verdict.findings[0].message == "`add` launches nothing, so no thread writes `out`."


def test_a_tail_without_threads_is_named(judge: Callable[..., PartVerdict]) -> None:
    def short(memory: Memory, _run: int) -> None:
        memory["out"][:256] = (memory["a"] + memory["b"])[:256]

    verdict = judge(Pretended(kernel=short))
    assert [case.passed for case in verdict.cases] == [True, False]
    (finding,) = verdict.findings
    assert finding.message == "The last of the 257 floats of `out` is never written: `out[256]`."
    assert "starts 256 threads, 1 block of 256, fewer than the 257 elements" in finding.why
    assert (finding.line, finding.other_line) == (5, 9)
    assert finding.marks == ((5, "writes the others"), (9, "starts 256 threads"))


def test_wrong_values_name_the_line_that_wrote_them_and_the_pattern(judge: Callable[..., PartVerdict]) -> None:
    def doubled(memory: Memory, _run: int) -> None:
        memory["out"].copy_(2 * (memory["a"] + memory["b"]))

    verdict = judge(Pretended(kernel=doubled))
    (finding,) = verdict.findings
    assert (finding.kind, finding.line, verdict.stage) == ("wrong_values", 5, Stage.compare)
    assert verdict.cases[0].pattern == "twice the right value"
    assert verdict.cases[0].wrong == verdict.cases[0].checked == 256
    first = verdict.cases[0].first_wrong
    assert first is not None
    assert (first.buffer, first.index) == ("out", (0,))
    assert math.isclose(first.got, 2 * first.expected, rel_tol=1e-6)


def test_half_precision_is_called_by_its_name(judge: Callable[..., PartVerdict]) -> None:
    def half(memory: Memory, _run: int) -> None:
        memory["out"].copy_((memory["a"].half() + memory["b"].half()).float())

    verdict = judge(Pretended(kernel=half))
    assert kinds(verdict) == ["low_precision"]
    assert "computed in half" in verdict.findings[0].message


def test_nan_is_called_by_its_name(judge: Callable[..., PartVerdict]) -> None:
    def spoiled(memory: Memory, run: int) -> None:
        add(memory, run)
        memory["out"][3:5] = math.nan

    verdict = judge(Pretended(kernel=spoiled))
    assert kinds(verdict) == ["not_a_number"]
    assert verdict.findings[0].index == 3
    assert (
        validated(Verdict("puzzle_01_add", "Add", (verdict,)).to_json())["parts"][0]["cases"][0]["first_wrong"]["got"]
        == "NaN"
    )


def test_a_second_run_that_differs_because_something_was_kept_is_not_deterministic(
    judge: Callable[..., PartVerdict],
) -> None:
    def keeps(memory: Memory, run: int) -> None:
        memory["out"].copy_(memory["a"] + memory["b"] + run)

    verdict = judge(Pretended(kernel=keeps))
    assert kinds(verdict) == ["non_deterministic"]
    assert "kept from one call to the next" in verdict.findings[0].message


def test_a_second_run_that_its_inputs_make_wrong_is_wrong(judge: Callable[..., PartVerdict]) -> None:
    seen: list[float] = []

    def guesses(memory: Memory, _run: int) -> None:
        add(memory, 0)
        seen.append(float(memory["a"][0])) if not seen else None
        if float(memory["a"][0]) != seen[0]:
            memory["out"].mul_(3.0)

    assert kinds(judge(Pretended(kernel=guesses))) == ["wrong_values"]


def test_all_goes_on_after_a_failed_case_and_says_each_fault_once(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(device_findings=[device("data_race", write=True, other_write=False)]), everything=True)
    assert [case.passed for case in verdict.cases] == [False] * 4
    assert kinds(verdict) == ["data_race"]
    assert verdict.not_reached == ()


def test_chosen_cases_replace_the_parts_own(judge: Callable[..., PartVerdict]) -> None:
    pretended = Pretended()
    verdict = judge(pretended, cases=[("ragged", Case(n=33))])
    assert verdict.state is State.passed
    assert [case.params["n"] for case in verdict.cases] == [33]


# ---- the smallest case ----


def short(least: int) -> Callable[[Memory, int], None]:
    """A kernel that leaves the last value off, for at least so many."""

    def kernel(memory: Memory, _run: int) -> None:
        add(memory, 0)
        if len(memory["out"]) >= least:
            memory["out"][-1] += 1

    return kernel


def test_the_smallest_case_that_fails_is_found_and_said(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(short(100)), shrink=60)
    assert verdict.smallest is not None
    assert verdict.smallest.params == {"n": 100}
    assert verdict.smallest.kind == verdict.findings[0].kind == "wrong_values"
    assert verdict.smallest.sentence == "From n = 100 on; n = 99 passes."
    assert verdict.smallest.command == "grader check 1.1 --case n=100"
    assert {"n": 99} in verdict.smallest.passing
    assert [result.params for result in verdict.cases] == [{"n": 256}]
    assert "shrink" in verdict.seconds


@pytest.mark.parametrize(
    ("pretended", "options"),
    [
        (Pretended(), {}),
        (Pretended(short(100)), {"cases": [("--case", Case(n=256))]}),
        (Pretended(short(100)), {"source": MARKED.format("")}),
        (Pretended(device_findings=[device("unsupported", instruction="wgmma.mma_async")]), {}),
    ],
    ids=["passes", "one case was asked for", "skeleton", "needs a GPU"],
)
def test_nothing_is_shrunk_without_need(
    judge: Callable[..., PartVerdict], pretended: Pretended, options: dict[str, Any]
) -> None:
    verdict = judge(pretended, shrink=60, **options)
    assert verdict.smallest is None
    assert "shrink" not in verdict.seconds or verdict.state is State.unchecked
    assert {n for n, _ in pretended.recorded} <= {256, 257, 5, 0, 1 << 20}


# ---- states ----


def test_an_untouched_skeleton_is_not_started_and_still_told_what_it_does(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(kernel=nothing), source=MARKED.format("    // an idea\n"))
    assert (verdict.state, kinds(verdict)) == (State.not_started, ["never_written"])


def test_a_skeleton_changed_elsewhere_is_started(judge: Callable[..., PartVerdict]) -> None:
    assert judge(Pretended(kernel=nothing), source="int more;\n" + MARKED.format("")).state is State.wrong


def test_what_the_software_gpu_cannot_run_is_unchecked(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(device_findings=[device("unsupported", instruction="wgmma.mma_async")]))
    assert (verdict.state, kinds(verdict)) == (State.unchecked, ["unsupported"])
    assert verdict.reason is not None
    assert "wgmma.mma_async" in verdict.reason


def test_a_gpu_that_is_not_there_is_unchecked(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(), device="cuda")
    assert (verdict.state, verdict.cases) == (State.unchecked, ())
    assert verdict.reason is not None


def missed(evidence: Evidence) -> Shortfall | None:
    launches = [launch for judged in evidence.cases for launch in judged.launches]
    return Shortfall(f"There are {len(launches)} launches.", launches[0].line, "k") if launches else None


def test_a_missed_goal_is_right_with_a_goal_open(judge: Callable[..., PartVerdict]) -> None:
    goals = [
        Goal("few launches", "goal_missed", "No launch at all.", missed),
        Goal("reached", "uncoalesced_access", "Anything.", lambda evidence: None),
        Goal("told", "redundant_traffic", "Less.", lambda evidence: "Too much."),
    ]
    verdict = judge(Pretended(), make_part(goals=goals))
    assert (verdict.state, verdict.stage, verdict.passed) == (State.goal_open, Stage.goal, False)
    assert [(goal.name, goal.reached) for goal in verdict.goals] == [
        ("few launches", False),
        ("reached", True),
        ("told", False),
    ]
    assert kinds(verdict) == ["goal_missed", "redundant_traffic"]
    assert verdict.findings[0].message == "Goal: No launch at all. There are 5 launches."
    assert verdict.findings[0].line == 9


@pytest.mark.parametrize(
    ("refused", "told"),
    [(0, ["launch_error", "goal_missed"]), (5, ["launch_error"]), (257, ["launch_error"])],
)
def test_a_goal_is_told_beside_a_fault_that_only_cases_without_results_have(
    judge: Callable[..., PartVerdict], refused: int, told: list[str]
) -> None:
    pretended = Pretended(
        host_findings=lambda case, inject: [host("launch_error")] if case.params["n"] == refused else []
    )
    verdict = judge(pretended, make_part(goals=[Goal("few launches", "goal_missed", "No launch at all.", missed)]))
    assert (verdict.state, verdict.stage, kinds(verdict)) == (State.wrong, Stage.record, told)


def test_an_untouched_skeleton_that_is_right_already_is_not_started(judge: Callable[..., PartVerdict]) -> None:
    goals = [Goal("few launches", "goal_missed", "No launch at all.", missed)]
    verdict = judge(Pretended(), make_part(goals=goals), source=MARKED.format(""))
    assert (verdict.state, kinds(verdict)) == (State.not_started, ["goal_missed"])


def test_goals_see_the_full_size_last_and_the_references_counters(judge: Callable[..., PartVerdict]) -> None:
    shown: list[Evidence] = []

    def look(evidence: Evidence) -> None:
        shown.append(evidence)

    judge(Pretended(), make_part(goals=[Goal("look", "goal_missed", "", look)]))
    (evidence,) = shown
    assert [judged.group for judged in evidence.cases] == ["exact", "ragged", "ragged", "empty", "bench"]
    assert [bool(judged.reference_counters) for judged in evidence.cases] == [False, True, False, False, False]
    assert evidence.kernels["k"].registers == 8


def test_what_is_printed_cannot_move_the_cursor_and_is_cut(judge: Callable[..., PartVerdict]) -> None:
    verdict = judge(Pretended(printed='{"passed": true}\n\x1b[2J\x07hello\n' + "line\n" * 100))
    assert verdict.printed.startswith('launch code: {"passed": true}\nlaunch code: [2Jhello\n')
    assert len(verdict.printed.splitlines()) == 41


# ---- the whole ----


def part_verdict(state: State) -> PartVerdict:
    return PartVerdict("add", "1.1", state, "software", 1, Stage.done, "x.cu")


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ([State.passed], 0),
        ([State.passed, State.wrong], 1),
        ([State.not_started], 1),
        ([State.goal_open], 1),
        ([State.unchecked], 3),
        ([State.passed, State.unchecked], 3),
        ([State.unchecked, State.wrong], 1),
    ],
)
def test_exit_codes(states: list[State], code: int) -> None:
    verdict = Verdict("puzzle_01_add", "Add", tuple(map(part_verdict, states)))
    assert verdict.exit_code == code
    assert verdict.passed is (code == 0)


def test_a_puzzle_with_parts_left_is_not_passed() -> None:
    assert not Verdict("puzzle_01_add", "Add", (part_verdict(State.passed),), ("1.2",)).passed


def test_bad_usage_has_its_json() -> None:
    assert validated(error_json("No such puzzle.")) == {"schema": 1, "error": "No such puzzle."}


# ---- recording ahead ----


def clean(case: Case) -> Any:
    return SimpleNamespace(number=case.params["n"], findings=[])


def test_recordings_come_in_the_order_of_the_cases() -> None:
    ahead = Ahead([Case(n=n) for n in range(40)], clean, everything=False, most=4)
    assert [ahead.next().number for _ in range(40)] == list(range(40))  # type: ignore[attr-defined]
    ahead.stop()


def test_recording_stops_at_the_first_that_shows_something_unless_all_are_wanted() -> None:
    for everything, count in ((False, 1), (True, 3)):
        recorded: list[Case] = []

        def faulty(case: Case, into: list[Case] = recorded) -> Any:
            into.append(case)
            return SimpleNamespace(findings=["something"])

        ahead = Ahead([Case(n=n) for n in range(3)], faulty, everything=everything, most=4)
        for _ in range(count):
            ahead.next()
        ahead.stop()
        assert len(recorded) == count


def test_what_recording_raises_is_raised_where_the_recording_is_wanted() -> None:
    def missing(_case: Case) -> Any:
        raise ToolMissing("gone")

    ahead = Ahead([Case(n=1), Case(n=2)], missing, everything=True, most=4)
    with pytest.raises(ToolMissing):
        ahead.next()
    ahead.stop()


def test_recording_runs_only_so_far_ahead() -> None:
    recorded: list[Case] = []

    def note(case: Case) -> Any:
        recorded.append(case)
        return clean(case)

    for most in (0, 5):
        recorded.clear()
        ahead = Ahead([Case(n=n) for n in range(1000)], note, everything=False, most=most)
        ahead.next()
        time.sleep(0.05)
        assert 1 <= len(recorded) <= most + 1
        ahead.stop()


def test_the_bench_case_and_the_far_one_are_sampled(judge: Callable[..., PartVerdict]) -> None:
    pretended = Pretended()
    assert judge(pretended, make_part(far=Case(n=(1 << 31) + 5))).state is State.passed
    assert pretended.sampled == [1 << 20, (1 << 31) + 5]
    pretended = Pretended()
    judge(pretended, make_part())
    assert pretended.sampled == [1 << 20]
