"""nvcc's usual errors as one sentence; the original stays beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.explain.catalogue import has, sentence
from grader.explain.compiler_rules import HEADERS, RULES, namespace_facts, nearest
from grader.explain.names import kernel_name

_PLACED = re.compile(
    r"^(?P<file>[^\s:(][^:(]*)[(:](?P<line>\d+)(?:\)|:\d+)?\s*:\s*"
    r"(?:catastrophic |fatal )?error\s*(?:#[\w-]+)?:\s*(?P<text>.+)$"
)
_AT_END = re.compile(r"^At end of source:\s*(?:catastrophic )?error\s*(?:#[\w-]+)?:\s*(?P<text>.+)$")
_NOTE = re.compile(r"^(?P<file>[^\s:(][^:(]*)\((?P<line>\d+)\):\s*note\b")
_TOOL = re.compile(r"^(?:nvcc|ptxas|cudafe\+\+|fatbinary|cicc)\s*(?::\s*)?(?:fatal|error)\s*:\s*(?P<text>.+)$")
_UNDEFINED_REFERENCE = re.compile(r"undefined reference to [`'](?P<name>[^']+)'")

_TYPES = re.compile(r"^\s*(?:operand|argument) (?P<types>types are: .+)$")
_CARET = re.compile(r"^(?P<before> *)\^ *$")
_WORD_HERE = re.compile(r"[A-Za-z_]\w*|\S")
_ATTRIBUTE = re.compile(r"__attribute__\(\((global|device|host|shared|constant)\)\)")
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_UNSET = re.compile(
    r'^[^\s:(/]+\((?P<line>\d+)\): warning #549-D: variable "(?P<name>[^"]+)" is used before its value is set'
)

_BRACE = 'expected a "}"'
_AFTER_A_BRACE = re.compile(
    r'linkage specification is not allowed|expected a ";"|function definition is not allowed|does not apply here'
)
_AFTER_AN_OPEN_END = ("quote", "comment")  # what begins there swallows what follows
# Errors that mostly follow from another one of their line, or of the line before.
_FOLLOWING = re.compile(
    r'^incomplete type "void"|^type name is not allowed|^expected an? |^a __global__ function must have a void'
    r"|^calling a __device__ function|^invalid specifier for structured|^too few arguments"
)
_AFTER_PUNCTUATION = re.compile(r"^expected an? |^too few arguments")
_PUNCTUATION = ("closing", "semicolon", "launch_", "expected")
_TELLING = ("restrict", "launch_values", "brace_extra")  # that tell more than what they follow from
_ONCE = ("header", "namespace", "undefined", "specifier")  # said once for a name, at its first line


@dataclass(frozen=True)
class Diagnostic:
    """One error: its line in the learner's file (None if nvcc names none), a sentence ("" if unusual), the original."""

    line: int | None
    sentence: str
    original: str


@dataclass(frozen=True)
class _Error:
    """What nvcc said: `code` is the line it repeats, with the types it lists below, `at` the word at the caret."""

    line: int | None
    text: str
    code: str = ""
    at: str = ""
    begins_line: bool = False
    key: str = ""
    sentence: str = ""

    def follows(self) -> bool:
        return _FOLLOWING.search(self.text) is not None and self.key not in _TELLING


def diagnostics(raw: str, most: int = 8, source: str = "") -> list[Diagnostic]:
    """The errors in what nvcc printed, in its order, at most `most`; `source` is the learner's file, where it is known.

    One error a line: others of the same line nearly always follow from it. Errors without a line of the learner's file
    (in a header, by ptxas or the linker) are listed only if none has one.
    """
    code = _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    errors = [_explained(error, code) for error in _errors(raw.splitlines())]
    placed = [error for error in errors if error.line is not None]
    told = _distinct(_one_a_line(_causes(placed or errors)))
    return [Diagnostic(error.line, error.sentence, error.text) for error in told[:most]]


