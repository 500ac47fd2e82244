"""Cases of instructions that turn registers into registers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from tests.instructions.case import Case, Row, Word

_BITS = {"h": 16, "r": 32, "d": 64}


def load(register: str, place: int) -> str:
    """Reads word `place` of the thread's row. Registers: %h 16 bits, %r 32, %d 64, %p a predicate."""
    kind = register[1]
    if kind == "p":
        return f"ld.global.b32 %r39, [%in+{8 * place}];\nsetp.ne.b32 {register}, %r39, 0;"
    return f"ld.global.b{_BITS[kind]} {register}, [%in+{8 * place}];"


def store(register: str, place: int) -> str:
    """Writes word `place` of the thread's row. Of a 16-bit register all that its slot holds, which must be 16 bits."""
    kind = register[1]
    if kind == "p":
        return f"selp.b32 %r39, 1, 0, {register};\nst.global.b32 [%out+{8 * place}], %r39;"
    if kind == "h":
        return f"cvt.u32.u16 %r39, {register};\nst.global.b32 [%out+{8 * place}], %r39;"
    return f"st.global.b{_BITS[kind]} [%out+{8 * place}], {register};"


def on_registers(
    name: str,
    results: str,
    sources: str,
    rows: Sequence[tuple[int, ...]],
    expected: Callable[..., Word | Row],
    *,
    text: str = "",
    title: str = "",
) -> Case:
    """An instruction on registers: a letter (h, r, d, p) for each result and source, one row of operands a thread.

    `expected` gives the result, or a row of results, of the operands. In `text`, where the instruction is not just its
    name and the registers, stand {d0}, {d1}… for results and {a0}, {a1}… for sources.
    """
    destinations = [f"%{letter}{10 + i}" for i, letter in enumerate(results)]
    operands = [f"%{letter}{i}" for i, letter in enumerate(sources)]
    names = {f"d{i}": item for i, item in enumerate(destinations)} | {f"a{i}": item for i, item in enumerate(operands)}
    written = text or f"{name} {', '.join(['|'.join(destinations), *operands])};"
    tested = [f"> {line}" for line in written.format_map(names).strip().split("\n")]
    loads = [load(register, place) for place, register in enumerate(operands)]
    stores = [store(register, place) for place, register in enumerate(destinations)]
    block = min(len(rows), 128)
    padded = list(rows) + [rows[-1]] * (-len(rows) % block)

    @functools.cache
    def words() -> list[Row]:
        made = [expected(*row) for row in padded]
        return [row if isinstance(row, tuple | list) else (row,) for row in made]

    return Case(title or name, "\n".join(loads + tested + stores), padded or [()], len(results), words, block=block)
