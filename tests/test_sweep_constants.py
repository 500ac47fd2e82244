"""Which constant makes a launch's block, read from the text, and what is tried of it."""

from __future__ import annotations

import pytest

from grader.author.tokens import Code
from grader.catalog import UsageError
from grader.sweep.arithmetic import Unknown, value_of, whole_number
from grader.sweep.choice import SIZES, Choice, NothingToSweep, choose
from grader.sweep.constants import Source

EVERY_SIZE = {size: size for size in SIZES}


def chosen(text: str, block: tuple[int, int, int], name: str | None = None) -> Choice:
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "k<<<" in line or "cudaLaunch" in line)
    return choose(Source(text), line, block, name)


# ---- arithmetic ----


@pytest.mark.parametrize(
    ("text", "value"),
    [("256", 256), ("1'024u", 1024), ("0x100", 256), ("0b100", 4), ("32ULL", 32), ("1.0f", None), ("08", None)],
)
def test_a_literal_is_a_whole_number_or_none(text: str, value: int | None) -> None:
    assert whole_number(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8 * warp", 256),
        ("(warp + 31) / 32 * 32", 32),
        ("1 << 5", 32),
        ("std::min(1024, warp * 2)", 64),
        ("static_cast<int>(warp)", 32),
        ("unsigned(warp) % 5", 2),
        ("max(warp, 7)", 32),
    ],
)
def test_an_expression_comes_to_what_c_makes_of_it(text: str, value: int) -> None:
    assert value_of(Code(text), {"warp": 32}.__getitem__) == value


@pytest.mark.parametrize(
    "text", ["32 / 0", "f(3)", "sizeof(float)", "3 - 4", "a ? 1 : 2", '"32"', "1.5", "1 << 4000", ""]
)
def test_what_nobody_knows_is_unknown(text: str) -> None:
    with pytest.raises(Unknown):
        value_of(Code(text), {"a": 1}.__getitem__)


# ---- the constant ----


@pytest.mark.parametrize(
    "definition",
    [
        "constexpr int BLOCK = 256;",
        "const unsigned BLOCK = 256u;",
        "constexpr int ROWS = 4, BLOCK = 256;",
        "constexpr unsigned BLOCK{256};",
        "#define BLOCK 256",
        "#define BLOCK (256)  // threads",
        "enum { BLOCK = 256 };",
    ],
)
def test_a_constant_is_found_however_it_is_defined(definition: str) -> None:
    text = f"{definition}\nvoid f() {{\n    k<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(x);\n}}\n"
    found = chosen(text, (256, 1, 1))
    assert (found.constant.name, found.constant.line, found.values) == ("BLOCK", 1, EVERY_SIZE)
    assert found.constant.replaced(text, 64) == text.replace("256u", "64").replace("256", "64")


