"""What wrong values look like, in words: each pattern on arrays that show it, and on near ones that must not."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.explain import Pattern, Values, find_pattern

RIGHT = torch.arange(1, 1001, dtype=torch.float64) ** 1.5
MATRIX = torch.arange(1.0, 65 * 33 + 1, dtype=torch.float64).reshape(65, 33) ** 1.25
SQUARE = torch.arange(1.0, 64 * 64 + 1, dtype=torch.float64).reshape(64, 64) ** 1.25


def pattern(got: torch.Tensor, expected: torch.Tensor, *, given: Any = None, **launch: Any) -> Pattern:
    flat_got, flat = got.flatten().double(), expected.flatten().double()
    wrong = ~((flat_got - flat).abs() <= 1e-6 * flat.abs())
    return find_pattern(Values(flat_got, flat, wrong, tuple(expected.shape), inputs=given or {}, **launch))


def words(got: torch.Tensor, expected: torch.Tensor, **launch: Any) -> str:
    return pattern(got, expected, **launch).words


def changed(right: torch.Tensor, *places: Any) -> torch.Tensor:
    """`right` with numbers at `places` that look like nothing in particular."""
    got = right.clone()
    for number, place in enumerate(places):
        generator = torch.Generator().manual_seed(number)
        got[place] += 3 + torch.rand(got[place].shape, generator=generator, dtype=torch.float64)
    return got


LINE = {"grid": (4, 1, 1), "block": (256, 1, 1)}
TILES = {"grid": (3, 5, 1), "block": (16, 16, 1)}
SQUARES = {"grid": (4, 4, 1), "block": (16, 16, 1)}


# ---- where ----


@pytest.mark.parametrize(
    ("got", "told"),
    [
        (changed(RIGHT, slice(768, None)), "the last block of 256 (elements 768 to 999)"),
        (changed(RIGHT, slice(769, None)), "the end, from element 769 on"),
        (changed(RIGHT, slice(0, 256)), "the first block of 256"),
        (changed(RIGHT, slice(0, 255)), "the beginning, up to element 254"),
        (changed(RIGHT, slice(256, None)), "all but the first block of 256"),
        (changed(RIGHT, slice(512, 768)), "one block of 256 (elements 512 to 767)"),
        (changed(RIGHT, slice(513, 768)), "elements 513 to 767"),
        (changed(RIGHT, slice(997, None)), "the end, from element 997 on"),
        (changed(RIGHT, slice(999, None)), "one element, 999"),
        (changed(RIGHT, slice(5, 9)), "elements 5 to 8"),
        (changed(RIGHT, slice(1, None)), "all but element 0"),
        (changed(RIGHT, slice(0, 7), slice(8, None)), "all but element 7"),
        (changed(RIGHT, slice(31, None, 32)), "one element in 32, from 31 on"),
        (changed(RIGHT, slice(31, 900, 32)), "only within one element in 32, from 31 on"),
        (changed(RIGHT, slice(2, None, 5)), "one element in 5, from 2 on"),
        (changed(RIGHT, slice(2, None, 4), slice(3, None, 4)), "the same in each group of 4 (its elements 2 to 3)"),
        (changed(RIGHT, slice(770, 990, 7)), "only within the last block of 256 (elements 768 to 999)"),
        (changed(RIGHT, slice(3, 90, 2), slice(91, 400, 7)), "spread over the whole result"),
        (changed(RIGHT, slice(None)), "all elements"),
    ],
)
def test_places_along_a_vector(got: torch.Tensor, told: str) -> None:
    assert words(got, RIGHT, **LINE) == told


def test_the_reason_tells_a_last_block_with_threads_to_spare_from_a_whole_one() -> None:
    assert "threads to spare" in pattern(changed(RIGHT, slice(768, None)), RIGHT, **LINE).why
    whole = RIGHT[:768]
    last = pattern(changed(whole, slice(512, None)), whole, grid=(3, 1, 1), block=(256, 1, 1))
    assert last.words == "the last block of 256 (elements 512 to 767)"
    assert "no thread to spare" in last.why
    rows = pattern(changed(SQUARE, slice(48, None)), SQUARE, **SQUARES)
    assert rows.words == "the last block row (rows 48 to 63)"
    assert "no edge is near" in rows.why


def test_an_end_longer_than_a_block_is_no_matter_of_what_is_left_over() -> None:
    assert "left over" in pattern(changed(RIGHT, slice(769, None)), RIGHT, **LINE).why
    assert "begin where the one before it ends" in pattern(changed(RIGHT, slice(300, None)), RIGHT, **LINE).why


def test_all_but_one_in_so_many() -> None:
    got = changed(RIGHT, slice(None))
    got[::32] = RIGHT[::32]
    assert words(got, RIGHT) == "all but one element in 32"
    got[1] = RIGHT[1]
    assert words(got, RIGHT) == "spread over the whole result"


def test_a_block_is_named_only_where_the_launch_has_it() -> None:
    got = changed(RIGHT, slice(768, None))
    assert words(got, RIGHT, grid=(1, 1, 1), block=(256, 1, 1)) == "the end, from element 768 on"
    assert words(got, RIGHT, grid=(8, 1, 1), block=(128, 1, 1)) == "the end, from element 768 on"
    assert words(got, RIGHT, grid=(4, 1, 1), block=(64, 1, 1)) == "the last block of 256 (elements 768 to 999)"


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ([slice(64, None)], "the last block row (row 64)"),
        ([slice(63, None)], "the rows from 63 on"),
        ([(slice(None), slice(32, None))], "the last block column (column 32)"),
        ([(slice(None), slice(31, None))], "the columns from 31 on"),
        ([slice(0, 16)], "the first block row (rows 0 to 15)"),
        ([slice(16, None)], "all but the first block row"),
        ([slice(16, 32)], "one block row (rows 16 to 31)"),
        ([(slice(None), slice(16, 32))], "one block column (columns 16 to 31)"),
        ([slice(15, None, 16)], "one row in 16, from 15 on"),
        ([(slice(None), slice(3, None, 8))], "one column in 8, from 3 on"),
        ([slice(1, None)], "all but row 0"),
        ([slice(5, 6)], "row 5"),
        ([(slice(None), slice(0, 1))], "column 0"),
        ([(slice(16, 32), slice(16, 32))], "one tile: rows 16 to 31, columns 16 to 31"),
        ([(slice(16, 32), slice(17, 33))], "rows 16 to 31; there, the columns from 17 on"),
        ([(slice(64, 65), slice(32, 33))], "one element, [64][32]"),
        (
            [slice(64, None), (slice(None), slice(32, None))],
            "the last block row (row 64), and the last block column (column 32)",
        ),
        ([slice(16, None), (slice(None), slice(16, None))], "all but the first tile of 16 × 16"),
        ([(slice(33, 47, 3), slice(1, 15, 4))], "only within one tile: rows 32 to 47, columns 0 to 15"),
        ([(slice(64, None), slice(3, 30, 4))], "only within the last block row (row 64)"),
        ([[3, 5, 20]], "whole rows, 3 of 65"),
        ([(slice(None), [3, 5, 20])], "whole columns, 3 of 33"),
    ],
)
def test_places_in_a_matrix(places: list[Any], told: str) -> None:
    assert words(changed(MATRIX, *places), MATRIX, **TILES) == told


def test_a_tile_is_named_only_where_the_launch_has_it() -> None:
    got = changed(MATRIX, (slice(16, 32), slice(16, 32)))
    assert words(got, MATRIX, grid=(1, 1, 1), block=(256, 1, 1)) == "rows 16 to 31; there, columns 16 to 31"
    assert words(got, MATRIX, grid=(2, 3, 1), block=(32, 32, 1)) == "rows 16 to 31; there, columns 16 to 31"


def test_diagonals_and_the_tiles_on_them() -> None:
    every = changed(SQUARE, slice(None))
    row, column = torch.arange(64)[:, None], torch.arange(64)[None, :]
    for told, where in {
        "the diagonal": row == column,
        "all but the diagonal": row != column,
        "below the diagonal": row > column,
        "above the diagonal": row < column,
        "all but the 16 × 16 tiles on the diagonal": row // 16 != column // 16,
    }.items():
        got = torch.where(where, every, SQUARE)
        assert words(got, SQUARE, **SQUARES) == told
        got[40, 41], got[41, 40], got[41, 41] = every[40, 41], every[41, 40], every[41, 41]
        got[0, 1] = SQUARE[0, 1] if where[0, 1] else every[0, 1]
        assert words(got, SQUARE, **SQUARES) == "spread over the whole result"


# ---- what stands there ----


@pytest.mark.parametrize(
    ("got", "told"),
    [
        (torch.zeros(1000), "everything is zero"),
        (2 * RIGHT, "twice the right value"),
        (RIGHT / 2, "half the right value"),
        (-RIGHT, "the right value with the wrong sign"),
        (RIGHT * 32, "32 times the right value (a warp)"),
        (RIGHT / 32, "the right value divided by 32 (a warp)"),
        (RIGHT * 1000, "1000 times the right value (n)"),
        (RIGHT * 3.25, "3.25 × the right value"),
        (RIGHT + 7, "too large by 7, everywhere the same"),
        (RIGHT - 0.5, "too small by 0.5, everywhere the same"),
        (RIGHT.roll(1), "shifted by 1: element i holds what belongs to i − 1"),
        (RIGHT.roll(-1), "shifted by 1: element i holds what belongs to i + 1"),
        (RIGHT.roll(256), "shifted by 256: element i holds what belongs to i − 256"),
        (RIGHT.flip(0), "in reverse order"),
        (RIGHT.reshape(-1, 2).flip(1), "neighbours are exchanged: 0 with 1, 2 with 3"),
        (RIGHT.reshape(-1, 4).flip(1), "each group of 4 is in reverse order"),
        (RIGHT.reshape(-1, 8)[:, :1].expand(-1, 8), "each group of 8 holds what belongs to its first element"),
        (RIGHT[17].expand(1000), "every wrong element holds what belongs to element 17"),
        (torch.full((1000,), 0.25), "every wrong element is 0.25"),
        (RIGHT.floor(), "the right value as a whole number, without its fraction"),
        (RIGHT.sqrt(), "the square root of the right value"),
        (RIGHT**2, "the square of the right value"),
        (1 / RIGHT, "1 divided by the right value"),
        (RIGHT.cumsum(0), "a running sum: each element also holds all those before it"),
    ],
)
def test_what_stands_in_a_vector(got: torch.Tensor, told: str) -> None:
    assert words(got, RIGHT, scalars={"n": 1000}) == told
    near = got.reshape(1000).clone()
    near[::3] += 1 + torch.arange(334).remainder(5)
    assert words(near, RIGHT, scalars={"n": 1000}) != told


def test_a_sign_that_is_lost() -> None:
    right = RIGHT - 9000
    assert words(right.abs(), right) == "the right value without its sign"
    mixed = RIGHT * torch.cos(torch.arange(1000))
    assert words(mixed.abs(), mixed) == "the right value without its sign"


def test_place_and_value_are_told_together() -> None:
    got = RIGHT.clone()
    got[768:] = 0
    told = pattern(got, RIGHT, **LINE)
    assert told.words == "the last block of 256 (elements 768 to 999): every wrong element is 0"
    assert "threads to spare" in told.why
    got[768:] = 2 * RIGHT[768:]
    assert "added twice" in pattern(got, RIGHT, **LINE).why


def test_right_values_that_fit_by_chance_do_not_hide_that_it_is_everywhere() -> None:
    right = RIGHT.clone()
    right[::4] = 0
    assert words(2 * right, right) == "twice the right value"
    assert words(torch.zeros(1000), right) == "everything is zero"


def test_inputs_and_what_is_made_of_them() -> None:
    a, b = RIGHT.sin() + 3, RIGHT.cos() + 5
    given = {"a": a, "b": b}
    for got, told in {
        a: "equals the input a",
        a - b: "equals a − b",
        b - a: "equals b − a",
        a * b: "equals a × b",
        b / a: "equals b / a",
        a + b + b: "the right value plus the input b",
    }.items():
        assert words(got, a + b, given=given) == told
        assert words(got + 1e-3 * torch.arange(1000), a + b, given=given) == "all elements"
    bias = torch.arange(33.0, dtype=torch.float64) + 1
    assert words(MATRIX, MATRIX + bias, given={"bias": bias}) == "the right value minus the input bias"


def test_moves_in_a_matrix() -> None:
    row, column = torch.arange(65)[:, None], torch.arange(33)[None, :]
    for got, told in {
        SQUARE.T: "rows and columns are exchanged",
        SQUARE.roll(-1, 0): "row r holds what belongs to row r + 1",
        SQUARE.roll(2, 1): "column c holds what belongs to column c − 2",
        SQUARE.roll((1, -1), (0, 1)): "row r, column c holds what belongs to row r − 1, column c + 1",
        SQUARE[3].expand(64, 64): "every row holds what belongs to row 3",
        SQUARE[:, 5:6].expand(64, 64): "every column holds what belongs to column 5",
        SQUARE.cumsum(1): "a running sum along each row",
        SQUARE.cumsum(0): "a running sum down each column",
    }.items():
        assert words(got, SQUARE, **SQUARES) == told
        near = got.clone()
        near[5, 7] += 1
        near[50, 7] += 1
        assert told not in words(near, SQUARE, **SQUARES)
    assert words(MATRIX.T.reshape(65, 33), MATRIX) == "the right values, stored column by column"
    assert words(MATRIX[(row + 1) % 65, column], MATRIX) == "row r holds what belongs to row r + 1"


def test_a_transpose_that_is_done_by_half() -> None:
    given = torch.arange(64.0 * 96, dtype=torch.float64).reshape(64, 96) ** 1.25
    right = given.T.contiguous()
    tiles = given.reshape(4, 16, 6, 16).permute(2, 1, 0, 3).reshape(96, 64)  # [J, i, I, j]: not turned inside
    launch = {"grid": (6, 4, 1), "block": (16, 16, 1)}
    assert words(tiles, right, **launch) == "each 16 × 16 tile lies at its right place, and is not transposed in itself"
    assert words(given.reshape(96, 64), right, given={"in": given}, **launch) == "equals the input in"
    inside = SQUARE.reshape(4, 16, 4, 16).permute(0, 3, 2, 1).reshape(64, 64)
    assert words(inside, SQUARE.T.contiguous(), **SQUARES) == (
        "each 16 × 16 tile is right in itself, and lies at the place of the tile across the diagonal"
    )


def test_values_that_repeat_prove_no_move() -> None:
    whole = torch.arange(1000, dtype=torch.float64) % 3 + 1
    assert words(changed(whole, slice(10, 12)).round(), whole) == "elements 10 to 11"
    got = whole.clone()
    got[500] = whole[501]
    assert words(got, whole) == "one element, 500"
    got = RIGHT.clone()
    got[500] = RIGHT[501]
    assert words(got, RIGHT) == "shifted by 1: element i holds what belongs to i + 1"


def test_numbers_that_are_none_are_told_by_their_place_only() -> None:
    got = RIGHT.clone()
    got[768:] = torch.nan
    assert words(got, RIGHT, **LINE) == "the last block of 256 (elements 768 to 999)"
    got[768:] = torch.inf
    assert words(got, RIGHT, **LINE) == "the last block of 256 (elements 768 to 999): every wrong element is inf"


@pytest.mark.parametrize("shape", [(1,), (2,), (1, 1), (2, 1), (1, 2), (2, 2), (3, 1, 2), (2, 3, 4)])
def test_the_smallest_results_have_a_pattern(shape: tuple[int, ...]) -> None:
    right = torch.rand(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64) + 1
    count = right.numel()
    for places in range(1, 1 << min(count, 6)):
        mask = torch.tensor([places >> place & 1 for place in range(count)], dtype=torch.bool).reshape(shape)
        got = torch.where(mask, right + 0.1 * torch.arange(1, count + 1).reshape(shape), right)
        assert words(got, right, grid=(2, 2, 1), block=(2, 1, 1))
        assert words(torch.where(mask, torch.zeros(()), right), right)
