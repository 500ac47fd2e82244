"""The reader takes in what nvcc writes, and says on which line a text is not PTX."""

from __future__ import annotations

import time

import pytest

from grader.simt.ptx import Address, Immediate, Label, Not, Pair, PtxError, Register, Sink, Special, Symbol, Vector
from grader.simt.ptx_reader import read_ptx
from tests.ptx_snippets import FIXTURES, HEADER, kernel


def instructions(body: str, before: str = "") -> list[object]:
    module = read_ptx(kernel(body, before=before))
    read = module.functions["k"].body
    assert read is not None
    return list(read.instructions)


def operands(text: str) -> list[object]:
    (instruction,) = instructions(text)
    return instruction.operands  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.ptx")), ids=lambda path: path.stem)
def test_everything_nvcc_wrote_is_read(path: object) -> None:
    module = read_ptx((FIXTURES / str(path)).read_text())
    assert (module.version, module.target) == ("9.0", 80)
    assert any(function.entry for function in module.functions.values())
    assert module.files


def test_operands_are_told_apart() -> None:
    add = operands("add.s32 %r1, %r2, -7;")
    assert add[2] == Immediate("int", -7)
    assert isinstance(add[0], Register)
    assert (add[0].name, add[0].bits) == ("%r1", 32)
    assert operands("mov.u32 %r1, %tid.x;")[1] == Special("tid.x")
    load = operands("ld.global.v2.f32 {%f1, _}, [%rd1+-4];")
    assert isinstance(load[0], Vector)
    assert load[0].elements[1] == Sink()
    assert isinstance(load[1], Address)
    assert load[1].offset == -4
    parameter = operands("ld.param.u64 %rd1, [a+8];")[1]
    assert isinstance(parameter, Address)
    assert isinstance(parameter.base, Symbol)
    assert parameter.base.variable.name == "a"
    assert isinstance(operands("setp.eq.s32 %p1|%p2, %r1, 0;")[0], Pair)
    assert isinstance(operands("selp.b32 %r1, %r2, %r3, !%p1;")[3], Not)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10", Immediate("int", 10)),
        ("0xFFU", Immediate("int", 255)),
        ("010", Immediate("int", 8)),
        ("0b101", Immediate("int", 5)),
        ("-2147483648", Immediate("int", -2147483648)),
        ("~0", Immediate("int", -1)),
        ("0f3F800000", Immediate("f32", 0x3F800000)),
        ("-0f3F800000", Immediate("f32", 0xBF800000)),
        ("0d3FF0000000000000", Immediate("f64", 0x3FF0000000000000)),
        ("1.5", Immediate("f64", 0x3FF8000000000000)),
        ("WARP_SZ", Immediate("int", 32)),
    ],
)
def test_numbers_have_many_forms(text: str, expected: Immediate) -> None:
    assert operands(f"mov.b32 %r1, {text};")[1] == expected


def test_inner_scopes_have_registers_and_labels_of_their_own() -> None:
    scope = "{ .reg .pred p; .reg .b32 %r1; mov.b32 %r1, 5; L: @p bra L; }"
    read = read_ptx(kernel(f"mov.b32 %r1, 1; {scope} {scope} mov.b32 %r1, 2;")).functions["k"].body
    assert read is not None
    outer, first, _, second, _, last = [item.operands[0] for item in read.instructions]
    assert outer == last
    assert len({item.number for item in (outer, first, second) if isinstance(item, Register)}) == 3
    targets = [item.operands[0] for item in read.instructions if item.opcode == "bra"]
    assert [read.labels[item.name] for item in targets if isinstance(item, Label)] == [2, 4]


def test_a_jump_may_leave_a_scope_and_go_forward() -> None:
    read = read_ptx(kernel("{ bra OUT; } mov.b32 %r1, 1; OUT: ret;")).functions["k"].body
    assert read is not None
    assert read.labels["OUT"] == 2


def test_comments_strings_and_odd_spacing_are_no_matter() -> None:
    text = kernel('/* one\ntwo */ mov.b32 %r1,5; // mov.b32\n.pragma "no // comment";\n{.reg.b32 f, C;mov.b32 f,C;}')
    read = read_ptx(text).functions["k"].body
    assert read is not None
    assert [item.opcode for item in read.instructions] == ["mov.b32", "mov.b32"]
    assert read.instructions[1].line == 11


def test_what_the_compiler_has_moved_goes_to_the_line_that_uses_it_next() -> None:
    moved = "cvt.rn.f32.u32 %f1, %r1;\ndiv.rn.f32 %f2, %f1, %f1;\nld.global.v2.u32 {%r3, %r4}, [%rd2];\nmov.u32 %r5, 7;"
    module = read_ptx(
        kernel(f".loc 1 3 0\nmov.u32 %r1, 1;\n.loc 1 0 5\n{moved}\n.loc 1 5 0\nst.global.f32 [%rd1], %f2;\nret;")
    )
    read = module.functions["k"].body
    assert read is not None
    lines = [module.locations[one.location].line for one in read.instructions]
    assert lines == [3, 5, 5, 3, 3, 5, 5]  # nobody uses what the fourth and the fifth make: they stay


