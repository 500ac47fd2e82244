"""Inputs, poison, and the comparison with the reference: what is right, and what kind of wrong."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from grader.compare import Comparison, compare, reference_results
from grader.inputs import GENERATORS, derived_seed, draw_inputs, memory_for, poisoned
from grader.puzzle import (
    Case,
    DTypeBy,
    In,
    InOut,
    Out,
    Part,
    PuzzleError,
    Scalar,
    Tolerance,
    Work,
    bf16,
    f16,
    f32,
    f64,
    i32,
)

CASE = Case(n=64)


def sum_part(**changes: Any) -> Part:
    given: dict[str, Any] = {
        "params": [In("a", f32, "n"), In("b", f32, "n"), Out("out", f32, "n"), Scalar("n", i32)],
        "reference": lambda a, b: a + b,
        "groups": {"all": [CASE]},
        "bench": CASE,
        "work": lambda n: Work(12 * n, n),
        "tolerance": Tolerance(2.0**-22, why="one rounding"),
        "lesson": "Add.",
    }
    return Part("add", **(given | changes))


OF_ANOTHER_INPUT = {"mean_of_x", "rstd_of_x"}


def judged(
    part: Part, got: torch.Tensor, inputs: dict[str, torch.Tensor] | None = None, case: Case = CASE
) -> Comparison:
    return compare(part, case, inputs or draw_inputs(part, case, 1), {part.results[0].name: got})


# ---- inputs ----


def test_inputs_repeat_by_seed_and_differ_by_seed_buffer_and_case() -> None:
    part = sum_part()
    first, again, other = (draw_inputs(part, CASE, seed) for seed in (1, 1, 2))
    assert torch.equal(first["a"], again["a"])
    assert not torch.equal(first["a"], other["a"])
    assert not torch.equal(first["a"], first["b"])
    assert not torch.equal(draw_inputs(part, Case(n=65), 1)["a"][:64], first["a"])
    assert derived_seed(1, 1) != derived_seed(2, 1)


@pytest.mark.parametrize("dtype", [f32, f16, bf16, f64])
@pytest.mark.parametrize("name", sorted(set(GENERATORS) - OF_ANOTHER_INPUT))
def test_every_generator_fills_every_type(name: str, dtype: Any) -> None:
    part = sum_part(
        params=[In("a", dtype, "n", 3), Out("out", dtype, "n", 3), Scalar("n", i32)],
        reference=lambda a: a,
        default_inputs=name,
    )
    for n in (0, 1, 64):
        tensor = draw_inputs(part, Case(n=n), 3)["a"]
        assert tensor.shape == (n, 3)
        assert bool(tensor.isnan().any()) is (name == "not_a_number" and n > 0)


def test_generators_are_what_their_names_say() -> None:
    part = sum_part()

    def drawn(**inputs: str) -> dict[str, torch.Tensor]:
        return draw_inputs(part, Case(n=4096, inputs=inputs), 5)

    assert drawn(a="large_offset")["a"].mean() > 900
    assert drawn(a="far_below")["a"].exp().max() == 0
    denormals = drawn(a="denormals")["a"]
    assert (denormals.abs() < torch.finfo(torch.float32).smallest_normal).all()
    assert (denormals != 0).all()
    cancelling = drawn(b="cancelling")
    assert ((cancelling["a"] + cancelling["b"]).abs() <= 1e-4 * cancelling["a"].abs()).all()
    alike = drawn(b="alike")
    assert ((alike["a"] - alike["b"]).abs() <= 1e-4 * alike["a"].abs()).all()
    assert drawn(a="mixed_magnitudes")["a"].abs().max() > 1e5
    assert drawn(a="minus_infinity_mask")["a"].isinf().any()
    negative = drawn(a="negative")["a"]
    assert (negative < 0).all()
    small = drawn(a="small")["a"].square().mean()
    assert 1e-5 < small < 2e-5
    squares = drawn(a="overflowing_half")["a"].half().square()
    assert squares.isinf().all()
    assert drawn(a="overflowing_half")["a"].half().isfinite().all()
    beyond = drawn(a="beyond_half")["a"]
    assert beyond.half().isinf().all()
    assert beyond.square().isfinite().all()
    assert drawn(a="not_a_number")["a"].isnan().all()
    assert (drawn(a="zeros")["a"] == 0).all()
    integers = drawn(a="integers")["a"]
    assert torch.equal(integers, integers.round())


def test_statistics_are_those_of_the_rows_drawn_before() -> None:
    buffers = [In("x", f32, "n", 40), In("mean", f32, "n"), In("rstd", f32, "n"), Out("out", f32, "n", 40)]
    saved = {"mean": "mean_of_x", "rstd": "rstd_of_x"}
    part = sum_part(params=[*buffers, Scalar("n", i32)], reference=lambda x: x, default_inputs=saved)
    drawn = draw_inputs(part, Case(n=64, inputs={"x": "large_offset"}), 5)
    x = drawn["x"].double()
    _, mean, rstd = torch.ops.aten.native_layer_norm(x, [40], None, None, 1e-5)
    assert torch.equal(drawn["mean"], mean.flatten().float())
    torch.testing.assert_close(drawn["rstd"], rstd.flatten().float(), rtol=2.0**-22, atol=0)
    assert draw_inputs(part, Case(n=0), 5)["rstd"].shape == (0,)


def test_an_input_can_be_computed_from_those_before_it_and_from_scalars() -> None:
    buffers = [In("a", f16, "n"), In("b", f32, "n"), Out("out", f32, "n")]
    part = sum_part(
        params=[*buffers, Scalar("n", i32), Scalar("scale", f32)],
        reference=lambda a: a,
        groups={"one": [Case(n=7, scale=0.1)]},
        bench=Case(n=7, scale=0.1),
        default_inputs={"b": lambda a, scale: a * scale},
    )
    drawn = draw_inputs(part, Case(n=7, scale=0.1), 5)
    assert torch.equal(drawn["b"], (drawn["a"].double() * float(torch.tensor(0.1))).float())


def test_one_input_alone_cancels_within_its_rows() -> None:
    part = sum_part(params=[In("a", f32, "n", 33), Out("out", f32, "n", 33), Scalar("n", i32)], reference=lambda a: a)
    rows = draw_inputs(part, Case(n=8, inputs={"a": "cancelling"}), 3)["a"]
    assert (rows[:, :32].sum(1).abs() <= 1e-4 * rows[:, :32].abs().sum(1)).all()
    assert (rows != 0).all()


def test_rows_rise_or_have_one_huge_value() -> None:
    part = sum_part(params=[In("a", f32, "n", 33), Out("out", f32, "n", 33), Scalar("n", i32)], reference=lambda a: a)
    rising, huge = (draw_inputs(part, Case(n=8, inputs={"a": name}), 3)["a"] for name in ("rising", "one_huge"))
    assert (rising.diff(dim=1) > 0).all()
    assert (huge.sort(1).values[:, -1] >= 100).all()
    assert (huge.sort(1).values[:, :-1] < 10).all()


def test_the_first_row_outweighs_all_others() -> None:
    part = sum_part(params=[In("a", f32, "n", 33), Out("out", f32, "n", 33), Scalar("n", i32)], reference=lambda a: a)
    rows = draw_inputs(part, Case(n=8, inputs={"a": "first_row"}), 3)["a"]
    assert rows[0].eq(1).all()
    assert rows[1:].eq(0).all()
    assert draw_inputs(part, Case(n=0, inputs={"a": "first_row"}), 3)["a"].numel() == 0


def test_constant_rows_are_constant() -> None:
    part = sum_part(
        params=[In("a", f32, "n", 8), Out("out", f32, "n", 8), Scalar("n", i32)],
        reference=lambda a: a,
        default_inputs="constant_rows",
    )
    rows = draw_inputs(part, CASE, 1)["a"]
    assert (rows == rows[:, :1]).all()
    assert len(set(rows[:, 0].tolist())) > 60


@pytest.mark.parametrize(("chosen", "largest"), [(0, torch.finfo(torch.float32).max), (1, 65_504.0)])
def test_what_a_scalar_makes_of_a_buffer_is_drawn_and_compared_as_such(chosen: int, largest: float) -> None:
    kind = DTypeBy("dtype", (f32, f16))
    part = sum_part(
        params=[InOut("a", kind, "n"), In("b", kind, "n"), Scalar("n", i32), Scalar("dtype", i32)],
        groups={"all": [Case(n=64, dtype=0)]},
        bench=Case(n=64, dtype=0),
    )
    case = Case(n=64, dtype=chosen)
    inputs = {name: torch.full_like(tensor, largest) for name, tensor in draw_inputs(part, case, 1).items()}
    too_large = torch.full_like(inputs["a"], math.inf)
    assert judged(part, too_large, inputs, case).wrong == 0
    assert judged(part, inputs["a"], inputs, case).wrong == 64


def test_an_unknown_generator_is_the_authors_mistake() -> None:
    with pytest.raises(PuzzleError, match="no generator"):
        draw_inputs(sum_part(default_inputs="gaussian"), CASE, 1)


def test_results_come_poisoned_another_way_each_run() -> None:
    memory, later = memory_for(sum_part(), CASE, 1, 0), memory_for(sum_part(), CASE, 1, 1)
    assert memory["out"].isnan().all()
    assert not torch.equal(memory["out"].view(torch.int32), later["out"].view(torch.int32))
    for dtype in (f16, bf16, f32, f64):
        assert poisoned(Out("o", dtype, 4), CASE).isnan().all()
    assert poisoned(Out("o", i32, 4), CASE).dtype == torch.int32


# ---- right ----


def test_a_float_sum_is_right_and_every_element_is_checked() -> None:
    part = sum_part()
    inputs = draw_inputs(part, CASE, 1)
    comparison = judged(part, inputs["a"] + inputs["b"], inputs)
    assert (comparison.checked, comparison.wrong, comparison.first_wrong()) == (64, 0, None)
    assert 0 < comparison.max_rel_error <= 2.0**-24


@pytest.mark.parametrize("generator", ["denormals", "cancelling", "mixed_magnitudes", "large_offset"])
def test_a_float_sum_is_right_on_adversarial_inputs(generator: str) -> None:
    case = Case(n=4096, inputs={"b": generator})
    inputs = draw_inputs(sum_part(), case, 2)
    assert judged(sum_part(), inputs["a"] + inputs["b"], inputs, case).wrong == 0


def test_the_same_infinity_and_expected_nan_are_right() -> None:
    inputs = {"a": torch.tensor([3e38, -math.inf, math.inf, 1.0]), "b": torch.tensor([3e38, 1.0, -math.inf, 1.0])}
    got = torch.tensor([math.inf, -math.inf, math.nan, 2.0])
    assert judged(sum_part(), got, inputs, Case(n=4)).wrong == 0


def test_nothing_to_check_is_right() -> None:
    assert judged(sum_part(), torch.empty(0), case=Case(n=0)).checked == 0


def test_references_see_scalars_and_several_results() -> None:
    part = sum_part(
        params=[InOut("w", f32, "n"), Out("total", f32), Scalar("lr", f32), Scalar("n", i32)],
        reference=lambda w, lr: (w * lr, w.sum()),
        groups={"all": [Case(n=2, lr=0.5)]},
        bench=Case(n=2, lr=0.5),
    )
    case = Case(n=2, lr=0.5)
    inputs = {"w": torch.tensor([1.0, 3.0])}
    assert compare(part, case, inputs, {"w": torch.tensor([0.5, 1.5]), "total": torch.tensor(4.0)}).wrong == 0


@pytest.mark.parametrize("reference", [lambda a, b: (a, b), lambda a: a.sum()])
def test_a_reference_of_another_shape_is_the_authors_mistake(reference: Any) -> None:
    part = sum_part(reference=reference)
    with pytest.raises(PuzzleError):
        reference_results(part, CASE, draw_inputs(part, CASE, 1))


def total_part(**changes: Any) -> Part:
    """One sum of n floats; its rounding is measured by the root of the sum of squares."""
    return sum_part(
        params=[In("a", f32, "n"), Out("out", f32, 1), Scalar("n", i32)],
        reference=lambda a: a.sum().reshape(1),
        tolerance=Tolerance(2.0**-18, scale=lambda a: a.square().sum().sqrt().reshape(1), why="n roundings"),
        **changes,
    )


@pytest.mark.parametrize(("off", "wrong"), [(2.0**-19, 0), (2.0**-17, 1)])
def test_a_scale_measures_the_error_where_terms_cancel(off: float, wrong: int) -> None:
    inputs = {"a": torch.tensor([3000.0, -3000.0, 4000.0, -4000.0])}
    got = torch.tensor([off * math.sqrt(2) * 5000])
    assert judged(total_part(), got, inputs, Case(n=4)).wrong == wrong


def test_a_scale_of_another_shape_is_the_authors_mistake() -> None:
    part = sum_part(tolerance=Tolerance(0.0, scale=lambda a: a.sum(), why="none"))
    with pytest.raises(PuzzleError, match="shape"):
        judged(part, torch.zeros(64))


# ---- wrong ----


@pytest.mark.parametrize("trick", ["zeros", "input", "mean", "poison"])
def test_what_is_not_computed_is_wrong(trick: str) -> None:
    part = sum_part()
    inputs = draw_inputs(part, CASE, 1)
    right = inputs["a"] + inputs["b"]
    got = {
        "zeros": torch.zeros(64),
        "input": inputs["a"],
        "mean": torch.full((64,), float(right.mean())),
        "poison": poisoned(part.results[0], CASE),
    }[trick]
    assert judged(part, got, inputs).wrong == 64


def test_the_first_wrong_element_and_the_errors_are_told() -> None:
    part = sum_part(params=[In("a", f32, "n", 2), Out("out", f32, "n", 2), Scalar("n", i32)], reference=lambda a: 2 * a)
    got = torch.tensor([[2.0, 4.0], [6.0, 9.0]])
    comparison = judged(part, got, {"a": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}, Case(n=2))
    wrong = comparison.first_wrong()
    assert wrong is not None
    assert (wrong.first, wrong.count, wrong.max_abs_error, wrong.max_rel_error) == (3, 1, 1.0, 0.125)
    assert wrong.narrow is None


@pytest.mark.parametrize(("got", "expected"), [(math.inf, 1.0), (math.nan, 1.0), (-math.inf, math.inf)])
def test_what_is_not_finite_is_infinitely_wrong(got: float, expected: float) -> None:
    comparison = judged(
        sum_part(), torch.tensor([got]), {"a": torch.tensor([expected]), "b": torch.zeros(1)}, Case(n=1)
    )
    assert comparison.wrong == 1
    assert comparison.max_abs_error == math.inf
    wrong = comparison.first_wrong()
    assert wrong is not None
    assert bool(wrong.not_a_number[0]) is math.isnan(got)


def test_one_unit_in_the_last_place_is_within_and_half_precision_outside_the_tolerance() -> None:
    inputs = draw_inputs(sum_part(), CASE, 1)
    right = inputs["a"] + inputs["b"]
    assert judged(sum_part(), torch.nextafter(right, torch.tensor(9.0)), inputs).wrong == 0
    assert judged(sum_part(), right.half().float(), inputs).wrong > 50


@pytest.mark.parametrize(("dtype", "name"), [(torch.float16, "half"), (torch.bfloat16, "bfloat16")])
@pytest.mark.parametrize("where", ["inputs", "everywhere", "result"])
def test_narrower_arithmetic_is_recognised(dtype: torch.dtype, name: str, where: str) -> None:
    inputs = draw_inputs(sum_part(), CASE, 1)
    a, b = inputs["a"], inputs["b"]
    got = {
        "inputs": a.to(dtype).float() + b.to(dtype).float(),
        "everywhere": (a.to(dtype) + b.to(dtype)).float(),
        "result": (a + b).to(dtype).float(),
    }[where]
    wrong = judged(sum_part(), got, inputs).first_wrong()
    assert wrong is not None
    assert wrong.narrow is not None
    assert wrong.narrow.name == name


def row_sums(terms: int) -> Part:
    return sum_part(
        params=[In("x", f32, "n", terms), Out("out", f32, "n"), Scalar("n", i32)],
        reference=lambda x: x.sum(1),
        tolerance=Tolerance(2.0**-22, terms * 2.0**-20, why="as many roundings as terms"),
    )


@pytest.mark.parametrize(("dtype", "name"), [(torch.float16, "half"), (torch.bfloat16, "bfloat16")])
@pytest.mark.parametrize("terms", [16, 200, 4096])
def test_a_long_sum_in_a_narrower_type_is_recognised_whatever_its_order(
    dtype: torch.dtype, name: str, terms: int
) -> None:
    inputs = draw_inputs(row_sums(terms), CASE, 1)
    total = torch.zeros(64, dtype=dtype)
    for column in inputs["x"].to(dtype).T:
        total += column
    wrong = judged(row_sums(terms), total.float(), inputs).first_wrong()
    assert wrong is not None
    assert wrong.narrow is not None
    assert wrong.narrow.name == name


def added_up(terms: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The sum, kept in `dtype` from term to term."""
    total = torch.zeros(1, dtype=dtype)
    for term in terms.to(dtype):
        total = total + term
    return total.float()


