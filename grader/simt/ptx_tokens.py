"""PTX text to tokens, and the debug strings that stand behind the code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.simt.ptx import PtxError

END = "\0"  # what stands after the last token
_PADDING = 4  # how far the reader may look ahead of the token it has checked

# An unfinished comment or section runs to the end: whatever the text, one pass over it is enough.
_STRINGS_AND_COMMENTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)
_SECTION = re.compile(r"^[ \t]*\.section[ \t]+([\w.$]+)\s*\{([^}]*)(?:\}|\Z)", re.MULTILINE)
_SECTION_LABEL = re.compile(r"^\s*([\w$]+):", re.MULTILINE)
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"'
    r"|0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?"
    r"|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?"
    r"|\.\w+|[%$_A-Za-z][\w.$%]*(?:::[\w.]+)*"
    r"|\S",
    re.ASCII,
)


@dataclass(slots=True)
class Tokens:
    """The tokens, the line (1-based) of each, the lines themselves, and `.debug_str` by label."""

    words: list[str]
    lines: list[int]
    text: list[str]
    strings: dict[str, str]

    def error(self, at: int, reason: str) -> PtxError:
        line = self.lines[min(at, len(self.lines) - 1)]
        return PtxError(line, self.text[line - 1].strip() if line <= len(self.text) else "", reason)


def _keep_lines(match: re.Match[str]) -> str:
    piece = match.group()
    return piece if piece.startswith('"') else "\n" * piece.count("\n") or " "


def tokenise(text: str) -> Tokens:
    """Splits PTX text into tokens. A comment counts as a blank, a `.section` is read apart and left out."""
    lines = text.split("\n")
    strings: dict[str, str] = {}

    def take_section(match: re.Match[str]) -> str:
        if match.group(1) == ".debug_str":
            strings.update(_debug_strings(match.group(2)))
        return "\n" * match.group().count("\n")

    code = _SECTION.sub(take_section, text) if ".section" in text else text
    if "//" in code or "/*" in code:
        code = _STRINGS_AND_COMMENTS.sub(_keep_lines, code)
    words: list[str] = []
    numbers: list[int] = []
    find = _TOKEN.findall
    for number, line in enumerate(code.split("\n"), 1):
        found = find(line)
        words += found
        numbers += [number] * len(found)
    words += [END] * _PADDING
    numbers += [len(lines)] * _PADDING
    return Tokens(words, numbers, lines, strings)


def _debug_strings(section: str) -> dict[str, str]:
    """The strings of `.debug_str` by label, from lines of `.b8 104,101,0` (a string ends with a zero)."""
    pieces = _SECTION_LABEL.split(section)
    strings = {}
    for label, body in zip(pieces[1::2], pieces[2::2], strict=True):
        codes = [int(code) for code in re.findall(r"\b\d{1,3}\b", body)]
        end = codes.index(0) if 0 in codes else len(codes)
        strings[label] = bytes(code & 0xFF for code in codes[:end]).decode(errors="replace")
    return strings