def unset_variables(raw: str) -> list[tuple[int, str]]:
    """(line of the learner's file, name) of each variable that a warning says is used before it has a value."""
    found = (_UNSET.match(line) for line in raw.splitlines())
    return list(dict.fromkeys((int(warning["line"]), warning["name"]) for warning in found if warning))


# ---- what was said --------------------------------------------------------------------------------------------------


def _errors(lines: Sequence[str]) -> Iterator[_Error]:
    for number, text in enumerate(lines):
        error = _error(text.strip(), lines[number + 1 : number + 4])
        if error is not None:
            yield _with_code(error, lines[number + 1 :])


def _error(text: str, following: Sequence[str]) -> _Error | None:
    if placed := _PLACED.match(text):
        return _Error(_own_line(placed), placed["text"])
    if at_end := _AT_END.match(text):
        notes = [note for note in map(_NOTE.match, following) if note]
        return _Error(_own_line(notes[0]) if notes else None, at_end["text"])
    if undefined := _UNDEFINED_REFERENCE.search(text):
        return _Error(None, f"undefined reference to {undefined['name']}")
    if tool := _TOOL.match(text):
        return _Error(None, tool["text"])
    return None


def _own_line(match: re.Match[str]) -> int | None:
    """The learner's file is compiled where it lies, by its bare name; headers are named by their whole path."""
    return int(match["line"]) if "/" not in match["file"] else None


def _with_code(error: _Error, following: Sequence[str]) -> _Error:
    """The error with what stands below it: the types, the line of source, the caret."""
    types = ""
    for number, text in enumerate(following):
        if not text.strip() or _PLACED.match(text):
            break
        if listed := _TYPES.match(text):
            types = listed["types"]
        if (caret := _CARET.match(text)) and number:
            line = following[number - 1]
            place = len(caret["before"])
            here = _WORD_HERE.match(line, place)
            code = _ATTRIBUTE.sub(r"__\1__", line) + f"\n{types}"
            before = _ATTRIBUTE.sub("", line[:place]).strip()
            return replace(error, code=code, at=here[0] if here else "", begins_line=not before)
    return replace(error, code=types)


# ---- what is told ---------------------------------------------------------------------------------------------------


def _causes(errors: Sequence[_Error]) -> list[_Error]:
    """Without what only follows: from a brace that is never closed, from text that has no end."""
    braces = [error for error in errors if error.text == _BRACE]
    if braces:
        others = [error for error in errors if error.text != _BRACE and not _AFTER_A_BRACE.search(error.text)]
        return braces + others
    errors = sorted(errors, key=lambda error: error.key != "brace_extra")
    first = next((number for number, error in enumerate(errors) if error.key in _AFTER_AN_OPEN_END), len(errors))
    return list(errors[: first + 1])


def _one_a_line(errors: Sequence[_Error]) -> list[_Error]:
    """Of each line the first error that does not follow from another; none that follows from the line before."""
    told: list[_Error] = []
    for error in errors:
        last = told[-1] if told else None
        if last is None or error.line is None or last.line is None:
            told.append(error)
        elif error.line == last.line:
            if last.follows() and not error.follows():
                told[-1] = error
        elif not (_is_next(error.line, last) and _AFTER_PUNCTUATION.search(error.text)):
            told.append(error)
    return told


def _is_next(line: int, last: _Error) -> bool:
    return last.key.startswith(_PUNCTUATION) and last.line is not None and line == last.line + 1


def _distinct(errors: Sequence[_Error]) -> list[_Error]:
    known: set[tuple[int | None, str]] = set()
    told = []
    for error in errors:
        what = (None if error.key.startswith(_ONCE) else error.line, error.sentence or error.text)
        if what not in known:
            known.add(what)
            told.append(error)
    return told


def _explained(error: _Error, source: str) -> _Error:
    for rule in RULES:
        facts = rule.facts(error.text, error.code)
        if facts is not None:
            return _told(error, rule.key, facts, source)
    return error


