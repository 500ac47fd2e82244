"""Loads the catalogue of sentences and the pages of one language, and fills facts in."""

from __future__ import annotations

import functools
import string
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LANGUAGE = "en"

KINDS = (
    "compile_error",
    "missing_entry",
    "host_crash",
    "host_timeout",
    "launch_error",
    "ignored_error",
    "capture_unsafe",
    "out_of_bounds_read",
    "out_of_bounds_write",
    "misaligned_access",
    "uninitialised_read",
    "data_race",
    "barrier_divergence",
    "deadlock",
    "bad_sync_mask",
    "endless_loop",
    "integer_overflow",
    "read_only_violation",
    "never_written",
    "wrong_values",
    "low_precision",
    "not_a_number",
    "non_deterministic",
    "device_trap",
    "forbidden_call",
    "bank_conflicts",
    "uncoalesced_access",
    "redundant_traffic",
    "goal_missed",
    "unsupported",
)


class _Facts(dict[str, Any]):
    """Leaves a gap, rather than failing, where a fact is missing: a verdict must come out whatever happened."""

    def __missing__(self, key: str) -> str:
        return "…"


def _folder(language: str) -> Path:
    return Path(__file__).with_name(language)


@functools.cache
def _sentences(language: str) -> dict[str, Any]:
    return tomllib.loads((_folder(language) / "sentences.toml").read_text(encoding="utf-8"))


def has(*path: str, language: str = LANGUAGE) -> bool:
    """Whether the catalogue has a sentence at `path`, such as ("data_race", "why", "plain")."""
    return _lookup(path, language) is not None


def sentence(*path: str, facts: Mapping[str, Any] | None = None, language: str = LANGUAGE) -> str:
    """The sentence at `path` with `facts` filled in; "" where the catalogue has none."""
    template = _lookup(path, language)
    if template is None:
        return ""
    return string.Formatter().vformat(template, (), _Facts(facts or {}))


def _lookup(path: tuple[str, ...], language: str) -> str | None:
    node: Any = _sentences(language)
    for key in path:
        if not isinstance(node, dict) or key not in node:
            return None
        node = node[key]
    return node if isinstance(node, str) else None


def title(kind: str, variant: str = "plain") -> str:
    """Two or three words for a kind, or a variant that has its own, for the line of a case: "data race"."""
    return sentence(kind, "titles", variant) or sentence(kind, "title") or kind.replace("_", " ")


def page(kind: str, language: str = LANGUAGE) -> str:
    """What `grader explain KIND` shows, as Markdown; raises `KeyError` for a kind that does not exist."""
    if kind not in KINDS:
        raise KeyError(kind)
    return (_folder(language) / f"{kind}.md").read_text(encoding="utf-8")
