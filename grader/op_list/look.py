"""Whether what came back of a learner's file is a list of op calls that can be made, before any size is known.

It comes from a process that runs the learner's code, so everything about it is looked at.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from grader.list_part import ListPart
from grader.op_kinds import OPS, Op, shapes_fit
from grader.op_list.calls import Call, refuse

MOST_CALLS = 256
_LARGEST = sys.float_info.max  # an attribute is a double; this is true of no infinity and of no NaN


def looked_at(part: ListPart, answered: Mapping[str, Any]) -> list[Call]:
    """The calls; raises ListRefused."""
    calls, count = answered.get("calls"), answered.get("count")
    if not isinstance(calls, list) or not isinstance(count, int):
        type_ = str(answered.get("type"))[:40]
        raise refuse("nothing" if type_ == "NoneType" else "no_list", None, entry=part.name, type=type_)
    if count > MOST_CALLS or len(calls) != count:
        raise refuse("too_long", None, count=f"{count:,}", most=f"{MOST_CALLS:,}")
    return [_call(part, one, number) for number, one in enumerate(calls, 1)]


def _call(part: ListPart, one: Any, number: int) -> Call:
    if not isinstance(one, dict) or "op" not in one:
        other = one.get("type") if isinstance(one, dict) else ""
        raise refuse("no_call", None, number=number, type=str(other)[:40])
    line = one.get("line")
    if not isinstance(line, int) or not 0 < line < 1 << 20:
        raise refuse("no_line", None, number=number)
    op = _op(one["op"], line)
    inputs = _tensors(part, op, "inputs", op.inputs, one.get("inputs"), line)
    outputs = _tensors(part, op, "outputs", op.outputs, one.get("outputs"), line)
    call = Call(op.name, inputs, outputs, _attrs(part, op, one.get("attrs"), line), line)
    if op.in_place and inputs[0] != outputs[0]:
        raise refuse("in_place", line, op=op.name, name=inputs[0], other=outputs[0], role=op.outputs[0])
    _look_at_shapes(part, call)
    return call


def _op(name: Any, line: int) -> Op:
    if isinstance(name, str) and name in OPS:
        return OPS[name]
    near = difflib.get_close_matches(str(name)[:40], OPS, n=1, cutoff=0.5) if isinstance(name, str) else []
    key = "unknown_op_near" if near else "unknown_op" if isinstance(name, str) else "no_name"
    facts = {"name": str(name)[:40], "near": next(iter(near), ""), "ops": ", ".join(OPS)}
    raise refuse(key, line, **facts)


def _tensors(part: ListPart, op: Op, side: str, roles: Sequence[str], given: Any, line: int) -> tuple[str, ...]:
    wanted = {"op": op.name, "side": side, "roles": ", ".join(roles), "wanted": len(roles)}
    if not isinstance(given, list):
        raise refuse("no_tensors", line, **wanted, type=_type(given))
    if len(given) != len(roles):
        raise refuse("count", line, **wanted, got=len(given))
    for role, one in zip(roles, given, strict=True):
        name = one.get("tensor") if isinstance(one, dict) else None
        if name not in part.tensor_names:
            raise refuse("no_tensor", line, op=op.name, role=role, what=_what(one))
    return tuple(one["tensor"] for one in given)


def _attrs(part: ListPart, op: Op, given: Any, line: int) -> dict[str, float | str]:
    pairs = given if isinstance(given, list) else []
    named = {str(pair[0]): pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2}
    if missing := [name for name in op.attrs if name not in named]:
        raise refuse("attr_missing", line, op=op.name, name=missing[0])
    if unknown := [name for name in named if name not in op.attrs]:
        key = "attr_unknown" if op.attrs else "attr_none"
        raise refuse(key, line, op=op.name, name=unknown[0][:40], attrs=", ".join(op.attrs))
    return {name: _value(part, op, name, named[name], line) for name in op.attrs}


def _value(part: ListPart, op: Op, name: str, value: Any, line: int) -> float | str:
    number = value.get("number") if isinstance(value, dict) else None
    if name in op.choices:
        if not isinstance(value, int | float) or value not in (0, 1):
            raise refuse("attr_choice", line, op=op.name, name=name, what=_what(value))
        return int(value)
    if number in part.number_names:
        return str(number)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= _LARGEST:
        numbers = " or ".join(part.number_names)
        raise refuse("attr_number", line, op=op.name, name=name, what=_what(value), numbers=numbers)
    return float(value)


def _look_at_shapes(part: ListPart, call: Call) -> None:
    op, pattern = call.kind, call.kind.shapes_for(call.attrs)
    if pattern is None:
        raise refuse("both_turned", call.line, op=op.name)
    inputs, outputs = ([part.dims(name) for name in names] for names in (call.inputs, call.outputs))
    if shapes_fit(pattern, inputs, outputs):
        return
    said = [f"{name} [{', '.join(map(str, part.dims(name)))}]" for name in (*call.inputs, *call.outputs)]
    attrs = ", ".join(f"{name}={call.attrs[name]}" for name in op.choices)
    here = f"{', '.join(said[:-1])} → {said[-1]}"
    key = "shapes_axis" if "axis" in op.choices else "shapes_with" if attrs else "shapes"
    raise refuse(key, call.line, op=op.name, attrs=attrs, wanted=op.written(call.attrs), here=here)


def _what(value: Any) -> str:
    """What stands where something else should."""
    if isinstance(value, dict):
        named = value.get("tensor") or value.get("number")
        return f"`{str(named)[:40]}`" if named is not None else f"a {_type(value)}"
    return str(value)[:40]


def _type(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("other", "tensor" if "tensor" in value else "number"))[:40]
    return type(value).__name__
