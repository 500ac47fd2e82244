"""mov, packing, addresses and special registers (PTX ISA 9.1, sections 9.7.9.1 to 9.7.9.24 and 10)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from tests.instructions.case import Case, Row, Word, fixed
from tests.instructions.registers import on_registers, store
from tests.instructions.values import operands
from tests.instructions.words import ANYTHING

_ALL = 0xFFFFFFFF


def registers() -> Iterator[Case]:
    """A copy that only some lanes make, so that it cannot be left out."""
    for kind, of in (("b16", "h"), ("u16", "h"), ("s16", "h"), ("b32", "r"), ("u32", "r"), ("s32", "r"), ("f32", "r")):
        yield _some_lanes(kind, of)
    for kind, of in (("b64", "d"), ("u64", "d"), ("s64", "d"), ("f64", "d"), ("pred", "p")):
        yield _some_lanes(kind, of)
    for spelled, bits in (("0x3f800000", 0x3F800000), ("0f3F800000", 0x3F800000), ("-2", _ALL - 1)):
        text = f"mov.b32 {{d0}}, {spelled};\n@!{{a0}} mov.b32 {{d0}}, 7;"
        yield _given(f"mov.b32 of {spelled}", "r", text, (7, bits))
    text = "mov.f64 {d0}, 0dC000000000000000;\n@!{a0} mov.f64 {d0}, 1.0;"
    yield _given("mov.f64 of numbers", "d", text, (0x3FF0000000000000, 0xC000000000000000))


def _given(title: str, result: str, text: str, choice: tuple[int, int]) -> Case:
    """The predicate is the number of what is chosen."""
    return on_registers(title, result, "p", [(0,), (1,)] * 16, lambda p: choice[p], text=text, title=title)


def _some_lanes(kind: str, of: str) -> Case:
    bits = {"h": 16, "r": 32, "d": 64}
    rows = operands("pred" if of == "p" else f"b{bits[of]}", "pred", count=64)
    other = "setp.eq.u32 {d0}, %t, %t;" if of == "p" else f"mov.b{bits[of]} {{d0}}, 3;"
    text = f"{other}\n@{{a1}} mov.{kind} {{d0}}, {{a0}};"
    one = 1 if of == "p" else 3
    return on_registers(f"mov.{kind}", of, f"{of}p", rows, lambda a, p: a if p else one, text=text)


def packing() -> Iterator[Case]:
    """The first of a list is the lowest part."""
    pairs, wide = operands("b32", "b32", count=64), operands("b64", count=64)
    halves = operands("b16", "b16", count=64)
    four = operands("b16", "b16", "b16", "b16", count=64)
    forms: list[tuple[str, str, str, list[tuple[int, ...]], Callable[..., Word | Row], str]] = [
        ("mov.b64 of two", "d", "rr", pairs, lambda a, b: a | b << 32, "mov.b64 {d0}, {{{a0}, {a1}}};"),
        ("mov.b32 of two", "r", "hh", halves, lambda a, b: a | b << 16, "mov.b32 {d0}, {{{a0}, {a1}}};"),
        (
            "mov.b64 of four",
            "d",
            "hhhh",
            four,
            lambda a, b, c, d: a | b << 16 | c << 32 | d << 48,
            "mov.b64 {d0}, {{{a0}, {a1}, {a2}, {a3}}};",
        ),
        ("mov.b64 to two", "rr", "d", wide, lambda a: (a & _ALL, a >> 32), "mov.b64 {{{d0}, {d1}}}, {a0};"),
        ("mov.b64 to its upper half", "r", "d", wide, lambda a: a >> 32, "mov.b64 {{_, {d0}}}, {a0};"),
        ("mov.b64 to its lower half", "r", "d", wide, lambda a: a & _ALL, "mov.b64 {{{d0}, _}}, {a0};"),
        (
            "mov.b32 to two",
            "hh",
            "r",
            operands("b32", count=64),
            lambda a: (a & 0xFFFF, a >> 16),
            "mov.b32 {{{d0}, {d1}}}, {a0};",
        ),
        (
            "mov.b64 to four",
            "hhhh",
            "d",
            wide,
            lambda a: struct.unpack("<4H", struct.pack("<Q", a)),
            "mov.b64 {{{d0}, {d1}, {d2}, {d3}}}, {a0};",
        ),
    ]
    for title, results, sources, rows, expected, text in forms:
        yield on_registers(title, results, sources, rows, expected, text=text, title=title)


def _body(title: str, body: str, expected: list[Row], before: str = "", given: int = 0) -> Case:
    rows = [(given,)] * len(expected)
    return Case(title, body, rows, len(expected[0]), fixed(expected), before=before, block=len(expected))


def addresses() -> Iterator[Case]:
    """An address is right if a load there finds what was put there."""
    rows: list[Row] = [(4711,)] * 32
    shown = "st.global.b32 [%out], %r1;"
    declared = ".global .align 4 .u32 first = 1;\n.global .align 4 .u32 numbers[3] = {7, 8, 4711};"
    text = f"> mov.u64 %d1, numbers;\nld.global.b32 %r1, [%d1+8];\n{shown}"
    yield _body("mov.u64 of a global variable", text, rows, declared)
    text = f"> mov.u64 %d1, numbers+8;\nld.global.b32 %r1, [%d1];\n{shown}"
    yield _body("mov.u64 of a place in one", text, rows, declared)
    yield _body("ld.global of a variable", f"> ld.global.b32 %r1, [numbers+8];\n{shown}", rows, declared)
    generic = ".global .align 8 .u64 pointer = generic(numbers);"
    text = f"> ld.global.u64 %d1, [pointer];\nld.b32 %r1, [%d1+8];\n{shown}"
    yield _body("a pointer to a variable", text, rows, f"{declared}\n{generic}")
    const = ".const .align 4 .u32 numbers[3] = {7, 8, 4711};"
    text = f"> mov.u64 %d1, numbers;\ncvta.const.u64 %d1, %d1;\nld.b32 %r1, [%d1+8];\n{shown}"
    yield _body("cvta.const.u64", text, rows, const)
    shared = ".shared .align 4 .u32 words[64];"
    setup = """mov.u32 %r2, words;
