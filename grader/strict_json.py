"""JSON that a stranger wrote, read in one way or not at all: no key twice, no NaN, no field more or less.

What is refused is told to `refuse`, as the end of a sentence ("is no JSON"); it raises what its module raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NoReturn


class _Ambiguous(ValueError):
    """It is read as JSON by some, and not by others, or in another way."""


def read_json(text: str | bytes, refuse: Callable[[str], NoReturn]) -> Any:
    """What the document says."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except _Ambiguous as ambiguous:
        refuse(str(ambiguous))
    except (ValueError, RecursionError):
        refuse("is no JSON")


def exact_fields(document: object, names: Sequence[str], refuse: Callable[[str], NoReturn]) -> dict[str, Any]:
    """The fields of an object that has these and no others."""
    if not isinstance(document, dict) or set(document) != set(names):
        refuse(f"has an object with other keys than {', '.join(names)}")
    return dict(document)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Ambiguous("has an object with a key twice")
    return found


def _constant(name: str) -> NoReturn:
    raise _Ambiguous(f"has {name}, which is no number of JSON")