@pytest.mark.parametrize(("dtype", "name"), [(torch.float16, "half"), (torch.bfloat16, "bfloat16")])
def test_a_sum_kept_in_a_narrower_type_is_recognised(dtype: torch.dtype, name: str) -> None:
    inputs = draw_inputs(total_part(), Case(n=1000), 4)
    wrong = judged(total_part(), added_up(inputs["a"], dtype), inputs, Case(n=1000)).first_wrong()
    assert wrong is not None
    assert wrong.narrow is not None
    assert wrong.narrow.name == name


def test_whole_numbers_that_miss_a_term_are_not_called_imprecise() -> None:
    part, case = row_sums(200), Case(n=64, inputs={"x": "integers"})
    inputs = draw_inputs(part, case, 1)
    wrong = judged(part, inputs["x"][:, 1:].sum(1), inputs, case).first_wrong()
    assert wrong is not None
    assert wrong.narrow is None


@pytest.mark.parametrize("generator", ["normal", "integers", "large_offset", "mixed_magnitudes"])
@pytest.mark.parametrize("seed", range(4))
def test_a_sum_without_its_last_term_is_not_called_imprecise(generator: str, seed: int) -> None:
    case = Case(n=257, inputs={"a": generator})
    inputs = draw_inputs(total_part(), case, seed)
    inputs["a"][-1] = 5 * inputs["a"][0].abs().ceil() + 1
    wrong = judged(total_part(), inputs["a"][:-1].sum().reshape(1), inputs, case).first_wrong()
    assert wrong is not None
    assert wrong.narrow is None