@pytest.mark.parametrize(
    ("text", "block", "name", "values"),
    [
        ("constexpr int T = 16;\nk<<<g, dim3(T, T), 0, s>>>(x);", (16, 16, 1), "T", {8: 64, 16: 256, 32: 1024}),
        (
            "const int T = 16;\nconst dim3 block(T, T);\nk<<<g, block>>>(x);",
            (16, 16, 1),
            "T",
            {8: 64, 16: 256, 32: 1024},
        ),
        ("int W = 8;\ndim3 b = dim3(32, W);\nk<<<g, b>>>(x);", (32, 8, 1), "W", {size // 32: size for size in SIZES}),
        ("int warps = 8, warp = 32;\nk<<<g, warps * warp>>>(x);", (256, 1, 1), "warps", {s // 32: s for s in SIZES}),
        (
            "constexpr int TM = 8, BM = 64;\nconstexpr int T = BM / TM * 32;\nk<<<g, T>>>(x);",
            (256, 1, 1),
            "BM",
            {size // 4: size for size in SIZES if size >= 32},
        ),
        ("k<<<g, 256, 0, s>>>(x);", (256, 1, 1), "", EVERY_SIZE),
        ("k<<<g, dim3(32, 4)>>>(x);", (32, 4, 1), "", {size // 32: size for size in SIZES}),
        ("int most = 512;\nint t = min(most, cols);\nk<<<g, t>>>(x);", (512, 1, 1), "most", EVERY_SIZE),
        ("int T = 128;\ncudaLaunchKernel(k, g, dim3(T), args, 0, s);", (128, 1, 1), "T", EVERY_SIZE),
        ("int T = 320;\nk<<<g, T>>>(x);", (320, 1, 1), "T", EVERY_SIZE | {320: 320}),
    ],
)
def test_the_size_of_the_block_leads_to_a_constant(
    text: str, block: tuple[int, int, int], name: str, values: dict[int, int]
) -> None:
    found = chosen(text, block)
    assert (found.constant.name, found.values) == (name, values)


def test_the_definition_ahead_of_the_launch_counts() -> None:
    text = "void f() { int T = 64; }\nvoid g() {\n    int T = 128;\n    k<<<g, T>>>(x);\n}\nvoid h() { int T = 256; }\n"
    assert chosen(text, (128, 1, 1)).constant.line == 3


def test_of_several_launches_the_recorded_one_counts() -> None:
    text = "int A = 64, B = 128;\nk<<<g, A>>>(x);\nother<<<g,\n        B>>>(x);\n"
    assert choose(Source(text), 2, (64, 1, 1)).constant.name == "A"
    assert choose(Source(text), 3, (128, 1, 1)).constant.name == "B"


def test_the_block_itself_comes_before_what_it_is_made_of_and_a_warp_last() -> None:
    text = "constexpr int warp = 32, high = 8;\nk<<<g, dim3(warp, high)>>>(x);"
    found = chosen(text, (32, 8, 1))
    assert (found.constant.name, found.others) == ("high", ("warp",))
    assert chosen(text, (32, 8, 1), "warp").constant.name == "warp"


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("k<<<g, warps * 32>>>(x);", (128, 1, 1)),
        ("int t = pick(n);\nk<<<g, t>>>(x);", (128, 1, 1)),
        ("int warp = 32;\nk<<<g, min(n, 4) * warp>>>(x);", (128, 1, 1)),  # 32 is no block, and a warp stays one
        ("#define T 1.5\nk<<<g, T>>>(x);", (128, 1, 1)),
        ("int t = t2;\nint t2 = t;\nk<<<g, t>>>(x);", (128, 1, 1)),
    ],
)
def test_a_block_that_is_worked_out_has_no_constant(text: str, block: tuple[int, int, int]) -> None:
    with pytest.raises(NothingToSweep, match=r"No single number .* 128 threads"):
        chosen(text, block)


def test_what_is_worked_out_is_shown_as_it_is_written() -> None:
    with pytest.raises(NothingToSweep, match=r"line 1 \(std::min\(warps, 32\) \* 32, 128 threads at full size\)"):
        chosen("k<<<g, std::min(warps,\n        32) * 32>>>(x);", (128, 1, 1))


def test_a_comment_and_a_string_launch_nothing() -> None:
    with pytest.raises(NothingToSweep, match="line 3 is written in a way"):
        choose(Source('// k<<<g, 256>>>(x);\nconst char* s = "k<<<g, 256>>>";\nlaunch();\n'), 3, (256, 1, 1))


def test_a_launch_that_stands_elsewhere_is_not_taken_for_the_recorded_one() -> None:
    text = "k<<<g, 256>>>(x);\n" + "\n" * 10 + "cudaLaunchKernelExC(&config, k, args);\n"
    with pytest.raises(NothingToSweep, match="line 12 is written in a way"):
        choose(Source(text), 12, (256, 1, 1))


def test_a_name_that_makes_no_block_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match="N makes no block in this file; T would"):
        chosen("int T = 64, N = 3;\nk<<<N, T>>>(x);", (64, 1, 1), "N")
    with pytest.raises(UsageError, match="which has no name"):
        chosen("k<<<N, 64>>>(x);", (64, 1, 1), "N")
