"""What a goal is judged on: the launches of each case, what was counted, and what the compiled kernels need.

Part of the vocabulary that `puzzle.py` files are written in; `grader/goals.py` holds goals that several ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.puzzle import Case


@dataclass(frozen=True)
class LaunchFact:
    """One launch of a recorded plan. `kernel` is the mangled name; `shared` is dynamic shared memory in bytes."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    line: int | None


@dataclass(frozen=True)
class KernelFact:
    """What a compiled kernel needs: registers a thread, bytes of shared memory a block and of local memory a thread."""

    registers: int
    static_shared: int
    local: int


@dataclass(frozen=True)
class Varied:
    """An element of a result that came out differently on the same inputs, in another order of warps and blocks.

    `element` is how a learner writes it, `values` what it was, `line` where it was written.
    """

    element: str
    values: tuple[float, float]
    line: int | None


@dataclass(frozen=True)
class CaseEvidence:
    """One judged case: its launches in stream order, and the counters of the learner's run and of the reference's.

    Counters are those of the verdict (`docs/verdict.md`). The reference is run on the largest case only, elsewhere
    `reference_counters` is empty. The bench case is there too, last, in a group named "bench": no more than a sample of
    it is run, so that it has launches and no counters; `sample_counters` are those of the blocks that ran, good for
    ratios alone. `varied` is looked for where a goal has `every_order`. `besides` counts what the plan asks for that is
    no launch: copies, fills, allocations.
    """

    group: str
    case: Case
    launches: Sequence[LaunchFact]
    counters: Mapping[str, Any]
    reference_counters: Mapping[str, Any]
    varied: Varied | None = None
    sample_counters: Mapping[str, Any] = field(default_factory=dict)
    besides: int = 0


@dataclass(frozen=True)
class Evidence:
    """What a goal is judged on: every case, all of them right, and the compiled kernels by mangled name.

    `losses`: of a part that trains, the loss before each step and after the last.
    """

    cases: Sequence[CaseEvidence]
    kernels: Mapping[str, KernelFact]
    losses: Sequence[float] = ()


@dataclass(frozen=True)
class Shortfall:
    """By how much a goal was missed, in a sentence, and where, for a goal that a line of the file decides."""

    sentence: str
    line: int | None = None
    kernel: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Goal:
    """Something a right part must reach besides right values.

    `sentence` says what is asked; `check` returns None when it is reached, else the sentence (or `Shortfall`) that
    says by how much it is not. `kind` is the kind of finding reported: bank_conflicts, uncoalesced_access,
    redundant_traffic, non_deterministic, or goal_missed for all that have no kind of their own. `every_order` asks for
    each case to be run in every order of warps and blocks on the same inputs: see `CaseEvidence.varied`. `measured`
    says in a few words how far a goal is reached that can be reached further.
    """

    name: str
    kind: str
    sentence: str
    check: Callable[[Evidence], str | Shortfall | None]
    every_order: bool = field(default=False, kw_only=True)
    measured: Callable[[Evidence], str] | None = field(default=None, kw_only=True)
