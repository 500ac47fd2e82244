"""What stands before a source that builds on other parts: their sources, as if they were headers.

Each lies in a namespace of its own, so that two may have a kernel, a constant or a type of one name; their entries are
`extern "C"` and therefore the same functions that the source declares. Headers are included before, once, outside the
namespaces, and what a source defines for the preprocessor ends with it. Line tables and messages know the sources under
names that no learner's file has: what happens there is told, as for any header, at the line of the call.

A part may have headers of its own besides, which lie beside its source: `HeaderFile`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

_INCLUDE = r'^[ \t]*#[ \t]*include[ \t]*(?P<header><[^>\n]+>|"[^"\n]+")[^\n]*'
_PIECE = re.compile(
    rf'{_INCLUDE}|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL | re.MULTILINE
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class UsedSource:
    """The source of a part that another one calls: the part's entry, and the text."""

    entry: str
    text: str


@dataclass(frozen=True)
class HeaderFile:
    """A file that lies beside the source: its path there, "runtime/op_call.hpp", and the text.

    One that is a source itself, .cu, is included ahead of the other, and of the parts that this builds on: such a part
    may have been written with the same files ahead of it.
    """

    path: str
    text: str


@dataclass(frozen=True)
class Translation:
    """What is compiled for a source that is no C++ itself: a function from its path to the text, under whose name the
    source's own suffix is replaced. It may raise errors of its own.
    """

    text: Callable[[Path], str]


Companion: TypeAlias = UsedSource | HeaderFile | Translation


def namespace(entry: str) -> str:
    """Where the source of a used part lies: its kernels are called `part_gemm_nt::gemm_nt_kernel`."""
    return f"part_{entry}"


def prelude(companions: Sequence[Companion]) -> str:
    """One text of all that stands before a source, in this order; "" for nothing."""
    used = [one for one in companions if isinstance(one, UsedSource)]
    sources = [one.path for one in headers(companions) if one.path.endswith(".cu")]
    if not used and not sources:
        return ""
    included = dict.fromkeys(found["header"] for source in used for found in _includes(source.text))
    first = ["#pragma once", *(f"#include {header}" for header in included)]
    first += [f'#include "{path}"' for path in sources]
    return "\n".join(first) + "\n" + "".join(map(_enclosed, used))


def headers(companions: Sequence[Companion]) -> list[HeaderFile]:
    """Those that lie beside the source, each once, by path."""
    files = {one.path: one for one in companions if isinstance(one, HeaderFile)}
    return [files[path] for path in sorted(files)]


def _enclosed(source: UsedSource) -> str:
    without = _PIECE.sub(lambda found: "" if found["header"] else found[0], source.text)
    names = dict.fromkeys(_DEFINE.findall(without))
    forgotten = "".join(f"#undef {name}\n" for name in names)
    opening = f'namespace {namespace(source.entry)} {{\n#line 1 "{source.entry}.used.cu"\n'
    return f"{opening}{without}\n}}\n{forgotten}"


def _includes(text: str) -> Sequence[re.Match[str]]:
    return [found for found in _PIECE.finditer(text) if found["header"]]


def compiled_text(source: Path, companions: Sequence[Companion]) -> bytes:
    """The bytes that are compiled for a source: its own, or those that it is translated to."""
    translation = next((one for one in companions if isinstance(one, Translation)), None)
    return source.read_bytes() if translation is None else translation.text(source).encode()
