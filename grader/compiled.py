"""What the compilers said of a file, and what its text shows beyond that, as findings.

Errors end a check. Warnings end none, but one of them explains wrong values: a variable without a first value, which
the optimiser may fold into anything, so that no read is left for the software GPU to see.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.explain import Observation, diagnostics, sentence, title, unset_variables
from grader.findings import VALUE_KINDS, Place
from grader.verdict import Finding

if TYPE_CHECKING:
    from grader.build import Build, BuildFailed
    from grader.op_list.calls import ListRefused

_MATRIX_CALL = re.compile(r"\b(mma_sync|store_matrix_sync)\s*\(")
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def build_findings(failed: BuildFailed, place: Place) -> list[Finding]:
    """Why the file does not compile; at least one finding."""
    from grader.op_list.calls import ListRefused

    if isinstance(failed, ListRefused):
        return [_no_list(failed, place)]
    if failed.forbidden is not None:
        line, path = failed.forbidden
        facts = {"variant": "include", "path": path}
        return [place.finding(Observation("forbidden_call", line=line, facts=facts))]
    if failed.timed_out:
        facts = {"variant": "timeout", "seconds": f"{failed.seconds:.0f}"}
        return [place.finding(Observation("compile_error", facts=facts))]
    errors = diagnostics(failed.diagnostics, source=place.source.read_text(encoding="utf-8", errors="replace"))
    if errors:
        return [place.compile_error(error) for error in errors]
    said = next((line.strip() for line in failed.diagnostics.splitlines() if line.strip()), "no word of why")
    return [place.finding(Observation("compile_error", facts={"variant": "unplaced", "original": said}))]


def _no_list(refused: ListRefused, place: Place) -> Finding:
    """A file in Python that makes no list of op calls."""
    said = sentence(refused.section, refused.key, facts=refused.facts)
    return Finding(
        kind=refused.kind,
        severity="error",
        title=sentence(refused.section, "titles", refused.key) or title(refused.kind),
        message=said,
        why=sentence(refused.section, "why", refused.key, facts=refused.facts),
        file=place.file,
        line=refused.line,
        marks=((refused.line, sentence("list", "mark")),) if refused.line else (),
    )


def void_entry(built: Build, text: str, entry: str) -> Observation | None:
    """An entry that returns nothing: whoever calls it takes what a register happens to hold for an error code.

    No compiler sees a fault in it, and a program without debug information does not tell; the text does.
    """
    code = _NO_CODE.sub(lambda found: "\n" * found[0].count("\n"), text)
    declared = re.search(rf"\bvoid\s+{re.escape(entry)}\s*\(", code)
    if entry not in built.functions or declared is None or re.search(rf"\bcudaError_t\s+{re.escape(entry)}\b", code):
        return None
    line = code[: declared.start()].count("\n") + 1
    return Observation("missing_entry", line=line, facts={"variant": "void"})


def named_fragments(seen: Sequence[Observation], text: str) -> list[Observation]:
    """The same; registers without a value are told as an empty fragment where a matrix call in `text` uses them."""
    lines = text.splitlines()
    return [_named_fragment(observation, lines) for observation in seen]


def _named_fragment(seen: Observation, lines: Sequence[str]) -> Observation:
    line = lines[seen.line - 1] if seen.line is not None and seen.line <= len(lines) else ""
    call = _MATRIX_CALL.search(line)
    if seen.kind != "uninitialised_read" or seen.facts.get("space") != "register" or call is None:
        return seen
    return replace(seen, facts={**seen.facts, "variant": "fragment", "call": call[1]})


def uninitialised(built: Build, seen: Sequence[Observation]) -> list[Observation]:
    """Variables that the compilers saw used before they have a value, where `seen` are wrong values."""
    if not any(observation.kind in VALUE_KINDS for observation in seen):
        return []
    return [
        Observation("uninitialised_read", line=line, facts={"variant": "named", "name": name})
        for line, name in unset_variables(built.warnings)
    ]
