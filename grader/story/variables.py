"""The variables of a kernel compiled with `nvcc -G`: their names and types, and where in the PTX each one lives.

In such a PTX the debug sections stand as text. Addresses in them are labels of the code; a variable lives in a virtual
register (its name is spelled in the register's number), in several one after the other, in the function's frame in
local memory, or under a name of its own in shared memory. Sources: DWARF 2, sections 2.4 and 7; LLVM's NVPTX back end
for how registers are numbered.
"""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.explain.names import kernel_name

_SECTION = re.compile(r"^[ \t]*\.section[ \t]+(\.debug_\w+)\s*\{([^}]*)\}", re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:(?P<label>[\w$]+):|\.b(?P<bits>8|16|32|64)\s+(?P<values>.+))$")
_OFFSET = re.compile(r"(?P<symbol>[A-Za-z_.$][\w.$]*)(?:\+(?P<plus>\d+))?$")

_ADDRESS, _FRAME_PLUS, _REGISTER = 0x03, 0x23, 0x90  # DW_OP_addr, DW_OP_plus_uconst, DW_OP_regx
_MOST_SYMBOLS = 1 << 32  # addresses that stand for symbols begin here: a list of locations counts from 0


class DebugUnreadable(Exception):
    """The debug sections cannot be read; a story by lines only is left."""


@dataclass(frozen=True)
class Type:
    """A type as far as its values are shown: float, bfloat, int, unsigned, bool, pointer, array, struct.

    An array has `extents` and a struct `members`, (name, offset, type); both have what they are made of in `of` or
    there. "" is a type that is not known.
    """

    kind: str
    bytes: int = 0
    of: Type | None = None
    extents: tuple[int, ...] = ()
    members: tuple[tuple[str, int, Type], ...] = ()


@dataclass(frozen=True)
class Variable:
    """One variable or parameter. Exactly one of the places is given: `ranges`, as (label, register), where it comes to
    live in the register at the label; `register`, for all its life; `frame`, its offset; `symbol`.
    """

    name: str
    type: Type
    line: int
    ranges: tuple[tuple[str, str], ...] = ()
    register: str = ""
    frame: int | None = None
    symbol: str = ""


@dataclass(frozen=True)
class Debugged:
    """Variables, and parameters in order, by the function's name in the PTX; and what has a symbol of its own."""

    variables: Mapping[str, tuple[Variable, ...]]
    symbols: Mapping[str, Variable] = field(default_factory=dict)
    parameters: Mapping[str, tuple[tuple[str, Type], ...]] = field(default_factory=dict)


def read_variables(ptx: str) -> Debugged:
    """Reads the debug sections of a PTX text. Raises DebugUnreadable."""
    try:
        return _Reader(_assembled(ptx)).read()
    except Exception as error:  # a compiler's output: whatever is wrong with it, the story goes on without names
        raise DebugUnreadable(str(error)) from error


# ---- the sections' bytes --------------------------------------------------------------------------------------------


@dataclass
class _Sections:
    """Bytes by section, and the symbol that each address made up for it stands for."""

    bytes: dict[str, bytearray] = field(default_factory=dict)
    symbols: dict[int, str] = field(default_factory=dict)


def _assembled(ptx: str) -> _Sections:
    sections = _Sections()
    labels: dict[str, int] = {}
    bodies: dict[str, str] = dict(_SECTION.findall(ptx))
    for name, body in bodies.items():  # offsets of labels within sections first: they are used before they stand
        offset = 0
        for item in filter(None, map(_ITEM.match, body.splitlines())):
            if item["label"]:
                labels[item["label"]] = offset
            else:
                offset += int(item["bits"]) // 8 * len(item["values"].split(","))
        labels[name] = 0
    for name, body in bodies.items():
        sections.bytes[name] = bytearray()
        for item in filter(None, map(_ITEM.match, body.splitlines())):
            for value in (item["values"] or "").split(",") if not item["label"] else ():
                number = _number(value.strip(), labels, sections)
                size = int(item["bits"]) // 8
                sections.bytes[name] += (number % (1 << 8 * size)).to_bytes(size, "little")
    return sections


