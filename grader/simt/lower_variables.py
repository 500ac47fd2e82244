"""Variables in global and constant memory, with their initial bytes and the addresses in them."""

from __future__ import annotations

from grader.simt import ptx
from grader.simt.lower_layout import Layout
from grader.simt.program import CONST, FUNCTION_RELOCATION, GLOBAL, Relocation, Variable

_ADDRESS_BYTES = 8


def program_variables(layout: Layout) -> list[Variable]:
    """The module's variables in the order of `layout.variable_index`.

    Raises PtxError for an initialiser that does not fit its variable.
    """
    return [_variable(layout, variable) for variable in layout.in_memory]


def _variable(layout: Layout, variable: ptx.Variable) -> Variable:
    size = variable.element_bytes
    data = bytearray()
    relocations: list[Relocation] = []
    for value in variable.initial:
        if isinstance(value, ptx.Immediate):
            data += _element(variable, value)
            continue
        if value.byte not in (None, 0) or size not in (1, _ADDRESS_BYTES):
            data += bytes(size)  # byte 0 of an address stands for all eight
            continue
        relocations.append(_relocation(layout, variable, value, len(data)))
        data += bytes(size)
    if len(data) > variable.size or any(item.offset + _ADDRESS_BYTES > variable.size for item in relocations):
        raise ptx.PtxError(variable.line, variable.name, "the initial values do not fit the variable")
    space = CONST if variable.space == "const" else GLOBAL
    return Variable(variable.name, space, variable.align, variable.size, bytes(data.rstrip(b"\0")), relocations)


def _element(variable: ptx.Variable, value: ptx.Immediate) -> bytes:
    bits = 8 * variable.element_bytes
    number = value.value
    if value.kind != "int" and bits != int(value.kind[1:]):
        raise ptx.PtxError(variable.line, variable.name, "an initial value has another type than the variable")
    return (number & ((1 << bits) - 1)).to_bytes(variable.element_bytes, "little")


def _relocation(layout: Layout, variable: ptx.Variable, value: ptx.Address, offset: int) -> Relocation:
    base = value.base
    if isinstance(base, ptx.FunctionName) and base.name in layout.function_index:
        return Relocation(offset, layout.function_index[base.name] | FUNCTION_RELOCATION, value.offset)
    if isinstance(base, ptx.Symbol) and id(base.variable) in layout.variable_index:
        return Relocation(offset, layout.variable_index[id(base.variable)], value.offset)
    raise ptx.PtxError(variable.line, variable.name, "an initial value is no address of this module")
