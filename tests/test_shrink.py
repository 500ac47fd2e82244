"""The smallest case that still fails: found by trying, said only as far as it was tried."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from grader.puzzle import Case, In, Number, Out, Part, PuzzleError, Scalar, Tolerance, Work, f32, i32
from grader.shrink import shrink, smaller_cases
from grader.shrunk import Shrunk, told


def part(names: str, *cases: Case, valid: Callable[..., bool] | None = None) -> Part:
    """A part whose inputs have the sizes `names`, one letter each, and a number that is no size."""
    return Part(
        "part",
        params=[
            *(In(f"in_{name}", f32, name) for name in names),
            Out("out", f32, names[0]),
            *(Scalar(name, i32) for name in names),
            Scalar("eps", f32),
        ],
        reference=lambda: None,
        groups={"all": cases},
        bench=cases[-1],
        work=lambda: Work(0, 0),
        tolerance=Tolerance(0, why="for a test"),
        lesson="",
        valid=valid,
    )


def sizes(**values: Number) -> Case:
    return Case.of({**values, "eps": 0.5})


VECTOR = part("n", *(sizes(n=n) for n in (1, 31, 257, 1024, 300_007, 0)))
GEMM = part("MNK", sizes(M=1, N=1, K=1), sizes(M=65, N=33, K=17), sizes(M=128, N=64, K=256), sizes(M=0, N=8, K=8))


class Kernel:
    """A probe that fails with "wrong_values" where `fails` says so, and remembers what it was asked."""

    def __init__(self, fails: Callable[..., bool], kind: str = "wrong_values") -> None:
        self.fails, self.kind = fails, kind
        self.asked: list[dict[str, Number]] = []

    def __call__(self, case: Case) -> str | None:
        assert case.params not in self.asked
        self.asked.append(dict(case.params))
        return self.kind if self.fails(**{name: case.params[name] for name in case.params if name != "eps"}) else None


def searched(of: Part, case: Case, fails: Callable[..., bool], **options: object) -> tuple[Shrunk | None, Kernel]:
    kernel = Kernel(fails)
    return shrink(of, case, "wrong_values", kernel, **options), kernel  # type: ignore[arg-type]


def words(of: Part, case: Case, fails: Callable[..., bool]) -> str:
    shrunk, _ = searched(of, case, fails)
    return told(shrunk) if shrunk is not None else ""


@pytest.mark.parametrize(
    ("fails", "smallest", "said"),
    [
        (lambda n: n > 256, 257, "From n = 257 on; n = 256 passes."),
        (lambda n: n > 100, 101, "From n = 101 on; n = 100 passes."),
        (lambda n: n > 262_144, 262_145, "From n = 262145 on; n = 262144 passes."),
        (lambda n: n >= 33 and n % 32 != 0, 33, "From n = 33 on; multiples of 32 pass."),
        (lambda n: n % 2 == 0, 2, "n = 2 fails, n = 1 passes."),
        (lambda n: n == 257, 257, "n = 257 fails, n = 256 passes."),
        (lambda n: n % 32 == 1 and n > 32, 33, "n = 33 fails, n = 32 passes."),
        (lambda n: n not in (1024, 2048), 1, "A smaller case fails in the same way: n = 1, eps = 0.5."),
        (lambda n: True, 1, "A smaller case fails in the same way: n = 1, eps = 0.5."),
    ],
)
def test_one_size(fails: Callable[..., bool], smallest: int, said: str) -> None:
    case = sizes(n=257 if fails(n=257) else 300_008 - 300_008 % 2 if fails(n=300_008) else 300_007)
    shrunk, _ = searched(VECTOR, case, fails)
    assert shrunk is not None
    assert shrunk.case.params == {"n": smallest, "eps": 0.5}
    assert told(shrunk).startswith(said)


def test_multiples_that_alone_pass_are_told_where_one_is_known_to() -> None:
    shrunk, _ = searched(VECTOR, sizes(n=257), lambda n: n % 4 != 0, right=[sizes(n=1024)])
    assert shrunk is not None
    assert told(shrunk).startswith("It passes only where n is a multiple of 4.")


def test_several_sizes_shrink_together_and_then_one_by_one() -> None:
    shrunk, kernel = searched(GEMM, sizes(M=65, N=33, K=17), lambda M, N, K: M > 32 and M % 32 != 0)  # noqa: N803
    assert shrunk is not None
    assert shrunk.case.params == {"M": 33, "N": 1, "K": 1, "eps": 0.5}
    assert told(shrunk) == (
        "From M = 33 on; multiples of 32 pass. The smallest case that fails: M = 33, N = 1, K = 1, eps = 0.5."
    )
    assert len(kernel.asked) <= 150


def test_each_size_that_matters_is_told() -> None:
    right = [sizes(M=16, N=1, K=1)]
    shrunk, _ = searched(GEMM, sizes(M=65, N=33, K=17), lambda M, N, K: M % 16 != 0 and K > 16, right=right)  # noqa: N803
    assert shrunk is not None
    said = told(shrunk)
    assert said.startswith(
        "It passes only where M is a multiple of 16. From K = 17 on; K = 16 passes. The smallest case"
    )


def test_a_case_that_is_the_smallest_is_not_said_twice() -> None:
    assert words(VECTOR, sizes(n=1), lambda n: True) == ""
    assert words(VECTOR, sizes(n=257), lambda n: n > 256) == "From n = 257 on; n = 256 passes. " + (
        "The smallest case that fails: n = 257, eps = 0.5."
    )


def test_nothing_to_do_is_no_smaller_case() -> None:
    shrunk, kernel = searched(VECTOR, sizes(n=31), lambda n: True)
    assert shrunk is not None
    assert shrunk.case.params["n"] == 1
    assert not [params for params in kernel.asked if params["n"] == 0]


def test_another_kind_of_fault_is_not_the_same_failure() -> None:
    def probe(case: Case) -> str | None:
        return "wrong_values" if case.params["n"] > 31 else "out_of_bounds_read"

    shrunk = shrink(VECTOR, sizes(n=257), "wrong_values", probe)
    assert shrunk is not None
    assert shrunk.case.params["n"] == 32
    assert shrunk.sizes == ()
    assert shrunk.passed == ()


@pytest.mark.parametrize(
    "fails",
    [
        lambda n: n > 32 and n % 32 != 0 and n != 64,  # right
        lambda n: n > 32 and (n % 32 != 0 or n == 64),  # a multiple fails
        lambda n: n > 32 and (n % 32 != 0 or n == 96),
        lambda n: n > 32 and n % 32 != 0 and n != 34,  # one that is no multiple passes
        lambda n: n in (33, 34),
    ],
)
def test_what_is_said_of_sizes_was_run(fails: Callable[..., bool]) -> None:
    shrunk, kernel = searched(VECTOR, sizes(n=33), fails)
    assert shrunk is not None
    (seen,) = shrunk.sizes
    assert {"n": seen.passes, "eps": 0.5} in kernel.asked
    if seen.multiple:
        multiples = [params["n"] for params in kernel.asked if params["n"] % seen.multiple == 0]
        assert len(multiples) >= 3
        assert not any(fails(n=n) for n in multiples)
        assert len([n for n in multiples if n > seen.fails]) >= 2
    if seen.from_here:
        above = [params["n"] for params in kernel.asked if params["n"] > seen.fails]
        assert all(fails(n=n) for n in above if not seen.multiple or n % seen.multiple)
    assert all({**params} in kernel.asked and not fails(n=params["n"]) for params in shrunk.passed)


def test_multiples_are_claimed_only_where_they_all_pass() -> None:
    assert "multiples of 32" in words(VECTOR, sizes(n=33), lambda n: n > 32 and n % 32 != 0)
    assert "multiples of 128" in words(VECTOR, sizes(n=33), lambda n: n > 32 and (n % 32 != 0 or n == 64))
    assert "multiples" not in words(VECTOR, sizes(n=33), lambda n: n > 32 and (n % 32 != 0 or n % 96 == 0))
    assert "From" not in words(VECTOR, sizes(n=33), lambda n: n > 32 and n % 32 != 0 and n != 34)


def test_the_case_that_failed_first_agrees_with_what_is_said() -> None:
    """Rows are shared out by a quotient that is rounded down: 18 and 34 pass, 1000 does not."""

    def fails(n: int) -> bool:
        blocks = -(-n // 16)
        return n // blocks * blocks != n

    assert words(VECTOR, sizes(n=1000), fails).startswith("n = 17 fails, n = 16 passes.")
    assert words(VECTOR, sizes(n=300_006), lambda n: n > 32 and (n % 2 == 1 or n > 4000)).startswith("n = 33 fails")
    assert "From" not in words(VECTOR, sizes(n=3003), lambda n: n > 32 and not 1000 < n < 3000)


def test_sizes_that_have_to_be_equal_are_told_as_such() -> None:
    said = words(GEMM, sizes(M=65, N=33, K=17), lambda M, N, K: N != K)  # noqa: N803
    assert said.startswith("It passes only where N = K: is one taken for the other?")
    by_chance = words(GEMM, sizes(M=65, N=33, K=17), lambda M, N, K: K not in (2, 9))  # noqa: N803
    assert "passes" not in by_chance


# ---- what sizes there may be ----


def test_what_all_cases_have_in_common_is_kept() -> None:
    halves = part("MN", sizes(M=16, N=64), sizes(M=48, N=64), sizes(M=128, N=64))
    shrunk, kernel = searched(halves, sizes(M=128, N=64), lambda M, N: M > 16)  # noqa: N803
    assert shrunk is not None
    assert shrunk.case.params == {"M": 32, "N": 64, "eps": 0.5}
    assert all(params["M"] % 16 == 0 for params in kernel.asked)
    assert {params["N"] for params in kernel.asked} == {64}


def test_sizes_that_are_always_equal_stay_equal() -> None:
    square = part("MN", sizes(M=8, N=8), sizes(M=33, N=33), sizes(M=100, N=100))
    shrunk, kernel = searched(square, sizes(M=100, N=100), lambda M, N: M > 16)  # noqa: N803
    assert shrunk is not None
    assert shrunk.case.params == {"M": 17, "N": 17, "eps": 0.5}
    assert told(shrunk).startswith("From M = N = 17 on; M = N = 16 passes.")
    assert all(params["M"] == params["N"] for params in kernel.asked)


def test_a_part_can_say_which_sizes_are_valid() -> None:
    odd = part("n", sizes(n=1), sizes(n=99), valid=lambda n: n % 2 == 1)
    shrunk, kernel = searched(odd, sizes(n=99), lambda n: n > 20)
    assert shrunk is not None
    assert all(params["n"] % 2 == 1 for params in kernel.asked)
    assert shrunk.case.params["n"] in (21, 23, 25, 31, 33)
    with pytest.raises(PuzzleError, match="asks for m"):
        part("n", sizes(n=1), valid=lambda m: True)


def test_no_size_is_larger_than_the_parts_own() -> None:
    one_block = part("n", sizes(n=1), sizes(n=100))
    _, kernel = searched(one_block, sizes(n=100), lambda n: n > 63)
    assert max(params["n"] for params in kernel.asked) <= 100


def test_cases_known_to_be_right_are_not_run_again() -> None:
    shrunk, kernel = searched(VECTOR, sizes(n=257), lambda n: n % 1024 != 0, right=[sizes(n=1024)])
    assert shrunk is not None
    assert {"n": 1024, "eps": 0.5} not in kernel.asked
    assert {"n": 1024, "eps": 0.5} in shrunk.passed


def test_special_inputs_and_offsets_are_dropped_if_it_fails_without_them() -> None:
    moved = Case(n=1000, eps=0.5, offset={"out": 4})
    shrunk, _ = searched(part("n", sizes(n=1), moved), moved, lambda n: n > 1)
    assert shrunk is not None
    assert (shrunk.case.params["n"], shrunk.case.offset) == (2, {})


def test_else_the_parts_own_cases_of_the_same_kind_are_tried() -> None:
    offset = {"out": 4}
    own = [Case(n=n, eps=0.5, offset=offset) for n in (1000, 7, 3, 1)]

    def probe(case: Case) -> str | None:
        return "wrong_values" if case.offset and case.params["n"] > 1 else None

    shrunk = shrink(part("n", *own), own[0], "wrong_values", probe)
    assert shrunk is not None
    assert (shrunk.case.params["n"], shrunk.case.offset) == (3, offset)
    assert shrink(part("n", *own), own[2], "wrong_values", probe) is None


# ---- bounds ----


def test_it_ends_in_time_and_says_less_then() -> None:
    def slow(case: Case) -> str | None:
        time.sleep(0.02)
        return "wrong_values" if case.params["n"] > 200_000 else None

    begun = time.monotonic()
    shrunk = shrink(VECTOR, sizes(n=300_007), "wrong_values", slow, seconds=0.1)
    assert time.monotonic() - begun < 0.5
    assert shrunk is None or shrunk.case.params["n"] > 200_000


def test_it_is_the_same_again() -> None:
    def fails(M: int, N: int, K: int) -> bool:  # noqa: N803
        return (M * 7 + N * 5 + K) % 11 < 4

    first, second = (searched(GEMM, sizes(M=65, N=33, K=17), fails) for _ in range(2))
    assert (first[0], first[1].asked) == (second[0], second[1].asked)


def test_a_part_without_sizes_has_nothing_to_shrink() -> None:
    fixed = Part(
        "fixed",
        params=[Out("out", f32, 16)],
        reference=lambda: None,
        groups={"all": [Case()]},
        bench=Case(),
        work=lambda: Work(0, 0),
        tolerance=Tolerance(0, why="for a test"),
        lesson="",
    )
    assert shrink(fixed, Case(), "wrong_values", lambda case: "wrong_values") is None


# ---- cases like one that is too large -------------------------------------------------------------------------------


def smaller(of: Part, case: Case, most_bytes: int) -> list[tuple[Number, ...]]:
    return [tuple(other.params.values())[:-1] for other in smaller_cases(of, case, most_bytes)]


def test_smaller_cases_rise_alike_and_then_each_size_stands_alone() -> None:
    wide = part("MN", sizes(M=1, N=1), sizes(M=9, N=30))
    assert smaller(wide, sizes(M=16, N=64), 1 << 20) == [
        (1, 1),
        (2, 2),
        (1, 2),
        (2, 3),
        (1, 4),
        (2, 5),
        (2, 8),
        (3, 9),
        (4, 16),
        (5, 17),
        (8, 32),
        (9, 33),
        (16, 1),
        (1, 64),
    ]


def test_smaller_cases_are_no_larger_than_asked_and_are_what_the_part_allows() -> None:
    wide = part("MN", sizes(M=1, N=1), sizes(M=2**20, N=30), valid=lambda M, N: M % 2 == 1)  # noqa: N803
    few = smaller(wide, sizes(M=2**20, N=64), 1 << 12)
    assert few
    assert all(m % 2 == 1 and 4 * (2 * m + n) <= 1 << 12 for m, n in few)
    special = Case(inputs={"in_M": "small"}, offset={"out": 4}, M=4, N=4, eps=0.5)
    assert {(case.inputs["in_M"], case.offset["out"]) for case in smaller_cases(wide, special, 1 << 12)} == {
        ("small", 4)
    }