def _number(text: str, labels: Mapping[str, int], sections: _Sections) -> int:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    left, minus, right = text.partition("-")
    if minus:
        return _number(left, labels, sections) - _number(right, labels, sections)
    found = _OFFSET.match(text)
    if found is None:
        raise ValueError(f"{text!r} in a debug section")
    if found["symbol"] in labels:
        return labels[found["symbol"]] + int(found["plus"] or 0)
    for address, symbol in sections.symbols.items():
        if symbol == found["symbol"]:
            return address + int(found["plus"] or 0)
    address = _MOST_SYMBOLS + (len(sections.symbols) << 20)
    sections.symbols[address] = found["symbol"]
    return address + int(found["plus"] or 0)


# ---- variables ------------------------------------------------------------------------------------------------------


class _Reader:
    def __init__(self, sections: _Sections) -> None:
        from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

        self._symbols = sections.symbols
        self._lists = bytes(sections.bytes.get(".debug_loc", b""))
        given: dict[str, Any] = dict.fromkeys(inspect.signature(DWARFInfo).parameters)
        given["config"] = DwarfConfig(little_endian=True, default_address_size=8, machine_arch="x64")
        for name in (".debug_info", ".debug_abbrev", ".debug_str"):
            data = bytes(sections.bytes.get(name, b""))
            given[f"{name[1:]}_sec"] = DebugSectionDescriptor(io.BytesIO(data), name, 0, len(data), 0)
        self._dwarf = DWARFInfo(**given)
        self._types: dict[int, Type] = {}

    def read(self) -> Debugged:
        variables: dict[str, tuple[Variable, ...]] = {}
        symbols: dict[str, Variable] = {}
        parameters: dict[str, tuple[tuple[str, Type], ...]] = {}
        for unit in self._dwarf.iter_CUs():
            for die in unit.get_top_DIE().iter_children():
                if die.tag == "DW_TAG_subprogram":
                    found = tuple(self._variables(die))
                    name = _text(die, "DW_AT_MIPS_linkage_name") or _text(die, "DW_AT_name")
                    variables[name], parameters[name] = found, tuple(self._parameters(die))
                    symbols.update((variable.symbol, variable) for variable in found if variable.symbol)
                elif die.tag == "DW_TAG_variable" and (variable := self._variable(die)) is not None:
                    symbols[variable.symbol] = variable
        return Debugged(variables, symbols, parameters)

    def _parameters(self, die: Any) -> Iterator[tuple[str, Type]]:
        for part in die.iter_children():
            if part.tag == "DW_TAG_formal_parameter":
                yield _text(part, "DW_AT_name"), self._type_of(part)

    def _variables(self, scope: Any) -> Iterator[Variable]:
        for die in scope.iter_children():
            if die.tag in ("DW_TAG_variable", "DW_TAG_formal_parameter"):
                variable = self._variable(die)
                if variable is not None:
                    yield variable
            elif die.tag in ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine"):
                yield from self._variables(die)

    def _variable(self, die: Any) -> Variable | None:
        name, location = kernel_name(_text(die, "DW_AT_name")).rpartition("::")[2], die.attributes.get("DW_AT_location")
        if not name or location is None:
            return None
        line = die.attributes["DW_AT_decl_line"].value if "DW_AT_decl_line" in die.attributes else 0
        made = Variable(name, self._type_of(die), line)
        if location.form.startswith("DW_FORM_block") or location.form == "DW_FORM_exprloc":
            return _placed(made, self._place(bytes(location.value)))
        ranges = tuple(self._ranges(location.value))
        return Variable(name, made.type, line, ranges=ranges) if ranges else None

    def _place(self, expression: bytes) -> str | int | tuple[str, int] | None:
        """A register's name, (symbol, offset), or None for what is neither."""
        if expression[:1] == bytes([_REGISTER]):
            number, end = _uleb(expression, 1)
            return _register(number) if end == len(expression) else None
        if expression[:1] == bytes([_ADDRESS]):
            address = int.from_bytes(expression[1:9], "little")
            symbol = self._symbols.get(address, "")
            if len(expression) == 9:
                return symbol, 0
            if expression[9] == _FRAME_PLUS:
                return symbol, _uleb(expression, 10)[0]
        return None

    def _ranges(self, offset: int) -> Iterator[tuple[str, str]]:
        while offset + 16 <= len(self._lists):
            start, end = (int.from_bytes(self._lists[at : at + 8], "little") for at in (offset, offset + 8))
            if start == end == 0:
                return
            size = int.from_bytes(self._lists[offset + 16 : offset + 18], "little")
            place = self._place(self._lists[offset + 18 : offset + 18 + size])
            if isinstance(place, str) and start in self._symbols:
                yield self._symbols[start], place
            offset += 18 + size

    # ---- types ----

    def _type_of(self, die: Any) -> Type:
        if "DW_AT_type" not in die.attributes:
            return Type("")
        referred = die.get_DIE_from_attribute("DW_AT_type")
        if referred.offset not in self._types:
            self._types[referred.offset] = Type("")  # a type that contains itself ends here
            self._types[referred.offset] = self._type(referred)
        return self._types[referred.offset]

    def _type(self, die: Any) -> Type:
        size = die.attributes["DW_AT_byte_size"].value if "DW_AT_byte_size" in die.attributes else 0
        match die.tag:
            case "DW_TAG_base_type":
                return Type(_BASES.get(die.attributes["DW_AT_encoding"].value, ""), size)
            case "DW_TAG_pointer_type" | "DW_TAG_reference_type":
                return Type("pointer", 8, of=self._type_of(die))
            case "DW_TAG_typedef" | "DW_TAG_const_type" | "DW_TAG_volatile_type" | "DW_TAG_restrict_type":
                return self._type_of(die)
            case "DW_TAG_enumeration_type":
                return Type("int", size)
            case "DW_TAG_array_type":
                return self._array(die)
            case "DW_TAG_structure_type" | "DW_TAG_class_type" | "DW_TAG_union_type":
                halves = _HALVES.get(_text(die, "DW_AT_name"))
                return halves or Type("struct", size, members=tuple(self._members(die)))
        return Type("")

    def _array(self, die: Any) -> Type:
        extents = []
        for part in die.iter_children():
            if part.tag == "DW_TAG_subrange_type":
                bound = part.attributes.get("DW_AT_upper_bound")
                count = part.attributes.get("DW_AT_count")
                extents.append(count.value if count else bound.value + 1 if bound else 0)
        element = self._type_of(die)
        if element.kind == "array":  # nvcc writes a matrix as an array of arrays
            extents += element.extents
            element = element.of or Type("")
        whole = element.bytes
        for extent in extents:
            whole *= extent
        return Type("array", whole, of=element, extents=tuple(extents))

    def _members(self, die: Any) -> Iterator[tuple[str, int, Type]]:
        for part in die.iter_children():
            if part.tag == "DW_TAG_member":
                where = part.attributes.get("DW_AT_data_member_location")
                value = where.value if where is not None else 0
                offset = value if isinstance(value, int) else _uleb(bytes(value), 1)[0]
                yield _text(part, "DW_AT_name"), offset, self._type_of(part)


_HALVES = {"__half": Type("float", 2), "__nv_bfloat16": Type("bfloat", 2)}
_BASES = {2: "bool", 4: "float", 5: "int", 6: "int", 7: "unsigned", 8: "unsigned"}  # DW_ATE_…


def _placed(made: Variable, place: str | int | tuple[str, int] | None) -> Variable | None:
    if isinstance(place, str):
        return Variable(made.name, made.type, made.line, register=place)
    if isinstance(place, tuple) and place[0].startswith("__local_depot"):
        return Variable(made.name, made.type, made.line, frame=place[1])
    if isinstance(place, tuple) and place[0]:
        return Variable(made.name, made.type, made.line, symbol=place[0])
    return None


def _text(die: Any, attribute: str) -> str:
    found = die.attributes.get(attribute)
    return found.value.decode(errors="replace") if found is not None else ""


def _uleb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def _register(number: int) -> str:
    """NVPTX numbers a register by the characters of its name, the first one in the highest byte."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big").decode("ascii")
