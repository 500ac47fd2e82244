"""Errors of a learner's Python that say the same whatever the file was to do: a kind of finding, and its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.caged_python.process import Raised


@dataclass(frozen=True)
class ToldError:
    """The kind of finding, the key of its sentence below "python" in the catalogue, and the facts for it."""

    kind: str
    key: str
    facts: Mapping[str, str] = field(default_factory=dict)


def error_told(raised: Raised) -> ToldError | None:
    """None for an ordinary exception."""
    match raised.type:
        case "late":
            return ToldError("host_timeout", "late")
        case "flood" | "ended":
            return ToldError("host_crash", "ended", {"how": raised.message})
        case "SyntaxError" | "IndentationError" | "TabError":
            return ToldError("compile_error", "syntax", {"words": raised.message.rstrip(".?")})
        case "PermissionError" | "SystemExit":
            return ToldError("forbidden_call", "forbidden", {"type": raised.type, "words": raised.message})
    return None
