"""A part's goals, judged: what was asked, whether it was reached, and what was seen where it was not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from grader.evidence import Evidence, Goal, Shortfall
from grader.explain import Observation
from grader.puzzle import Part
from grader.verdict import GoalResult

if TYPE_CHECKING:
    from grader.build import Build
    from grader.tools import Tools


def judged_goals(
    part: Part, evidence: Evidence, built: Build, seed: int, tools: Tools
) -> Iterator[tuple[GoalResult, Observation | None]]:
    """Each goal with what became of it. That a line moves too many bytes is not told where it is told why: it jumps."""
    jumping: set[int | None] = set()
    for goal in part.goals:
        missed = goal.check(evidence)
        measured = goal.measured(evidence) if goal.measured is not None and missed is None else None
        result = GoalResult(goal.name, goal.sentence, missed is None, measured)
        if missed is None:
            yield result, None
            continue
        shortfall = missed if isinstance(missed, Shortfall) else Shortfall(missed)
        if goal.kind == "uncoalesced_access":
            jumping.add(shortfall.line)
        elif goal.kind == "redundant_traffic" and shortfall.line in jumping:
            yield result, None
            continue
        facts = {"variant": "goal", "goal": goal.sentence, "reason": shortfall.sentence, **shortfall.facts}
        facts |= _banks(part, goal, shortfall, evidence, built, seed, tools)
        yield result, Observation(goal.kind, line=shortfall.line, kernel=shortfall.kernel, facts=facts)


def _banks(
    part: Part, goal: Goal, shortfall: Shortfall, evidence: Evidence, built: Build, seed: int, tools: Tools
) -> dict[str, Any]:
    """The lanes and banks of the worst access, where the goal is about banks."""
    if goal.kind != "bank_conflicts" or shortfall.line is None:
        return {}
    from grader.banks.watch import worst_access

    return {"banks": worst_access(part, built, evidence.cases, shortfall.line, seed, tools)}