shl.b32 %r3, %t, 2;
add.u32 %r2, %r2, %r3;
st.shared.b32 [%r2], 4711;
cvt.u64.u32 %d1, %r2;"""
    yield _body("cvta.shared.u64", f"{setup}\n> cvta.shared.u64 %d2, %d1;\nld.b32 %r1, [%d2];\n{shown}", rows, shared)
    back = "cvta.shared.u64 %d2, %d1;\n> cvta.to.shared.u64 %d3, %d2;\nld.shared.b32 %r1, [%d3];"
    yield _body("cvta.to.shared.u64", f"{setup}\n{back}\n{shown}", rows, shared)
    local = ".local .align 8 .b8 stack[32];\nmov.u64 %d1, stack;\nst.local.b32 [%d1+16], 4711;"
    text = f"{local.replace('mov', '> mov')}\nld.local.b32 %r1, [%d1+16];\n{shown}"
    yield _body("mov.u64 of a local variable", text, rows)
    yield _body("cvta.local.u64", f"{local}\n> cvta.local.u64 %d2, %d1;\nld.b32 %r1, [%d2+16];\n{shown}", rows)
    back = "cvta.local.u64 %d2, %d1;\n> cvta.to.local.u64 %d3, %d2;\nld.local.b32 %r1, [%d3+16];"
    yield _body("cvta.to.local.u64", f"{local}\n{back}\n{shown}", rows)
    for name in ("cvta.global.u64", "cvta.to.global.u64"):
        text = f"> {name} %d1, %in;\nld.global.b32 %r1, [%d1];\n{shown}"
        yield _body(name, text, rows, given=4711)
    text = f"> mov.b64 %d1, k_p;\nld.param.b32 %r1, [%d1+20];\n{shown}"
    yield _body("mov.b64 of a parameter", text, [(0x08070605,)] * 32)


def spaces() -> Iterator[Case]:
    pointers = {
        "global": "cvta.global.u64 %d1, %out;",
        "shared": "cvt.u64.u32 %d1, %r9;\ncvta.shared.u64 %d1, %d1;",
        "local": "mov.u64 %d1, stack;\ncvta.local.u64 %d1, %d1;",
        "const": "mov.u64 %d1, table;\ncvta.const.u64 %d1, %d1;",
    }
    declared = ".const .align 4 .u32 table = 5;\n.shared .align 4 .u32 word;"
    pointers["param"] = "mov.b64 %d1, k_p;\ncvta.param.u64 %d1, %d1;"
    for space in pointers:
        lines = [".local .align 8 .b8 stack[8];", "mov.u32 %r9, word;"]
        for place, make in enumerate(pointers.values()):
            lines += [make, f"> isspacep.{space} %p1, %d1;", store("%p1", place)]
        inside = {space, "param"} if space == "global" else {space}  # a kernel's parameters count as global memory
        expected: list[Row] = [[int(other in inside) for other in pointers]] * 32
        yield _body(f"isspacep.{space}", "\n".join(lines), expected, declared)


def specials() -> Iterator[Case]:
    """In two blocks of 64 threads."""
    values: dict[str, Callable[[int], Word]] = {
        "tid.x": lambda t: t % 64,
        "tid.y": lambda t: 0,
        "tid.z": lambda t: 0,
        "ntid.x": lambda t: 64,
        "ntid.y": lambda t: 1,
        "ntid.z": lambda t: 1,
        "ctaid.x": lambda t: t // 64,
        "ctaid.y": lambda t: 0,
        "ctaid.z": lambda t: 0,
        "nctaid.x": lambda t: 2,
        "nctaid.y": lambda t: 1,
        "nctaid.z": lambda t: 1,
        "laneid": lambda t: t % 32,
        "warpid": lambda t: t % 64 // 32,
        "nwarpid": lambda t: ANYTHING,  # more than there are
        "smid": lambda t: ANYTHING,
        "nsmid": lambda t: ANYTHING,
        "lanemask_eq": lambda t: 1 << t % 32,
        "lanemask_le": lambda t: (2 << t % 32) - 1,
        "lanemask_lt": lambda t: (1 << t % 32) - 1,
        "lanemask_ge": lambda t: _ALL & ~((1 << t % 32) - 1),
        "lanemask_gt": lambda t: _ALL & ~((2 << t % 32) - 1),
        "dynamic_smem_size": lambda t: 0,
        "total_smem_size": lambda t: ANYTHING,
    }
    for name, value in values.items():
        body = f"> mov.u32 %r1, %{name};\nst.global.b32 [%out], %r1;"
        expected: list[Row] = [(value(t),) for t in range(128)]
        yield Case(f"mov.u32 of %{name}", body, [(0,)] * 128, 1, fixed(expected), block=64)
    body = "> mov.b32 %r1, WARP_SZ;\nst.global.b32 [%out], %r1;"
    yield Case("mov.b32 of WARP_SZ", body, [(0,)] * 32, 1, lambda: [(32,)] * 32, block=32)
    body = """> mov.u16 %h1, %tid.x;
