"""The file: what is written is read again, and what does not fit is refused with a sentence."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.simt import program as form
from grader.simt.lower import lower
from grader.simt.program import Program, ProgramError, parse_program, program_bytes, read_program, write_program
from grader.simt.program_check import check
from grader.simt.program_text import program_text
from tests.ptx_snippets import FIXTURES


@pytest.fixture(scope="module")
def calls() -> Program:
    return lower((FIXTURES / "calls.ptx").read_text(), "calls.cu")


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.ptx")), ids=lambda path: path.stem)
def test_a_program_is_read_as_it_was_written(path: Path, tmp_path: Path) -> None:
    program = lower(path.read_text(), f"{path.stem}.cu")
    check(program)
    write_program(program, tmp_path / "program")
    assert read_program(tmp_path / "program") == program


def test_the_text_shows_functions_blocks_and_lines(calls: Program) -> None:
    text = program_text(calls)
    assert "kernel _Z9recursivePii" in text
    assert "call _Z9fibonaccii" in text
    assert " block 1:" in text


def _first(program: Program) -> form.Instruction:
    return program.functions[0].instructions[0]


DAMAGE: list[tuple[str, Callable[[Program], None]]] = [
    ("site 0", lambda p: p.sites.clear()),
    ("same name", lambda p: p.functions.append(p.functions[0])),
    ("no operation", lambda p: setattr(_first(p), "op", 9999)),
    ("no site", lambda p: setattr(_first(p), "site", 9999)),
    ("width that no access has", lambda p: setattr(_first(p), "compiled", 3)),
    ("guarded by a predicate", lambda p: setattr(_first(p), "guard", 9999)),
    ("operand out of range", lambda p: _first(p).operands.append(form.R32 << 28 | 999)),
    ("operand out of range", lambda p: _first(p).operands.append(9 << 28)),
    ("no way on", lambda p: setattr(p.functions[0].blocks[-1], "next", 0)),
    ("where the one before ends", lambda p: setattr(p.functions[0].blocks[0], "first", 1)),
    ("past the last instruction", lambda p: setattr(p.functions[0].blocks[-1], "count", 99)),
    ("in no block", lambda p: p.functions[0].instructions.append(_first(p))),
    ("no block", lambda p: p.functions[0].blocks.clear()),
    ("outside the parameter block", lambda p: setattr(p.functions[0], "parameter_bytes", 1)),
    ("relocation out of range", lambda p: p.variables[0].relocations.append(form.Relocation(0, 999, 0))),
    ("no valid space", lambda p: setattr(p.variables[0], "space", 3)),
    ("more initial bytes", lambda p: setattr(p.variables[0], "initial", bytes(999))),
    ("has no slot", lambda p: p.functions[0].specials.append(form.Special("tid.x", 99))),
    ("misaligned", lambda p: p.functions[0].shared.append(form.SharedVariable("s", 1, 0, 4))),
]


@pytest.mark.parametrize(("reason", "damage"), DAMAGE)
def test_a_program_that_does_not_fit_is_refused(calls: Program, reason: str, damage: Callable[[Program], None]) -> None:
    broken = copy.deepcopy(calls)
    damage(broken)
    with pytest.raises(ProgramError, match=reason):
        check(broken)


def test_a_terminator_stands_last(calls: Program) -> None:
    broken = copy.deepcopy(calls)
    function = broken.functions[0]
    function.instructions[0] = function.instructions[-1]
    with pytest.raises(ProgramError, match="after its terminator"):
        check(broken)


def test_another_file_or_version_is_refused(calls: Program) -> None:
    data = program_bytes(calls)
    with pytest.raises(ProgramError, match="not a lowered program"):
        parse_program(b"PK" + data[2:])
    with pytest.raises(ProgramError, match="version 1"):
        parse_program(data[:8] + b"\x01\0\0\0" + data[12:])
    with pytest.raises(ProgramError, match="after the program's end"):
        parse_program(data + b"\0")


def test_a_damaged_file_is_refused_or_well_formed(calls: Program) -> None:
    data = program_bytes(calls)
    rng = random.Random(1)
    refused = 0
    for _ in range(400):
        broken = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            broken[rng.randrange(8, len(broken))] = rng.choice([0, 1, 0x7F, 0xFF, rng.randrange(256)])
        try:
            check(parse_program(bytes(broken)))
        except ProgramError:
            refused += 1
    assert 100 < refused < 400
    for length in range(0, len(data), 97):
        with pytest.raises(ProgramError):
            parse_program(data[:length])


def test_numbers_that_do_not_fit_are_not_written(calls: Program) -> None:
    broken = copy.deepcopy(calls)
    broken.functions[0].local_bytes = 1 << 33
    with pytest.raises(ProgramError, match="does not fit"):
        program_bytes(broken)
