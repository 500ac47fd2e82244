"""What a check found, as plain data: the JSON of `docs/verdict.md`, schema 1.

Numbers that are not finite become the strings "Infinity", "-Infinity" and "NaN", so that every JSON reader can read it.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from grader.banks.lanes import BankMap

SCHEMA = 1
BENCH_GROUP = "bench"  # of the case at full size, which no part names itself


class State(StrEnum):
    """How far a part is."""

    not_started = "not_started"
    wrong = "wrong"
    goal_open = "goal_open"
    passed = "passed"
    unchecked = "unchecked"


class Stage(StrEnum):
    """The last step that was reached; "done" when all of them were."""

    build = "build"
    record = "record"
    run = "run"
    compare = "compare"
    goal = "goal"
    done = "done"


@dataclass(frozen=True)
class Finding:
    """One finding in words; `line` is a line of `file`, the learner's.

    Beyond the design's fields: `title` in two or three words, `why` the reason, `marks` what stands at which line, and
    `original` the compiler's own words where the message retells them. `banks` is the access to shared memory that a
    finding about its banks is about.
    """

    kind: str
    severity: str
    title: str
    message: str
    why: str
    file: str | None
    line: int | None
    kernel: str | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    buffer: str | None = None
    index: int | None = None
    other_line: int | None = None
    count: int = 1
    marks: tuple[tuple[int, str], ...] = ()
    original: str | None = None
    banks: BankMap | None = None


@dataclass(frozen=True)
class FirstWrong:
    """The first wrong element: its buffer, its index in the buffer's shape, and both values."""

    buffer: str
    index: tuple[int, ...]
    expected: float
    got: float


@dataclass(frozen=True)
class Sampled:
    """How many of a case's blocks were run, of all launches together."""

    blocks: int
    of: int


@dataclass(frozen=True)
class CaseResult:
    """One case on one device; `checked` and `wrong` count elements of all its results. `of_tolerance` is the largest
    error in shares of what is allowed for its element.

    Where only a sample of the blocks was run, `sampled` says so, and `checked` counts the elements that were compared.
    """

    device: str
    group: str
    params: Mapping[str, int | float]
    passed: bool
    checked: int = 0
    wrong: int = 0
    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    of_tolerance: float = 0.0
    first_wrong: FirstWrong | None = None
    pattern: str | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    offset: Mapping[str, int] = field(default_factory=dict)
    sampled: Sampled | None = None


@dataclass(frozen=True)
class Smallest:
    """The smallest case found that fails like the first one: its kind of finding and its scalars, what was seen of its
    sizes in a sentence, the smaller and neighbouring cases that were run and pass, and what to type to repeat it.
    """

    kind: str
    params: Mapping[str, int | float]
    sentence: str
    passing: tuple[Mapping[str, int | float], ...]
    command: str


@dataclass(frozen=True)
class GoalResult:
    """One goal of a right part: what is asked, whether it is reached, and how far, where it can be reached further."""

    name: str
    sentence: str
    reached: bool
    measured: str | None = None


@dataclass(frozen=True)
class Rival:
    """What was timed in turn with the learner's kernel: `name` is "reference", "pytorch", "compiled" or "ceiling", and
    `what` says it in words. `times` is its time over the learner's, the median of the ratios of neighbouring turns with
    its interval: above 1, the learner's is faster. `decision` says of the learner's kernel "faster", "slower" or "tie".
    """

    name: str
    what: str
    ms: float
    interval_ms: tuple[float, float]
    times: float
    times_interval: tuple[float, float]
    decision: str


def rival_among(rivals: Iterable[Rival], name: str) -> Rival | None:
    """The one of that name; None where it was not timed."""
    return next((rival for rival in rivals if rival.name == name), None)


@dataclass(frozen=True)
class Bottleneck:
    """What was counted that holds a kernel back: its `kind`, what was `seen` in a sentence, and the `advice` that comes
    of it; either may be "". `line` is there where one line decides it.
    """

    kind: str
    seen: str
    advice: str
    line: int | None = None


