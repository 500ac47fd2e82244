"""The Plan: what an entry asked of the device, as plain data. The page about it is docs/plan-format.md.

A Plan is a script of calls in stream order, with the buffers it was recorded on. It comes from hostile code, so every
Plan that exists has been checked: `Plan(...)` and `from_json` raise `PlanInvalid`, and nothing else, for one that is
malformed, too large, or reaches outside its buffers. This module, operations.py and grader/strict_json.py are the
ground floor: they import nothing else of ours.
"""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from grader.record.operations import (
    ADDRESS_END,
    MAX_OPERATIONS,
    MAX_PAYLOAD_BYTES,
    Allocation,
    Copy,
    Free,
    Launch,
    Memset,
    Operation,
    PlanInvalid,
    SymbolCopy,
    SymbolUpload,
    Triple,
    Upload,
    check_name,
    check_number,
    check_operations,
    refuse,
)
from grader.strict_json import exact_fields, read_json

__all__ = [
    "MAX_OPERATIONS",
    "MAX_PAYLOAD_BYTES",
    "OPERATIONS",
    "PLAN_VERSION",
    "Allocation",
    "Copy",
    "Free",
    "Launch",
    "Memset",
    "Operation",
    "Plan",
    "PlanBuffer",
    "PlanInvalid",
    "PlanScalar",
    "SymbolCopy",
    "SymbolUpload",
    "Triple",
    "Upload",
    "from_json",
    "load",
    "operation_from_json",
    "operation_to_json",
    "save",
    "to_json",
]

PLAN_VERSION = 1
MAX_JSON_BYTES = 128 << 20
MAX_BUFFERS = 64
ROLES = ("in", "out", "inout", "workspace")
SCALAR_TYPES = ("i32", "i64", "f32", "f64")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class PlanBuffer:
    """A buffer of the entry: `role` is in, out, inout or workspace."""

    name: str
    address: int
    bytes: int
    role: str


@dataclass(frozen=True)
class PlanScalar:
    """A parameter passed by value: `type` is i32, i64, f32 or f64."""

    name: str
    type: str
    value: int | float


@dataclass(frozen=True)
class Plan:
    """What one call of `entry` asked of the device.

    `target` is the architecture times ten, `module` the SHA-256 of the PTX whose kernels and variables are named.
    `returned` is the cudaError_t that the entry returned, None if it did not return. Raises `PlanInvalid`.
    """

    target: int
    entry: str
    module: str
    buffers: tuple[PlanBuffer, ...]
    scalars: tuple[PlanScalar, ...]
    returned: int | None
    operations: tuple[Operation, ...]
    version: int = PLAN_VERSION

    def __post_init__(self) -> None:
        _check(self)


# ---- checks --------------------------------------------------------------------------------------------------------


def _check(plan: Plan) -> None:
    if type(plan.version) is not int or plan.version != PLAN_VERSION:
        refuse(f"this is version {plan.version!r} of the format, and only {PLAN_VERSION} is known")
    check_number(plan.target, 10, 9_999, "target")
    check_name(plan.entry, "entry")
    if not isinstance(plan.module, str) or not re.fullmatch(r"[0-9a-f]{64}", plan.module):
        refuse("module is no SHA-256")
    if plan.returned is not None:
        check_number(plan.returned, -(1 << 31), (1 << 31) - 1, "returned")
    _check_buffers(plan.buffers)
    for scalar in plan.scalars:
        _check_scalar(scalar)
    check_operations(plan.operations, ((buffer.address, buffer.address + buffer.bytes) for buffer in plan.buffers))


def _check_buffers(buffers: tuple[PlanBuffer, ...]) -> None:
    for buffer in buffers:
        check_name(buffer.name, "the name of a buffer")
    if len(buffers) > MAX_BUFFERS or len({buffer.name for buffer in buffers}) != len(buffers):
        refuse(f"more than {MAX_BUFFERS} buffers, or two of one name")
    for buffer in buffers:
        check_number(buffer.address, 1, ADDRESS_END, "the address of a buffer")
        check_number(buffer.bytes, 0, ADDRESS_END - buffer.address, "the size of a buffer")
        if buffer.role not in ROLES:
            refuse(f"{buffer.name} has no role of {', '.join(ROLES)}")
    placed = sorted(buffers, key=lambda buffer: buffer.address)
    for below, above in pairwise(placed):
        if below.address + below.bytes > above.address:
            refuse(f"{below.name} and {above.name} overlap")


