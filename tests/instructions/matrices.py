"""Matrix instructions (PTX ISA 9.1, section 9.7.14): where fragments lie, how products are added up and rounded.

The layouts of `mma` and `ldmatrix` are those of the PTX ISA; those of `wmma`, which it leaves open, are what ptxas
makes of its loads (docs/software-gpu.md). The sums are those of an sm_80: products exact, eight (of tf32 four) at a
time, all addends cut to 24 binary digits behind the largest exponent. A row is a lane.
"""

from __future__ import annotations

import functools
import math
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from tests import exact
from tests.exact import BF16, F16, F32, F64, Format
from tests.instructions.case import Case, Row, fixed

_LANES = range(32)
_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "s32": 4, "s8": 1, "u8": 1, "f64": 8}
_WMMA = {"m16n16k16": (16, 16, 16), "m32n8k16": (32, 8, 16), "m8n32k16": (8, 32, 16)}

Spot = tuple[int, int]  # row and column of an element, in A, B or C


# ---- layouts ---------------------------------------------------------------------------------------------------------


def _operand(lines: int, depth: int, size: int, by_lines: bool, registers: int) -> list[list[list[Spot]]]:
    """Elements (line, place along K) of each register of each lane of an operand.

    A register of lane 4g + t is the t-th quarter of 16 bytes (f64: of 32) of line g of a tile of 8 lines; `by_lines`
    says that the tiles with the same lines come one after the other.
    """
    quarter = max(1, 4 // size)
    deep, high = depth // (4 * quarter), lines // 8
    tiles = [(line, place) for line in range(high) for place in range(deep)]
    if not by_lines:
        tiles = [(2 * pair + line, place) for pair in range(high // 2) for place in range(deep) for line in (0, 1)]
    tiles = [tiles[i % len(tiles)] for i in range(registers)]
    return [
        [
            [(8 * line + lane // 4, 4 * quarter * place + lane % 4 * quarter + part) for part in range(quarter)]
            for line, place in tiles
        ]
        for lane in _LANES
    ]


@functools.cache
def _spots(matrix: str, shape: tuple[int, int, int], kind: str, registers: int) -> list[list[list[Spot]]]:
    """Elements (row, column) of each register of each lane: of A, of B, or of an accumulator."""
    m, n, k = shape
    size = _BYTES[kind]
    if matrix == "a":
        return _operand(m, k, size, m == 8, registers)
    if matrix == "b":
        lines = _operand(n, k, size, n != 32, registers)
        return [[[(place, line) for line, place in part] for part in lane] for lane in lines]
    pairs = []
    for lane in _LANES:
        g, t = lane // 4, lane % 4
        if (m, n) == (8, 32):  # the transpose of 32 x 8
            made = [[(2 * t + second, 8 * tile + g) for second in (0, 1)] for tile in range(4)]
        else:
            tiles = [(row, column) for column in range(0, n, 8) for row in range(0, m, 8)]
            made = [[(row + g, column + 2 * t + second) for second in (0, 1)] for row, column in tiles]
        pairs.append(made if size == 2 else [[spot] for pair in made for spot in pair])
    return pairs


# ---- loads and stores ------------------------------------------------------------------------------------------------


def _memory(spots: Spot, layout: str, stride: int) -> int:
    return spots[0] * stride + spots[1] if layout == "row" else spots[1] * stride + spots[0]


def _packed(elements: Sequence[int], size: int) -> int:
    return sum(element << 8 * size * place for place, element in enumerate(elements))


class _Fragment:
    """One fragment of `wmma` in one layout and space, with memory as it may be: 16 bytes between the rows."""

    def __init__(self, matrix: str, shape: str, kind: str, layout: str, space: str, registers: int) -> None:
        m, n, k = _WMMA.get(shape) or {"m16n16k8": (16, 16, 8), "m8n8k4": (8, 8, 4)}[shape]
        self.matrix, self.shape, self.kind, self.layout, self.space = matrix, shape, kind, layout, space
        self.size, self.registers = _BYTES[kind], registers
        rows, columns = {"a": (m, k), "b": (k, n)}.get(matrix, (m, n))
        long, wide = (rows, columns) if layout == "row" else (columns, rows)
        self.stride = wide + min(16 // self.size, wide)
        self.bytes = long * self.stride * self.size
        self.spots = _spots(matrix, (m, n, k), kind, registers)
        self.letter = "d" if self.size == 8 else "r"

    @property
    def words(self) -> int:
        """Of 8 bytes, for each of 32 lanes, so that the matrix fits."""
        return -(-self.bytes // 256)

    def name(self, verb: str) -> str:
        space = "" if self.space == "generic" else f"{self.space}."
        return f"wmma.{verb}.{self.matrix}.sync.aligned.{self.layout}.{self.shape}.{space}{self.kind}"

    def list(self) -> str:
        return "{" + ", ".join(f"%{self.letter}{i}" for i in range(self.registers)) + "}"

    def index(self, spot: Spot) -> int:
        return _memory(spot, self.layout, self.stride)


_SHARED = ".shared .align 128 .b8 sm[8192];"


def _copy(to_shared: bool, words: int) -> list[str]:
    """Copies the lane's words from `%in` to shared memory, or from there to `%out`."""
    lines = ["bar.sync 0;", "mov.u32 %r38, %laneid;", f"mul.lo.u32 %r38, %r38, {8 * words};", "mov.u32 %r39, sm;"]
    lines += ["add.u32 %r38, %r38, %r39;"]
    for word in range(words):
        if to_shared:
            lines += [f"ld.global.b64 %d15, [%in+{8 * word}];", f"st.shared.b64 [%r38+{8 * word}], %d15;"]
        else:
            lines += [f"ld.shared.b64 %d15, [%r38+{8 * word}];", f"st.global.b64 [%out+{8 * word}], %d15;"]
    return [*lines, "bar.sync 0;"]


def _load(form: _Fragment) -> Case:
    rng = random.Random(form.name("load"))
    memory = rng.randbytes(256 * form.words)
    elements = [int.from_bytes(memory[i : i + form.size], "little") for i in range(0, len(memory), form.size)]
    rows = [struct.unpack_from(f"<{form.words}Q", memory, 8 * form.words * lane) for lane in _LANES]
    address = "[%d16]"
    lines = ["ld.param.u64 %d16, [k_in];"]
    if form.space == "shared":
        lines, address = [_SHARED, *_copy(True, form.words)], "[sm]"
    lines.append(f"> {form.name('load')} {form.list()}, {address}, {form.stride};")
    width = 64 if form.letter == "d" else 32
    lines += [f"st.global.b{width} [%out+{8 * i}], %{form.letter}{i};" for i in range(form.registers)]
    expected = [
        [_packed([elements[form.index(spot)] for spot in register], form.size) for register in lane]
        for lane in form.spots
    ]
    return Case(f"{form.name('load')}", "\n".join(lines), rows, form.registers, fixed(expected), block=32)


def _store(form: _Fragment) -> Case:
    rng = random.Random(form.name("store"))
    width = 64 if form.letter == "d" else 32
    rows = [tuple(rng.getrandbits(width) for _ in range(form.registers)) for _ in _LANES]
    lines = [f"ld.global.b{width} %{form.letter}{i}, [%in+{8 * i}];" for i in range(form.registers)]
    memory = bytearray(256 * form.words)
    for lane, row in zip(form.spots, rows, strict=True):
        for register, word in zip(lane, row, strict=True):
            for part, spot in enumerate(register):
                at = form.index(spot) * form.size
                memory[at : at + form.size] = (word >> 8 * form.size * part).to_bytes(16, "little")[: form.size]
    address = "[%d16]"
    lines.append("ld.param.u64 %d16, [k_out];")
    zeros = [f"st.shared.b64 [%r38+{8 * word}], 0;" for word in range(form.words)]
    if form.space == "shared":
        place = _copy(False, form.words)
        lines = [_SHARED, *lines, *place[1:5], *zeros, "bar.sync 0;"]
        address = "[sm]"
    form.matrix = "d"
    lines.append(f"> {form.name('store')} {address}, {form.list()}, {form.stride};")
    if form.space == "shared":
        lines += _copy(False, form.words)
    expected = [struct.unpack_from(f"<{form.words}Q", memory, 8 * form.words * lane) for lane in _LANES]
    return Case(form.name("store"), "\n".join(lines), rows, form.words, fixed(expected), block=32)


def _forms() -> Iterator[tuple[str, str, str, int]]:
    """Matrix, shape, type and registers of all fragments of `wmma`."""
    narrow = {"m16n16k16": (2, 2), "m32n8k16": (4, 1), "m8n32k16": (1, 4)}
    for shape, (a, b) in narrow.items():
        for matrix, count in (("a", a), ("b", b)):
            yield matrix, shape, "f16", 8
            yield matrix, shape, "bf16", 2 * count
            yield matrix, shape, "s8", count
            yield matrix, shape, "u8", count
        yield from (("c", shape, "f16", 4), ("c", shape, "f32", 8), ("c", shape, "s32", 8))
    yield from (("a", "m16n16k8", "tf32", 4), ("b", "m16n16k8", "tf32", 4), ("c", "m16n16k8", "f32", 8))
    yield from (("a", "m8n8k4", "f64", 1), ("b", "m8n8k4", "f64", 1), ("c", "m8n8k4", "f64", 2))


def fragments() -> Iterator[Case]:
    for matrix, shape, kind, registers in _forms():
        for layout in ("row", "col"):
            for space in ("global", "shared", "generic"):
                yield _load(_Fragment(matrix, shape, kind, layout, space, registers))
                if matrix == "c":
                    yield _store(_Fragment(matrix, shape, kind, layout, space, registers))
    yield _without_stride()


def _without_stride() -> Case:
    """Where no stride is given, the rows lie one behind the other."""
    form = _Fragment("a", "m16n16k16", "f16", "row", "global", 8)
    given = _load(form)
    form.stride = 16
    case = _load(form)
    assert case.body != given.body
    body = case.body.replace(", 16;", ";")
    return Case(f"{case.name} without a stride", body, case.rows, case.words, case.expected, block=32)


# ---- ldmatrix, stmatrix, movmatrix -----------------------------------------------------------------------------------


def _tile_word(tile: Sequence[Sequence[int]], lane: int, transposed: bool) -> int:
    g, t = lane // 4, lane % 4
    pair = [tile[2 * t + i][g] if transposed else tile[g][2 * t + i] for i in (0, 1)]
    return pair[0] | pair[1] << 16


def rows_of_tiles() -> Iterator[Case]:
    """Lane 8 i + j names row j of tile i; the rows lie in shared memory in any order."""
    for count in (1, 2, 4):
        for transposed in (False, True):
            for space in ("shared::cta", "shared", ""):
                yield _ldmatrix(count, transposed, space)
                yield _stmatrix(count, transposed, space)


def _shuffled_rows(name: str) -> tuple[random.Random, list[int]]:
    """For each lane, the place of its row among 64 rows of 16 bytes."""
    rng = random.Random(name)
    return rng, rng.sample(range(64), 32)


def _row_name(base: str, count: int, transposed: bool, space: str) -> str:
    dotted = f".{space}" if space else ""
    return f"{base}.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}{dotted}.b16"


def _row_address(space: str, place: int) -> tuple[list[str], str]:
    """Code that makes the address of row number `[%in + 8 place]`, and the register it is in."""
    lines = [f"ld.global.b32 %r30, [%in+{8 * place}];", "mov.u32 %r31, sm;", "mad.lo.u32 %r30, %r30, 16, %r31;"]
    if space:
        return lines, "%r30"
    return [*lines, "cvt.u64.u32 %d14, %r30;", "cvta.shared.u64 %d14, %d14;"], "%d14"


def _ldmatrix(count: int, transposed: bool, space: str) -> Case:
    name = _row_name("ldmatrix", count, transposed, space)
    rng, places = _shuffled_rows(name)
    memory = rng.randbytes(1024)
    halves = struct.unpack("<512H", memory)
    rows = [(*struct.unpack_from("<4Q", memory, 32 * lane), places[lane]) for lane in _LANES]
    lines, address = _row_address(space, 4)
    targets = ", ".join(f"%r{i}" for i in range(count))
    body = [_SHARED, *_copy(True, 4), *lines, f"> {name} {{{targets}}}, [{address}];"]
    body += [f"st.global.b32 [%out+{8 * i}], %r{i};" for i in range(count)]
    tiles = [[halves[8 * row : 8 * row + 8] for row in places[8 * i : 8 * i + 8]] for i in range(count)]
    expected = [[_tile_word(tile, lane, transposed) for tile in tiles] for lane in _LANES]
    return Case(name, "\n".join(body), rows, count, fixed(expected), block=32)


def _stmatrix(count: int, transposed: bool, space: str) -> Case:
    name = _row_name("stmatrix", count, transposed, space)
    rng, places = _shuffled_rows(name)
    rows = [(*(rng.getrandbits(32) for _ in range(count)), places[lane]) for lane in _LANES]
    lines, address = _row_address(space, count)
    zeros = [f"st.shared.b64 [%r38+{8 * word}], 0;" for word in range(4)]
    body = [_SHARED, *(f"ld.global.b32 %r{i}, [%in+{8 * i}];" for i in range(count)), *lines]
    body += [*_copy(False, 4)[1:5], *zeros, "bar.sync 0;"]
    body += [f"> {name} [{address}], {{{', '.join(f'%r{i}' for i in range(count))}}};", *_copy(False, 4)]
    memory = [0] * 512
    for lane, row in enumerate(rows):
        for tile in range(count):
            for part in (0, 1):
                first, second = lane // 4, 2 * (lane % 4) + part
                line, column = (second, first) if transposed else (first, second)
                memory[8 * places[8 * tile + line] + column] = row[tile] >> 16 * part & 0xFFFF
    packed = struct.pack("<512H", *memory)
    expected = [struct.unpack_from("<4Q", packed, 32 * lane) for lane in _LANES]
    return Case(name, "\n".join(body), rows, 4, fixed(expected), block=32)


def _movmatrix() -> Case:
    name = "movmatrix.sync.aligned.m8n8.trans.b16"
    rng = random.Random(name)
    rows = [(rng.getrandbits(32),) for _ in _LANES]
    tile = [[rows[4 * g + c // 2][0] >> 16 * (c % 2) & 0xFFFF for c in range(8)] for g in range(8)]
    body = f"ld.global.b32 %r1, [%in];\n> {name} %r2, %r1;\nst.global.b32 [%out], %r2;"
    return Case(name, body, rows, 1, fixed([[_tile_word(tile, lane, True)] for lane in _LANES]), block=32)


# ---- products --------------------------------------------------------------------------------------------------------

_FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
_TF32 = Format(11, 8)
_DIGITS, _LEAST = 24, -133
_NAN = {"f16": 0x7FFF, "f32": 0x7FFFFFFF}


def _form_and_bits(kind: str, bits: int) -> tuple[Format, int]:
    return (_TF32, bits >> 13) if kind == "tf32" else (_FORMATS[kind], bits)


def _exponent(form: Format, bits: int) -> int | None:
    """Of a finite number other than 0; of subnormal ones the smallest that normal ones have."""
    size = bits & ~form.sign
    return max(size >> (form.significand - 1), 1) - form.bias if size else None


@functools.lru_cache(1 << 16)
def _parts(kind: str, bits: int) -> tuple[int, int, int | None]:
    """A finite number as n · 2^power, and its exponent."""
    form, kept = _form_and_bits(kind, bits)
    number = exact.value(form, kept)
    return number.numerator, 1 - number.denominator.bit_length(), _exponent(form, kept)


@functools.lru_cache(1 << 16)
def _is_finite(kind: str, bits: int) -> bool:
    form, kept = _form_and_bits(kind, bits)
    return not (exact.is_nan(form, kept) or exact.is_infinite(form, kept))


def _cut(number: int, power: int, unit: int) -> int:
    """A number n · 2^power in multiples of 2^unit, toward zero."""
    if power >= unit:
        return number << (power - unit)
    return -(-number >> (unit - power)) if number < 0 else number >> (unit - power)


def _summed(pairs: Sequence[tuple[int, int]], c: int, kind: str, sum_kind: str) -> int:
    """What a tensor core gives for the sum of the products and c, as bits of `sum_kind`."""
    form = _FORMATS[sum_kind]
    if not (_is_finite(sum_kind, c) and all(_is_finite(kind, a) and _is_finite(kind, b) for a, b in pairs)):
        special = _special([(_form_and_bits(kind, a), _form_and_bits(kind, b)) for a, b in pairs], form, c)
        return _NAN[sum_kind] if math.isnan(special) else form.infinity | (form.sign if special < 0 else 0)
    addends = [_parts(sum_kind, c)]
    for a, b in pairs:
        (left, left_power, left_exponent), (right, right_power, right_exponent) = _parts(kind, a), _parts(kind, b)
        together = None if left_exponent is None or right_exponent is None else left_exponent + right_exponent
        addends.append((left * right, left_power + right_power, together))
    most = max((exponent for _, _, exponent in addends if exponent is not None), default=_LEAST)
    unit = max(most, _LEAST) - _DIGITS
    total = sum(_cut(number, power, unit) for number, power, _ in addends) * Fraction(2) ** unit
    made = exact.rounded(form, total, "rn" if sum_kind == "f16" else "rz", total < 0)
    if sum_kind == "f32" and abs(total) >= Fraction(2) ** 128:
        made = form.infinity | (made & form.sign)
    return 0 if made == form.sign else made


def _special(pairs: Sequence[tuple[tuple[Format, int], tuple[Format, int]]], form: Format, c: int) -> float:
    """The sum where something is infinite or a NaN."""

    def plain(of: Format, bits: int) -> float:
        if exact.is_nan(of, bits):
            return float("nan")
        if exact.is_infinite(of, bits):
            return float("-inf") if exact.is_negative(of, bits) else float("inf")
        return float(exact.value(of, bits))

    finite = (float("-inf"), float("inf"))
    added = plain(form, c)
    total = added if not finite[0] < added < finite[1] else 0.0
    for a, b in ((plain(*a), plain(*b)) for a, b in pairs):
        if not (finite[0] < a < finite[1] and finite[0] < b < finite[1]):
            total += a * b
    return total


def _float_element(types: Sequence[str], satfinite: bool) -> Callable[[list[tuple[int, int]], int], int]:
    d, ab, _, c = types
    inner = c if c == d else "f32"
    step = 8 if _BYTES[ab] == 2 else 4

    def element(pairs: list[tuple[int, int]], bits: int) -> int:
        total = bits if c == inner else _converted(F16, F32, bits)
        for start in range(0, len(pairs), step):
            # Over several steps, what is special stays so: NaN and infinities are found in any of them.
            total = _summed(pairs[start : start + step], total, ab, inner)
        total = total if d == inner else _converted(F32, F16, total)
        form = _FORMATS[d]
        if satfinite and exact.is_nan(form, total):
            return 0
        return total - 1 if satfinite and exact.is_infinite(form, total) else total

    return element


def _converted(source: Format, to: Format, bits: int) -> int:
    made = exact.converted(source, to, bits, "rn")
    return made if made is not None else (0x7FFF if to is F16 else 0x7FFFFFFF)


def _double_element(pairs: list[tuple[int, int]], bits: int) -> int:
    for a, b in pairs:
        fused = exact.fused(F64, a, b, bits, "rn")
        assert fused is not None
        bits = fused
    return bits


def _integer_element(types: Sequence[str], satfinite: bool) -> Callable[[list[tuple[int, int]], int], int]:
    def signed(kind: str, bits: int) -> int:
        return bits - 256 if kind == "s8" and bits > 127 else bits

    def element(pairs: list[tuple[int, int]], bits: int) -> int:
        start = bits - (1 << 32) if bits >> 31 else bits
        total = start + sum(signed(types[1], a) * signed(types[2], b) for a, b in pairs)
        if satfinite:
            total = max(-(1 << 31), min((1 << 31) - 1, total))
        return total & 0xFFFFFFFF

    return element


def _numbers(kind: str, rng: random.Random, count: int, style: int) -> list[int]:
    """Bits of `count` elements: near each other, far apart, any at all, or with a few that are special."""
    bits = 8 * _BYTES[kind]
    if kind in ("s8", "u8"):
        return [rng.choice((0, 127, 128, 255, rng.getrandbits(8))) for _ in range(count)]
    if kind == "s32":
        return [rng.choice((0, 0x7FFFFFFF, 0x80000000, rng.getrandbits(32))) for _ in range(count)]
    form = _FORMATS["f32" if kind == "tf32" else kind]
    spread = (2, form.bias // 3, form.bias // 2)[min(style, 2)]
    made = []
    for _ in range(count):
        exponent = form.bias + rng.randint(-spread, spread)
        number = rng.getrandbits(form.significand - 1) | exponent << (form.significand - 1)
        if style == 2 and rng.random() < 0.3:
            number = rng.choice((0, rng.getrandbits(form.significand - 1)))
        if style == 3 and kind != "f64" and rng.random() < 0.02:
            number = rng.choice((form.infinity, form.infinity | 1 << (form.significand - 2)))
        made.append(number | rng.getrandbits(1) << (bits - 1))
    return made


class _Product:
    """One form of `mma` or `wmma.mma`; `counts` are the registers of d, a, b and c."""

    def __init__(self, name: str, shape: tuple[int, int, int], types: Sequence[str], counts: Sequence[int]) -> None:
        self.name, self.shape, self.types, self.counts = name, shape, types, counts
        satfinite = "satfinite" in name
        self.element = (
            _double_element if types[0] == "f64"
            else _integer_element(types, satfinite) if types[0] == "s32"
            else _float_element(types, satfinite)
        )  # fmt: skip

    @functools.cached_property
    def tiles(self) -> list[tuple[list[int], list[int], list[int]]]:
        """A, B and C of each warp, row by row."""
        m, n, k = self.shape
        rng = random.Random(self.name)
        _, a, b, c = self.types
        sizes = ((a, m * k), (b, k * n), (c, m * n))
        return [
            (made[0], made[1], made[2])
            for style in range(4)
            if (made := [_numbers(kind, rng, count, style) for kind, count in sizes])
        ]

    def rows(self) -> list[tuple[int, ...]]:
        return [
            tuple(word for part in zip("abc", tile, strict=True) for word in self.registers(*part, lane))
            for tile in self.tiles
            for lane in _LANES
        ]

    def registers(self, matrix: str, elements: list[int], lane: int) -> list[int]:
        place = "dabc".index(matrix)
        kind = self.types[place]
        _, n, k = self.shape
        width = k if matrix == "a" else n
        spots = _spots(matrix, self.shape, kind, self.counts[place])[lane]
        return [
            _packed([elements[row * width + column] for row, column in register], _BYTES[kind]) for register in spots
        ]

    def expected(self) -> list[Row]:
        m, n, k = self.shape
        made: list[Row] = []
        for a, b, c in self.tiles:
            d = [
                self.element([(a[row * k + i], b[i * n + column]) for i in range(k)], c[row * n + column])
                for row in range(m)
                for column in range(n)
            ]
            made += [self.registers("d", d, lane) for lane in _LANES]
        return made

    def case(self) -> Case:
        letter, width = ("d", 64) if self.types[0] == "f64" else ("r", 32)
        d, *sources = self.counts
        total = sum(sources)
        body = [f"ld.global.b{width} %{letter}{d + i}, [%in+{8 * i}];" for i in range(total)]
        lists, at = [], 0
        for count in self.counts:
            lists.append("{" + ", ".join(f"%{letter}{at + i}" for i in range(count)) + "}")
            at += count
        body.append(f"> {self.name} {', '.join(lists)};")
        body += [f"st.global.b{width} [%out+{8 * i}], %{letter}{i};" for i in range(d)]
        return Case(self.name, "\n".join(body), self.rows(), d, functools.cache(self.expected), block=32)


def _half_types() -> Iterator[tuple[str, str, str, str]]:
    for d in ("f32", "f16"):
        for c in ("f32", "f16"):
            yield d, "f16", "f16", c


def _accumulators(types: Sequence[str], elements: int) -> tuple[int, int]:
    return tuple(elements // (64 if kind == "f16" else 32) for kind in (types[0], types[3]))  # type: ignore[return-value]


def wmma_products() -> Iterator[Case]:
    narrow = {"m16n16k16": (2, 2), "m32n8k16": (4, 1), "m8n32k16": (1, 4)}
    for shape, (a, b) in narrow.items():
        sizes = _WMMA[shape]
        start = f"wmma.mma.sync.aligned.row.col.{shape}"
        for types in _half_types():
            d, c = _accumulators(types, 256)
            for finite in ("", ".satfinite"):
                name = f"{start}.{types[0]}.{types[3]}{finite}"
                yield _Product(name, sizes, types, (d, 8, 8, c)).case()
        bf16 = ("f32", "bf16", "bf16", "f32")
        yield _Product(f"{start}.{'.'.join(bf16)}", sizes, bf16, (8, 2 * a, 2 * b, 8)).case()
        for kind in ("s8", "u8"):
            for finite in ("", ".satfinite"):
                types = ("s32", kind, kind, "s32")
                yield _Product(f"{start}.{'.'.join(types)}{finite}", sizes, types, (8, a, b, 8)).case()
    tf32 = ("f32", "tf32", "tf32", "f32")
    name = f"wmma.mma.sync.aligned.row.col.m16n16k8.{'.'.join(tf32)}"
    yield _Product(name, (16, 16, 8), tf32, (8, 4, 4, 8)).case()
    f64 = ("f64",) * 4
    yield _Product(f"wmma.mma.sync.aligned.row.col.m8n8k4.{'.'.join(f64)}", (8, 8, 4), f64, (2, 1, 1, 2)).case()


def products() -> Iterator[Case]:
    def form(m: int, n: int, k: int, types: Sequence[str], finite: str = "") -> Case:
        elements = 128 // _BYTES[types[1]] if types[0] != "f64" else 32
        d, c = _accumulators(types, m * n)
        name = f"mma.sync.aligned.m{m}n{n}k{k}.row.col{finite}.{'.'.join(types)}"
        return _Product(name, (m, n, k), types, (d, m * k // elements, n * k // elements, c)).case()

    for k in (8, 16):
        for types in _half_types():
            yield form(16, 8, k, types)
        yield form(16, 8, k, ("f32", "bf16", "bf16", "f32"))
    for k in (4, 8):
        yield form(16, 8, k, ("f32", "tf32", "tf32", "f32"))
    yield form(8, 8, 4, ("f64",) * 4)
    for m, k in ((8, 16), (16, 16), (16, 32)):
        for a in ("s8", "u8"):
            for b in ("s8", "u8"):
                for finite in ("", ".satfinite"):
                    yield form(m, 8, k, ("s32", a, b, "s32"), finite)


# ---- lanes that are not there ----------------------------------------------------------------------------------------


def lacking() -> Iterator[Case]:
    """A matrix operation needs all lanes: not those that went another way, ended, or never were."""
    name = "movmatrix.sync.aligned.m8n8.trans.b16"
    rows = [(0,)] * 32
    line = f"> {name} %r2, %t;"
    branch = f"setp.gt.u32 %p1, %t, 15;\n@%p1 bra past;\n{line}\npast:\nst.global.b32 [%out], 0;"
    yield Case(f"{name} in a branch", branch, rows, 1, fixed(rows), block=32, findings=("bad_sync_mask",))
    ended = f"setp.gt.u32 %p1, %t, 15;\n@%p1 exit;\n{line}"
    yield Case(f"{name} after lanes ended", ended, rows, 1, fixed(rows), block=32, findings=("bad_sync_mask",))
    short = rows[:24]
    yield Case(f"{name} of 24 threads", line, short, 1, fixed(short), block=24, findings=("bad_sync_mask",))
    sides = "mov.u32 %r1, 1;\nbra meet;\nother:\nmov.u32 %r1, 2;\nmeet:"
    met = f"setp.gt.u32 %p1, %t, 15;\n@%p1 bra other;\n{sides}\n{line}"
    yield Case(f"{name} where branches have met", met, rows, 1, fixed(rows), block=32)


CASES: list[Case] = [
    *fragments(),
    *rows_of_tiles(),
    _movmatrix(),
    *wmma_products(),
    *products(),
    *lacking(),
]
