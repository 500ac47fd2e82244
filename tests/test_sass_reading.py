"""Loads and stores of a cubin: name, width and line of PTX, on accesses whose width is known."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from grader.build import Build, build
from grader.sass import MemoryInstruction, read_memory_instructions

KERNELS = Path(__file__).parent / "kernels"
LETTERS = {"shared": "S", "global": "G", "local": "L", "generic": ""}
BYTES = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "b32": 4, "b64": 8, "v2_b32": 8, "v2_b64": 16, "v4_b32": 16}
TABLE = b".nv_debug_line_sass"


def built(target: int) -> Build:
    return build(KERNELS / "access_widths.cu", target=target)


def in_kernel(found: list[MemoryInstruction], kernel: str) -> list[MemoryInstruction]:
    return [item for item in found if f"{len(kernel)}{kernel}x" in item.section]


@pytest.mark.parametrize("target", [75, 80, 90])
def test_each_access_has_its_name_its_width_and_its_line(target: int) -> None:
    made = built(target)
    found = read_memory_instructions(made.cubin)
    text = made.ptx.read_text().split("\n")
    for space, letter in LETTERS.items():
        for kind, size in BYTES.items():
            accesses = in_kernel(found, f"{space}_{kind}")
            assert [(item.name, item.bytes) for item in accesses] == [(f"LD{letter}", size), (f"ST{letter}", size)]
            for access, verb in zip(accesses, ("ld", "st"), strict=True):
                spelled = verb if space == "generic" else f"{verb}.{space}"
                assert text[access.ptx_line - 1].strip().startswith(f"{spelled}."), (space, kind)


def test_an_access_of_a_called_function_is_found_once() -> None:
    made = build(KERNELS / "merged.cu")
    text = made.ptx.read_text().split("\n")
    first = next(number for number, line in enumerate(text, 1) if line.startswith(".func"))
    last = text.index("}", first)
    inside = [item for item in read_memory_instructions(made.cubin) if first < item.ptx_line <= last]
    assert Counter((item.name, item.bytes) for item in inside) == {("LDS", 16): 2}


def test_a_cubin_without_the_table_tells_nothing(tmp_path: Path) -> None:
    renamed = tmp_path / "kernel.cubin"
    renamed.write_bytes(built(80).cubin.read_bytes().replace(TABLE, b".nv_debug_line_ptx_"))
    assert read_memory_instructions(renamed) == []


def test_a_damaged_table_tells_nothing_wrong(tmp_path: Path) -> None:
    from elftools.elf.elffile import ELFFile

    whole = built(80).cubin
    with whole.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(TABLE.decode())
        assert table is not None
        start, size = table["sh_offset"], table["sh_size"]
    known = {(item.section, item.address, item.name, item.bytes) for item in read_memory_instructions(whole)}
    chance = random.Random(3)
    for _ in range(200):
        data = bytearray(whole.read_bytes())
        for _ in range(chance.randint(1, 4)):
            data[start + chance.randrange(size)] = chance.randrange(256)
        damaged = tmp_path / "kernel.cubin"
        damaged.write_bytes(data)
        found = read_memory_instructions(damaged)
        assert {(item.section, item.address, item.name, item.bytes) for item in found} <= known
