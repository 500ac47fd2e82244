"""Barriers of a block, and fences (PTX ISA 9.1, sections 9.7.13.1 to 9.7.13.5)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from tests.instructions.case import Case, Row, fixed

_WORDS = """.shared .align 4 .b8 words[512];
mov.u32 %r1, words;
shl.b32 %r2, %t, 2;
add.u32 %r2, %r2, %r1;
ld.global.b32 %r0, [%in];"""
_NUMBERS = [(500 + n,) for n in range(128)]


def _exchange(title: str, instruction: str, partner: int, before: str = "") -> Case:
    """Each thread stores a word, waits, and reads that of another: number t xor `partner`."""
    tested = "\n".join(f"> {line}" for line in instruction.split("\n"))
    body = f"""{_WORDS}
st.shared.b32 [%r2], %r0;
{before}
{tested}
xor.b32 %r3, %t, {partner};
shl.b32 %r3, %r3, 2;
add.u32 %r3, %r3, %r1;
ld.shared.b32 %r4, [%r3];
st.global.b32 [%out], %r4;"""
    return Case(title, body, _NUMBERS, 1, lambda: [(500 + (n ^ partner),) for n in range(128)])


def waiting() -> Iterator[Case]:
    for name in (
        "bar.sync",
        "bar.cta.sync",
        "barrier.sync",
        "barrier.cta.sync",
        "barrier.sync.aligned",
        "barrier.cta.sync.aligned",
    ):
        yield _exchange(name, f"{name} 0;", 127)
        yield _exchange(f"{name} of a number of threads", f"{name} 15, 128;", 96)
    yield _exchange("bar.sync of a register", "bar.sync %r5, %r6;", 64, "mov.b32 %r5, 3;\nmov.b32 %r6, 128;")
    pairs = "shr.b32 %r5, %t, 6;\nadd.u32 %r5, %r5, 1;"  # warps 0 and 1 wait for each other, and warps 2 and 3
    yield _exchange("bar.sync of two pairs of warps", "bar.sync %r5, 64;", 33, pairs)
    twice = "barrier.sync 1;\nbarrier.sync 1;\nbarrier.sync 2;"
    yield _exchange("barrier.sync again and again", twice, 127)


def _apart() -> Case:
    """`barrier.sync` from two places of a divided warp."""
    body = f"""{_WORDS}
st.shared.b32 [%r2], %r0;
and.b32 %r5, %t, 1;
setp.eq.u32 %p1, %r5, 0;
@%p1 bra even;
> barrier.sync 0;
bra together;
even:
> barrier.sync 0;
together:
xor.b32 %r3, %t, 1;
shl.b32 %r3, %r3, 2;
add.u32 %r3, %r3, %r1;
ld.shared.b32 %r4, [%r3];
st.global.b32 [%out], %r4;"""
    return Case(
        "barrier.sync from both sides of a branch", body, _NUMBERS, 1, lambda: [(500 + (n ^ 1),) for n in range(128)]
    )


def arriving() -> Iterator[Case]:
    """Warps 0 and 1 store and arrive, warps 2 and 3 wait and read; then the other way round."""
    for name in ("bar.arrive", "bar.cta.arrive", "barrier.arrive", "barrier.cta.arrive.aligned"):
        wait = name.replace("arrive", "sync", 1)
        body = f"""{_WORDS}
setp.ge.u32 %p1, %t, 64;
@%p1 bra reader;
st.shared.b32 [%r2], %r0;
> {name} 1, 128;
{wait} 2, 128;
ld.shared.b32 %r4, [%r2+256];
bra done;
reader:
{wait} 1, 128;
ld.shared.b32 %r4, [%r2+-256];
add.u32 %r5, %r4, 1000;
st.shared.b32 [%r2], %r5;
> {name} 2, 128;
done:
st.global.b32 [%out], %r4;"""
        rows = [(1500 + n,) for n in range(64)] + [(500 + n,) for n in range(64)]
        yield Case(name, body, _NUMBERS, 1, fixed(rows))


def reductions() -> Iterator[Case]:
    rng = random.Random(77)
    flags = {
        "all": [1] * 128,
        "none": [0] * 128,
        "one": [int(n == 97) for n in range(128)],
        "some": [rng.getrandbits(1) for _ in range(128)],
    }
    for name in ("bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red"):
        for operation, decide in _DECISIONS.items():
            kind, target = ("u32", "%r10") if operation == "popc" else ("pred", "%p10")
            show = "" if kind == "u32" else "selp.b32 %r10, 1, 0, %p10;\n"
            for given, values in flags.items():
                for threads in ("", " 128,"):
                    for negated in ("", "!"):
                        opcode = f"{name}.{operation}.{kind}"
                        title = f"{opcode}{' of a number of threads' if threads else ''}: {negated}{given}"
                        body = f"""ld.global.b32 %r0, [%in];
setp.ne.u32 %p1, %r0, 0;
> {opcode} {target}, 0,{threads} {negated}%p1;
{show}st.global.b32 [%out], %r10;"""
                        counted = [value ^ bool(negated) for value in values]
                        result: list[Row] = [(decide(counted),)] * 128
                        yield Case(title, body, [(value,) for value in values], 1, fixed(result))


_DECISIONS: dict[str, Callable[[Sequence[int]], int]] = {
    "popc": sum,
    "and": lambda values: int(all(values)),
    "or": lambda values: int(any(values)),
}


def fences() -> Iterator[Case]:
    """A thread of the first warp hands a word to one of the last through a flag, with a fence on both sides."""
    names = [f"fence.{order}{scope}" for order in ("", "sc.", "acq_rel.", "acquire.", "release.") for scope in _SCOPES]
    for name in (*names, "membar.cta", "membar.gl", "membar.sys"):
        first, second = (f"{name};", f"{name};")
        if ".acquire" in name:
            first = name.replace("acquire", "release") + ";"
        if ".release" in name:
            second = name.replace("release", "acquire") + ";"
        body = f""".shared .align 4 .u32 word;
.shared .align 4 .u32 flag;
mov.b32 %r4, 9;
setp.eq.u32 %p1, %t, 0;
@%p1 st.shared.b32 [flag], 0;
bar.sync 0;
@%p1 bra giver;
setp.ne.u32 %p2, %t, 127;
@%p2 bra done;
again:
ld.relaxed.cta.shared.b32 %r3, [flag];
setp.eq.u32 %p3, %r3, 0;
@%p3 bra again;
> {second}
ld.shared.b32 %r4, [word];
bra done;
giver:
st.shared.b32 [word], 4711;
> {first}
st.relaxed.cta.shared.b32 [flag], 1;
done:
st.global.b32 [%out], %r4;"""
        yield Case(name, body, [(0,)] * 128, 1, lambda: [(9,)] * 127 + [(4711,)])


_SCOPES = ("cta", "cluster", "gpu", "sys")
CASES = [*waiting(), _apart(), *arriving(), *reductions(), *fences()]
