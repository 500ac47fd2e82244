"""What stands before a source that builds on other parts: their sources, as if they were headers.

Each lies in a namespace of its own, so that two may have a kernel, a constant or a type of one name; their entries are
`extern "C"` and therefore the same functions that the source declares. Headers are included before, once, outside the
namespaces, and what a source defines for the preprocessor ends with it. Line tables and messages know the sources under
names that no learner's file has: what happens there is told, as for any header, at the line of the call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

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


def namespace(entry: str) -> str:
    """Where the source of a used part lies: its kernels are called `part_gemm_nt::gemm_nt_kernel`."""
    return f"part_{entry}"


def prelude(used: Sequence[UsedSource]) -> str:
    """One text of all, in this order; "" for none."""
    if not used:
        return ""
    headers = dict.fromkeys(found["header"] for source in used for found in _includes(source.text))
    first = ["#pragma once", *(f"#include {header}" for header in headers)]
    return "\n".join(first) + "\n" + "".join(map(_enclosed, used))


def _enclosed(source: UsedSource) -> str:
    without = _PIECE.sub(lambda found: "" if found["header"] else found[0], source.text)
    names = dict.fromkeys(_DEFINE.findall(without))
    forgotten = "".join(f"#undef {name}\n" for name in names)
    opening = f'namespace {namespace(source.entry)} {{\n#line 1 "{source.entry}.used.cu"\n'
    return f"{opening}{without}\n}}\n{forgotten}"


def _includes(text: str) -> Sequence[re.Match[str]]:
    return [found for found in _PIECE.finditer(text) if found["header"]]
