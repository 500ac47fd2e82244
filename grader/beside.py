"""A part beside others that do together what it does: kernels, bytes moved and memory of both, on the same cases.

Counted on the software GPU, one run a case; nothing is judged by it, since all of these parts have passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from grader.catalog import UsageError
from grader.puzzle import Beside, Case, buffer_bytes
from grader.submission import Submission
from grader.verdict import ComparedCase, Cost, SideBySide, Used

if TYPE_CHECKING:
    from grader.record.plan import Plan
    from grader.tools import Tools


def side_by_side(submission: Submission, seed: int, tools: Tools) -> SideBySide | None:
    """The numbers of a part that has passed; None where it stands beside nothing, or the others cannot be had."""
    from grader.build import BuildFailed

    beside = submission.located.part.beside
    if beside is None:
        return None
    try:
        cases = [_compared(submission, beside, case, seed, tools) for case in beside.cases]
    except (BuildFailed, UsageError, OSError):
        return None
    others = (Used(one.located.part.name, one.located.label, not one.is_solution) for one in submission.others)
    return SideBySide(tuple(others), beside.by, tuple(cases))


def _compared(submission: Submission, beside: Beside, case: Case, seed: int, tools: Tools) -> ComparedCase:
    this = together([submission], {}, case, seed, tools)
    return ComparedCase(case.params, this, together(submission.others, beside.same, case, seed, tools))


def together(submissions: Sequence[Submission], same: Mapping[str, str], case: Case, seed: int, tools: Tools) -> Cost:
    """What these calls cost, one after the other, all of their buffers being there from first to last."""
    kernels = moved = allocated = 0
    buffers: dict[str, int] = {}
    for submission in submissions:
        part = submission.located.part
        own = Case.of({scalar.name: case.params[scalar.name] for scalar in part.scalars})
        plan, bytes_moved = _run(submission, own, seed, tools)
        for buffer in part.buffers:
            name = same.get(f"{part.name}.{buffer.name}", buffer.name).rpartition(".")[2]
            buffers[name] = max(buffers.get(name, 0), buffer_bytes(buffer, own.params))
        kernels += _launches(plan)
        moved += bytes_moved
        allocated = max(allocated, most_allocated(plan))
    return Cost(kernels, moved, sum(buffers.values()) + allocated)


def _run(submission: Submission, case: Case, seed: int, tools: Tools) -> tuple[Plan, int]:
    """The plan of a call, and the bytes that its kernels move."""
    from grader.inputs import memory_for

    part = submission.located.part
    built = submission.tools(tools).build(submission.source)
    plan = tools.record(built, part, case).plan
    roles = {buffer.name: buffer.role for buffer in part.buffers}
    return plan, tools.software_gpu(built).run(plan, memory_for(part, case, seed), roles=roles).moved


def _launches(plan: Plan) -> int:
    from grader.record.plan import Launch

    return sum(isinstance(operation, Launch) for operation in plan.operations)


def most_allocated(plan: Plan) -> int:
    """Bytes that the entry has allocated at once, at most."""
    from grader.record.plan import Allocation, Free

    held: dict[int, int] = {}
    most = 0
    for operation in plan.operations:
        match operation:
            case Allocation(address=address, bytes=size):
                held[address] = size
            case Free(address=address):
                held.pop(address, None)
        most = max(most, sum(held.values()))
    return most
