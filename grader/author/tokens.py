"""C++ source as tokens, comments left out, strings whole: what mechanical changes are made on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<directive> ^[ \t]*\#(?:\\\n|[^\n])* )
  | (?P<string> R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])' )
  | (?P<number> \.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])* )
  | (?P<name> [A-Za-z_]\w* )
  | (?P<sign> <<<|>>>|<<=|>>=|\.\.\.|->|::|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Token:
    """One token; `kind` is "name", "number", "string", "sign" or "directive", `start` and `end` are its offsets."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Code(list[Token]):
    """All tokens of a source, in order; comments and blanks are none. `text` is the source."""

    def __init__(self, source: str) -> None:
        found = (Token(str(match.lastgroup), match[0], match.start()) for match in _TOKEN.finditer(source))
        super().__init__(token for token in found if token.kind != "comment")
        self.text = source


def closing(code: Sequence[Token], opening: int) -> int | None:
    """The place in `code` of the bracket that closes the one at `opening`; None where there is none."""
    wanted, depth = _PAIRS[code[opening].text], 0
    for place in range(opening, len(code)):
        depth += (code[place].text == code[opening].text) - (code[place].text == wanted)
        if depth == 0:
            return place
    return None


def calls(code: Sequence[Token], names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """For each call of one of `names`, the places of its name and of its closing bracket."""
    for place, token in enumerate(code[:-1]):
        if token.kind == "name" and token.text in names and code[place + 1].text == "(":
            end = closing(code, place + 1)
            if end is not None:
                yield place, end


def arguments(code: Sequence[Token], opening: int, end: int) -> list[tuple[int, int]]:
    """The arguments between two brackets, each as the places of its first token and of the one behind its last."""
    found, begun, depth = [], opening + 1, 0
    for place in range(opening + 1, end):
        text = code[place].text
        depth += (text in _PAIRS) - (text in _PAIRS.values())
        if text == "," and depth == 0:
            found.append((begun, place))
            begun = place + 1
    return [*found, (begun, end)] if end > opening + 1 else []


def is_between_blanks(source: str, token: Token) -> bool:
    """Whether a sign stands free: in code shaped by clang-format, `a < b` does and `static_cast<int>` does not."""
    return source[token.start - 1 : token.start].isspace() and source[token.end : token.end + 1].isspace()
