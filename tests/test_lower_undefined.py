"""Uninitialised registers: followed only where assignment cannot be proven, asked for only where it matters."""

from __future__ import annotations

import pytest

from grader.simt.lower import lower
from grader.simt.program import Program
from tests.lane_walk import result_shapes, straight, walk_program
from tests.ptx_snippets import FIXTURES, kernel, lowered, texts


def tracking(body: str) -> list[str]:
    """The track operations of a kernel's body, without the numbers of masks."""
    return [text for block in lowered(body) for text in block if "track." in text]


@pytest.mark.parametrize(
    "path", sorted(path for path in FIXTURES.glob("*.ptx") if path.stem not in ("uninitialised", "warps")), ids=str
)
def test_nothing_is_followed_in_kernels_that_assign_everything(path: object) -> None:
    program = lower((FIXTURES / str(path)).read_text(), "x.cu")
    assert [name for name in program.op_names if name.startswith("track.")] == []


@pytest.fixture(scope="module")
def wrong() -> Program:
    return lower((FIXTURES / "uninitialised.ptx").read_text(), "uninitialised.cu")


def reported(program: Program, part: str) -> dict[str, list[tuple[int, int]]]:
    """By operation: the line of each check or store, and the line where the register was first read."""
    function = next(function for function in program.functions if part in function.name)
    made: dict[str, list[tuple[int, int]]] = {}
    for item in function.instructions:
        name = program.op_names[item.op]
        if name in ("track.check", "track.store"):
            first_read = function.constants32[item.operands[1] & 0xFFFFFFF]
            made.setdefault(name, []).append((program.sites[item.site].line, program.sites[first_read].line))
    return made


def line(text: str) -> int:
    """The line of uninitialised.cu with that text."""
    lines = (FIXTURES / "uninitialised.cu").read_text().split("\n")
    return next(number for number, content in enumerate(lines, 1) if text in content)


def test_a_sum_that_never_started_is_reported_where_it_is_stored_with_the_line_that_read_it(wrong: Program) -> None:
    assert reported(wrong, "never_started") == {"track.check": [(line("= acc;"), line("acc +="))]}


def test_a_value_that_only_some_lanes_have_is_asked_for(wrong: Program) -> None:
    assert reported(wrong, "some_lanes") == {"track.check": [(line("= v + a[0];"), line("= v + a[0];"))]}


def test_an_undefined_branch_and_address_are_reported(wrong: Program) -> None:
    checks = reported(wrong, "branches_on_it")["track.check"]
    assert [where for where, _ in checks] == [line("< limit"), line("out[limit]")]


def test_shared_memory_remembers_what_is_undefined(wrong: Program) -> None:
    assert reported(wrong, "to_shared") == {"track.store": [(line("s[i] = v;"), line("s[i] = v;"))]}


@pytest.mark.parametrize("part", ["asked_again", "chosen"])
def test_a_value_is_no_fault_where_the_same_question_is_asked_again(wrong: Program, part: str) -> None:
    number = next(number for number, function in enumerate(wrong.functions) if part in function.name)
    code = straight((FIXTURES / "uninitialised.ptx").read_text())[number]
    ends = [walk_program(wrong, wrong.functions[number], result_shapes(code), seed) for seed in range(30)]
    assert any(walk.ended for walk in ends)


GUARD = "ld.param.u32 %r1, [a]; setp.eq.s32 %p1, %r1, 7; setp.eq.s32 %p2, %r1, 8;"


def test_a_write_under_a_guard_is_enough_for_reads_under_it() -> None:
    assert tracking(f"{GUARD} @%p1 mov.u32 %r2, 5; @%p1 st.global.u32 [1024], %r2; ret;") == []


def test_writes_under_a_predicate_and_its_negation_are_enough() -> None:
    assert tracking(f"{GUARD} @%p1 mov.u32 %r2, 5; @!%p1 mov.u32 %r2, 6; st.global.u32 [1024], %r2; ret;") == []


