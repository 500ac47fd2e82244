"""Asynchronous copies and mbarriers (PTX ISA 9.1, sections 9.7.9.25 and 9.7.13.15)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tests.instructions.case import Case, Row, fixed

_THREADS = 128
_FILLED = (0x1111_1111_1111_1111, 0x2222_2222_2222_2222)  # what lies in shared memory before
_PLACE = f""".shared .align 16 .b8 place[{16 * _THREADS}];
mov.u32 %r1, place;
shl.b32 %r2, %t, 4;
add.u32 %r2, %r2, %r1;
cvt.u64.u32 %d20, %r2;
mov.b64 %d30, {_FILLED[0]:#x};
mov.b64 %d31, {_FILLED[1]:#x};
st.shared.v2.b64 [%r2], {{%d30, %d31}};"""
_RESULT = """ld.shared.v2.b64 {%d1, %d2}, [%r2];
st.global.v2.b64 [%out], {%d1, %d2};"""


def _rows() -> list[tuple[int, int]]:
    rng = random.Random(31)
    return [(rng.getrandbits(64), rng.getrandbits(64)) for _ in range(_THREADS)]


def _copied(row: Sequence[int], size: int, read: int) -> Row:
    """The first `size` bytes anew: `read` of them as in `row`, the others 0."""
    given, filled = (b"".join(word.to_bytes(8, "little") for word in words) for words in (row, _FILLED))
    made = given[:read] + bytes(size - read) + filled[size:]
    return tuple(int.from_bytes(made[at : at + 8], "little") for at in (0, 8))


def _copy(title: str, instruction: str, size: int, read: int, before: str = "") -> Case:
    rows = _rows()
    body = f"{_PLACE}\n{before}\n> {instruction}\n> cp.async.wait_all;\n{_RESULT}"
    return Case(title, body, rows, 2, lambda: [_copied(row, size, read) for row in rows])


def copies() -> Iterator[Case]:
    forms = [(f"cp.async.ca.shared{cta}.global", size) for cta in ("", "::cta") for size in (4, 8, 16)]
    forms += [(f"cp.async.cg.shared.global{hint}", 16) for hint in ("", ".L2::64B", ".L2::128B", ".L2::256B")]
    for name, size in forms:
        yield _copy(f"{name} of {size} bytes", f"{name} [%r2], [%in], {size};", size, size)
        for read in {0, 1, size // 2, size - 1, size}:
            given = f"{name} [%r2], [%in], {size}, {read};"
            yield _copy(f"{name} of {read} of {size} bytes", given, size, read)
        for holds in (0, 1):
            given = f"{name} [%r2], [%in], {size}, %p1;"
            before = f"setp.eq.u32 %p1, {holds}, 1;"
            title = f"{name} of {size} bytes, {'ignored' if holds else 'not ignored'}"
            yield _copy(title, given, size, 0 if holds else size, before)
    yield _copy("cp.async by 64-bit shared address", "cp.async.ca.shared.global [%d20], [%in], 8;", 8, 8)
    yield _copy(
        "cp.async of a register's bytes", "cp.async.ca.shared.global [%r2], [%in+0], 8, %r5;", 8, 4, "mov.b32 %r5, 4;"
    )
    policy = "createpolicy.fractional.L2::evict_first.b64 %d21, 1.0;"
    hinted = "cp.async.cg.shared.global.L2::cache_hint [%r2], [%in], 16, 16, %d21;"
    yield _copy("cp.async.cg.shared.global.L2::cache_hint", hinted, 16, 16, policy)


def groups() -> Iterator[Case]:
    """Two groups of one copy each; the older one must have come when one may be under way."""
    rows = _rows()
    for left, came in ((1, 1), (0, 2)):
        body = f"""{_PLACE}
> cp.async.ca.shared.global [%r2], [%in], 8;
> cp.async.commit_group;
> cp.async.ca.shared.global [%r2+8], [%in+8], 8;
> cp.async.commit_group;
> cp.async.wait_group {left};
ld.shared.b64 %d1, [%r2];
st.global.b64 [%out], %d1;
cp.async.wait_group 0;
ld.shared.b64 %d2, [%r2+8];
st.global.b64 [%out+8], %d2;"""
        yield Case(f"cp.async.wait_group {left}: {came}", body, rows, 2, fixed(rows))


def in_flight() -> Iterator[Case]:
    """What is read before it has come is the old value, and told."""
    rows = _rows()
    early = f"""{_PLACE}
cp.async.ca.shared.global [%r2], [%in], 16;
cp.async.commit_group;
cp.async.ca.shared.global [%r2], [%in], 4, 0;
cp.async.commit_group;
> cp.async.wait_group 2;
ld.shared.v2.b64 {{%d1, %d2}}, [%r2];
st.global.v2.b64 [%out], {{%d1, %d2}};"""
    yield Case(
        "cp.async.wait_group of more than there are",
        early,
        rows,
        2,
        fixed([_FILLED] * _THREADS),
        findings=("data_race",),
    )


# ---- mbarriers -----------------------------------------------------------------------------------------------------

_SPACES = {"shared": "%r2", "shared::cta": "%r2", "": "%d22"}  # and the register with the address
_ONE_EACH = f"""{_PLACE}
mov.b64 %d22, place;
cvta.shared.u64 %d22, %d22;
cvt.u64.u32 %d23, %t;
shl.b64 %d23, %d23, 4;
add.u64 %d22, %d22, %d23;"""


def _steps(title: str, count: int, steps: Sequence[str], results: Sequence[int], space: str) -> Case:
    """Each thread has an mbarrier of its own for `count` arrivals. `{s}` and `{a}` are its space and address; every
    step that ends in `-> n` leaves a 64-bit word in %d<n>, a 32-bit one in %r<n> or a flag in %p<n>.
    """
    where = f".{space}" if space else ""
    lines = [f"> mbarrier.init{where}.b64 [{_SPACES[space]}], {count};"]
    stores = 0
    for step in steps:
        tested, _, register = step.partition(" -> ")
        lines += [f"> {line.strip().format(s=where, a=_SPACES[space])}" for line in tested.split("\n")]
        if register:
            wide = {"d": f"mov.b64 %d2, {register};", "r": f"cvt.u64.u32 %d2, {register};"}
            flag = f"selp.b64 %d2, 1, 0, {register};"
            lines += [wide.get(register[1], flag), f"st.global.b64 [%out+{8 * stores}], %d2;"]
            stores += 1
    assert stores == len(results)
    body = "\n".join([_ONE_EACH, *lines, f"> mbarrier.inval{where}.b64 [{_SPACES[space]}];"])
    rows = [(number,) for number in range(_THREADS)]
    return Case(f"{title} in {space or 'generic'}", body, rows, len(results), fixed([tuple(results)] * _THREADS))


def mbarriers() -> Iterator[Case]:
    for space in _SPACES:
        arrive, wait = "mbarrier.arrive{s}.b64 %d5, [{a}];", "mbarrier.test_wait{s}.b64 %p5, [{a}], %d5; -> %p5"
        parity = "mbarrier.test_wait.parity{s}.b64 %p5, [{a}], "
        count = "mbarrier.pending_count.b64 %r5, %d5; -> %r5"
        both = [arrive, wait, count, f"{parity}0; -> %p5", f"{parity}1; -> %p5"]
        yield _steps("mbarrier.arrive", 2, both * 3, [0, 2, 0, 1, 1, 1, 1, 0, 0, 2, 1, 0], space)
        for order in ("release.cta", "release.cluster", "relaxed.cta", "relaxed.cluster"):
            waits = order.replace("release", "acquire")
            steps = [
                f"mbarrier.arrive.{order}{{s}}.b64 %d5, [{{a}}];",
                f"mbarrier.test_wait.{waits}{{s}}.b64 %p5, [{{a}}], %d5; -> %p5",
                f"mbarrier.try_wait.{waits}{{s}}.b64 %p5, [{{a}}], %d5; -> %p5",
                f"mbarrier.test_wait.parity.{waits}{{s}}.b64 %p5, [{{a}}], 0; -> %p5",
            ]
            yield _steps(f"mbarrier.arrive.{order}", 1, steps, [1, 1, 1], space)
        tries = [
            "mbarrier.try_wait{s}.b64 %p5, [{a}], %d5; -> %p5",
            "mbarrier.try_wait{s}.b64 %p5, [{a}], %d5, 10; -> %p5",
        ]
        tries += ["mbarrier.try_wait.parity{s}.b64 %p5, [{a}], 0, 1000; -> %p5"]
        yield _steps("mbarrier.try_wait", 1, [tries[2], arrive, *tries], [0, 1, 1, 1], space)
        several = [
            "mbarrier.arrive{s}.b64 %d5, [{a}], 3;",
            wait,
            "mbarrier.arrive.noComplete{s}.b64 %d5, [{a}], 1;",
            count,
        ]
        yield _steps("mbarrier.arrive of several", 5, [*several, arrive, wait], [0, 2, 1], space)
        drop = "mbarrier.arrive_drop{s}.b64 %d5, [{a}];"
        left = [drop, wait, count, arrive, wait, arrive, wait, count]
        yield _steps("mbarrier.arrive_drop", 2, left, [0, 2, 1, 1, 1], space)
        dropped = ["mbarrier.arrive_drop.noComplete{s}.b64 %d5, [{a}], 2;", arrive, wait, arrive, count, wait]
        yield _steps("mbarrier.arrive_drop of several", 3, dropped, [1, 1, 1], space)
        bytes_first = ["mbarrier.expect_tx.relaxed.cta{s}.b64 [{a}], 96;", arrive, wait]
        come = "mbarrier.complete_tx.relaxed.cta{s}.b64 [{a}], 48;"
        yield _steps("mbarrier.expect_tx", 1, [*bytes_first, come, wait, come, wait], [0, 0, 1], space)
        for verb, last in (("arrive", 2), ("arrive_drop", 1)):
            expecting = f"mbarrier.{verb}.expect_tx{{s}}.b64 %d5, [{{a}}], 48;"
            steps = [arrive, expecting, wait, come, wait, arrive, count]
            yield _steps(f"mbarrier.{verb}.expect_tx", 2, steps, [0, 1, last], space)


def arriving_copies() -> Iterator[Case]:
    """A copy's arrival comes with its bytes, beside the arrivals that are expected or as one of them."""
    rows = _rows()
    for space, address in _SPACES.items():
        for noinc in ("", ".noinc"):
            where = f".{space}" if space else ""
            arrives = "" if noinc else f"mbarrier.arrive{where}.b64 %d5, [{address}+8];"
            body = f"""{_ONE_EACH}
mbarrier.init{where}.b64 [{address}+8], 1;
> cp.async.ca.shared.global [%r2], [%in], 8;
> cp.async.mbarrier.arrive{noinc}{where}.b64 [{address}+8];
{arrives}
> mbarrier.test_wait.parity{where}.b64 %p5, [{address}+8], 0;
selp.b64 %d2, 1, 0, %p5;
ld.shared.b64 %d1, [%r2];
st.global.v2.b64 [%out], {{%d1, %d2}};"""
            title = f"cp.async.mbarrier.arrive{noinc} in {space or 'generic'}"
            yield Case(title, body, rows, 2, fixed([(row[0], 1) for row in rows]))


CASES = [*copies(), *groups(), *in_flight(), *mbarriers(), *arriving_copies()]
