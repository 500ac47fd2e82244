"""The recorded plan of a list of op calls, launch by launch: which op it is, which variant, and what that has to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.buffers import Buffer, dtype_of, shape_of
from grader.explain.names import base_name, used_part
from grader.list_part import ListPart
from grader.op_kinds import bytes_moved, operations
from grader.op_list.calls import Call
from grader.prelude import Companion, HeaderFile, UsedSource
from grader.puzzle import Case

if TYPE_CHECKING:
    from grader.record.plan import Launch, Plan

_REGISTRATION = re.compile(r'Registration\s+\w+\s*\{\s*\{\s*OpKind::\w+,\s*"(\w+)"')


@dataclass(frozen=True)
class PlannedOp:
    """One launch: the call that it does, by names, the variant that was chosen, and its kernel and grid.

    `bytes` counts each element of a tensor once, `operations` a multiply-add as two.
    """

    call: Call
    variant: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    bytes: int
    operations: int


def planned_ops(
    part: ListPart, case: Case, calls: Sequence[Call], plan: Plan, companions: Iterable[Companion]
) -> list[PlannedOp]:
    """The launches of a plan in their order. A call on nothing launches nothing; the others one kernel each."""
    from grader.record.plan import Launch

    names = frozenset(_registered(companions))
    rounds = int(case.params[part.repeat]) if part.repeat is not None else 1
    due = [call for _ in range(rounds) for call in calls]
    launches = [operation for operation in plan.operations if isinstance(operation, Launch)]
    return list(_matched(part, case, due, launches, names))


def _matched(
    part: ListPart, case: Case, due: Sequence[Call], launches: Sequence[Launch], names: frozenset[str]
) -> Iterator[PlannedOp]:
    """Launches stand at the lines of their calls: what launches nothing is passed over."""
    remaining = iter(due)
    for launch in launches:
        call = next((one for one in remaining if one.line == launch.line and _has_work(part, case, one)), None)
        if call is None:
            return
        shapes = [[_shape(part, case, name) for name in side] for side in (call.inputs, call.outputs)]
        sizes = [_element_bytes(part, case, name) for name in (*call.inputs, *call.outputs)]
        kernel = base_name(launch.kernel)
        yield PlannedOp(
            call,
            kernel if kernel in names else used_part(launch.kernel) or kernel,
            kernel,
            launch.grid,
            launch.block,
            bytes_moved(shapes[0], shapes[1], sizes),
            operations(call.kind, shapes[0], shapes[1]),
        )


def _has_work(part: ListPart, case: Case, call: Call) -> bool:
    return all(extent > 0 for name in call.outputs for extent in _shape(part, case, name))


def _shape(part: ListPart, case: Case, name: str) -> tuple[int, ...]:
    return shape_of(_buffers(part)[name], case.params)


def _element_bytes(part: ListPart, case: Case, name: str) -> int:
    return dtype_of(_buffers(part)[name], case.params).bytes


def _buffers(part: ListPart) -> Mapping[str, Buffer]:
    return {buffer.name: buffer for buffer in part.buffers}


def _registered(companions: Iterable[Companion]) -> Iterator[str]:
    """The names of all variants that are compiled with a list."""
    for one in companions:
        if isinstance(one, HeaderFile | UsedSource):
            yield from _REGISTRATION.findall(one.text)
