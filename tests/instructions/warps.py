"""What the lanes of a warp do together (PTX ISA 9.1, sections 9.7.9.6 and 9.7.13): shuffles, votes, matches, sums.

A row is a thread. Expected values come from all rows of a warp, by the formulas of the PTX ISA.
"""

from __future__ import annotations

import functools
import operator
import random
from collections.abc import Callable, Iterator, Sequence

from tests.instructions.case import Case, Row, fixed
from tests.instructions.registers import load, store
from tests.instructions.values import kept, operands, signed

_ALL = 0xFFFFFFFF
_LANES = range(32)
Collective = Callable[[list[tuple[int, ...]], int], Sequence[Row]]  # rows and mask of a warp: a row of results a lane


def on_warps(
    name: str,
    results: str,
    sources: str,
    rows: Sequence[tuple[int, ...]],
    function: Collective,
    *,
    text: str = "",
    title: str = "",
    mask: int = _ALL,
) -> Case:
    """The mask is the last source of the instruction, and no part of the rows. Lanes outside it go past; their results
    are 0.
    """
    destinations = [f"%{letter}{10 + i}" for i, letter in enumerate(results)]
    given = [f"%{letter}{i}" for i, letter in enumerate(sources)]
    names = {f"d{i}": item for i, item in enumerate(destinations)} | {f"a{i}": item for i, item in enumerate(given)}
    written = text or f"{name} {', '.join(['|'.join(destinations), *given, '{mask}'])};"
    zeros = {"r": "mov.b32 {}, 0;", "p": "setp.ne.s32 {}, %r38, %r38;"}
    lines = [load(register, place) for place, register in enumerate(given)]
    lines += ["mov.u32 %r38, %laneid;", *(zeros[item[1]].format(item) for item in destinations)]
    lines += [f"mov.b32 %r37, {mask:#x};", "shr.b32 %r36, %r37, %r38;", "and.b32 %r36, %r36, 1;"]
    lines += ["setp.eq.b32 %p19, %r36, 0;", "@%p19 bra past;"]
    lines += [f"> {line}" for line in written.format(**names, mask=f"{mask:#x}").split("\n")]
    lines += ["past:", *(store(register, place) for place, register in enumerate(destinations))]

    def expected() -> list[Row]:
        made: list[Row] = []
        for start in range(0, len(rows), 32):
            inside = function(list(rows[start : start + 32]), mask)
            made += [inside[lane] if mask >> lane & 1 else [0] * len(results) for lane in _LANES]
        return made

    return Case(title or name, "\n".join(lines), rows, len(results), expected, block=64)


def _members(mask: int) -> list[int]:
    return [lane for lane in _LANES if mask >> lane & 1]


# ---- shuffles --------------------------------------------------------------------------------------------------------


def _source(mode: str, lane: int, b: int, c: int) -> tuple[int, int]:
    """The lane that is read, and whether it lies in range."""
    distance, clamp, segment = b & 31, c & 31, c >> 8 & 31
    last = lane & segment | clamp & ~segment
    first = lane & segment
    if mode == "up":
        source, inside = lane - distance, lane - distance >= last
    elif mode == "down":
        source, inside = lane + distance, lane + distance <= last
    elif mode == "bfly":
        source, inside = lane ^ distance, lane ^ distance <= last
    else:
        source = first | distance & ~segment
        inside = source <= last
    return (source, 1) if inside else (lane, 0)


def _shuffled(mode: str) -> Collective:
    def function(rows: list[tuple[int, ...]], _: int) -> Sequence[Row]:
        sources = [_source(mode, lane, rows[lane][1], rows[lane][2]) for lane in _LANES]
        return [(rows[source][0], inside) for source, inside in sources]

    return function