@dataclass(frozen=True)
class Timing:
    """The bench case on a GPU: the median of `runs` replays and its 95 % interval, in milliseconds, and the bytes that
    the case must at least move over that time, in 10**9 bytes a second; its operations, in 10**12 a second.

    `bound` is "memory", "compute" or "launch": what the limit is made of that `of_limit` is the share of (None where
    nothing was measured to compare with). `medal` is "gold", "silver", "bronze" or None, against the reference.
    `left_out` says of rivals that were not timed, by name, why.
    `sensors` are the GPU's, in the middle of it; `slowed` says why the times are not the GPU's best, `refused` why they
    cannot be true, None if all is well. `bottleneck` is None where nothing stands out. `hashes` names what was timed by
    what: statement, source, reference, grader, machine code, nvcc, driver, device; `target` is the architecture that it
    was compiled for: 90.
    """

    device: str
    ms: float
    interval_ms: tuple[float, float]
    gb_per_s: float
    runs: int
    cold_l2: bool
    tflop_per_s: float = 0.0
    bound: str = "memory"
    of_limit: float | None = None
    medal: str | None = None
    rivals: tuple[Rival, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    sensors: Mapping[str, Any] = field(default_factory=dict)
    slowed: str | None = None
    refused: str | None = None
    bottleneck: Bottleneck | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    target: int = 0


@dataclass(frozen=True)
class Used:
    """A part that the judged one builds on: its entry, its label, and whether the learner's own file was taken."""

    part: str
    label: str
    own: bool


@dataclass(frozen=True)
class Cost:
    """What one or several calls cost, in one case: kernels started; bytes that they load and store, of each buffer its
    size at most, by kernel and way; bytes of memory at most, buffers, workspaces and what the entry allocates.
    """

    kernels: int
    moved: int
    memory: int


@dataclass(frozen=True)
class ComparedCase:
    """The scalars of a case, what the part costs there, and what the others cost together."""

    params: Mapping[str, int | float]
    this: Cost
    others: Cost


@dataclass(frozen=True)
class SideBySide:
    """A part beside others that do together what it does: whose files were taken, and the cases, told apart by `by`."""

    others: tuple[Used, ...]
    by: str
    cases: tuple[ComparedCase, ...]


@dataclass(frozen=True)
class PartVerdict:
    """One part. `reason` says in a sentence why it could not be checked, `untimed` why a right part has no time where
    there is a GPU; `not_reached` names the groups never tried.
    """

    part: str
    label: str
    state: State
    device: str
    seed: int
    stage: Stage
    file: str
    findings: tuple[Finding, ...] = ()
    cases: tuple[CaseResult, ...] = ()
    not_reached: tuple[str, ...] = ()
    goals: tuple[GoalResult, ...] = ()
    counters: Mapping[str, Any] = field(default_factory=dict)
    reference_counters: Mapping[str, Any] = field(default_factory=dict)
    timing: Timing | None = None
    untimed: str | None = None
    printed: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None
    smallest: Smallest | None = None
    uses: tuple[Used, ...] = ()
    comparison: SideBySide | None = None

    @property
    def passed(self) -> bool:
        return self.state is State.passed


@dataclass(frozen=True)
class Verdict:
    """A puzzle, or one part of it; `parts` lists only those judged, `remaining` the labels of those not reached."""

    puzzle: str
    title: str
    parts: tuple[PartVerdict, ...]
    remaining: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return bool(self.parts) and not self.remaining and all(part.passed for part in self.parts)

    @property
    def exit_code(self) -> int:
        """0 passed, 1 not passed, 3 not judged here; one part not passed makes 1, even beside unchecked ones."""
        states = {part.state for part in self.parts}
        if states - {State.passed, State.unchecked}:
            return 1
        return 3 if State.unchecked in states else 0

    def to_json(self) -> str:
        """One JSON object on one line."""
        parts = [{**_fields(part), "passed": part.passed} for part in self.parts]
        return dumps({"schema": SCHEMA, **_fields(self), "passed": self.passed, "parts": parts})


def error_json(sentence: str) -> str:
    """The JSON of a check that could not begin: bad usage."""
    return dumps({"schema": SCHEMA, "error": sentence})


def dumps(value: object) -> str:
    """Strict JSON: numbers that are not finite become strings."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def _plain(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else _NOT_FINITE[str(value)]
        case Finding():
            marks = [{"line": line, "text": text} for line, text in value.marks]
            return _plain({**_fields(value), "marks": marks})
        case StrEnum():
            return str(value)
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _ if dataclasses.is_dataclass(value):
            return _plain(_fields(value))
    return value


_NOT_FINITE = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
