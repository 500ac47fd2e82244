"""nvcc's usual errors as one sentence; the original stays beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.explain.catalogue import sentence

_PLACED = re.compile(
    r"^(?P<file>[^\s:(][^:(]*)[(:](?P<line>\d+)(?:\)|:\d+)?\s*:\s*"
    r"(?:catastrophic |fatal )?error\s*(?:#[\w-]+)?:\s*(?P<text>.+)$"
)
_AT_END = re.compile(r"^At end of source:\s*(?:catastrophic )?error\s*(?:#[\w-]+)?:\s*(?P<text>.+)$")
_NOTE = re.compile(r"^(?P<file>[^\s:(][^:(]*)\((?P<line>\d+)\):\s*note\b")
_TOOL = re.compile(r"^(?:nvcc|ptxas|cudafe\+\+|fatbinary|cicc)\s*(?::\s*)?(?:fatal|error)\s*:\s*(?P<text>.+)$")
_UNDEFINED_REFERENCE = re.compile(r"undefined reference to [`'](?P<name>[^']+)'")

# What a file of CUDA does not know by itself, and the header that has it.
_HEADERS = {
    **dict.fromkeys(("cout", "cerr", "cin", "endl"), "iostream"),
    **dict.fromkeys(("assert",), "cassert"),
    **dict.fromkeys(("vector", "string", "array", "optional", "tuple"), "{name}"),
}
_IN_HEADERS = "|".join(_HEADERS)
_AKA = r'(?: \(aka "[^"]+"\))?'
_STREAM = rf'"(?:cudaStream_t|(?:struct )?CUstream_st \*)"{_AKA}'

# EDG's, GCC's and ptxas's wording, and the sentence of the catalogue that says it to a learner; the first that fits.
_USUAL = tuple(
    (re.compile(pattern), key)
    for pattern, key in (
        (r'identifier "(?P<name>__(?:shfl\w*|ballot|any|all))" is undefined', "legacy_shuffle"),
        (r'identifier "(?P<name>[^"]+)" is undefined in device code', "device_calls_host"),
        (r'identifier "(?P<name>assert|cout|cerr|cin|endl)" is undefined', "header"),
        (rf'namespace "std" has no member "(?P<name>{_IN_HEADERS})"', "header"),
        (r'namespace "std" has no member "(?P<name>[^"]+)"', "std_member"),
        (r'identifier "(?P<name>[^"]+)" is undefined', "undefined"),
        (r"['‘](?P<name>[^'’]+)['’] was not declared in this scope", "undefined"),
        (r'expected a ";"', "semicolon"),
        (r'expected a "}"', "closing_brace"),
        (r'expected a "(?P<token>[^"]+)"', "closing"),
        (r"a __global__ function call must be configured", "kernel_without_launch"),
        (r"a host function call cannot be configured", "launch_of_function"),
        (r'calling a __device__ function\("(?P<name>[^"(]+)[^"]*"\) from a __host__', "host_calls_device"),
        (r'calling a \w*\s*__host__ function\("(?P<name>[^"(]+)[^"]*"\) from a __', "device_calls_host"),
        (r"a __global__ function must have a void return type", "kernel_returns"),
        (
            rf'argument of type {_STREAM} is incompatible with parameter of type "(?:size_t|unsigned long)"',
            "stream_third",
        ),
        (rf'no suitable constructor exists to convert from {_STREAM} to "dim3"', "launch_order"),
        (rf'argument of type "[^"]+"{_AKA} is incompatible with parameter of type {_STREAM}', "launch_order"),
        (
            rf'argument of type "(?P<from>[^"]+)"{_AKA} is incompatible with parameter of type "(?P<to>[^"]+)"',
            "argument_type",
        ),
        (
            rf'a value of type "(?P<from>[^"]+)"{_AKA} cannot be \w+(?: to \w+)? an entity of type "(?P<to>[^"]+)"',
            "assignment_type",
        ),
        (rf'no suitable \w+ exists to convert from "(?P<from>[^"]+)"{_AKA} to "(?P<to>[^"]+)"', "assignment_type"),
        (r'no suitable conversion function from "(?:const )?(?:dim3|uint3)"', "dim3_arithmetic"),
        (r"expression must be a modifiable lvalue", "const_write"),
        (r"too few arguments", "too_few"),
        (r"too many arguments", "too_many"),
        (r'no operator "(?P<operator>[^"]+)" matches these operands', "no_operator"),
        (r'no instance of (?:overloaded )?\w+(?: template)? "(?P<name>[^"]+)" matches', "no_instance"),
        (r'more than one instance of (?:overloaded )?function "(?P<name>[^"(]+)', "ambiguous"),
        (r'more than one operator "(?P<name>[^"]+)" matches', "ambiguous"),
        (r"(?P<name>\S+): No such file or directory", "include_missing"),
        (r'cannot open source file "(?P<name>[^"]+)"', "include_missing"),
        (r'\w+ "(?P<name>[^"(]+)[^"]*" has already been defined', "redefined"),
        (r'"(?P<name>[^"]+)" has already been declared in the current scope', "redefined"),
        (r"too much shared data \((?P<used>0x[0-9a-f]+) bytes, (?P<limit>0x[0-9a-f]+) max\)", "shared_size"),
        (r"linkage specification is incompatible", "linkage"),
        (r"expected an expression", "expected_expression"),
        (r"expected a declaration", "expected_declaration"),
        (r"expression must have pointer-to-object", "subscript"),
        (r"missing return statement at end of non-void function", "no_return"),
        (r"(?:control reaches end of|no return statement in function returning) non-void", "no_return"),
        (r"undefined reference to [`']?__cuda[A-Z]", "hidden_runtime"),
        (r"undefined reference to [`']?(?P<name>[^'`]+)", "undefined_reference"),
    )
)
_BRACE = 'expected a "}"'
_AFTER_A_BRACE = re.compile(
    r'linkage specification is not allowed|expected a ";"|function definition is not allowed|does not apply here'
)
# kernel<<blocks, threads>>(…), as the compiler repeats the line
_TWO_ANGLES = re.compile(r"\w\s*<<(?!<)[^;]*[^>]>>\s*\(")
_UNSET = re.compile(
    r'^[^\s:(/]+\((?P<line>\d+)\): warning #549-D: variable "(?P<name>[^"]+)" is used before its value is set'
)
_OPERANDS = re.compile(r"^\s*(?:operand|argument) types are:\s*(?P<operands>.+)$")


@dataclass(frozen=True)
class Diagnostic:
    """One error: its line in the learner's file (None if nvcc names none), a sentence ("" if unusual), the original."""

    line: int | None
    sentence: str
    original: str


