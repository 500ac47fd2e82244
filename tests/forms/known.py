"""Which forms the software GPU runs: each is written into a small kernel, lowered, and looked up in the machine."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.simt.lower_layout import Layout
from grader.simt.lower_select import Module, select_operations
from grader.simt.lower_sites import Sites
from grader.simt.machine import operation_names
from grader.simt.ptx_reader import read_ptx
from tests.instructions.case import STRENGTH, Case, ptx

FILE = Path(__file__).parent / "forms.json"
_REGISTER = re.compile(r"\br(8|16|32|64|128)\b(?!\.)|\bp\b")
_SPACES = ("shared", "global", "const", "local")
TESTED = 10  # the source line that `ptx` gives the instruction
_NAME = {"r8": "%zb", "r16": "%zh", "r32": "%zr", "r64": "%zd", "r128": "%zq", "p": "%zp"}


@dataclass(frozen=True)
class Form:
    """An opcode; `operands`, the kinds that it was met with; `met`, headers with targets: "cub/warp 80"."""

    name: str
    operands: tuple[str, ...]
    met: tuple[str, ...]

    @property
    def headers(self) -> set[str]:
        return {place.rpartition(" ")[0] for place in self.met}

    @property
    def targets(self) -> set[int]:
        return {int(place.rpartition(" ")[2]) for place in self.met}


@functools.cache
def forms() -> tuple[Form, ...]:
    """All that tests/forms/collect.py met."""
    found = json.loads(FILE.read_text())["forms"]
    return tuple(Form(name, tuple(entry["operands"]), tuple(entry["met"])) for name, entry in found.items())


def case(form: Form, operands: str) -> Case:
    """A kernel of one thread with that instruction. Registers hold 0, addresses are those of a variable."""
    used: list[str] = []

    def named(match: re.Match[str]) -> str:
        used.append(match[0])
        return f"{_NAME[match[0]]}{10 + len(used)}"

    shown = _REGISTER.sub(named, operands)
    space = next((name for name in _SPACES if f".{name}" in form.name), "global")
    for name in _SPACES:
        shown = re.sub(rf"(?<![\w.%]){name}(?!\w)", f"{name}_room", shown)
    shown = re.sub(r"(?<![\w.%])param(?!\w)", "k_p", shown)
    line = f"{form.name} {shown};" if shown else f"{form.name};"
    return Case(f"{form.name} {operands}", "\n".join([*_setup(shown, space), f"> {line}"]), [(0,)], 1, list, _ROOMS, 1)


_ROOMS = ".global .align 128 .b8 global_room[1024];\n.const .align 128 .b8 const_room[1024];"


def _setup(shown: str, space: str) -> Iterator[str]:
    """What the kernel does first: variables of its own, and a value for each register."""
    yield ".shared .align 128 .b8 shared_room[1024];\n.local .align 16 .b8 local_room[1024];"
    bits = {"b": 8, "h": 16, "r": 32, "d": 64, "q": 128}
    yield " ".join(f".reg .b{width} %z{letter}<80>;" for letter, width in bits.items()) + " .reg .pred %zp<80>;"
    for letter, number in sorted(set(re.findall(r"%z([hrdp])(\d+)", shown))):
        register = f"%z{letter}{number}"
        if letter == "p":
            yield f"setp.ne.u32 {register}, %t, 0;"
        elif re.search(rf"\[{register}\b", shown):
            yield f"mov.u{bits[letter]} {register}, {'shared' if letter == 'r' else space}_room;"
        else:
            yield f"mov.b{bits[letter]} {register}, 0;"


@functools.cache
def _operations() -> frozenset[str]:
    return frozenset(operation_names())


def is_known(form: Form, operands: str) -> bool:
    """Whether the machine has every operation that the instruction becomes, also those whose result nobody reads."""
    text = ptx(case(form, operands))
    module = read_ptx(text)
    names: dict[str, int] = {}
    sites = Sites(module, "k.cu")
    shared = Module(Layout(module), sites, text.split("\n"), lambda name: names.setdefault(name, len(names)), {})
    _, ops, _ = select_operations(shared.layout.defined[0], shared)
    made = [STRENGTH.sub(r"\1.", op.name) for op in ops if sites.sites[op.site].line == TESTED]
    return all(name in _operations() for name in made)


@functools.cache
def unknown() -> tuple[tuple[Form, tuple[str, ...]], ...]:
    """The forms that the software GPU does not run, with those of their operands that it does not."""
    found = []
    for form in forms():
        missing = tuple(operands for operands in form.operands if not is_known(form, operands))
        if missing:
            found.append((form, missing))
    return tuple(found)
