"""Registers: copies and constants fold into operands, what nobody reads goes, few slots hold the rest."""

from __future__ import annotations

import pytest

from grader.simt.lower import lower
from grader.simt.program import Function
from tests.ptx_snippets import FIXTURES, kernel, lowered


def fixture_function(stem: str, part: str) -> Function:
    program = lower((FIXTURES / f"{stem}.ptx").read_text(), f"{stem}.cu")
    return next(function for function in program.functions if part in function.name)


def test_vector_add_is_as_short_as_it_can_be() -> None:
    plain = fixture_function("vector_add_styles", "plain")
    assert len(plain.instructions) == 16
    assert (plain.n32, plain.n64, plain.npred) == (4, 4, 1)
    assert [special.name for special in plain.specials] == ["ctaid.x", "ntid.x", "tid.x"]


def test_constants_and_special_registers_fold_into_operands() -> None:
    moves = "mov.u32 %r1, %tid.x; mov.u32 %r2, 4; mov.b32 %r3, %r2;"
    assert lowered(f"{moves} add.s32 %r4, %r1, %r3; st.global.u32 [1024], %r4; ret;") == [
        ["add.b32 r0, r0, 0x4", "st.global.b32 0x400l, r0", "ret"]
    ]


def test_address_conversions_that_change_nothing_disappear() -> None:
    body = "ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1; add.s64 %rd3, %rd2, 0; st.global.u32 [%rd3], 1; ret;"
    assert lowered(body) == [["ld.param.b64 d0", "st.global.b32 d0, 0x1", "ret"]]


def test_bits_that_change_their_name_are_not_moved() -> None:
    body = "ld.param.f32 %f1, [a]; mov.b32 %r1, %f1; add.s32 %r2, %r1, 1; st.global.u32 [1024], %r2; ret;"
    assert lowered(body) == [["ld.param.b32 r0", "add.b32 r0, r0, 0x1", "st.global.b32 0x400l, r0", "ret"]]


def test_a_register_that_is_assigned_twice_is_not_folded() -> None:
    body = (
        "ld.param.u32 %r1, [a]; mov.u32 %r2, 5; setp.eq.s32 %p1, %r1, 0; @%p1 bra A; mov.u32 %r2, 6;"
        "A: st.global.u32 [1024], %r2; ret;"
    )
    made = [text for block in lowered(body) for text in block]
    assert [text for text in made if text.startswith("mov")] == ["mov.b32 r1, 0x5", "mov.b32 r1, 0x6"]


def test_a_guarded_copy_is_not_folded() -> None:
    body = (
        "ld.param.u32 %r1, [a]; setp.eq.s32 %p1, %r1, 0; mov.u32 %r2, 1; @%p1 mov.u32 %r2, %r1;"
        "st.global.u32 [1024], %r2; ret;"
    )
    assert "@p0 mov.b32 r1, r0" in lowered(body)[0]


def test_a_constant_predicate_folds_into_operands_but_not_into_guards() -> None:
    body = "mov.pred %p1, -1; selp.b32 %r1, %r2, 7, !%p1; @%p1 st.global.u32 [1024], %r1; ret;"
    made = lowered(f"ld.param.u32 %r2, [a]; {body}")[0]
    assert "selp.b32 r0, r0, 0x7, false" in made
    assert "@p0 st.global.b32 0x400l, r0" in made


def test_what_nobody_reads_is_dropped_unless_it_has_an_effect() -> None:
    body = (
        "ld.param.u64 %rd1, [a]; add.s64 %rd2, %rd1, 8; ld.global.u32 %r1, [%rd1]; mul.lo.s32 %r2, %r1, 3;"
        "atom.global.add.u32 %r3, [%rd1], 1; ret;"
    )
    assert lowered(body) == [["ld.param.b64 d0", "ld.global.b32 _, d0", "atom.add.global.b32 _, d0, 0x1", "ret"]]


def test_several_results_never_lie_where_a_source_does() -> None:
    body = (
        "ld.param.u32 %r1, [a]; ld.shared.v2.u32 {%r2, %r3}, [%r1]; st.global.u32 [1024], %r2;"
        "st.global.u32 [1024], %r3; ret;"
    )
    assert lowered(body)[0][1] == "ld.shared.b32.v2 r1, r2, r0"


def test_slots_are_kept_while_a_loop_still_needs_them() -> None:
    body = (
        "ld.param.u32 %r1, [a]; mov.u32 %r2, 0; LOOP: add.s32 %r2, %r2, %r1; add.s32 %r3, %r2, 1;"
        "st.global.u32 [1024], %r3; setp.lt.s32 %p1, %r2, 100; @%p1 bra LOOP; ret;"
    )
    loop = lowered(body)[1]
    assert loop[0] == "add.b32 r1, r1, r0"
    assert loop[1] == "add.b32 r2, r1, 0x1"


@pytest.mark.parametrize(
    ("stem", "part", "registers"),
    [
        ("floats", "single", 14),
        ("integers", "words", 12),
        ("vector_add_styles", "by_four", 12),
        ("warps", "atomics", 14),
    ],
)
def test_real_kernels_need_few_slots(stem: str, part: str, registers: int) -> None:
    assert fixture_function(stem, part).n32 <= registers


def test_a_long_chain_of_values_needs_one_slot() -> None:
    chain = "".join(f"add.s32 %q{n + 1}, %q{n}, %q{n};" for n in range(200))
    body = f".reg .b32 %q<300>; ld.param.u32 %q0, [a]; {chain} st.global.u32 [1024], %q200; ret;"
    program = lower(kernel(body), "k.cu")
    assert program.functions[0].n32 == 1