def _check_scalar(scalar: PlanScalar) -> None:
    check_name(scalar.name, "the name of a scalar")
    if scalar.type in ("i32", "i64"):
        half = 1 << (31 if scalar.type == "i32" else 63)
        check_number(scalar.value, -half, half - 1, f"the value of {scalar.name}")
    elif scalar.type not in SCALAR_TYPES or type(scalar.value) is not float:
        refuse(f"{scalar.name} is no scalar of a known type")


# ---- JSON ----------------------------------------------------------------------------------------------------------

OPERATIONS: dict[str, type[Operation]] = {
    "launch": Launch,
    "memset": Memset,
    "copy": Copy,
    "upload": Upload,
    "symbol_copy": SymbolCopy,
    "symbol_upload": SymbolUpload,
    "allocate": Allocation,
    "free": Free,
}
_OPERATION_NAMES = {kind: name for name, kind in OPERATIONS.items()}
_AS_BASE64 = ("parameters", "payload")


def to_json(plan: Plan) -> str:
    """The plan as one JSON object; `from_json` gives the equal plan back."""
    document = {
        "plan": plan.version,
        "target": plan.target,
        "entry": plan.entry,
        "module": plan.module,
        "buffers": [vars(buffer) for buffer in plan.buffers],
        "scalars": [{**vars(scalar), "value": _number_out(scalar.value)} for scalar in plan.scalars],
        "returned": plan.returned,
        "operations": [operation_to_json(operation) for operation in plan.operations],
    }
    return json.dumps(document, allow_nan=False)


def from_json(text: str | bytes) -> Plan:
    """The plan of a document from anywhere; raises `PlanInvalid` and nothing else."""
    if len(text) > MAX_JSON_BYTES:
        refuse(f"more than {MAX_JSON_BYTES} bytes of JSON")
    fields = _fields(
        read_json(text, _refuse), ("plan", "target", "entry", "module", "buffers", "scalars", "returned", "operations")
    )
    return Plan(
        target=fields["target"],
        entry=fields["entry"],
        module=fields["module"],
        buffers=tuple(PlanBuffer(**_fields(item, _names(PlanBuffer))) for item in _list(fields["buffers"])),
        scalars=tuple(_scalar(item) for item in _list(fields["scalars"])),
        returned=fields["returned"],
        operations=tuple(operation_from_json(item) for item in _list(fields["operations"])),
        version=fields["plan"],
    )


def save(plan: Plan, path: Path) -> None:
    """Writes the plan's JSON."""
    path.write_text(to_json(plan) + "\n", encoding="utf-8")


def load(path: Path) -> Plan:
    """The plan in a file; raises `PlanInvalid` for its contents, OSError for the file."""
    if path.stat().st_size > MAX_JSON_BYTES:
        refuse(f"more than {MAX_JSON_BYTES} bytes of JSON")
    return from_json(path.read_bytes())


def operation_to_json(operation: Operation) -> dict[str, Any]:
    """One operation as a JSON object; bytes in base64."""
    document: dict[str, Any] = {"op": _OPERATION_NAMES[type(operation)], **vars(operation)}
    for name in _AS_BASE64:
        if name in document:
            document[name] = base64.b64encode(document[name]).decode("ascii")
    return document


def operation_from_json(document: object) -> Operation:
    """The reverse; the operation's values are checked when a Plan is made of it. Raises `PlanInvalid`."""
    kind = OPERATIONS.get(str(document.get("op"))) if isinstance(document, dict) else None
    if kind is None:
        refuse("an operation of no known kind")
    fields = _fields(document, ("op", *_names(kind)))
    del fields["op"]
    for name in _AS_BASE64:
        if name in fields:
            fields[name] = _bytes(fields[name])
    for name in ("grid", "block"):
        if name in fields:
            fields[name] = tuple(_list(fields[name]))
    return kind(**fields)


def _refuse(why: str) -> NoReturn:
    refuse(f"this {why}")


def _fields(document: object, names: tuple[str, ...]) -> dict[str, Any]:
    return exact_fields(document, names, _refuse)


def _names(kind: type[Operation | PlanBuffer | PlanScalar]) -> tuple[str, ...]:
    return tuple(kind.__dataclass_fields__)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        refuse("a list is missing")
    return value


def _bytes(value: object) -> bytes:
    if not isinstance(value, str):
        refuse("bytes are not given in base64")
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        refuse("bytes are not given in base64")


def _scalar(document: object) -> PlanScalar:
    fields = _fields(document, _names(PlanScalar))
    value = fields["value"]
    if isinstance(value, str):
        fields["value"] = _NOT_FINITE.get(value, value)
    elif fields["type"] in ("f32", "f64") and type(value) is int:
        fields["value"] = _float(value)
    return PlanScalar(**fields)


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        refuse("a scalar is too large")


def _number_out(value: float) -> int | float | str:
    if isinstance(value, int) or math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
