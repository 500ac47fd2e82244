"""A verdict in the terminal: steps, findings with their lines, and what to do next."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from grader.report import Surroundings, print_part, print_summary
from grader.report.counts import beside_reference, costliest_line
from grader.report.excerpt import excerpt
from grader.verdict import (
    BENCH_GROUP,
    CaseResult,
    Finding,
    FirstWrong,
    GoalResult,
    PartVerdict,
    Sampled,
    Smallest,
    Stage,
    State,
    Verdict,
)

SOURCE = "\n".join(f"line {number};" for number in range(1, 40))
AROUND = Surroundings(number=2, title="Tiled GEMM", index=3, parts=8, source=SOURCE, hints=3, following="2.4")
RACE = Finding(
    kind="data_race",
    severity="error",
    title="data race",
    message="Two threads use `Bs[2][0]` at the same time.",
    why="Nothing orders read → next write.",
    file="puzzles/3_gemm_tiled.cu",
    line=14,
    block=(0, 0, 0),
    thread=(0, 2, 0),
    other_line=16,
    count=15,
    marks=((14, "thread (0,2) writes here"), (16, "thread (0,0) may still be reading here")),
)
WRONG = PartVerdict(
    part="gemm_tiled",
    label="2.3",
    state=State.wrong,
    device="software",
    seed=7,
    stage=Stage.run,
    file="puzzles/3_gemm_tiled.cu",
    findings=(RACE,),
    cases=(
        CaseResult("software", "one tile", {"M": 1, "N": 1, "K": 1}, passed=True),
        CaseResult("software", "one tile", {"M": 16, "N": 16, "K": 16}, passed=True),
        CaseResult("software", "several tiles", {"M": 65, "N": 33, "K": 17}, passed=False),
    ),
    not_reached=("thin", "primes"),
    seconds={"build": 0.6, "run": 0.9, "total": 1.4},
)
EXPECTED = """\
Puzzle 2 Tiled GEMM · part 3 of 8, gemm_tiled · software GPU (no timing)

  ✔ compiles                                                 0.6 s
  ✔ one tile       M N K = 1 1 1, 16 16 16                   right
  ✘ several tiles  M N K = 65 33 17                          data race
  – not reached    thin, primes

  Two threads use Bs[2][0] at the same time. It happens 15 times.

    3_gemm_tiled.cu
  ▶ 14 │ line 14;
       │ └─ thread (0,2) writes here
    15 │ line 15;
  ▶ 16 │ line 16;
       │ └─ thread (0,0) may still be reading here
  Why    Nothing orders read → next write.

  NOT PASSED · 1 fault · 1 of 4 groups                     1.4 s, seed 7 (the next check begins with it)
  Next   grader hint 2.3 (0 of 3 seen) · grader explain data_race · grader debug 2.3
         grader check 2.3 --case M=65,N=33,K=17