def test_a_guard_whose_predicate_changed_in_between_is_another() -> None:
    between = "setp.eq.s32 %p1, %r1, 9;"
    made = tracking(f"{GUARD} @%p1 mov.u32 %r2, 5; {between} @%p1 st.global.u32 [1024], %r2; ret;")
    assert [text.split()[1] for text in made] == ["track.set", "track.check"]
    assert made[1].startswith("@p")


def test_only_lanes_under_the_guard_are_asked() -> None:
    made = tracking(f"{GUARD} @%p1 mov.u32 %r2, 5; @%p2 st.global.u32 [1024], %r2; ret;")
    guards = [text.split()[0] for text in made]
    assert [text.split()[1] for text in made] == ["track.set", "track.check"]
    assert len(set(guards)) == 2


def test_moves_and_arithmetic_are_followed_but_not_reported() -> None:
    used = "mov.u32 %r4, %r2; add.s32 %r3, %r4, 1; mul.lo.s32 %r5, %r3, %r3;"
    assert tracking(f"{GUARD} @%p1 mov.u32 %r2, 5; {used} ret;") == []
    made = tracking(f"{GUARD} @%p1 mov.u32 %r2, 5; {used} st.global.u32 [1024], %r5; ret;")
    assert [text.split()[-2] for text in made if "check" in text] != []


def test_a_selection_takes_the_mask_of_what_it_takes() -> None:
    made = tracking(f"{GUARD} @%p1 mov.u32 %r2, 5; selp.b32 %r3, %r2, 0, %p2; st.global.u32 [1024], %r3; ret;")
    assert any(text.startswith("track.selp") and "true" in text for text in made)


def test_a_predicate_that_is_masked_away_does_not_matter() -> None:
    body = f"{GUARD} @%p1 setp.gt.s32 %p3, %r1, 5; and.pred %p4, %p1, %p3; @%p4 st.global.u32 [1024], 1; ret;"
    assert any(text.startswith("track.logical_and") for text in tracking(body))


def test_a_shuffle_brings_the_mask_of_the_lane_it_reads() -> None:
    body = f"{GUARD} @%p1 mov.u32 %r2, 5; shfl.sync.idx.b32 %r3, %r2, 0, 31, -1; st.global.u32 [1024], %r3; ret;"
    program = lower(kernel(body), "k.cu")
    (shuffle,) = [text for block in texts(program, program.functions[0]) for text in block if "shfl" in text]
    assert len(shuffle.split(", ")) == 8
    warps = lower((FIXTURES / "warps.ptx").read_text(), "warps.cu")
    lane_zero = next(function for function in warps.functions if "lane_zero" in function.name)
    shuffles = [item for item in lane_zero.instructions if warps.op_names[item.op].startswith("shfl")]
    assert [len(item.operands) for item in shuffles] == [8]


def test_members_of_a_structure_passed_by_value_may_be_undefined() -> None:
    before = ".func f (.param .align 8 .b8 x[8], .param .b32 y) { ret; }\n"
    call = "{{ .param .align 8 .b8 p[8]; .param .b32 q; {} call f, (p, q); }} ret;"
    member = call.format("st.param.b32 [p+4], %r2; st.param.b32 [q], 1;")
    scalar = call.format("st.param.b64 [p], 0; st.param.b32 [q], %r2;")

    def checks(body: str) -> int:
        made = lowered(f"{GUARD} @%p1 mov.u32 %r2, 5; {body}", before=before)
        return sum("track.check" in text for block in made for text in block)

    assert (checks(member), checks(scalar)) == (0, 1)


def test_a_loop_that_assigns_before_it_reads_costs_nothing() -> None:
    body = "LOOP: ld.global.u32 %r2, [1024]; st.global.u32 [1024], %r2; setp.eq.s32 %p1, %r2, 0; @%p1 bra LOOP; ret;"
    assert tracking(body) == []
