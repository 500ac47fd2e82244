"""Where parameters, shared, local and module variables lie, and what is in them."""

from __future__ import annotations

import struct

import pytest

from grader.simt.lower import lower
from grader.simt.program import CONST, FUNCTION_RELOCATION, GLOBAL, Function, Parameter, Program, Relocation, Variable
from grader.simt.ptx import PtxError
from tests.ptx_snippets import FIXTURES, HEADER, kernel, lowered, texts


@pytest.fixture(scope="module")
def spaces() -> Program:
    return lower((FIXTURES / "memory_spaces.ptx").read_text(), "memory_spaces.cu")


def variable(program: Program, name: str) -> Variable:
    return next(item for item in program.variables if item.name == name)


def function(program: Program, part: str) -> Function:
    return next(item for item in program.functions if part in item.name)


def test_parameters_lie_at_their_alignment() -> None:
    parameters = ".param .u32 n, .param .u64 p, .param .align 16 .b8 s[20], .param .u8 c"
    program = lower(kernel("ret;", parameters=parameters), "k.cu")
    assert program.functions[0].parameters == [
        Parameter(0, 4, 4),
        Parameter(8, 8, 8),
        Parameter(16, 20, 16),
        Parameter(36, 1, 1),
    ]
    assert program.functions[0].parameter_bytes == 37


def test_initial_values_are_bytes(spaces: Program) -> None:
    assert variable(spaces, "counter") == Variable("counter", GLOBAL, 4, 4, b"\x07")
    table = variable(spaces, "table")
    assert table.size == 256
    assert table.initial.ljust(12, b"\0") == struct.pack("<3f", 1, 2, 3)
    assert variable(spaces, "coefficients").space == CONST
    assert variable(spaces, "scale").initial == b""


def test_addresses_in_initial_values_are_relocations(spaces: Program) -> None:
    index = {item.name: number for number, item in enumerate(spaces.variables)}
    assert variable(spaces, "into_table").relocations == [Relocation(0, index["table"], 20)]
    assert [item.offset for item in variable(spaces, "words").relocations] == [0, 8]
    assert variable(spaces, "first").relocations == [Relocation(8, index["second"], 0)]
    assert variable(spaces, "packed").relocations == [Relocation(1, index["counter"], 0)]


def test_tables_of_functions_are_relocations_too() -> None:
    program = lower((FIXTURES / "calls.ptx").read_text(), "calls.cu")
    (add,) = [number for number, item in enumerate(program.functions) if item.name == "_Z3addff"]
    assert variable(program, "operations").relocations[0] == Relocation(0, add | FUNCTION_RELOCATION, 0)
    tables = [item for item in program.variables if item.name.startswith("_ZTV")]
    assert all(item.relocations for item in tables)
    assert tables


@pytest.mark.parametrize(
    "declaration",
    [".global .u32 x = {1, 2};", ".global .u32 x = 1.5;", ".global .b8 x[4] = {generic(y)};", ".global .u64 x = f;"],
)
def test_initial_values_that_do_not_fit_are_errors(declaration: str) -> None:
    with pytest.raises(PtxError):
        lower(f"{HEADER}.global .u32 y;\n.func f ();\n{declaration}\n", "x.cu")


def test_shared_variables_keep_their_banks_and_have_guards(spaces: Program) -> None:
    shared = function(spaces, "static_shared").shared
    sizes = [item.size for item in shared]
    assert sizes == [132, 24, 5]
    assert [item.offset % 128 for item in shared] == [0, 136 % 128, 160 % 128]
    ends = [item.offset + item.size for item in shared]
    assert all(after.offset - end >= 256 for after, end in zip(shared[1:], ends, strict=False))


def test_dynamic_shared_memory_comes_last_with_size_zero(spaces: Program) -> None:
    shared = function(spaces, "dynamic_shared").shared
    assert [item.size for item in shared] == [12, 0]
    assert shared[1].offset % 16 == 0


def test_shared_memory_of_a_called_function_lies_in_its_caller(spaces: Program) -> None:
    caller, callee = function(spaces, "shared_in_callee"), function(spaces, "through_shared")
    places = {item.name: item.offset for item in caller.shared}
    assert all(places[item.name] == item.offset for item in callee.shared)
    assert len(caller.shared) == len(callee.shared) + 2
    assert [special.name for special in callee.specials if special.name == "dynamic_shared"] == ["dynamic_shared"]


def test_local_arrays_have_a_frame(spaces: Program) -> None:
    assert function(spaces, "local_array").local_bytes == 32


def test_parameters_may_be_indexed() -> None:
    body = "mov.b64 %rd1, a; add.s64 %rd2, %rd1, 8; ld.param.f32 %f1, [%rd2+4]; st.global.f32 [1024], %f1; ret;"
    assert lowered(body) == [
        ["mov.param d0", "add.b64 d0, d0, 0x8l", "ld.param.indexed.b32 r0, d0, +4", "st.global.b32 0x400l, r0", "ret"]
    ]


def test_a_call_passes_its_arguments_in_a_block() -> None:
    before = ".func (.param .b32 r) f (.param .b32 x, .param .b64 y) { ret; }\n"
    call = (
        "{ .param .b32 p; .param .b64 q; .param .b32 s; st.param.b32 [p], 5; st.param.b64 [q], 6;"
        "call.uni (s), f, (p, q); ld.param.b32 %r1, [s]; } st.global.u32 [1024], %r1; ret;"
    )
    program = lower(kernel(call, before=before), "k.cu")
    assert texts(program, program.functions[1]) == [
        ["st.argument.b32 0x5", "st.argument.b64 0x6l, +8", "call f"],
        ["ld.result.b32 r0", "st.global.b32 0x400l, r0", "ret"],
    ]
    assert (program.functions[1].argument_bytes, program.functions[1].returned_bytes) == (16, 4)
    assert (program.functions[0].parameter_bytes, program.functions[0].result_bytes) == (16, 4)


def test_functions_of_the_system_are_called_by_name() -> None:
    before = ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 v);\n"
    call = "{ .param .b64 p; .param .b64 q; .param .b32 s; call.uni (s), vprintf, (p, q); } ret;"
    assert lowered(call, before=before)[0] == ["call.vprintf"]
