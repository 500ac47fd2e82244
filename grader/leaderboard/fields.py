"""Reading JSON that somebody else wrote: each field has its type and its bounds, or the whole is refused."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

LONGEST_TEXT = 400  # characters; sources have a limit of their own
_MOST_ITEMS = 64
_LARGEST = 2**63  # no number is beyond, nor, but 0, below its inverse: ratios and products of some are finite

T = TypeVar("T")


class EntryRefused(Exception):
    """A result that is not taken; the message says why, in one sentence."""


class Fields:
    """The fields of one JSON object; `where` is how a sentence calls it. No field may be left unread: see `end`."""

    def __init__(self, plain: object, where: str) -> None:
        if not isinstance(plain, dict):
            raise EntryRefused(f"{where} is no object.")
        self._plain: dict[str, Any] = plain
        self._read: set[str] = set()
        self._where = where

    def text(self, name: str, longest: int = LONGEST_TEXT) -> str:
        """Printable text on one line."""
        value = self._typed(name, str, "text")
        if len(value) > longest or not value.isprintable():
            raise self._refusal(name, f"is no printable text of at most {longest} characters")
        return value

    def source(self, name: str, longest: int) -> str | None:
        """Text of many lines, or null."""
        value = self._take(name)
        return None if value is None else _source(value, longest, f"{self._where}: {name}")

    def sources(self, name: str, longest: int) -> dict[str, str]:
        """Texts of many lines by name."""
        named = self._mapping(name)
        return {key: _source(value, longest, f"{self._where}: {key}") for key, value in named.items()}

    def one_of(self, name: str, words: Collection[str]) -> str:
        value = self._typed(name, str, "text")
        if value not in words:
            raise self._refusal(name, f"is none of {', '.join(sorted(words))}")
        return value

    def optional(self, name: str, words: Collection[str] | None = None) -> str | None:
        """Text as `text` or `one_of` read it, or null."""
        if self._take(name) is None:
            return None
        return self.text(name) if words is None else self.one_of(name, words)

    def truth(self, name: str) -> bool:
        return self._typed(name, bool, "true or false")

    def whole(self, name: str, least: int, most: int = _LARGEST) -> int:
        value = self._typed(name, int, "a whole number")
        if not least <= value <= most:
            allowed = f"between {least} and {most}" if least != most else f"{most}, the only one that is known here"
            raise self._refusal(name, f"is not {allowed}")
        return value

    def number(self, name: str, *, zero: bool = False) -> float:
        """A finite number above 0, or from 0 on."""
        value = _finite(self._take(name))
        if value is None or value < 0 or (value == 0 and not zero):
            raise self._refusal(name, "is no number above 0" if not zero else "is no number from 0 on")
        return float(value)

    def optional_number(self, name: str) -> float | None:
        """A number above 0, or null."""
        return None if self._take(name) is None else self.number(name)

    def interval(self, name: str, around: float, *, open_ended: bool = False) -> tuple[float, float]:
        """Two numbers above 0, with `around` between them; an open one may reach from 0 and to infinity."""
        value = self._typed(name, list, "an interval")
        low, high = map(_finite, value) if len(value) == 2 else (None, None)
        if open_ended and value[1:] == ["Infinity"]:
            high = math.inf
        if low is None or high is None or not 0 <= low <= around <= high or (low == 0 and not open_ended):
            raise self._refusal(name, "is no interval around its middle")
        return float(low), float(high)

    def numbers(self, name: str) -> dict[str, int | float]:
        """Finite numbers by name."""
        named = self._mapping(name)
        if any(_finite(value) is None for value in named.values()):
            raise self._refusal(name, "holds more than numbers")
        return named

    def texts(self, name: str) -> dict[str, str]:
        """Printable texts by name."""
        inner = Fields(self._mapping(name), f"{self._where}: {name}")
        return {key: inner.text(key) for key in inner._plain}

    def readings(self, name: str) -> dict[str, Any]:
        """What sensors said: by name a number, a text, a truth, null, or a short list of these."""
        named = self._mapping(name)
        if not all(_is_reading(value) for value in named.values()):
            raise self._refusal(name, "holds what no sensor says")
        return named

    def objects(self, name: str, called: str) -> list[Fields]:
        """A short list of objects."""
        value = self._typed(name, list, "a list")
        if len(value) > _MOST_ITEMS:
            raise self._refusal(name, f"has more than {_MOST_ITEMS} items")
        return [Fields(item, called) for item in value]

    def inner(self, name: str) -> Fields:
        """The object of that name."""
        return Fields(self._take(name), name)

    def end(self) -> None:
        """Refuses what nobody has read: a field of a newer grader, or something hidden."""
        if unread := sorted(self._plain.keys() - self._read):
            raise EntryRefused(f"{self._where} has a field that this grader does not know: {unread[0][:40]!r}.")

    def _take(self, name: str) -> Any:
        if name not in self._plain:
            raise EntryRefused(f"{self._where} has no {name}.")
        self._read.add(name)
        return self._plain[name]

    def _typed(self, name: str, kind: type[T], called: str) -> T:
        value = self._take(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self._refusal(name, f"is not {called}")
        return value

    def _mapping(self, name: str) -> dict[str, Any]:
        named: Mapping[str, Any] = self._typed(name, dict, "an object")
        if len(named) > _MOST_ITEMS or not all(len(key) <= LONGEST_TEXT and key.isprintable() for key in named):
            raise self._refusal(name, "has too many names, or names that cannot be printed")
        return dict(named)

    def _refusal(self, name: str, why: str) -> EntryRefused:
        return EntryRefused(f"{self._where}: {name} {why}.")


def _finite(value: object) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if value == 0 or 1 / _LARGEST < abs(value) < _LARGEST else None  # None for a NaN too


def _source(value: object, longest: int, called: str) -> str:
    try:
        size = len(value.encode()) if isinstance(value, str) else None
    except UnicodeEncodeError:  # half a surrogate pair
        size = None
    if not isinstance(value, str) or size is None or size > longest or "\0" in value:
        raise EntryRefused(f"{called} is no source text of at most {longest:,} bytes.")
    return value


def _is_reading(value: object) -> bool:
    if isinstance(value, list):
        return len(value) <= _MOST_ITEMS and all(_is_reading(item) and not isinstance(item, list) for item in value)
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT and value.isprintable()
    return value is None or isinstance(value, bool) or _finite(value) is not None
