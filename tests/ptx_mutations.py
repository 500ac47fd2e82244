"""Damages PTX texts at random: bytes, tokens and lines that go, come twice, change places or change."""

from __future__ import annotations

import random
import re

_TOKEN = re.compile(r"[\w.%$]+|\S")
_BYTES = '0123456789abcdefxUL%$@!._,;:|{}[]()<>+-~="/*\\ \n\t\0\u00e9'


def mutated(text: str, rng: random.Random) -> str:
    """The text with one to four kinds of damage."""
    for _ in range(rng.randint(1, 4)):
        text = rng.choice(_DAMAGES)(text, rng)
    return text


def _change_byte(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_BYTES) + text[at + rng.randint(0, 1) :]


def _cut(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.randint(1, 40) :]


def _truncate(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)] if rng.random() < 0.2 else text


def _change_token(text: str, rng: random.Random) -> str:
    found = list(_TOKEN.finditer(text))
    if not found:
        return text
    token, other = rng.choice(found), rng.choice(found)
    return text[: token.start()] + other.group() + text[token.end() :]


def _change_alike(text: str, rng: random.Random) -> str:
    """A register becomes another register, an opcode another opcode, a label another label."""
    found = list(_TOKEN.finditer(text))
    if not found:
        return text
    token = rng.choice(found)
    alike = [item.group() for item in found if _likeness(item.group()) == _likeness(token.group())]
    return text[: token.start()] + rng.choice(alike) + text[token.end() :]


def _likeness(token: str) -> tuple[str, bool]:
    return token[0], "." in token


def _change_number(text: str, rng: random.Random) -> str:
    found = list(re.finditer(r"\d+", text))
    if not found:
        return text
    number = rng.choice(found)
    value = rng.choice(["0", "1", "7", "31", "255", "4294967295", "4294967296", "99999999999999999999", "9" * 50])
    return text[: number.start()] + value + text[number.end() :]


def _change_lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        lines[first], lines[second] = lines[second], lines[first]
    elif kind == 1:
        lines.insert(first, lines[second])
    else:
        del lines[first]
    return "\n".join(lines)


_DAMAGES = [_change_byte, _cut, _truncate, _change_token, _change_number, _change_lines, *[_change_alike] * 6]
