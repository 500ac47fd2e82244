"""One PTX instruction under test: a kernel around it, run on the software GPU, and what PTX says must come out.

The lines a case is about begin with `>`. Each of them gets a source line of its own, so that the machine's counters
tell which of them ran. The operations that those lines became are what the case has tried: `Outcome.operations`.

Every thread has a row of 8-byte words to read, at `%in`, and one to write, at `%out`; `%t` is its number in the grid,
`k_p` a parameter of 32 bytes.
"""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from grader.simt.lower import lower
from grader.simt.machine import Machine, built_library
from grader.simt.program import Program, program_bytes

INPUT, OUTPUT = 0x2000_0000_0000, 0x2000_4000_0000
PARAMETER = bytes.fromhex("8f7001fe80ff7f00c3a5123480007fff0102030405060708f0e0d0c0b0a09080")  # the kernel's third, k_p
_REGISTERS = (
    ".reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .b32 %t, %i; .reg .b64 %in, %out;"
)
# An order that does not change the value: the machine's table knows the name without it.
STRENGTH = re.compile(
    r"^(ld|st|atom|red)\.(?:volatile|relaxed|acquire|release|acq_rel|mmio)\.(?:(?:cta|cluster|gpu|sys)\.)?"
)


class Check(Protocol):
    """What a word must be where PTX does not give its very bits."""

    def accepts(self, bits: int) -> bool: ...


Word = int | Check
Row = Sequence[Word]


@dataclass(frozen=True, eq=False)
class Case:
    """`name`: the instruction as PTX spells it. `body`: the kernel's; `before`: what the module holds besides.

    `rows`: what each thread finds at `%in`. `expected`: what it must leave at `%out`, `words` of 8 bytes, worked out
    when it is asked for; words that it does not store are 0. `block`: threads a block. `findings`: kinds that the
    machine has to report; `printed`: what the kernel prints.
    """

    name: str
    body: str
    rows: Sequence[Sequence[int]]
    words: int
    expected: Callable[[], Sequence[Row]]
    before: str = ""
    block: int = 128
    findings: tuple[str, ...] = ()
    printed: str = ""


def fixed(rows: Sequence[Row]) -> Callable[[], Sequence[Row]]:
    """`Case.expected` where the rows are known."""
    return lambda: rows


@dataclass(frozen=True)
class Outcome:
    """What a launch left: a row of words a thread, the operations under test that ran, the kinds of findings, what was
    printed, and the instructions that the machine named as unsupported.
    """

    rows: list[tuple[int, ...]]
    operations: frozenset[str]
    findings: tuple[str, ...]
    printed: str
    unsupported: tuple[str, ...]


def ptx(case: Case) -> str:
    """The module's text; the tested line number n has source line 10 + n, all else line 1."""
    words_in = len(case.rows[0])
    text = f"""{case.before}
.visible .entry k(.param .u64 k_in, .param .u64 k_out, .param .align 16 .b8 k_p[32])
{{
{_REGISTERS}
ld.param.u64 %in, [k_in];
ld.param.u64 %out, [k_out];
mov.u32 %t, %tid.x;
mov.u32 %i, %ctaid.x;
mad.lo.u32 %t, %i, {case.block}, %t;
mad.wide.u32 %in, %t, {8 * words_in}, %in;
mad.wide.u32 %out, %t, {8 * case.words}, %out;
{case.body}
ret;
}}
.file 1 "k.cu"
"""
    lines, tested = [".version 9.0", ".target sm_80", ".address_size 64"], 10
    for line in text.split("\n"):
        if line.lstrip().startswith(">"):
            lines += [f".loc 1 {tested} 0", line.replace(">", "", 1), ".loc 1 1 0"]
            tested += 1
        else:
            lines.append(line)
            if line == "{":
                lines.append(".loc 1 1 0")
    return "\n".join(lines)


@functools.cache
def _library() -> Path:
    return built_library()


@functools.cache
def outcome(case: Case) -> Outcome:
    """Runs the case; the same one is run once."""
    program = lower(ptx(case), "k.cu")
    machine = Machine(program_bytes(program), library=_library())
    flat = [word for row in case.rows for word in row]
    given = ctypes.create_string_buffer(struct.pack(f"<{len(flat)}Q", *flat), 8 * len(flat))
    made = ctypes.create_string_buffer(8 * case.words * len(case.rows))
    for name, address, memory in (("in", INPUT, given), ("out", OUTPUT, made)):
        machine.add_buffer(name, address, len(memory), ctypes.addressof(memory), initialised=True, writable=True)
    assert len(case.rows) % case.block == 0
    machine.launch(
        "k", (len(case.rows) // case.block, 1, 1), (case.block, 1, 1), 0, struct.pack("<2Q", INPUT, OUTPUT) + PARAMETER,
        order="forward", seed=0, workers=1, warp_budget=1 << 20, launch_budget=0,
    )  # fmt: skip
    (report,) = machine.report()
    words = struct.unpack(f"<{case.words * len(case.rows)}Q", made.raw)
    rows = [words[i : i + case.words] for i in range(0, len(words), case.words)]
    ran = {item["line"] for item in report["counters"]["lines"] if item["thread_instructions"]}
    found = tuple(sorted({finding["kind"] for finding in report["findings"]}))
    unsupported = tuple(finding["text"] for finding in report["findings"] if finding["kind"] == "unsupported")
    printed = "".join(report.get("printed", []))
    return Outcome(rows, frozenset(_operations(program, ran)), found, printed, unsupported)


def _operations(program: Program, ran: set[int]) -> set[str]:
    """Names, as the machine's table has them, of the operations under test whose line ran."""
    names = set()
    for function in program.functions:
        for item in function.instructions:
            line = program.sites[item.site].line
            if line < 10 or line not in ran:
                continue
            name = STRENGTH.sub(r"\1.", program.op_names[item.op])
            names.add(f"{name}.tracked" if name.startswith("shfl") and len(item.operands) == 8 else name)
    return names


def check(case: Case) -> None:
    """Runs the case and compares every word."""
    result = outcome(case)
    assert result.findings == case.findings
    assert result.printed == case.printed
    for given, expected, got in zip(case.rows, case.expected(), result.rows, strict=True):
        for place, (word, bits) in enumerate(zip(expected, got, strict=True)):
            right = word == bits if isinstance(word, int) else word.accepts(bits)
            if not right:
                operands = ", ".join(f"{item:#x}" for item in given)
                wanted = f"{word:#x}" if isinstance(word, int) else repr(word)
                raise AssertionError(f"{case.name} of ({operands}): word {place} is {bits:#x} instead of {wanted}")
