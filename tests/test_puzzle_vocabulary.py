"""The vocabulary of puzzle.py files: shapes, cases, arguments, and mistakes of authors."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
import torch

from grader.inputs import memory_for
from grader.puzzle import (
    Case,
    DTypeBy,
    In,
    InOut,
    Mistake,
    Out,
    Part,
    Puzzle,
    PuzzleError,
    Scalar,
    Tolerance,
    Work,
    Workspace,
    buffer_bytes,
    call_by_name,
    dtype_of,
    element_count,
    f16,
    f32,
    i32,
    shape_of,
)
from grader.record.recording import entry_arguments


def make_part(**changes: Any) -> Part:
    given: dict[str, Any] = {
        "params": [
            In("x", f16, "rows", "cols"),
            Out("y", f32, "rows", "cols"),
            Scalar("rows", i32),
            Scalar("cols", i32),
        ],
        "reference": lambda x: x,
        "groups": {"all": [Case(rows=2, cols=3)]},
        "bench": Case(rows=4, cols=4),
        "work": lambda rows, cols: Work(6 * rows * cols, 0),
        "tolerance": Tolerance(0.0, why="a copy is exact"),
        "lesson": "Copy.",
    }
    return Part("copy", **(given | changes))


def test_a_shape_is_an_expression_over_the_scalars() -> None:
    scratch = Workspace("w", f32, "2 * rows + 512", "max(cols, 1)")
    assert shape_of(scratch, {"rows": 3, "cols": 0}) == (518, 1)
    assert element_count(scratch, {"rows": 3, "cols": 2}) == 1036
    assert buffer_bytes(In("h", f16, "n"), {"n": 5}) == 10
    assert element_count(Out("one", f32), {}) == 1


@pytest.mark.parametrize(
    "dimension", ["rows +", "__import__('os')", "rows ** 2", "other", "rows - 9", "rows // 0", "1.5"]
)
def test_a_shape_that_cannot_be_is_refused(dimension: str) -> None:
    with pytest.raises(PuzzleError):
        shape_of(In("x", f32, dimension), {"rows": 4})


def test_roles_say_what_is_read_and_what_is_compared() -> None:
    part = make_part(
        params=[
            In("a", f32, "n"),
            InOut("w", f32, "n"),
            Workspace("s", f32, "n"),
            Out("o", f32, "n"),
            Scalar("n", i32),
        ],
        reference=lambda a, w: (w, a),
        groups={"all": [Case(n=1)]},
        bench=Case(n=1),
        work=lambda n: Work(n, n),
    )
    assert [buffer.name for buffer in part.buffers if buffer.is_read] == ["a", "w"]
    assert [buffer.name for buffer in part.results] == ["w", "o"]


def test_arguments_follow_the_c_parameters_with_the_stream_last() -> None:
    part = make_part()
    kinds = [(argument.name, argument.kind, argument.value) for argument in entry_arguments(part, Case(rows=2, cols=3))]
    assert kinds == [
        ("x", "buffer", 12),
        ("y", "buffer", 24),
        ("rows", "i32", 2),
        ("cols", "i32", 3),
        ("stream", "stream", 0),
    ]


def test_a_float_argument_is_the_single_precision_number_that_the_entry_receives() -> None:
    part = make_part(
        params=[Out("y", f32, 1), Scalar("eps", f32)],
        reference=lambda eps: eps,
        groups={"all": [Case(eps=1e-5)]},
        bench=Case(eps=1e-5),
        work=lambda: Work(4, 0),
    )
    _, eps, _ = entry_arguments(part, Case(eps=1e-5))
    assert eps.value == 9.999999747378752e-06


BY_DTYPE = DTypeBy("dtype", (f32, f16))


def scaled_part(**changes: Any) -> Part:
    return make_part(
        params=[InOut("w", BY_DTYPE, "n"), In("x", BY_DTYPE, "n"), Scalar("n", i32), Scalar("dtype", i32)],
        reference=lambda w, x: w * x,
        bench=Case(n=4, dtype=1),
        work=lambda n: Work(n, n),
        **{"groups": {"floats": [Case(n=3, dtype=0)], "halves": [Case(n=3, dtype=1, offset={"x": 2})]}, **changes},
    )


def test_a_scalar_may_choose_what_a_buffer_holds() -> None:
    part = scaled_part()
    for case, dtype, size in zip(part.cases(), (f32, f16), (12, 6), strict=True):
        assert [dtype_of(buffer, case.params) for buffer in part.buffers] == [dtype, dtype]
        assert [argument.value for argument in entry_arguments(part, case)[:2]] == [size, size]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"groups": {"all": [Case(n=3, dtype=2)]}}, "w: dtype is 0 to 1, not 2"),
        ({"groups": {"all": [Case(n=3, dtype=-1)]}}, "w: dtype is 0 to 1, not -1"),
        ({"groups": {"all": [Case(n=3, dtype=0, offset={"x": 2})]}}, "offset 2 of x"),
    ],
)
def test_a_case_that_chooses_no_type_or_places_another_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(PuzzleError, match=told):
        scaled_part(**changes)


def test_what_comes_without_values_is_poisoned_in_the_type_that_the_scalar_chooses() -> None:
    part = make_part(
        params=[Out("y", BY_DTYPE, "n"), Scalar("n", i32), Scalar("dtype", i32)],
        reference=lambda n: n,
        groups={"all": [Case(n=3, dtype=0), Case(n=3, dtype=1)]},
        bench=Case(n=3, dtype=0),
        work=lambda n: Work(n, n),
    )
    for case, dtype in zip(part.cases(), (torch.float32, torch.float16), strict=True):
        found = memory_for(part, case, seed=1)["y"]
        assert (found.dtype, bool(found.isnan().all())) == (dtype, True)


def test_functions_get_what_they_name() -> None:
    assert call_by_name(lambda b, n: (b, n), {"a": 1, "b": 2, "n": 3}) == (2, 3)
    assert call_by_name(lambda in_, n_: (in_, n_), {"in": 1, "n_": 2}) == (1, 2)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"groups": {}}, "groups"),
        ({"groups": {"all": []}}, "groups"),
        ({"groups": {"all": [Case(rows=2)]}}, "cols"),
        ({"groups": {"all": [Case(rows=2, cols=-1)]}}, "below 0"),
        ({"groups": {"all": [Case(rows=2, cols=2, inputs={"z": "normal"})]}}, "no buffer"),
        ({"groups": {"all": [Case(rows=2, cols=2, offset={"x": 3})]}}, "offset 3"),
        ({"reference": lambda z: z}, "z"),
        ({"mistakes": [Mistake("z came in", lambda z: z, why="It must not.")]}, "asks for z"),
        ({"params": [In("x", f32, 1), Out("x", f32, 1)]}, "twice"),
        ({"tolerance": Tolerance(0.0, absolute=lambda terms: terms, why="")}, "asks for terms"),
    ],
)
def test_a_part_that_contradicts_itself_is_refused_when_it_is_made(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(PuzzleError, match=told):
        make_part(**changes)


def test_a_tolerance_may_grow_with_the_case() -> None:
    growing = Tolerance(0.0, absolute=lambda cols: cols * 0.5, why="half a unit for each column")
    assert growing.absolute_in(Case(rows=2, cols=3)) == 1.5
    assert Tolerance(0.0, 0.25, why="").absolute_in(Case(rows=2, cols=3)) == 0.25


def numbered(*numbers: int | None) -> list[Part]:
    return [replace(make_part(number=number), name=f"part_{place}") for place, number in enumerate(numbers)]


def test_parts_are_numbered_in_their_order_and_a_number_given_goes_on_from_there() -> None:
    assert Puzzle("Plain", numbered(None, None)).numbers == (1, 2)
    assert Puzzle("The first part comes later", numbered(2, None, None, 6)).numbers == (2, 3, 4, 6)


@pytest.mark.parametrize("numbers", [(0, None), (2, 2), (3, 1), (-1, None)])
def test_numbers_that_do_not_rise_are_refused(numbers: tuple[int | None, ...]) -> None:
    with pytest.raises(PuzzleError, match="do not rise"):
        Puzzle("Odd", numbered(*numbers))


def test_two_parts_of_one_name_are_refused() -> None:
    with pytest.raises(PuzzleError):
        Puzzle("Twice", [make_part(), make_part()])


def test_neither_the_vocabulary_nor_a_puzzle_imports_torch_or_numpy() -> None:
    code = (
        "import sys; from grader.catalog import load_catalog; load_catalog();"
        "sys.exit(bool({'torch', 'numpy', 'rich'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
