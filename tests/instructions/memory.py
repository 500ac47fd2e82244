"""Loads and stores (PTX ISA 9.1, sections 9.7.9.8 to 9.7.9.12): every width and vector, space and order.

A thread's 16 bytes are those of its row. Nobody else knows of them, so nothing has to wait for anybody.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.instructions.case import PARAMETER, Case, Row
from tests.instructions.values import WIDTHS, signed

_rng = random.Random(23)
ROWS = [(0, 0), (0xFFFFFFFFFFFFFFFF, 0x8000000080008080), (0x7F80FF0180FF7F00, 0x0123456789ABCDEF)]
ROWS += [(_rng.getrandbits(64), _rng.getrandbits(64)) for _ in range(61)]
_FILLING = 0xA5A5A5A5A5A5A5A5
CONSTANT = bytes.fromhex("80ff7f0001fe8f70fffefdfc00112233")
TYPES = ("b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")


@dataclass(frozen=True)
class Place:
    """Where a thread's 16 bytes lie: the space that instructions name, what declares them, the register with their
    address and how it is made. `own` and `through` are the space itself and the address in it, also where the
    instruction under test names none.
    """

    name: str
    space: str
    before: str
    make: str
    base: str
    own: str
    through: str

    def put(self, low: str, high: str) -> str:
        return f"st{self.own}.v2.b64 [{self.through}], {{{low}, {high}}};"

    def get(self, low: str, high: str) -> str:
        return f"ld{self.own}.v2.b64 {{{low}, {high}}}, [{self.through}];"


_SHARED = ".shared .align 16 .b8 buffer[1024];"
_IN_SHARED = "mov.u32 %r30, buffer;\nshl.b32 %r31, %t, 4;\nand.b32 %r31, %r31, 1023;\nadd.u32 %r30, %r30, %r31;"
_IN_LOCAL = ".local .align 16 .b8 stack[16];\nmov.u64 %d32, stack;"
GLOBAL = Place("global", ".global", "", "", "%in", ".global", "%in")
SHARED = Place("shared", ".shared", _SHARED, _IN_SHARED, "%r30", ".shared", "%r30")
LOCAL = Place("local", ".local", "", _IN_LOCAL, "%d32", ".local", "%d32")
TO_GLOBAL = Place("global", "", "", "cvta.global.u64 %d33, %in;", "%d33", ".global", "%in")
TO_SHARED = Place(
    "shared",
    "",
    _SHARED,
    f"{_IN_SHARED}\ncvt.u64.u32 %d32, %r30;\ncvta.shared.u64 %d33, %d32;",
    "%d33",
    ".shared",
    "%r30",
)
TO_LOCAL = Place("local", "", "", f"{_IN_LOCAL}\ncvta.local.u64 %d33, %d32;", "%d33", ".local", "%d32")
PLACES = (GLOBAL, SHARED, LOCAL, TO_GLOBAL, TO_SHARED, TO_LOCAL)


def width(kind: str) -> int:
    return WIDTHS[kind.replace("f", "b")]


def counts(kind: str) -> Sequence[int]:
    """Lengths of vectors: 16 bytes at most."""
    return [count for count in (1, 2, 4) if count * width(kind) <= 128]


def vector(count: int, kind: str) -> str:
    return f".v{count}.{kind}" if count > 1 else f".{kind}"


def registers(kind: str) -> str:
    """The shortest register that holds the type, and those that are wider."""
    return "hrd"[{8: 0, 16: 0, 32: 1, 64: 2}[width(kind)] :]


def names(register: str, count: int) -> str:
    listed = ", ".join(f"%{register}{10 + i}" for i in range(count))
    return f"{{{listed}}}" if count > 1 else listed


def extended(kind: str, data: bytes, count: int, register: str) -> list[int]:
    """What a load puts into registers: each part extended by its sign."""
    size, mask = width(kind) // 8, (1 << {"h": 16, "r": 32, "d": 64}[register]) - 1
    parts = [int.from_bytes(data[i * size : (i + 1) * size], "little") for i in range(count)]
    return [signed(kind.replace("f", "b"), part) & mask for part in parts]


def show(register: str, count: int) -> str:
    """Stores of the loaded parts to the thread's row."""
    lines = []
    for i in range(count):
        source = f"%{register}{10 + i}"
        if register == "h":
            lines.append(f"cvt.u32.u16 %r39, {source};")
            source = "%r39"
        lines.append(f"st.global.b{64 if register == 'd' else 32} [%out+{8 * i}], {source};")
    return "\n".join(lines)


def loading(name: str, place: Place, kind: str, count: int, register: str, title: str = "") -> Case:
    body = f"""{place.make}
ld.global.v2.b64 {{%d30, %d31}}, [%in];
{place.put("%d30", "%d31")}
> {name} {names(register, count)}, [{place.base}];
{show(register, count)}"""

    def expected() -> list[Row]:
        return [extended(kind, struct.pack("<2Q", *row), count, register) for row in ROWS]

    return Case(title or name, body, ROWS, count, expected, before=place.before, block=64)