def diagnostics(raw: str, most: int = 8) -> list[Diagnostic]:
    """The errors in what nvcc printed, in its order, at most `most`.

    Errors without a line of the learner's file (in a header, by ptxas or the linker) are listed only if none has one.
    """
    found: list[Diagnostic] = []
    known: set[tuple[int | None, str]] = set()
    lines = raw.splitlines()
    for number, text in enumerate(lines):
        diagnostic = _diagnostic(text.strip(), lines[number + 1 : number + 4])
        if diagnostic is not None and (diagnostic.line, diagnostic.sentence or diagnostic.original) not in known:
            known.add((diagnostic.line, diagnostic.sentence or diagnostic.original))
            found.append(diagnostic)
    placed = [diagnostic for diagnostic in found if diagnostic.line is not None]
    return _causes(placed or found)[:most]


def unset_variables(raw: str) -> list[tuple[int, str]]:
    """(line of the learner's file, name) of each variable that a warning says is used before it has a value."""
    found = (_UNSET.match(line) for line in raw.splitlines())
    return list(dict.fromkeys((int(warning["line"]), warning["name"]) for warning in found if warning))


def _causes(errors: list[Diagnostic]) -> list[Diagnostic]:
    """A brace that is never closed comes first, and without what only follows from it."""
    braces = [error for error in errors if error.original == _BRACE]
    if not braces:
        return errors
    others = [error for error in errors if error.original != _BRACE and not _AFTER_A_BRACE.search(error.original)]
    return braces + others


def _diagnostic(text: str, following: list[str]) -> Diagnostic | None:
    if placed := _PLACED.match(text):
        return _explained(_own_line(placed), placed["text"], following)
    if at_end := _AT_END.match(text):
        notes = [note for note in map(_NOTE.match, following) if note]
        return _explained(_own_line(notes[0]) if notes else None, at_end["text"], following)
    if undefined := _UNDEFINED_REFERENCE.search(text):
        return _explained(None, f"undefined reference to {undefined['name']}", following)
    if tool := _TOOL.match(text):
        return _explained(None, tool["text"], following)
    return None


def _own_line(match: re.Match[str]) -> int | None:
    """The learner's file is compiled where it lies, by its bare name; headers are named by their whole path."""
    return int(match["line"]) if "/" not in match["file"] else None


def _explained(line: int | None, original: str, following: list[str]) -> Diagnostic:
    if "integral or unscoped enum type" in original and any(map(_TWO_ANGLES.search, following)):
        return Diagnostic(line, sentence("compiler", "two_angles"), original)
    for pattern, key in _USUAL:
        match = pattern.search(original)
        if match is None:
            continue
        facts = {name: _readable(value) for name, value in match.groupdict().items()}
        facts["header"] = _HEADERS.get(facts.get("name", ""), "").format(**facts)
        facts["operands"] = next((found["operands"] for found in map(_OPERANDS.match, following) if found), "…")
        is_index = key == "no_operator" and re.search(r"\b(?:uint3|dim3)\b", facts["operands"])
        return Diagnostic(line, sentence("compiler", "dim3_arithmetic" if is_index else key, facts=facts), original)
    return Diagnostic(line, "", original)


def _readable(value: str) -> str:
    return f"{int(value, 16):,}" if re.fullmatch(r"0x[0-9a-f]+", value) else value
