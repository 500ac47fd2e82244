"""The manifest of a bundle: what is in it, as plain data. The page about it is docs/bundles.md.

A bundle comes from anywhere, so every manifest that exists has been checked: `from_json` raises `BundleInvalid`, and
nothing else, for one that is malformed. Files are named by the SHA-256 of their content; this module never sees them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from grader.leaderboard.names import why_no_name
from grader.strict_json import exact_fields, read_json

VERSION = 1
MANIFEST = "manifest.json"
SUFFIXES = (".cu", ".py", ".cubin", ".json")
MOST_ENTRIES = 10_000
_MOST_TARGETS = 16
_MOST_PLANS = 8
_MOST_USES = 64
_ADDRESS_END = 1 << 47

_MEMBER = re.compile(r"[0-9a-f]{64}(\.cu|\.py|\.cubin|\.json)")
_PLAYER = re.compile(r"[0-9a-f]{16}")
_DIGEST = re.compile(r"[0-9a-f]{16,64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\.(cu|py)")
_NVCC = re.compile(r"\d{1,4}\.\d{1,4}\.\d{1,6}")

_T = TypeVar("_T")


class BundleInvalid(ValueError):
    """The file is no bundle; the message is half a sentence: "its manifest is no JSON"."""


@dataclass(frozen=True)
class PlanAt:
    """A plan recorded at the place (grader/cuda/addresses.py) whose first address and distance these are."""

    first: int
    between: int
    plan: str


@dataclass(frozen=True)
class Compiled:
    """An entry for one target: its cubin, and the plan of its full size at each place, the likeliest first."""

    target: int
    cubin: str
    plans: tuple[PlanAt, ...]


@dataclass(frozen=True)
class Bundled:
    """A part that somebody has passed. `statement` is the hash of what was asked, `file` the source's own name; `uses`
    gives the learner's own sources of parts that it builds on, by entry. Sources, cubins and plans are member names.
    """

    player_id: str
    player_name: str
    puzzle: str
    part: str
    statement: str
    file: str
    source: str
    compiled: tuple[Compiled, ...]
    uses: Mapping[str, str] = field(default_factory=dict)

    @property
    def members(self) -> Iterator[str]:
        """Every file that it names."""
        yield self.source
        yield from self.uses.values()
        for compiled in self.compiled:
            yield compiled.cubin
            yield from (at.plan for at in compiled.plans)


@dataclass(frozen=True)
class Manifest:
    """What a bundle holds, and the version of the nvcc that made its cubins."""

    nvcc: str
    entries: tuple[Bundled, ...]
    version: int = VERSION


def to_json(manifest: Manifest) -> str:
    """The manifest as one JSON object; `from_json` gives the equal one back."""
    entries = [
        {
            "player": {"id": entry.player_id, "name": entry.player_name},
            "puzzle": entry.puzzle,
            "part": entry.part,
            "statement": entry.statement,
            "file": entry.file,
            "source": entry.source,
            "uses": dict(entry.uses),
            "compiled": [
                {"target": one.target, "cubin": one.cubin, "plans": [vars(at) for at in one.plans]}
                for one in entry.compiled
            ],
        }
        for entry in manifest.entries
    ]
    document = {"bundle": manifest.version, "nvcc": manifest.nvcc, "entries": entries}
    return json.dumps(document, ensure_ascii=False, indent=1)


def from_json(text: bytes) -> Manifest:
    """The manifest of a document from anywhere; raises `BundleInvalid` and nothing else."""
    document = read_json(text, _refuse)
    version = document.get("bundle") if isinstance(document, dict) else None
    if type(version) is int and version != VERSION:
        raise BundleInvalid(f"it is a bundle of version {version}, and this grader reads version {VERSION}")
    fields = _fields(document, "bundle", "nvcc", "entries")
    _number(fields["bundle"], VERSION, VERSION, "bundle")
    return Manifest(_text(fields["nvcc"], _NVCC, "nvcc"), _each(fields["entries"], _entry, MOST_ENTRIES, "entries"))


def _entry(document: object) -> Bundled:
    fields = _fields(document, "player", "puzzle", "part", "statement", "file", "source", "uses", "compiled")
    player = _fields(fields["player"], "id", "name")
    file = _text(fields["file"], _FILE, "file")
    suffix = file[file.rindex(".") :]
    return Bundled(
        player_id=_text(player["id"], _PLAYER, "player's id"),
        player_name=_shown_name(player["name"]),
        puzzle=_text(fields["puzzle"], _NAME, "puzzle"),
        part=_text(fields["part"], _NAME, "part"),
        statement=_text(fields["statement"], _DIGEST, "statement"),
        file=file,
        source=_member(fields["source"], suffix),
        uses=_uses(fields["uses"]),
        compiled=_each(fields["compiled"], _compiled, _MOST_TARGETS, "compiled"),
    )


def _uses(document: object) -> dict[str, str]:
    if not isinstance(document, dict) or len(document) > _MOST_USES:
        _refuse("has no uses that can be")
    return {_text(entry, _NAME, "uses"): _member(member, ".cu", ".py") for entry, member in document.items()}


def _compiled(document: object) -> Compiled:
    fields = _fields(document, "target", "cubin", "plans")
    return Compiled(
        target=_number(fields["target"], 10, 9_999, "target"),
        cubin=_member(fields["cubin"], ".cubin"),
        plans=_each(fields["plans"], _plan_at, _MOST_PLANS, "plans"),
    )


def _plan_at(document: object) -> PlanAt:
    fields = _fields(document, "first", "between", "plan")
    return PlanAt(
        first=_number(fields["first"], 1, _ADDRESS_END, "first"),
        between=_number(fields["between"], 1, _ADDRESS_END, "between"),
        plan=_member(fields["plan"], ".json"),
    )


# ---- of any document ------------------------------------------------------------------------------------------------


def _refuse(why: str) -> NoReturn:
    raise BundleInvalid(f"its manifest {why}")


def _fields(document: object, *names: str) -> dict[str, Any]:
    return exact_fields(document, names, _refuse)


def _each(document: object, read: Callable[[object], _T], most: int, what: str) -> tuple[_T, ...]:
    if not isinstance(document, list) or not 1 <= len(document) <= most:
        _refuse(f"has no list of 1 to {most:,} {what}")
    return tuple(map(read, document))


def _number(value: object, low: int, high: int, what: str) -> int:
    if type(value) is not int or not low <= value <= high:
        _refuse(f"has a {what} that cannot be")
    return value


def _text(value: object, form: re.Pattern[str], what: str) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        _refuse(f"has a {what} that cannot be")
    return value


def _member(value: object, *suffixes: str) -> str:
    name = _text(value, _MEMBER, "file's name")
    if not name.endswith(suffixes):
        _refuse(f"names {name[:8]}…{name[64:]} where {' or '.join(suffixes)} belongs")
    return name


def _shown_name(value: object) -> str:
    if not isinstance(value, str) or why_no_name(value) is not None:  # or its result would be refused, once it is timed
        _refuse("has a player's name that cannot be shown")
    return value