def storing(name: str, place: Place, kind: str, count: int, register: str, title: str = "") -> Case:
    """The parts come from whole words of the row, over bytes that are all 0xa5."""
    rows = [(*row, *other) for row, other in zip(ROWS, ROWS[1:] + ROWS[:1], strict=True)]
    bits, first = (64, "d") if register == "d" else (32, "r")
    loads = [f"ld.global.b{bits} %{first}{10 + i}, [%in+{8 * i}];" for i in range(count)]
    if register == "h":
        loads += [f"cvt.u16.u32 %h{10 + i}, %r{10 + i};" for i in range(count)]
    body = f"""{place.make}
{chr(10).join(loads)}
mov.b64 %d30, {_FILLING:#x};
{place.put("%d30", "%d30")}
> {name} [{place.base}], {names(register, count)};
{place.get("%d30", "%d31")}
st.global.b64 [%out], %d30;
st.global.b64 [%out+8], %d31;"""

    def expected() -> list[Row]:
        size = width(kind) // 8
        made: list[Row] = []
        for row in rows:
            data = b"".join((word & ((1 << 8 * size) - 1)).to_bytes(size, "little") for word in row[:count])
            made.append(struct.unpack("<2Q", data + bytes([0xA5] * (16 - len(data)))))
        return made

    return Case(title or name, body, rows, 2, expected, before=place.before, block=64)


def _titled(verb: str, place: Place, kind: str, count: int, register: str) -> str:
    title = f"{verb}{place.space}{vector(count, kind)}"
    title += "" if place.space else f" to {place.name}"
    if register != registers(kind)[0]:
        title += f" and a register of {'32' if register == 'r' else '64'} bits"
    return title


def widths() -> Iterator[Case]:
    for place in PLACES:
        for kind in TYPES:
            for count in counts(kind):
                for register in registers(kind) if count < 4 else registers(kind)[:2]:
                    for verb, make in (("ld", loading), ("st", storing)):
                        name = f"{verb}{place.space}{vector(count, kind)}"
                        yield make(name, place, kind, count, register, _titled(verb, place, kind, count, register))


def _fixed(name: str, make: str, base: str, data: bytes, kind: str, count: int, title: str, before: str = "") -> Case:
    """A load of bytes that are the same for all."""
    register = registers(kind)[0] if width(kind) > 16 else "r"
    body = f"{make}\n> {name} {names(register, count)}, [{base}];\n{show(register, count)}"
    return Case(
        title, body, [(0,)] * 32, count, lambda: [extended(kind, data, count, register)] * 32, before=before, block=32
    )


def unchanging() -> Iterator[Case]:
    """Constant memory, the read-only path, and the kernel's parameters, by name and by address."""
    listed = ", ".join(str(byte) for byte in CONSTANT)
    declared = f".const .align 16 .b8 table[16] = {{{listed}}};"
    for kind in TYPES:
        for count in counts(kind):
            tail = vector(count, kind)
            make = "mov.u64 %d32, table;"
            yield _fixed(f"ld.const{tail}", make, "%d32", CONSTANT, kind, count, f"ld.const{tail}", declared)
            for offset in (0, 16):
                name, data = f"ld.param{tail}", PARAMETER[offset:]
                title = f"{name} of byte {offset}"
                yield _fixed(name, "", f"k_p+{offset}", data, kind, count, title)
            title = f"ld.param{tail} by address"
            yield _fixed(f"ld.param{tail}", "mov.b64 %d32, k_p;", "%d32+16", PARAMETER[16:], kind, count, title)
            for register in registers(kind)[:2]:
                name = f"ld.global.nc{tail}"
                title = _titled("ld", GLOBAL, kind, count, register).replace("global", "global.nc")
                yield _reading(name, kind, count, register, title)
    yield _fixed("ld.const.b32", "", "table+4", CONSTANT[4:], "b32", 1, "ld.const.b32 by name", declared)


def _reading(name: str, kind: str, count: int, register: str, title: str) -> Case:
    body = f"> {name} {names(register, count)}, [%in];\n{show(register, count)}"

    def expected() -> list[Row]:
        return [extended(kind, struct.pack("<2Q", *row), count, register) for row in ROWS]

    return Case(title, body, ROWS, count, expected, block=64)


def orders() -> Iterator[Case]:
    """Orders, scopes and hints change no value of one thread."""
    scopes = ("cta", "gpu", "sys")
    for place in (GLOBAL, SHARED, TO_GLOBAL, TO_SHARED):
        for kind in ("b32", "b64"):
            register = registers(kind)[0]
            for verb, make, strong in (("ld", loading, "acquire"), ("st", storing, "release")):
                scoped = [f"{order}.{scope}" for order in ("relaxed", strong) for scope in scopes]
                for order in ("weak", "volatile", *scoped):
                    name = f"{verb}.{order}{place.space}.{kind}"
                    yield make(name, place, kind, 1, register, name + ("" if place.space else f" to {place.name}"))
    for hint in ("ca", "cg", "cs", "lu", "cv", "L1::no_allocate", "L1::evict_first", "L2::128B"):
        yield loading(f"ld.global.{hint}.b32", GLOBAL, "b32", 1, "r")
    for hint in ("wb", "cg", "cs", "wt", "L1::no_allocate"):
        yield storing(f"st.global.{hint}.b32", GLOBAL, "b32", 1, "r")
    yield loading("ldu.global.b32", GLOBAL, "b32", 1, "r")
    yield loading("ld.volatile.global.v4.u32", GLOBAL, "u32", 4, "r")
    yield loading("ld.volatile.global.s8", GLOBAL, "s8", 1, "r")
    yield storing("st.volatile.shared.v2.u16", SHARED, "u16", 2, "h")


CASES = [*widths(), *unchanging(), *orders()]