@pytest.mark.parametrize("factor", [1 + 1e-3, 1 + 2.0**-11, 0.999, 2.0, -1.0])
def test_values_that_are_only_about_right_are_not_called_imprecise(factor: float) -> None:
    inputs = draw_inputs(sum_part(), CASE, 1)
    wrong = judged(sum_part(), (inputs["a"] + inputs["b"]) * factor, inputs).first_wrong()
    assert wrong is not None
    assert wrong.narrow is None


def test_integers_are_compared_exactly() -> None:
    part = sum_part(
        params=[In("a", i32, "n"), In("b", i32, "n"), Out("out", i32, "n"), Scalar("n", i32)],
        tolerance=Tolerance(0, why="exact"),
    )
    inputs = draw_inputs(part, CASE, 1)
    assert judged(part, inputs["a"] + inputs["b"], inputs).wrong == 0
    assert judged(part, inputs["a"] + inputs["b"] + 1, inputs).wrong == 64


def test_zeros_alone_tell_of_no_narrower_type() -> None:
    """Numbers far below what a half holds are 0 as halves; so they are to an operation that flushes them."""
    tiny = {name: torch.full((64,), 2.0**-140) for name in ("a", "b")}
    (flushed,) = judged(sum_part(), torch.zeros(64), tiny).buffers
    assert flushed.count == 64
    assert flushed.narrow is None