def shuffles() -> Iterator[Case]:
    """Segments of every width with every distance, and any clamp: a value, a lane and a segment for each thread."""
    rng = random.Random(3)
    for mode in ("up", "down", "bfly", "idx"):
        clamp = 0 if mode == "up" else 31
        rows = [
            (rng.getrandbits(32), distance, (32 - width) << 8 | clamp)
            for width in (2, 4, 8, 16, 32)
            for distance in (0, 1, 2, 3, 7, 16, 31, 33)
            for _ in _LANES
        ]
        rows += [(rng.getrandbits(32), rng.getrandbits(32), rng.getrandbits(32) & 0x1F1F) for _ in range(8 * 32)]
        name = f"shfl.sync.{mode}.b32"
        yield on_warps(name, "rp", "rrr", rows, _shuffled(mode))
        alone = [(value, b, c) for value, b, c in rows]
        text = f"{name} {{d0}}, {{a0}}, {{a1}}, {{a2}}, {{mask}};"

        def without_flag(warp: list[tuple[int, ...]], mask: int, m: str = mode) -> Sequence[Row]:
            return [row[:1] for row in _shuffled(m)(warp, mask)]

        yield on_warps(name, "r", "rrr", alone, without_flag, text=text, title=f"{name} without a flag")
        text = f"mov.b32 {{d0}}, {{a0}};\n{name} {{d0}}|{{d1}}, {{d0}}, {{a1}}, {{a2}}, {{mask}};"
        yield on_warps(name, "rp", "rrr", rows, _shuffled(mode), text=text, title=f"{name} in place")

        def own_half(warp: list[tuple[int, ...]], mask: int, m: str = mode) -> Sequence[Row]:
            return _shuffled(m)(warp, mask)

        inside = [(value, b & 7, 0x1800 | (0 if mode == "up" else 31)) for value, b, _ in rows[:256]]
        title = f"{name} among lanes 8 to 23"
        yield on_warps(name, "rp", "rrr", inside, own_half, title=title, mask=0x00FFFF00)
    yield from _tracked()
    yield _by_halves()


def _tracked() -> Iterator[Case]:
    """Lane 5 alone has a value; that it comes from there makes it one in all that read it."""
    for mode in ("up", "down", "bfly", "idx"):
        body = f"""mov.u32 %r1, %laneid;
setp.eq.u32 %p1, %r1, 5;
@%p1 mov.b32 %r5, 77;
sub.s32 %r2, %r1, 5;
> shfl.sync.{mode}.b32 %r6, %r5, {{b}}, {{c}}, -1;
{{after}}
st.global.b32 [%out], %r6;"""
        ways = {  # the other lanes store 1
            "up": ("1", "0", "setp.ne.u32 %p2, %r1, 6;\n@%p2 mov.b32 %r6, 1;"),
            "down": ("1", "31", "setp.ne.u32 %p2, %r1, 4;\n@%p2 mov.b32 %r6, 1;"),
            "bfly": ("1", "31", "setp.ne.u32 %p2, %r1, 4;\n@%p2 mov.b32 %r6, 1;"),
            "idx": ("5", "31", ""),
        }
        b, c, after = ways[mode]
        reader = {"up": (6,), "down": (4,), "bfly": (4,), "idx": tuple(_LANES)}[mode]
        rows: list[Row] = [(77 if lane in reader else 1,) for lane in _LANES]
        text = body.format(b=b, c=c, after=after)
        title = f"shfl.sync.{mode}.b32 of a value that one lane has"
        yield Case(title, text, [(0,)] * 32, 1, fixed(rows), block=32)


def _by_halves() -> Case:
    """Both halves of a warp execute one instruction, each with its own mask."""
    body = """ld.global.b32 %r0, [%in];
mov.u32 %r1, %laneid;
setp.lt.u32 %p1, %r1, 16;
selp.b32 %r2, 0xffff, 0xffff0000, %p1;
> shfl.sync.bfly.b32 %r10, %r0, 1, 31, %r2;
st.global.b32 [%out], %r10;"""
    rows = [(100 + lane,) for lane in _LANES]
    title = "shfl.sync.bfly.b32 with two masks"
    return Case(title, body, rows, 1, lambda: [(100 + (lane ^ 1),) for lane in _LANES], block=32)


# ---- votes, matches, reductions --------------------------------------------------------------------------------------

_MASKS = (_ALL, 0x0000FFFF, 0x80000001, 0x00F0F00F, 0x00000010)


def _all_masks(
    name: str, results: str, sources: str, rows: Sequence[tuple[int, ...]], function: Collective, text: str = ""
) -> Iterator[Case]:
    for mask in _MASKS:
        title = name if mask == _ALL else f"{name} of lanes {mask:#x}"
        yield on_warps(name, results, sources, rows, function, text=text, title=title, mask=mask)


