"""Large cases are judged piece by piece, which says as much as at once, of wrong values and of looks at single ones."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from grader.catalog import load_catalog
from grader.compare import compare, reference_results
from grader.cuda import pieces
from grader.cuda.pieces import Look, dimension_to_cut, judge
from grader.inputs import draw_inputs, torch_type
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, f32, i32

TOTAL = Part(
    "total",
    params=[In("x", f32, "n"), Out("out", f32), Scalar("n", i32)],
    reference=lambda x: x.sum(),
    groups={"some": [Case(n=5), Case(n=64)]},
    bench=Case(n=64),
    work=lambda n: Work(bytes=4 * n, flops=n),
    tolerance=Tolerance(2.0**-20, absolute=1e-5, why="a sum whose pieces are added up"),
    lesson="",
)
PARTS = {"total": TOTAL} | {
    located.part.name: located.part
    for puzzle in load_catalog().puzzles
    for located in puzzle.parts
    if isinstance(located.part, Part) and not located.part.is_host
}
CUT = {
    "vector_add": "n",
    "gemm_tiled": "M",
    "transpose_tiled": "cols",
    "col_sum": "cols",
    "total": "n",
    "reduce_sum": "n",
    "sgd_momentum": "n",
}
CASES = {
    "vector_add": Case(n=1003),
    "gemm_tiled": Case(M=65, N=33, K=17),
    "transpose_tiled": Case(rows=33, cols=65),
    "total": Case(n=1003),
    "reduce_sum": Case(n=1003),
    "sgd_momentum": Case(n=1003, lr=0.1, momentum=0.9, weight_decay=0.01, dtype=0),
    "row_softmax": Case(rows=37, cols=65),
    "col_sum": Case(rows=65, cols=37),
}


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_PIECE_BYTES", 1000)


@pytest.fixture(params=CASES, name="part")
def _part(request: pytest.FixtureRequest) -> Part:
    return PARTS[request.param]


def right(part: Part, case: Case) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Inputs, and results as they have to be, in the types of the part."""
    inputs = draw_inputs(part, case, seed=3)
    expected = reference_results(part, case, inputs)
    return inputs, {one.name: expected[one.name].to(torch_type(one, case.params)) for one in part.results}


@pytest.mark.parametrize(("name", "along"), CUT.items())
def test_a_part_is_cut_along_a_dimension_that_it_can_be_computed_along(name: str, along: str) -> None:
    assert dimension_to_cut(PARTS[name]) == along


@pytest.mark.parametrize("name", ["mse_grad", "linear_backward"])
def test_what_pieces_do_not_add_up_to_is_not_cut(name: str) -> None:
    """A mean divides by the whole, and a tolerance may go by what is no root of a sum of squares."""
    assert dimension_to_cut(PARTS[name]) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"reference": lambda x: x.reshape(8, 8).sum(), "groups": {"some": [Case(n=64)]}},
        {"groups": {"some": [Case(n=1), Case(n=2)]}},
    ],
    ids=["of a piece it fails", "no small case is long enough to tell"],
)
def test_what_nobody_saw_computed_in_pieces_is_not_cut(changes: dict[str, Any]) -> None:
    assert dimension_to_cut(dataclasses.replace(TOTAL, **changes)) is None


def test_pieces_say_what_a_comparison_at_once_says(part: Part) -> None:
    case = CASES[part.name]
    inputs, results = right(part, case)
    for tensor in results.values():
        tensor[tuple([0] * tensor.dim())] += 1.0
    whole, judged = compare(part, case, inputs, results), judge(part, case, inputs, results)
    assert len(list(pieces._pieces(part, case))) > 1
    assert (judged.checked, judged.wrong) == (whole.checked, whole.wrong)
    assert judged.wrong > 0
    assert judged.max_abs_error == pytest.approx(whole.max_abs_error)
    assert judged.max_rel_error == pytest.approx(whole.max_rel_error)
    assert judged.of_tolerance == pytest.approx(whole.of_tolerance)


def test_right_values_are_right_in_pieces(part: Part) -> None:
    case = CASES[part.name]
    judged = judge(part, case, *right(part, case))
    assert (judged.wrong, judged.first) == (0, None)


def test_the_first_wrong_value_has_its_place_in_the_whole_result() -> None:
    part, case = PARTS["transpose_tiled"], CASES["transpose_tiled"]
    inputs, results = right(part, case)
    (result,) = results.values()
    result[2, 31], result[64, 32] = -5.0, -7.0
    first = judge(part, case, inputs, results).first
    assert first is not None
    assert (first[0].name, first[1], first[3]) == (part.results[0].name, 2 * 33 + 31, -5.0)
    result[2, 31] = inputs["in"][31, 2]
    first = judge(part, case, inputs, results).first
    assert first is not None
    assert (first[0].name, first[1], first[3]) == (part.results[0].name, 64 * 33 + 32, -7.0)


def test_looks_at_single_values_are_judged_wherever_they_are(part: Part) -> None:
    case = CASES[part.name]
    inputs, results = right(part, case)
    name, result = next(iter(results.items()))
    places = torch.arange(result.numel()).flip(0)
    good = Look(name, places, result.flatten()[places])
    bad = [
        Look(name, places, good.values.index_fill(0, torch.tensor([at]), value))
        for at, value in ((0, 1e9), (result.numel() // 2, 1e9), (0, float("nan")))
    ]
    assert judge(part, case, inputs, results, [good, *bad]).wrong_looks == {1, 2, 3}
    assert judge(part, case, inputs, results, [good]).wrong_looks == set()


def test_no_number_is_right_where_none_is_expected() -> None:
    part, case = PARTS["vector_add"], CASES["vector_add"]
    inputs, results = right(part, case)
    for tensor in (inputs["a"], results["out"]):
        tensor[1000] = float("nan")
    judged = judge(part, case, inputs, results, [Look("out", torch.tensor([1000]), results["out"][1000:1001])])
    assert (judged.wrong, judged.wrong_looks) == (0, set())
