"""Code in chapters: always the real file's, by region; and what puzzles say of their parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from grader.catalog import Located, regions
from grader.publish.calls import functions
from grader.publish.context import BookError
from grader.publish.declarations import declarations
from grader.publish.markup import code, folded, tabs
from grader.publish.statements import signature
from tests.book import edition
from tests.judging import ROOT

BOOK = edition()
CALLS: dict[str, Callable[..., Any]] = functions(BOOK, "puzzle-03")
PARTS = [part for puzzle in BOOK.catalog.puzzles for part in puzzle.parts]
SOFTMAX = "8.2!"


def listing(block: str) -> list[str]:
    """The lines of the first block of code, its options aside."""
    found = re.search(r"^(`{3,})\{code-block\} \w+\n(?::[^\n]*\n)*\n(.*?)\n\1$", block, re.MULTILINE | re.DOTALL)
    assert found is not None, block
    return found[2].splitlines()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.label)
def test_of_every_part_skeleton_statement_tips_and_solution_can_be_shown(part: Located) -> None:
    real = [line.strip() for line in part.skeleton().splitlines()]
    shown = listing(CALLS["skeleton"](part.label))
    assert all(line.strip() in real or line.strip() in ("// …", "# …") for line in shown)
    assert part.part.name in CALLS["statement"](part.label) or part.names[-1] in CALLS["statement"](part.label)
    assert CALLS["tips"](part.label).count("{dropdown}") == 3
    if regions(part.skeleton()):
        solved = [line.strip() for line in part.solution_path.read_text(encoding="utf-8").splitlines()]
        answer = listing(CALLS["solution"](part.label, caller=lambda: "why"))
        assert all(line.strip() in solved or line.strip() in ("// …", "# …") for line in answer)
        assert not any("// --- " in line for line in answer)


@pytest.mark.parametrize("part", [part for part in PARTS if part.path.suffix == ".cu"], ids=lambda part: part.label)
def test_a_signature_made_from_the_puzzle_is_the_one_in_the_file(part: Located) -> None:
    text = re.sub(r"\[\[maybe_unused\]\] ", "", part.skeleton())
    assert _squeezed(signature(part)).rstrip(";") in _squeezed(text)
    assert max(map(len, signature(part).splitlines())) <= 92


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("( ", "(")


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.label)
def test_a_statement_tells_of_the_parameters_that_the_signature_has(part: Located) -> None:
    shown = CALLS["statement"](part.label)
    told = re.findall(r"^\| `(\w+)` \|", shown, re.MULTILINE)
    assert all(re.search(rf"\b{name}\b", "\n".join(listing(shown))) for name in told)


def test_a_statement_tells_role_type_and_shape() -> None:
    rows = CALLS["statement"]("5.4").splitlines()
    assert [row for row in rows if row.startswith("| `")] == [
        "| `x` | read | `float` | `[n]` |",
        "| `out` | written | `float` | `[1]` |",
        "| `workspace` | scratch | `float` | `[1024]` |",
        "| `n` | a number | `int` |  |",
    ]


def test_a_skeleton_names_its_file_and_numbers_its_lines_where_none_is_left_out() -> None:
    shown = CALLS["skeleton"]("3.4")
    assert ":caption: puzzles/puzzle_03_bank_conflicts/4_transpose_padded.cu" in shown
    assert ":lineno-start: 1" in shown
    assert listing(shown)[-1] == "}"
    assert "transpose_padded_kernel" not in shown
    assert "transpose_padded_kernel" in CALLS["skeleton"]("3.4", whole=True)


def test_a_function_with_two_places_for_ones_own_code_is_shown_once() -> None:
    kernels = [line for line in listing(CALLS["skeleton"]("7.3")) if "__global__" in line]
    assert len(kernels) == 1


def test_what_is_left_out_between_header_and_function_is_told() -> None:
    shown = CALLS["skeleton"]("8.4")
    assert "\n// …\n" in shown
    assert ":lineno-start:" not in shown


@pytest.mark.parametrize(
    ("region", "first", "last"),
    [
        ("function:Seen", "struct Seen {", "};"),
        ("function:together", "__device__ inline Seen together(Seen a, [[maybe_unused]] Seen b) {", "}"),
        (
            "function:seen_by_block",
            "// Every thread returns what all threads of its block have seen together. All must call it, and once.",
            "}",
        ),
        (
            "lines:Seen seen = {…seen_by_block(seen)",
            "Seen seen = {-INFINITY, 0.0f};",
            "seen = seen_by_block(seen);",
        ),
        ("lines:Seen seen = {-INF…}", "Seen seen = {-INFINITY, 0.0f};", "Seen seen = {-INFINITY, 0.0f};"),
        ("answer:1", "const float largest = fmaxf(a.largest, b.largest);", None),
    ],
)
def test_a_region_begins_and_ends_where_its_name_says(region: str, first: str, last: str | None) -> None:
    lines = listing(CALLS["region"](SOFTMAX, region))
    assert lines[0] == first
    assert last is None or lines[-1] == last


def test_both_answers_of_a_file_are_shown_with_a_gap_between_them() -> None:
    lines = listing(CALLS["region"](SOFTMAX, "answer"))
    assert lines[0].startswith("const float largest")
    assert "// …" in lines
    assert "#pragma unroll 4" in lines


def test_a_function_of_python_comes_with_its_decorator() -> None:
    lines = listing(CALLS["region"]("7.7!", "function:forward"))
    assert lines[0] == "@staticmethod"
    assert listing(CALLS["region"]("7.7!", "function:LayerNormLinear"))[0].startswith("class LayerNormLinear")


def test_declarations_know_templates_attributes_and_initialisers() -> None:
    source = (
        "constexpr int sizes[] = {1, 2};\nstatic Registration one{{A, f}};\nint declared(int);\n"
        "// says why\ntemplate <int n>\n__global__ void __launch_bounds__(256) kernel(int x = f({1})) {\n"
        '    const char* brace = "}";  // }\n}\nstruct Pair { int a, b; };\nstruct alignas(16) Four { int a[4]; };\n'
    )
    found = {one.name: (one.first, one.last) for one in declarations(source, "cuda") if one.name}
    assert found["kernel"] == (4, 8)
    assert found["Pair"] == (9, 9)
    assert found["Four"] == (10, 10)
    assert "declared" not in found


def test_lines_can_stand_out() -> None:
    assert ":emphasize-lines: 2" in CALLS["region"](SOFTMAX, "answer:1", highlight="minus itself is NaN")


def test_fences_are_longer_than_those_inside() -> None:
    inner = folded("a", "::::{tip}\nx\n::::", "tip")
    assert inner.startswith(":::::{dropdown}")
    assert tabs([("t", inner)], "c").startswith(":::::::{tab-set}")
    assert code("```\n", "text").startswith("````")


def test_minutes_are_those_of_the_puzzles_page() -> None:
    page = (ROOT / "puzzles/puzzle_03_bank_conflicts/README.md").read_text(encoding="utf-8")
    core = [int(row) for row in re.findall(r"^\| 3\.\d `.*\| (\d+) \|$", page, re.MULTILINE)]
    assert CALLS["minutes"](3) == sum(core)
    assert CALLS["minutes"]("3.1", "3.2") == sum(core[:2])


def test_a_table_of_parts_leads_to_where_each_is_told() -> None:
    rows = CALLS["parts_table"](3).splitlines()
    assert len(rows) == 2 + 6
    assert rows[2].startswith("| [3.1](#part-3-1) `bank_answers` | eight numbers")
    assert "[3.6](#part-3-6)+" in rows[-1]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("skeleton", ("3.9",), r"skeleton\('3.9'\): There is no part '3.9'"),
        ("skeleton", ("three",), "'three' is no part"),
        ("skeleton", (), "missing a required argument: 'label'"),
        ("solution", ("3.4",), "missing a required argument: 'caller'"),
        ("tips", ("1",), "'1' is no part"),
        ("region", ("3.4", "function:missing"), "has no function 'missing'"),
        ("region", ("3.4", "lines:floats…"), "a text of the first and one of the last"),
        ("region", ("3.4", "lines:rows == 0…no such end"), "has no line with 'no such end' from line 43 on"),
        ("region", ("3.4", "lines:threadIdx.y…}"), "has the text 'threadIdx.y' 2 times, and one is meant"),
        ("region", ("3.4", "lines:no such text…}"), "has no line with 'no such text'"),
        ("region", ("3.4", "answer:2"), "has no answer '2', there are 1"),
        ("region", ("3.4", "answers"), "'answers' is no region"),
        ("region", ("3.4", "answer"), "nothing there that could be shown"),
        ("region", ("puzzles/none.cu", "all"), "there is no file puzzles/none.cu"),
        ("region", ("../outside.cu", "all"), "there is no file"),
        ("region", ("README.md", "answer"), "has no pair of markers"),
        ("region", ("3.4!", "answer", "no such"), "has no line with 'no such' there"),
        ("region", ("3.4!fast", "all"), "there is no file solutions/.*4_transpose_padded.fast.cu"),
        ("header", ("README.md",), "'README.md' is no part"),
        ("parts_table", (99,), "There is no puzzle or part '99'"),
    ],
)
def test_a_mistake_is_one_sentence_that_says_what_was_asked(name: str, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(BookError, match=said) as raised:
        CALLS[name](*arguments)
    assert str(raised.value).startswith(f"{name}(")
    assert "\n" not in str(raised.value)
