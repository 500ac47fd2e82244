"""What a program's source says of a call of CUDA: which variable it fills, of which type, and whether anybody looks at
what it returns.

Read from the text of the statement, as it is usually written; what cannot be read is left open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from grader.program.log import Allocation
from grader.shared_arrays import element_type

_LONGEST = 600  # characters of a statement
# (void**)&d_a, reinterpret_cast<void**>(&x.data), &buffers[i]: the variable is what remains
_CAST = r"\([^()&]*\)\s*|\w+_cast\s*<[^<>]*>\s*\("
_NAME = r"[A-Za-z_][\w.]*(?:(?:->|\[)[\w.\]]+)*"
_FIRST_ARGUMENT = rf"\s*(?:<[^;<>]*>)?\s*\(\s*(?:{_CAST})*&?\s*({_NAME})"
# CUDA's headers have functions of C++ that call others of C.
_SPELLINGS: Mapping[str, str] = {
    "cudaHostAlloc": "cudaHostAlloc|cudaMallocHost",
    "cudaEventCreateWithFlags": "cudaEventCreateWithFlags|cudaEventCreate",
    "cudaLaunchKernelExC": "cudaLaunchKernelExC|cudaLaunchKernelEx",
    "cudaMallocFromPoolAsync": "cudaMallocFromPoolAsync|cudaMallocAsync",
}
_TYPE = r"((?:unsigned\s+|signed\s+|long\s+)*[A-Za-z_]\w*)"
_STATEMENT_BEFORE = re.compile(r"(?:[;{}]|\)|\belse|\bdo|^)\s*(?:\(\s*void\s*\)\s*)?$")


@dataclass(frozen=True)
class Destination:
    """The variable that an allocation was for; `bytes` of its elements and their short type, where they are known."""

    name: str
    bytes: int | None = None
    type: str = ""


def destinations(source: str, allocations: Mapping[int, Allocation]) -> dict[int, Destination]:
    """For each allocation its variable: of several calls on one line, each has its own."""
    calls: dict[tuple[int | None, str], list[int]] = {}
    for each in allocations.values():
        places = calls.setdefault((each.line, each.function), [])
        if each.place not in places:
            places.append(each.place)
    found = {}
    for number, each in allocations.items():
        nth = sorted(calls[each.line, each.function]).index(each.place)
        found[number] = _destination(source, each, nth)
    return found


def _destination(source: str, allocation: Allocation, nth: int) -> Destination:
    text = _from_line(source, allocation.line)
    calls = list(re.finditer(rf"\b(?:{_spellings(allocation.function)})\b{_FIRST_ARGUMENT}", text))
    if not calls:
        where = f" at line {allocation.line}" if allocation.line else ""
        return Destination(f"{allocation.function}{where}")
    call = calls[min(nth, len(calls) - 1)]
    name = call[1].rstrip(".")
    statement = text[call.end() : text.find(";", call.end())]
    sized = re.search(rf"\bsizeof\s*\(\s*{_TYPE}\s*\)", statement)
    plain = re.sub(r"\W.*", "", name)
    declared = re.search(rf"\b{_TYPE}\s*\*+(?:[^;(){{}}=]*,\s*\*?)?\s*{re.escape(plain)}\b", source)
    for match in filter(None, (sized, declared)):
        size, short = element_type(" ".join(match[1].split()))
        if size is not None:
            return Destination(name, size, short)
    return Destination(name)


def looks_at_result(source: str, line: int | None, function: str) -> bool:
    """Whether the call is part of something larger, such as CHECK(…), or an assignment.

    A call that is a statement of its own throws its result away.
    """
    text = _from_line(source, line)
    call = re.search(rf"\b(?:{_spellings(function)})\s*(?:<[^;<>]*>)?\s*\(", text)
    if line is None or call is None:
        return True  # nothing is said that was not seen
    lines = source.split("\n")
    before = _without_comments("\n".join([*lines[max(0, line - 4) : line - 1], text[: call.start()]]))
    return not _STATEMENT_BEFORE.search(before)


def _spellings(function: str) -> str:
    return _SPELLINGS.get(function, re.escape(function))


def _from_line(source: str, line: int | None) -> str:
    return "\n".join(source.split("\n")[line - 1 :])[:_LONGEST] if line else ""


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