def votes() -> Iterator[Case]:
    rng = random.Random(9)
    warps = [[1] * 32, [0] * 32, [int(lane == 0) for lane in _LANES], [int(lane != 31) for lane in _LANES]]
    warps += [[rng.getrandbits(1) for _ in _LANES] for _ in range(4)]
    rows = [(item,) for warp in warps for item in warp]
    decided: dict[str, Callable[[list[int]], int]] = {
        "any": lambda votes: int(any(votes)),
        "all": lambda votes: int(all(votes)),
        "uni": lambda votes: int(len(set(votes)) == 1),
    }
    for mode, decide in decided.items():

        def voted(warp: list[tuple[int, ...]], mask: int, f: Callable[[list[int]], int] = decide) -> Sequence[Row]:
            return [(f([warp[lane][0] for lane in _members(mask)]),)] * 32

        def against(warp: list[tuple[int, ...]], mask: int, f: Callable[[list[int]], int] = decide) -> Sequence[Row]:
            return [(f([1 - warp[lane][0] for lane in _members(mask)]),)] * 32

        name = f"vote.sync.{mode}.pred"
        yield from _all_masks(name, "p", "p", rows, voted)
        text = f"{name} {{d0}}, !{{a0}}, {{mask}};"
        yield on_warps(name, "p", "p", rows, against, text=text, title=f"{name} with !")

    def ballot(warp: list[tuple[int, ...]], mask: int) -> Sequence[Row]:
        return [(sum(warp[lane][0] << lane for lane in _members(mask)),)] * 32

    yield from _all_masks("vote.sync.ballot.b32", "r", "p", rows, ballot)


def matches() -> Iterator[Case]:
    rng = random.Random(12)
    for kind, letter in (("b32", "r"), ("b64", "d")):
        wide = 1 << 63 if kind == "b64" else 1 << 31  # equal below the top: not equal
        warps = [[7] * 32, list(_LANES), [lane % 3 * wide // 2 for lane in _LANES]]
        warps += [[rng.choice((5, 5 | wide)) for _ in _LANES], [7] * 31 + [8]]
        warps += [[rng.randrange(4) * (wide >> 1) for _ in _LANES]]
        rows = [(item,) for warp in warps for item in warp]

        def any_equal(warp: list[tuple[int, ...]], mask: int) -> Sequence[Row]:
            return [(sum(1 << other for other in _members(mask) if warp[other] == warp[lane]),) for lane in _LANES]

        def all_equal(warp: list[tuple[int, ...]], mask: int) -> Sequence[Row]:
            same = len({warp[lane] for lane in _members(mask)}) == 1
            return [(mask, 1) if same else (0, 0)] * 32

        yield from _all_masks(f"match.any.sync.{kind}", "r", letter, rows, any_equal)
        yield from _all_masks(f"match.all.sync.{kind}", "rp", letter, rows, all_equal)


def reductions() -> Iterator[Case]:
    folds: list[tuple[str, str, Callable[[int, int], int]]] = [
        (name, kind, function)
        for kind in ("u32", "s32")
        for name, function in (("add", operator.add), ("min", min), ("max", max))
    ]
    folds += [(name, "b32", getattr(operator, f"{name}_")) for name in ("and", "or")] + [("xor", "b32", operator.xor)]
    for name, kind, fold in folds:
        rows = [(row[0],) for row in operands(kind, kind)]

        def folded(
            warp: list[tuple[int, ...]], mask: int, f: Callable[[int, int], int] = fold, k: str = kind
        ) -> Sequence[Row]:
            return [(kept(k, functools.reduce(f, (signed(k, warp[lane][0]) for lane in _members(mask)))),)] * 32

        yield from _all_masks(f"redux.sync.{name}.{kind}", "r", "r", rows, folded)


def others() -> Iterator[Case]:
    rows = [(0,)] * 64

    def elected(_: list[tuple[int, ...]], mask: int) -> Sequence[Row]:
        leader = _members(mask)[0]
        return [(leader, int(lane == leader)) for lane in _LANES]

    text = "elect.sync {d0}|{d1}, {mask};"
    yield from _all_masks("elect.sync", "rp", "r", rows, elected, text)

    def active(_: list[tuple[int, ...]], mask: int) -> Sequence[Row]:
        return [(mask,)] * 32

    yield from _all_masks("activemask.b32", "r", "r", rows, active, "activemask.b32 {d0};")
    body = """.shared .align 4 .b8 words[256];
mov.u32 %r1, words;
shl.b32 %r2, %t, 2;
add.u32 %r2, %r2, %r1;
ld.global.b32 %r0, [%in];
st.shared.b32 [%r2], %r0;
> bar.warp.sync -1;
xor.b32 %r3, %t, 31;
shl.b32 %r3, %r3, 2;
add.u32 %r3, %r3, %r1;
ld.shared.b32 %r4, [%r3];
st.global.b32 [%out], %r4;"""
    numbers = [(1000 + n,) for n in range(64)]
    yield Case("bar.warp.sync", body, numbers, 1, lambda: [(1000 + (n ^ 31),) for n in range(64)], block=64)


CASES = [*shuffles(), *votes(), *matches(), *reductions(), *others()]