"""


def shown(part: PartVerdict, around: Surroundings = AROUND, width: int = 104) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_part(console, part, around)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_wrong_part_reads_as_designed() -> None:
    assert shown(WRONG) == EXPECTED


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_no_width_breaks_it_and_no_line_ends_in_blanks(width: int) -> None:
    lines = shown(WRONG, width=width).splitlines()
    assert not [line for line in lines if line != line.rstrip()]
    assert "data_race" in " ".join(lines)


def test_of_a_reason_only_its_label_is_bold() -> None:
    console = Console(file=io.StringIO(), width=104, highlight=False, force_terminal=True, color_system="standard")
    print_part(console, WRONG, AROUND)
    assert isinstance(console.file, io.StringIO)
    assert "\x1b[1m  Why    \x1b[0mNothing orders read" in console.file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_command_is_never_broken(width: int) -> None:
    text = shown(WRONG, width=width)
    for command in ("grader hint 2.3", "grader explain data_race", "grader check 2.3 --case M=65,N=33,K=17"):
        assert command in text


def cases(*numbers: tuple[int, ...], names: str, group: str = "any", **more: Any) -> list[CaseResult]:
    each = (dict(zip(names.split(), one, strict=True)) for one in numbers)
    return [CaseResult("software", group, params, passed=True, **more) for params in each]


def test_a_row_names_what_tells_cases_apart() -> None:
    rates = [replace(case, params={**case.params, "lr": 0.5}) for case in cases((1, 7), (2, 7), names="n fixed")]
    text = shown(replace(WRONG, cases=tuple(rates)), width=80)
    assert "n = 1, 2 " in text
    assert "fixed" not in text
    other = replace(rates[1], params={**rates[1].params, "lr": 0.1})
    assert "n = 1 (lr=0.5), 2 (lr=0.1)" in shown(replace(WRONG, cases=(rates[0], other)), width=100)
    filled = [replace(rates[0], inputs={"a": "normal"}), replace(rates[1], inputs={"a": "small"})]
    assert "1 (a normal), 2 (a small)" in shown(replace(WRONG, cases=tuple(filled)), width=100)
    assert "normal" not in shown(replace(WRONG, cases=tuple(replace(one, inputs={"a": "normal"}) for one in filled)))


def test_names_too_long_for_the_column_stand_above_it() -> None:
    names = "batches queries keys dimensions"
    text = shown(replace(WRONG, cases=tuple(cases((1, 2, 3, 4), (5, 6, 7, 8), names=names))), width=80)
    assert f"✔ compiles     {names}" in text
    assert "✔ any          1 2 3 4, 5 6 7 8" in text


def test_a_size_that_was_not_run_or_shows_no_value_is_not_called_right() -> None:
    bench = cases((9,), (9,), names="n", group=BENCH_GROUP, sampled=Sampled(0, 12))
    passed = replace(WRONG, state=State.passed, findings=(), not_reached=())
    text = shown(replace(passed, cases=tuple(bench)))
    assert "– full size" in text
    assert "none of 12 blocks" in text
    assert "not run: a block takes too long" in text
    some = [replace(one, sampled=Sampled(3, 12)) for one in bench]
    assert "no fault seen" in shown(replace(passed, cases=tuple(some)))
    compared = shown(replace(passed, cases=tuple(replace(one, checked=8) for one in some)))
    assert "no fault seen" not in compared
    assert "right" in compared


def test_one_case_that_passes_is_no_part_that_has_passed() -> None:
    right = replace(WRONG, state=State.passed, findings=(), cases=WRONG.cases[:1], not_reached=())
    text = shown(right, replace(AROUND, one_case=True))
    assert "THIS CASE PASSES" in text
    assert "PASSED" not in text
    assert "grader check 2.3, for the whole part" in text
    assert "2.4" not in text


def test_findings_with_one_reason_are_told_together() -> None:
    second = replace(RACE, message="Another.", marks=((15, "also here"),))
    text = shown(replace(WRONG, findings=(RACE, second)))
    assert text.count("  Why ") == 1
    assert "└─ also here" in text
    assert "2 faults" in text


def test_many_findings_are_cut_and_counted() -> None:
    many = tuple(replace(RACE, why=f"reason {number}") for number in range(6))
    text = shown(replace(WRONG, findings=many))
    assert "reason 2" in text
    assert "reason 3" not in text
    assert "and 3 more" in text


def test_a_compile_error_has_the_original_below() -> None:
    error = Finding(
        "compile_error", "error", "does not compile", "A `;` is missing.", "", "a.cu", 4, marks=((4, 'expected a ";"'),)
    )
    text = shown(replace(WRONG, stage=Stage.build, findings=(error,), cases=(), not_reached=(), seconds={"build": 0.4}))
    assert "✘ compiles" in text
    assert '└─ expected a ";"' in text
    unplaced = replace(error, line=None, marks=(), original="too much shared data")
    assert "nvcc: too much shared data" in shown(replace(WRONG, stage=Stage.build, findings=(unplaced,), cases=()))


def test_wrong_values_come_with_their_pattern() -> None:
    case = replace(
        WRONG.cases[2],
        checked=10,
        wrong=3,
        first_wrong=FirstWrong("C", (0, 1), 1.0, 2.0),
        pattern="only the last row is wrong",
    )
    finding = replace(RACE, kind="wrong_values", title="wrong values")
    text = shown(replace(WRONG, stage=Stage.compare, cases=(case,), findings=(finding,)))
    assert "only the last row is wrong" in text


def test_the_smallest_case_is_told_and_is_the_one_to_repeat() -> None:
    smallest = Smallest(
        "data_race",
        {"M": 33, "N": 1, "K": 1},
        "From M = 33 on; multiples of 32 pass. The smallest case that fails: M = 33, N = 1, K = 1.",
        ({"M": 32, "N": 1, "K": 1},),
        "grader check 2.3 --case M=33,N=1,K=1",
    )
    text = shown(replace(WRONG, smallest=smallest))
    assert "  Why    Nothing orders read → next write.\n  Sizes  From M = 33 on; multiples of 32 pass." in text
    assert "M=33,N=1,K=1" in text
    assert "M=65" not in text


def test_a_full_size_of_which_a_sample_was_run_is_none_to_repeat_alone() -> None:
    sampled = [replace(one, sampled=Sampled(3, 12)) for one in WRONG.cases]
    assert "--case" in shown(WRONG)
    assert "--case" not in shown(replace(WRONG, cases=tuple(sampled)))


def test_a_passed_part_names_the_next_and_stands_beside_the_reference() -> None:
    sectors = {"memory_l2_theoretical_sectors_global": 12}
    counts = {"kernels": {"k": {"warp_instructions": 300, **sectors}}}
    reference = {"kernels": {"r": {"warp_instructions": 100, **sectors}}}
    passed = replace(WRONG, state=State.passed, stage=Stage.done, findings=(), cases=WRONG.cases[:2], not_reached=())
    text = shown(replace(passed, counters=counts, reference_counters=reference))
    assert "PASSED · 1 of 1 groups" in text
    assert "Next   grader check 2.4" in text
    assert "as many bytes, 3.00 × the instructions" in text
    assert "tried first" not in text


def in_all(reads: float, excess: int, compiled: int) -> dict[str, Any]:
    name = "derived__memory_l1_wavefronts_shared_excessive"
    kernel = {"warp_instructions": 10, name: excess, "compiled": {name: compiled}}
    return {"kernels": {"k": kernel}, "reads": {"elements_a_result": reads}}


def test_reads_for_each_result_stand_beside_the_reference() -> None:
    assert "each result: 1,024, in the reference 32." in beside_reference(in_all(1024, 0, 0), in_all(32, 0, 0))
    assert "each result: 1, as in the reference." in beside_reference(in_all(1, 0, 0), in_all(1, 0, 0))
    assert "each result: 2.03, in" in beside_reference(in_all(2.03, 0, 0), in_all(1, 0, 0))
    assert "result" not in beside_reference(in_all(0, 0, 0), in_all(1, 0, 0))


def test_bank_conflicts_are_told_where_the_reference_has_fewer() -> None:
    reference = in_all(1, 31, 31)
    assert "takes 992 passes more than needed, in the reference 31." in beside_reference(in_all(1, 992, 992), reference)
    assert "needed (224 once ptxas has merged neighbours), in" in beside_reference(in_all(1, 992, 224), reference)
    assert "passes" not in beside_reference(in_all(1, 31, 31), reference)


def test_a_line_is_costly_only_where_it_is_so_as_compiled() -> None:
    written = {"shared_load_requests": 4, "shared_load_wavefronts": 16, "shared_load_wavefronts_ideal": 4}
    mended = {"shared_load_requests": 1, "shared_load_wavefronts": 4, "shared_load_wavefronts_ideal": 4}
    assert "9" in costliest_line({"lines": {"9": written | {"compiled": written}}}, {})
    assert costliest_line({"lines": {"9": written | {"compiled": mended}}}, {}) == ""


def test_without_a_reference_nothing_is_compared() -> None:
    assert beside_reference({"kernels": {"k": {"warp_instructions": 3}}}, {}) == ""
    assert beside_reference({}, {}) == ""


def counted(access: str, requests: int, taken: int, fewest: int) -> dict[str, int]:
    unit = "sectors" if access.startswith("global") else "wavefronts"
    return {f"{access}_requests": requests, f"{access}_{unit}": taken, f"{access}_{unit}_ideal": fewest}


def test_a_passed_part_names_the_line_that_pays_most_for_what_it_needs() -> None:
    lines = {
        "8": counted("global_load", 10, 40, 40),
        "9": counted("global_store", 10, 320, 40) | counted("shared_load", 10, 320, 10),
        "10": counted("shared_store", 10, 160, 10),
    }
    passed = replace(WRONG, state=State.passed, stage=Stage.done, findings=(), cases=WRONG.cases[:2], not_reached=())
    words = "Seen on line 9: a warp's load takes 32 passes over shared memory, and 1 would do."
    assert words in shown(replace(passed, counters={"lines": lines}))
    assert words not in shown(replace(WRONG, counters={"lines": lines}))
    store = {"lines": {"9": counted("global_store", 1, 32, 4)}}
    assert "line 9: a warp's store moves 32 sectors" in costliest_line(store, {})
    assert costliest_line(store, {"lines": {"12": counted("global_store", 1, 32, 4)}}) == ""  # nor can it do better
    assert costliest_line(store, {"lines": {"12": counted("global_load", 1, 32, 4)}})


@pytest.mark.parametrize("taken", [4, 5, 8])
def test_a_little_more_than_the_fewest_sectors_is_not_worth_a_word(taken: int) -> None:
    assert costliest_line({"lines": {"9": counted("global_load", 1, taken, 4)}}, {}) == ""
    assert costliest_line({}, {}) == ""


def test_an_open_goal_is_right_and_says_what_is_missing() -> None:
    finding = replace(
        RACE, kind="goal_missed", title="goal open", message="A grid that does not grow. It has 9 blocks."
    )
    text = shown(
        replace(
            WRONG,
            state=State.goal_open,
            stage=Stage.goal,
            findings=(finding,),
            cases=WRONG.cases[:2],
            not_reached=(),
            goals=(GoalResult("fixed grid", "A grid that does not grow.", reached=False),),
        )
    )
    assert "RIGHT, GOAL OPEN · 1 goal open" in text
    assert "○ fixed grid" in text


def test_a_goal_that_can_be_reached_further_says_how_far_it_is() -> None:
    goals = (GoalResult("reads of x", "`x` is read three times at most.", True, "read 3.0 times; best: once"),)
    text = shown(replace(WRONG, state=State.passed, findings=(), goals=goals), width=100)
    assert "✔ reads of x   read 3.0 times; best: once" in " ".join(text.split("\n")).replace("     ", "   ")


def test_a_part_not_started_is_told_where_to_write() -> None:
    text = shown(replace(WRONG, state=State.not_started))
    assert "NOT STARTED" in text
    assert "Your part is between the lines" in text
    assert "write it, then grader check 2.3" in text
    gap = "\n// --- your code ---\n// --- end ---\n"
    two = shown(replace(WRONG, state=State.not_started), replace(AROUND, source=SOURCE + gap + gap))
    assert "Your part is in 2 places of" in " ".join(two.split())


def test_an_unchecked_part_says_why_and_sends_to_the_doctor() -> None:
    text = shown(replace(WRONG, state=State.unchecked, findings=(), cases=(), reason="Nvcc is missing: install it."))
    assert "Nvcc is missing" in text
    assert "COULD NOT BE CHECKED HERE" in text
    assert "grader doctor" in text


def test_what_was_printed_is_shown_and_cannot_be_markup() -> None:
    assert "[red]hello[/red]" in shown(replace(WRONG, printed="[red]hello[/red]"))


def test_the_summary_names_what_was_not_looked_at() -> None:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    print_summary(console, Verdict("p", "Tiled GEMM", (WRONG,), ("2.4", "2.5")), 2, stopped=True)
    print_summary(console, Verdict("p", "Tiled GEMM", (replace(WRONG, state=State.passed),)), 2, stopped=True)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "Not looked at: 2.4, 2.5" in text
    assert "Puzzle 2 Tiled GEMM is passed." in text


def test_an_excerpt_leaves_out_what_lies_between_distant_lines() -> None:
    lines = [
        line.plain
        for line in excerpt(SOURCE, "a.cu", [(30, "there"), (2, "here"), (2, "and here"), (99, "nowhere")], 80)
    ]
    assert lines == [
        "    a.cu",
        "  ▶  2 │ line 2;",
        "       │ └─ here",
        "       │ └─ and here",
        "       ⋮",
        "  ▶ 30 │ line 30;",
        "       │ └─ there",
    ]


def test_an_excerpt_shows_no_characters_that_act_on_the_terminal() -> None:
    (_, line, _) = excerpt("\tint x; // \x1b[2J\x07", "a.cu", [(1, "here")], 80)
    assert line.plain == "  ▶ 1 │     int x; // [2J"


def test_a_marked_line_that_is_too_long_goes_on_below() -> None:
    long = "    float sum = first_of_them + second_of_them + third_of_them;"
    rows = [row.plain for row in excerpt(f"{long}\n{long}", "a.cu", [(1, "here")], 40)]
    assert [row for row in rows if "│" in row] == [
        "  ▶ 1 │     float sum = first_of_them +",
        "      │         second_of_them +",
        "      │         third_of_them;",
        "      │     └─ here",
    ]


def test_no_line_in_the_file_no_excerpt() -> None:
    assert excerpt("", "a.cu", [(5, "x")], 80) == []
    assert excerpt("x", "a.cu", [], 80) == []
