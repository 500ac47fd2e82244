"""Arrays in shared memory as a source declares them, so that a place in one can be told as `Bs[2][0]`.

PTX has only a name and a number of bytes. What stands between the brackets is read from the declaration: whole numbers,
constants that the file defines, and arithmetic with them. What cannot be read is left open.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.extent import ExtentError, evaluate

_BYTES: Mapping[str, int] = {
    **dict.fromkeys(("char", "unsigned char", "signed char", "bool", "uint8_t", "int8_t"), 1),
    **dict.fromkeys(("short", "unsigned short", "half", "__half", "__nv_bfloat16", "uint16_t", "int16_t"), 2),
    **dict.fromkeys(("float", "int", "unsigned", "unsigned int", "half2", "__half2", "uint32_t", "int32_t"), 4),
    **dict.fromkeys(
        ("double", "long long", "unsigned long long", "size_t", "float2", "int2", "uint64_t", "int64_t"), 8
    ),
    **dict.fromkeys(("float4", "int4", "uint4", "double2"), 16),
}
_TYPES: Mapping[str, str] = {"float": "f32", "double": "f64", "int": "i32", "half": "f16", "__half": "f16"}
_LONGEST_SOURCE, _LONGEST_EXPRESSION = 1 << 17, 80  # characters
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUALIFIER = re.compile(r"\b(?:alignas|__align__)\s*\([^()]*\)|\b(?:static|volatile|const|extern)\b")
_DECLARATION = re.compile(r"\b__shared__\s+([^;{}()]{1,400});")
_DECLARATOR = re.compile(r"(?P<type>.*?)(?P<name>\w+)\s*(?P<dims>(?:\[[^\]]*\]\s*)*)$", re.DOTALL)
_CONSTANTS = (
    re.compile(r"\b(?:constexpr|const)\s+(?:\w{1,40}\s+){1,3}(\w+)\s*=\s*([^;,{}]{1,80})[;,]"),
    re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S[^\n]*)$", re.MULTILINE),
)


def element_type(name: str) -> tuple[int | None, str]:
    """The bytes of a type as it is written, None where it is not known, and its short name where it has one, "f32"."""
    return _BYTES.get(name), _TYPES.get(name, "")


@dataclass(frozen=True)
class SharedArray:
    """One declaration: the bytes of an element, and the dimensions; None for what could not be read.

    `type` is the short name of a type that has one, "f32".
    """

    element_bytes: int | None
    shape: tuple[int | None, ...]
    type: str = ""

    def fits(self, size: int) -> bool:
        """Whether it may be the array that has `size` bytes."""
        whole = _product(self.element_bytes, *self.shape)
        return whole is None or whole == size

    def completed(self, size: int) -> SharedArray:
        """With what is open worked out from the size of the whole, where it is one number only."""
        numbers = (self.element_bytes, *self.shape)
        known = _product(*(number for number in numbers if number is not None))
        if numbers.count(None) != 1 or not known or size % known:
            return self
        element_bytes, *shape = (size // known if number is None else number for number in numbers)
        return SharedArray(element_bytes, tuple(shape), self.type)


def _product(*numbers: int | None) -> int | None:
    """None where a number is open."""
    known = [number for number in numbers if number is not None]
    return math.prod(known) if len(known) == len(numbers) else None


@dataclass(frozen=True)
class SharedPlace:
    """A byte of a variable in shared memory: the variable's name, and where its declaration was understood `text`, what
    a learner writes for it, `index`, counted in elements, and how many `elements` of which type the variable has.
    """

    name: str
    text: str | None = None
    index: int | None = None
    elements: int = 0
    type: str = ""


def shared_place(source: str, name: str, at: int, size: int) -> SharedPlace:
    """The byte `at` of the variable `name`, which has `size` bytes; it may lie outside."""
    code = _QUALIFIER.sub(" ", _COMMENT.sub(" ", source[:_LONGEST_SOURCE]))
    declared = [array for found, array in _declared(code) if found == name and array.fits(size)]
    array = declared[0].completed(size) if declared else None
    subscripts = _subscripts(array, at) if array is not None else None
    if array is None or subscripts is None or not array.element_bytes:
        return SharedPlace(name)
    index, elements = at // array.element_bytes, size // array.element_bytes
    return SharedPlace(name, f"`{name}{subscripts}`", index, elements, array.type)


def _subscripts(array: SharedArray, at: int) -> str | None:
    """What stands behind the name: "[2][0]", "" for a single value; None where it cannot be told."""
    inner = array.shape[1:]
    if not array.element_bytes or at % array.element_bytes or None in inner:
        return None
    index, found = at // array.element_bytes, ""
    for extent in reversed([extent for extent in inner if extent is not None]):
        index, rest = divmod(index, max(extent, 1))
        found = f"[{rest}]{found}"
    return f"[{index}]{found}" if array.shape else "" if index == 0 else None


def _declared(code: str) -> Iterator[tuple[str, SharedArray]]:
    constants = _constants(code)
    for declaration in _DECLARATION.finditer(code):
        kind = None
        for declarator in re.split(r",(?![^\[]*\])", declaration[1]):
            match = _DECLARATOR.match(declarator.strip())
            if match is None:
                continue
            if kind is None:
                kind = " ".join(match["type"].split())
            extents = re.findall(r"\[([^\]]*)\]", match["dims"])
            shape = tuple(_value(each, constants) for each in extents)
            yield match["name"], SharedArray(_BYTES.get(kind), shape, _TYPES.get(kind, ""))


def _constants(code: str) -> dict[str, int]:
    """What the file's constants are, as far as they are whole numbers and arithmetic with those before them."""
    known: dict[str, int] = {}
    for pattern in _CONSTANTS:
        for match in pattern.finditer(code):
            value = _value(match[2], known)
            if value is not None:
                known.setdefault(match[1], value)
    return known


def _value(expression: str, constants: Mapping[str, int]) -> int | None:
    if len(expression) > _LONGEST_EXPRESSION:
        return None
    try:
        return evaluate(re.sub(r"(\d)[uUlL]+\b", r"\1", expression).strip().replace("/", "//"), constants)
    except (ExtentError, ValueError):
        return None
