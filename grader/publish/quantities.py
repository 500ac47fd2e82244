"""Numbers as a sentence has them: so many digits, thousands apart, a unit that does not leave its number."""

from __future__ import annotations

import math

from grader.catalog import UsageError

_SPACE = "\N{NO-BREAK SPACE}"
_DIGITS = 3
_LEAST_MS = 0.1  # below, times are told in microseconds
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def sig(value: object, digits: int = _DIGITS) -> str:
    """With so many significant digits: 0.56 is "0.560", 4357.2 is "4,360"."""
    given = _number(value)
    if given == 0 or not math.isfinite(given):
        return f"{given:g}"
    behind = digits - 1 - math.floor(math.log10(abs(float(f"{given:.{digits - 1}e}"))))
    return f"{round(given, behind):,.{max(behind, 0)}f}"


def thousands(value: object) -> str:
    """A whole number, its thousands apart."""
    return f"{round(_number(value)):,}"


def percent(value: object) -> str:
    """A share: 0.744 is "74 %"."""
    return _with(f"{100 * _number(value):.0f}", "%")


def milliseconds(value: object, digits: int = _DIGITS) -> str:
    """A time in ms; what is short is told in microseconds."""
    given = _number(value)
    return us(given, digits) if given < _LEAST_MS else _with(sig(given, digits), "ms")


def us(value: object, digits: int = _DIGITS) -> str:
    """A time in ms, told in microseconds."""
    return _with(sig(1e3 * _number(value), digits), "µs")


def si(value: object, unit: str = "", digits: int = _DIGITS) -> str:
    """With a prefix for thousands: 2.147e9 bytes are "2.15 GB"."""
    given = _number(value)
    factor, prefix = next((one for one in _PREFIXES if abs(given) >= one[0]), _PREFIXES[-1])
    return _with(sig(given / factor, digits), f"{prefix}{unit}")


def _with(number: str, unit: str) -> str:
    return f"{number}{_SPACE}{unit}".rstrip(_SPACE)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{value!r} is no number.")
    return value
