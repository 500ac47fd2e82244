"""Registers that nobody assigned: followed while they are moved about, told where they begin to matter.

The operations `track.…` are not PTX; they come with the instructions that read or write such a register.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.instructions.case import Case, Row, fixed
from tests.instructions.words import ANYTHING

_LANES = range(32)
_LOW = "setp.lt.u32 %p1, %t, 16;"  # %r5 has a value in these lanes alone
_PART = f"{_LOW}\n> @%p1 mov.b32 %r5, 70;"


def _case(title: str, body: str, expected: Sequence[Row], *findings: str) -> Case:
    rows = [(n,) for n in _LANES]
    return Case(title, body, rows, 1, fixed(expected), block=32, findings=findings)


def harmless() -> Iterator[Case]:
    """What is chosen or masked away does not count."""
    store = "st.global.b32 [%out], %r6;"
    chosen: list[Row] = [(71 if n < 16 else 1,) for n in _LANES]
    body = f"{_PART}\n> add.u32 %r7, %r5, 1;\n> selp.b32 %r6, %r7, 1, %p1;\n> {store}"
    yield _case("track.selp: the other value is taken", body, chosen)
    body = f"{_LOW}\n@%p1 setp.eq.u32 %p2, %t, 3;\n> and.pred %p3, %p1, %p2;\nselp.b32 %r6, 1, 0, %p3;\n> {store}"
    yield _case("track.logical_and: false decides", body, [(int(n == 3),) for n in _LANES])
    body = f"""{_LOW}
not.pred %p4, %p1;
@%p1 setp.eq.u32 %p2, %t, 3;
> or.pred %p3, %p4, %p2;
selp.b32 %r6, 1, 0, %p3;
> {store}"""
    yield _case("track.logical_or: true decides", body, [(int(n == 3 or n >= 16),) for n in _LANES])
    body = f"{_PART}\n@!%p1 mov.b32 %r5, 5;\n> add.u32 %r6, %r5, 1;\n> {store}"
    yield _case("track.set: assigned on both ways", body, [(71 if n < 16 else 6,) for n in _LANES])
    body = f"""{_PART}
@%p1 mov.b32 %r8, 2;
> add.u32 %r6, %r5, %r8;
@%p1 st.global.b32 [%out], %r6;"""
    yield _case("track.and: stored where both are known", body, [(72 if n < 16 else 0,) for n in _LANES])
    shared = ".shared .align 4 .b8 words[128];\nmov.u32 %r1, words;\nshl.b32 %r2, %t, 2;\nadd.u32 %r1, %r1, %r2;"
    body = f"""{shared}
{_PART}
> st.shared.b32 [%r1], %r5;
@!%p1 st.shared.b32 [%r1], 4;
ld.shared.b32 %r6, [%r1];
{store}"""
    yield _case("track.store: written over before it is read", body, [(70 if n < 16 else 4,) for n in _LANES])
    load = "> ld.shared.b32 %r5, [%r1];\n> selp.b32 %r6, %r5, 1, %p1;"
    body = f"{shared}\n{_LOW}\n@%p1 st.shared.b32 [%r1], 70;\n{load}\n{store}"
    yield _case("track.load: read ahead of the condition", body, [(70 if n < 16 else 1,) for n in _LANES])


def told() -> Iterator[Case]:
    body = f"{_PART}\n> add.u32 %r6, %r5, 1;\n> st.global.b32 [%out], %r6;"
    # What is stored in the other lanes is nothing that a test may ask for.
    known = [(71,) if n < 16 else (ANYTHING,) for n in _LANES]
    yield _case("track.check: stored to global memory", body, known, "uninitialised_read")
    shared = ".shared .align 4 .b8 words[128];\nmov.u32 %r1, words;\nshl.b32 %r2, %t, 2;\nadd.u32 %r1, %r1, %r2;"
    body = f"{shared}\n{_PART}\n> st.shared.b32 [%r1], %r5;\nld.shared.b32 %r6, [%r1];\nst.global.b32 [%out], %r6;"
    known = [(70,) if n < 16 else (ANYTHING,) for n in _LANES]
    yield _case("track.store: read back from shared memory", body, known, "uninitialised_read")


CASES = [*harmless(), *told()]
