"""Sites: every instruction belongs to a line of the learner's file."""

from __future__ import annotations

import pytest

from grader.simt.lower import lower
from grader.simt.program import Function, Program, Site
from tests.ptx_snippets import FIXTURES, HEADER, kernel


def lines_of(program: Program, function: Function, name: str) -> list[int]:
    """Lines of the instructions of that name, in order."""
    return [
        program.sites[item.site].line for item in function.instructions if program.op_names[item.op].startswith(name)
    ]


@pytest.fixture(scope="module")
def program() -> Program:
    return lower((FIXTURES / "line_numbers.ptx").read_text(), "/anywhere/line_numbers.cu")


def marked(text: str) -> int:
    """The line of line_numbers.cu that says `// line n`, which has to be true."""
    lines = (FIXTURES / "line_numbers.cu").read_text().split("\n")
    (number,) = [number for number, line in enumerate(lines, 1) if line.endswith(f"// line {text}")]
    assert str(number) == text
    return number


def by_name(program: Program, part: str) -> Function:
    (found,) = [function for function in program.functions if part in function.name]
    return found


def test_code_of_an_inlined_function_of_the_file_has_the_line_where_it_stands(program: Program) -> None:
    kernel_function = by_name(program, "inlined")
    assert lines_of(program, kernel_function, "mad.lo") == [marked("11")]
    assert lines_of(program, kernel_function, "add.f32") == [marked("7")]


def test_code_of_a_header_has_the_line_of_its_call_even_two_deep(program: Program) -> None:
    calls = [marked("18"), marked("19"), marked("19")]
    assert lines_of(program, by_name(program, "inlined"), "ld.volatile.global") == calls
    assert lines_of(program, by_name(program, "far_away"), "ld.volatile.global") == [marked("25")]


def test_code_that_a_header_calls_back_has_the_line_where_it_stands(program: Program) -> None:
    assert lines_of(program, by_name(program, "inlined"), "st.global")[-1] == marked("20")


def test_a_call_has_its_own_line(program: Program) -> None:
    assert lines_of(program, by_name(program, "calls_it"), "call") == [marked("29")]


def test_a_site_says_where_the_code_itself_stands(program: Program) -> None:
    inner = Site(18, "line_numbers.cuh", 5, "_Z11header_loadPKf")
    assert inner in program.sites
    assert program.sites[0] == Site(0, "", 0, "")
    assert len(set(program.sites)) == len(program.sites)


def located(locations: str) -> Site:
    """The site of a barrier behind the given `.loc`s, in a module with two files."""
    text = kernel(f".loc 1 3 0\nmembar.gl;\n{locations}\nmembar.cta;\nret;")
    program = lower(f'{text}.file 1 "/x/own.cu"\n.file 2 "/y/other.h"\n', "own.cu")
    function = program.functions[0]
    return program.sites[function.instructions[1].site]


def test_line_zero_keeps_the_line_before() -> None:
    assert located(".loc 1 0 5") == Site(3, "own.cu", 3, "k")
    assert located(".loc 1 7 5\n.loc 2 0 0, function_name $L, inlined_at 1 7 5").line == 7


def test_a_header_that_nobody_inlined_has_no_line() -> None:
    assert located(".loc 2 40 1") == Site(0, "other.h", 40, "k")


def test_an_inlined_location_refers_to_the_latest_one_at_that_place() -> None:
    call = ".loc 1 9 2\n.loc 2 50 1, function_name $A, inlined_at 1 9 2\n"
    assert located(f"{call}.loc 2 60 1, function_name $B, inlined_at 2 50 1").line == 9
    assert located(".loc 2 60 1, function_name $B+4, inlined_at 1 8 2") == Site(8, "other.h", 60, "")


def test_another_source_name_has_no_lines() -> None:
    program = lower(f'{HEADER}.entry k() {{ .loc 1 5 0\nret; }}\n.file 1 "own.cu"\n', "different.cu")
    assert [site.line for site in program.sites] == [0, 0]