> cvt.u64.u32 %d2, %tid.x;
cvt.u32.u16 %r1, %h1;
st.global.b32 [%out], %r1;
st.global.b64 [%out+8], %d2;"""
    yield Case("mov.u16 of %tid.x", body, [(0,)] * 64, 2, lambda: [(t, t) for t in range(64)], block=64)


def clocks() -> Iterator[Case]:
    """They never go back. What they show, nobody promises."""
    for name, of in (
        ("clock", "r"),
        ("clock_hi", "r"),
        ("clock64", "d"),
        ("globaltimer", "d"),
        ("globaltimer_lo", "r"),
        ("globaltimer_hi", "r"),
    ):
        bits = 64 if of == "d" else 32
        body = f"""> mov.u{bits} %{of}1, %{name};
> mov.u{bits} %{of}2, %{name};
sub.s{bits} %{of}3, %{of}2, %{of}1;
setp.ge.s{bits} %p1, %{of}3, 0;
{store("%p1", 0)}"""
        yield Case(f"mov.u{bits} of %{name}", body, [(0,)] * 32, 1, lambda: [(1,)] * 32, block=32)
    body = "> nanosleep.u32 20;\nst.global.b32 [%out], 1;"
    yield Case("nanosleep.u32", body, [(0,)] * 32, 1, lambda: [(1,)] * 32, block=32)


def reserved() -> Iterator[Case]:
    """The part of shared memory that cooperative groups keep for themselves: 1,024 bytes behind the kernel's own."""
    names = ("begin", "end", "cap", "0", "1")
    moves = "\n".join(f"> mov.u32 %r{number}, %reserved_smem_offset_{name};" for number, name in enumerate(names))
    body = f""".shared .align 4 .b8 own[200];
mov.u32 %r9, own;
{moves}
st.shared.b32 [%r3], 0x5eed;
st.shared.b32 [%r4+508], 0xcafe;
ld.shared.b32 %r10, [%r0];
ld.shared.b32 %r11, [%r1+-4];
add.u32 %r9, %r9, 200;
setp.ge.u32 %p1, %r0, %r9;
sub.u32 %r12, %r2, %r0;
{store("%p1", 0)}
st.global.b32 [%out+8], %r10;
st.global.b32 [%out+16], %r11;
st.global.b32 [%out+24], %r12;"""
    title = "mov.u32 of %reserved_smem_offset"
    yield Case(title, body, [(0,)], 4, lambda: [(1, 0x5EED, 0xCAFE, 1024)], block=1)


CASES = [*reserved(), *registers(), *packing(), *addresses(), *spaces(), *specials(), *clocks()]
