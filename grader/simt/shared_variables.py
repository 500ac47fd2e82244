"""Which variable of shared memory a finding is about: the program's list says what lies where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader.simt.findings import DeviceFinding
from grader.simt.program import SharedVariable, read_program


def with_variables(findings: Sequence[DeviceFinding], program: Path) -> list[DeviceFinding]:
    """The same findings; those in shared memory with the facts `variable` (its name in PTX), `at` (the byte counted
    from its start, which may lie behind its end) and `variable_bytes`.
    """
    if not any(finding.facts.get("space") == "shared" for finding in findings):
        return list(findings)
    variables = {function.name: function.shared for function in read_program(program).functions}
    return [_with_variable(finding, variables.get(finding.kernel, ())) for finding in findings]


def _with_variable(finding: DeviceFinding, variables: Sequence[SharedVariable]) -> DeviceFinding:
    if finding.facts.get("space") != "shared":
        return finding
    address = finding.facts["address"]
    before = [variable for variable in variables if variable.offset <= address]
    if not before:
        return finding
    variable = max(before, key=lambda each: each.offset)
    size = variable.size or finding.facts["region_bytes"] - variable.offset  # dynamic shared memory is the last of all
    facts = {"variable": variable.name, "at": address - variable.offset, "variable_bytes": size}
    return replace(finding, facts={**finding.facts, **facts})