def _told(error: _Error, key: str, facts: dict[str, str], source: str) -> _Error:
    facts = {name: _readable(value or "…") for name, value in facts.items()} | {"at": error.at}
    name = facts.get("name", "")
    facts["header"] = HEADERS.get(name, "").format(name=name)
    facts["types"] = next(iter(re.findall(r"types are: (.+)", error.code)), "…")
    line = error.line
    if line is not None and (defined := _define_with_semicolon(line, source)):
        return replace(error, key="define", sentence=sentence("compiler", "define", facts=defined))
    if key == "namespace":
        facts |= namespace_facts(name)
        key = "namespace" if facts["using"] else "namespace_header"
    if key in ("undefined", "specifier", "member"):
        key, more = _meant(key, name, error.line, source)
        facts |= more
    if key == "const_write":
        key = _not_writable(error.at, source)
    if key == "expected_declaration" and error.at == "}":
        key = "brace_extra"
    if key == "semicolon":
        key, line = _semicolon(error, source)
    return replace(error, line=line, key=key, sentence=sentence("compiler", key, facts=facts))


def _readable(value: str) -> str:
    if re.fullmatch(r"0x[0-9a-f]+", value):
        return f"{int(value, 16):,}"
    return kernel_name(value) if value.startswith("_Z") else value


def _meant(key: str, name: str, line: int | None, source: str) -> tuple[str, dict[str, str]]:
    """What an unknown name may be: defined further down, alive elsewhere, misspelt."""
    if key == "undefined" and line is not None:
        for number, text in enumerate(source.split("\n"), start=1):
            if number != line and _declares(text, name):
                return "undefined_later" if number > line else "undefined_here", {"other": str(number)}
    near = nearest(name, source)
    return (f"{key}_near", {"near": near}) if near and has("compiler", f"{key}_near") else (key, {})


def _declares(text: str, name: str) -> bool:
    """Whether a line of source declares `name`: a type before it, and behind it what follows in a declaration."""
    before = rf"(?P<type>[A-Za-z_]\w*)(?:<[^<>;]*>)?[\s*&]+{re.escape(name)}\s*"
    found = re.search(rf"{before}(?:[=;\[{{]|\([^;]*\)\s*{{|$)", text) or re.search(
        rf"#(define) {re.escape(name)}\b", text
    )
    return found is not None and found[1] not in ("return", "else", "case", "delete", "new", "goto")


def _define_with_semicolon(line: int, source: str) -> dict[str, str] | None:
    """A `#define` that ends with `;`, and whose name stands on the line of an error."""
    lines = source.split("\n")
    words = set(re.findall(r"\w+", lines[line - 1])) if line <= len(lines) else set()
    for number, text in enumerate(lines, start=1):
        defined = re.match(r"\s*#\s*define\s+(\w+)\b.*;\s*$", text)
        if defined and defined[1] in words and number != line:
            return {"name": defined[1], "other": str(number)}
    return None


def _not_writable(name: str, source: str) -> str:
    if re.search(rf"\bconst\b[^;,(){{}}]*\b{re.escape(name)}\b", source):
        return "const_write"
    if re.search(rf"\b\w+\s+{re.escape(name)}\s*\[", source):
        return "array_write"
    return "no_variable"


def _semicolon(error: _Error, source: str) -> tuple[str, int | None]:
    """Where the `;` belongs: at the end of the line before, if the error stands at the first word of a line."""
    if error.begins_line and error.line is not None:
        lines = source.split("\n")[: error.line - 1]
        before = next((number for number in range(len(lines), 0, -1) if lines[number - 1].strip()), None)
        if before is not None:
            return "semicolon_end", before
        return "semicolon", error.line
    if error.at == ")":
        return "closing_extra", error.line
    return "semicolon_within" if error.at not in ("", "}") else "semicolon", error.line
