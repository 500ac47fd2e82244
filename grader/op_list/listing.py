"""Runs a learner's file in a cage and reads the list of op calls that its function returns; kept by its text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from grader.cache import content_key, entry, mark_used, trim
from grader.cage.conversation import Ended
from grader.caged_python.errors import error_told
from grader.caged_python.process import Raised, ended_by, raised_by, started
from grader.list_part import ListPart
from grader.op_list.calls import Call, ListRefused
from grader.op_list.look import looked_at
from grader.puzzle import Part

_CHILD = ("op_record", "caged_python.list_child")
_SECONDS = 20.0  # for Python to start and for a list to be made; a busy machine takes its time
_KEPT = 512  # answers
_OF_NAMES = ("AttributeError", "TypeError")  # what comes of computing with names
_PACKAGE = Path(__file__).resolve().parents[1]

Lists: TypeAlias = Sequence[tuple[ListPart, list[Call]]]


def listed(part: ListPart, text: bytes, file: str, lists: Lists) -> list[Call]:
    """The calls that the file's function returns, with the lines of `file`; it may build on those of other `lists`.

    Raises ListRefused for a file that makes no such list, ToolMissing where no cage can be started.
    """
    message = {
        "do": "make",
        "file": file,
        "entry": part.name,
        "names": part.names,
        "numbers": part.number_names,
        "lists": {one.name: {"names": one.names, "calls": list(map(_sent, calls))} for one, calls in lists},
    }
    key = content_key(_code(), json.dumps(message), text)

    def make(directory: Path) -> None:
        (directory / "answer.json").write_text(json.dumps(answered_by(part, message, text)), encoding="utf-8")

    directory = entry("lists", key, make)
    mark_used(directory)
    trim("lists", _KEPT)
    return looked_at(part, json.loads((directory / "answer.json").read_text(encoding="utf-8")))


def _code() -> str:
    """What runs there: what another version of it has answered does not count."""
    names = ("op_record.py", "caged_python/list_child.py", "caged_python/serving.py", "caged_python/process.py")
    return content_key(*((_PACKAGE / name).read_bytes() for name in names))


def answered_by(part: Part, message: Mapping[str, Any], text: bytes) -> dict[str, Any]:
    """What the process answers to this, which runs the learner's file. Raises ListRefused, ToolMissing."""
    talk = started(_CHILD)
    try:
        talk.say(message, text, seconds=_SECONDS)
        heard, _ = talk.hear()
    except Ended as ended:
        raise _refused(ended_by(ended), part) from ended
    finally:
        talk.close()
    answer = heard.get("done")
    answered: dict[str, Any] = answer if isinstance(answer, dict) else {}
    if (raised := raised_by(answered)) is not None:
        raise _refused(raised, part)
    if answered.get("entry") is not True:
        raise ListRefused("missing_entry", "python", "no_function", None, entry=part.name)
    return answered


def _refused(raised: Raised, part: Part) -> ListRefused:
    told = error_told(raised)
    if told is not None:
        return ListRefused(told.kind, "python", told.key, raised.line, entry=part.name, **told.facts)
    facts = {"type": raised.type, "words": raised.message, "entry": part.name}
    key = "raised" if raised.type in _OF_NAMES and isinstance(part, ListPart) else "failed"
    return ListRefused("host_crash", "list", key, raised.line, **facts)


def _sent(call: Call) -> dict[str, Any]:
    attrs = [[name, {"number": value} if isinstance(value, str) else value] for name, value in call.attrs.items()]
    return {"op": call.op, "inputs": call.inputs, "outputs": call.outputs, "attrs": attrs}