def test_module_level_directives_are_read() -> None:
    text = f"""{HEADER}
    .visible .global .align 4 .u32 plain = 7;
    .global .attribute(.managed) .align 4 .u32 managed;
    .extern .shared .align 16 .b8 dynamic[];
    .weak .const .align 8 .f64 table[2][2] = {{{{0d3FF0000000000000, 1.5}}, {{2.5}}}};
    .global .texref image;
    .func (.param .b32 r) f (.param .b32 x, .param .align 8 .b8 y[16]) .noreturn;
    .alias g, f;
    .entry k (.param .u64 .ptr .global .align 4 p) .maxntid 256, 1, 1 .minnctapersm 2 .pragma "nounroll"; {{ ret; }}
    .file 1 "a.cu", 1700000000, 512
    .section .debug_str {{ $L: .b8 97,98
    .b8 0 }}
    """
    module = read_ptx(text)
    assert module.variables["table"].count == 4
    assert module.variables["dynamic"].count is None
    assert module.functions["f"].body is None
    assert module.files == {1: "a.cu"}
    assert module.strings == {"$L": "ab"}


ERRORS = [
    ("add.s32 %r1, %r2, %rx;", "nothing named %rx was declared"),
    ("add.s32 %r1, %r2 %r3;", "expected ,, found %r3"),
    ("add.s32 %r1, %r99, 1;", "nothing named %r99 was declared"),
    ("bra NOWHERE;", "there is no label NOWHERE"),
    ("mov.b32 %r1, 0x;", "0x"),
    ("mov.b32 %r1, 99999999999999999999;", "more than 64 bits"),
    ("mov.b32 %r1, 08;", "08 is no number"),
    ("@%r1 ret;", "a guard is a predicate register"),
    (".reg .b7 x;", "this is no type of a register"),
    (".b32 x;", "this is no directive of a function"),
    ("{ ret;", "the text ends inside a function"),
    ("ld.global.u32 %r1, [[%rd1]];", "this is no address"),
    ("mov.b64 {%r1, {%r2}}, %rd1;", "a list cannot hold a list"),
    ("A: A: ret;", "the label A stands twice"),
    ("ADD %r1;", "this is no instruction"),
    (".shared .align 3 .b8 x[4];", "an alignment that is a power of two"),
    (".shared .b8 x[99999999999999];", "out of range"),
    (".loc 1 2", "a .loc has a file, a line and a column"),
    ("call f, ();", "nothing named f was declared"),
    ("bra;", "; is no name"),
]


@pytest.mark.parametrize(("body", "reason"), ERRORS)
def test_an_error_has_its_line_text_and_reason(body: str, reason: str) -> None:
    with pytest.raises(PtxError) as caught:
        read_ptx(kernel(f"mov.b32 %r1, 1;\n{body}\n"))
    assert reason in str(caught.value)
    assert caught.value.line >= 8
    assert caught.value.text or "ends" in reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no .version"),
        (".version 9.0\n.target sm_80\n.address_size 32\n", "addresses have 64 bits"),
        (".version 9.0\n.target gpu\n", "no sm_ number"),
        (f"{HEADER}mov.b32 %r1, 1;", "this is no directive of a module"),
        (f"{HEADER}.entry k() {{ ret; }} .entry k() {{ ret; }}", "defined twice"),
        (f"{HEADER}.global .u32 x; .global .u32 x;", "declared twice"),
        (f"{HEADER}.global .u64 x = y;", "nothing named y was declared"),
        (f"{HEADER}.global .u32 x", "expected ;"),
        (f"{HEADER}.func f (.reg .b32 x) {{ ret; }}", "a parameter is declared with .param"),
    ],
)
def test_errors_of_a_module(text: str, reason: str) -> None:
    with pytest.raises(PtxError) as caught:
        read_ptx(text)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 50_000,
        '"' * 100_000,
        ".section .x {" * 20_000,
        HEADER + ".entry k() {" + "{" * 50_000,
        HEADER + ".entry k() { mov.b32 x, " + "!" * 50_000,
        HEADER + ".entry k() { ld.u32 x, " + "[" * 50_000,
        HEADER + ".global .u32 x = " + "{" * 50_000,
        HEADER + ".global .u64 x = " + "0xFF(" * 50_000,
        HEADER + ".global .b8 x[1] = {" + "1, " * 50_000,
        HEADER + ".entry k() { .reg .b32 x<2000000000>; mov.b32 x1999999999, " + "9" * 100_000,
    ],
    ids=lambda text: text[-20:-16],
)
def test_what_nests_or_never_ends_is_refused_quickly(text: str) -> None:
    start = time.process_time()
    with pytest.raises(PtxError):
        read_ptx(text)
    assert time.process_time() - start < 2
