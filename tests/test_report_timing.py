"""How fast a part is, in words and bars: what stands there, at any width, and what is left out where room is short."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import jsonschema
import pytest
from rich.console import Console

from grader.explain import sentence
from grader.medals import medal_beside
from grader.report import Surroundings, print_part
from grader.report.timing import bars, bound_told, medal_told, medians
from grader.verdict import Bottleneck, CaseResult, PartVerdict, Rival, Stage, State, Timing, Verdict
from tests.judging import ROOT

SCHEMA = json.loads((ROOT / "docs" / "verdict.schema.json").read_text(encoding="utf-8"))
AROUND = Surroundings(number=1, title="Vector add", index=2, parts=6, source="int x;\n", following="1.3")


def rival(name: str, ms: float, times: float, decision: str) -> Rival:
    return Rival(
        name, f"what {name} runs", ms, (0.999 * ms, 1.001 * ms), times, (times - 0.004, times + 0.004), decision
    )


STREAMING = Timing(
    device="NVIDIA H200",
    ms=0.7358,
    interval_ms=(0.7350, 0.7366),
    gb_per_s=4376.0,
    runs=60,
    cold_l2=True,
    bound="memory",
    of_limit=0.98,
    medal="gold",
    rivals=(
        rival("ceiling", 0.7211, 0.98, "slower"),
        rival("reference", 0.7361, 1.0, "tie"),
        rival("pytorch", 0.9871, 1.342, "faster"),
    ),
    sensors={"sm_mhz": 1980, "held_down_by": []},
    bottleneck=Bottleneck("limit", "", sentence("bottleneck", "limit", "advice")),
    hashes={"source": "0" * 64},
)
MULTIPLYING = replace(
    STREAMING,
    ms=0.0521,
    interval_ms=(0.0519, 0.0526),
    bound="compute",
    tflop_per_s=412.0,
    of_limit=0.55,
    medal="bronze",
    rivals=(rival("reference", 0.0351, 0.674, "slower"), rival("ceiling", 0.0286, 0.55, "slower")),
    bottleneck=Bottleneck("shared_load", "Line 12 is slow.", "Pad it.", 12),
)
PASSED = PartVerdict(
    part="vector_add",
    label="1.2",
    state=State.passed,
    device="NVIDIA H200",
    seed=7,
    stage=Stage.done,
    file="2_vector_add.cu",
    cases=(CaseResult("NVIDIA H200", "any", {"n": 256}, passed=True),),
    seconds={"build": 0.6, "total": 9.8},
    timing=STREAMING,
)
EXPECTED = """\
Puzzle 1 Vector add · part 2 of 6, vector_add · NVIDIA H200

  ✔ compiles                                               0.6 s
  ✔ any          n = 256                                   right

  Speed  NVIDIA H200, full size, in turn, each time with a cold L2

    yours      0.7358 ms  4,376 GB/s  ██████████████████▋   98 %
    reference  0.7361 ms  4,374 GB/s  ██████████████████▋   98 %  a tie
    PyTorch    0.9871 ms  3,262 GB/s  █████████████▉        73 %  1.34 × as long
    limit      0.7211 ms  4,465 GB/s  ███████████████████  100 %

  Medians of 60 runs each; the first lies between 0.7350 ms and 0.7366 ms, with
  95 % confidence. In turn with it ran what pytorch runs. The limit is what
  ceiling runs.
  Medal  gold: as fast as the reference; the difference is too small to tell
         (0.996 to 1.004 times its speed).
  Bound  by memory: it has to move 3.22 GB, which takes 0.7211 ms at the limit
         measured here. It reaches 98 % of that speed.
  Try    It runs at the limit. Only a kernel that has less to move or to compute
         could be faster.

  PASSED · GOLD · 1 of 1 groups                                    9.8 s, seed 7
  Next   grader check 1.3

"""


def shown(part: PartVerdict, width: int = 80, around: Surroundings = AROUND, **options: bool) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, **options)  # type: ignore[arg-type]
    print_part(console, part, around)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def bar_lines(timing: Timing, width: int = 80) -> list[str]:
    return [line.plain for line in bars(timing, width)]


# ---- the whole ------------------------------------------------------------------------------------------------------


def test_a_timed_part_reads_as_designed() -> None:
    assert shown(PASSED) == EXPECTED


@pytest.mark.parametrize("timing", [STREAMING, MULTIPLYING])
@pytest.mark.parametrize("width", [20, 40, 50, 60, 70, 80, 100, 110, 200])
def test_no_line_ends_in_blanks_and_from_40_columns_on_no_bar_is_too_wide(timing: Timing, width: int) -> None:
    assert not [line for line in shown(replace(PASSED, timing=timing), width).splitlines() if line != line.rstrip()]
    assert max(map(len, bar_lines(timing, width))) <= max(width, 40)


def test_without_colour_there_is_no_escape_and_nothing_is_lost() -> None:
    coloured = shown(PASSED, force_terminal=True)
    assert "\x1b[" in coloured
    assert shown(PASSED, force_terminal=True, no_color=True).count("█") == coloured.count("█")
    assert "\x1b[" not in shown(PASSED, no_color=True)


# ---- the bars -------------------------------------------------------------------------------------------------------


def test_what_has_no_room_is_left_out_the_speed_first_then_how_it_stands_then_the_bar() -> None:
    wide, narrower, narrow, narrowest = ("\n".join(bar_lines(STREAMING, width)) for width in (90, 70, 48, 38))
    assert all(part in wide for part in ("GB/s", "as long", "█", "98 %"))
    assert "GB/s" not in narrower
    assert "as long" in narrower
    assert "as long" not in narrow
    assert "█" in narrow
    assert "█" not in narrowest
    assert "0.7358 ms   98 %" in narrowest


def test_a_bar_is_as_long_as_its_share_of_the_limit() -> None:
    lengths = [line.count("█") for line in bar_lines(STREAMING, 200)]
    assert lengths == [39, 39, 29, 40]


def test_a_kernel_that_beats_the_measured_limit_keeps_its_bar_in_bounds() -> None:
    lines = bar_lines(replace(STREAMING, of_limit=1.05, rivals=(rival("ceiling", 0.7726, 1.05, "faster"),)), 200)
    assert [line.count("█") for line in lines] == [40, 38]
    assert [line.split()[-2] for line in lines] == ["105", "100"]


def test_without_a_limit_the_fastest_fills_the_row_and_no_share_is_told() -> None:
    slower = replace(STREAMING, of_limit=None, rivals=(rival("reference", 0.3679, 0.5, "slower"),))
    lines = bar_lines(slower, 200)
    assert [line.count("█") for line in lines] == [20, 40]
    assert "%" not in "".join(lines)
    assert bound_told(slower) == ""


def test_a_solution_is_not_called_yours() -> None:
    text = shown(PASSED, around=replace(AROUND, is_solution=True))
    assert "this file  0.7358 ms" in text
    assert "yours" not in text


def test_speeds_are_of_what_bounds_it() -> None:
    assert "412 TFLOP/s" in bar_lines(MULTIPLYING)[0]
    assert "612 TFLOP/s" in bar_lines(MULTIPLYING)[1]
    assert "/s" not in "".join(bar_lines(replace(STREAMING, bound="launch"), 110))


def test_short_times_are_told_in_microseconds() -> None:
    assert "52.10 µs" in bar_lines(MULTIPLYING)[0]
    assert "between 51.90 µs and 52.60 µs" in medians(MULTIPLYING)
    assert bar_lines(replace(STREAMING, ms=12.3456, rivals=()))[0].split()[1:3] == ["12.35", "ms"]


# ---- the sentences --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "decision", "medal", "words"),
    [
        (1.08, "faster", "gold", "gold: 1.08 times as fast as the reference (between 1.076 and 1.084)."),
        (0.999, "tie", "gold", "gold: as fast as the reference; the difference is too small to tell"),
        (0.97, "slower", "silver", "silver: 0.97 of the reference's speed (between 0.966 and 0.974); gold is a tie"),
        (0.8, "slower", "silver", "silver: 0.80 of"),
        (
            0.79,
            "slower",
            "bronze",
            "bronze: 0.79 of the reference's speed (between 0.786 and 0.794); silver begins at 0.8.",
        ),
        (0.5, "slower", "bronze", "bronze: 0.50 of"),
        (
            0.49,
            "slower",
            None,
            "none yet: 0.49 of the reference's speed (between 0.486 and 0.494); bronze begins at 0.5.",
        ),
    ],
)
def test_a_medal_is_the_speed_beside_the_reference(times: float, decision: str, medal: str | None, words: str) -> None:
    rivals = (rival("pytorch", 1.0, 0.1, "slower"), rival("reference", 1.0, times, decision))
    assert medal_beside(rivals) == medal
    timing = replace(STREAMING, medal=medal, rivals=rivals)
    assert medal_told(timing).startswith(words)
    outcome = next(line for line in shown(replace(PASSED, timing=timing)).splitlines() if "PASSED" in line)
    assert (medal or "").upper() in outcome


def test_without_the_reference_there_is_no_medal_and_no_word_of_one() -> None:
    alone = replace(STREAMING, rivals=STREAMING.rivals[:1], medal=None)
    assert medal_beside(alone.rivals) is None
    assert "Medal" not in shown(replace(PASSED, timing=alone))


def test_a_part_whose_goal_is_open_is_timed_and_gets_no_medal() -> None:
    text = shown(replace(PASSED, state=State.goal_open))
    assert "yours      0.7358 ms" in text
    assert "Medal" not in text
    assert "GOLD" not in text


def test_what_bounds_it_is_told_in_its_own_terms() -> None:
    assert bound_told(STREAMING).startswith("by memory: it has to move 3.22 GB, which takes 0.7211 ms at the limit")
    assert bound_told(replace(STREAMING, gb_per_s=43.0)).startswith("by memory: it has to move 31.6 MB")
    assert bound_told(MULTIPLYING).startswith("by arithmetic: it has to do 21.5 GFLOP, which takes 28.66 µs at the")
    assert bound_told(replace(MULTIPLYING, tflop_per_s=41200.0)).startswith("by arithmetic: it has to do 2.15 TFLOP")
    assert bound_told(replace(STREAMING, bound="launch")).startswith("by the start of kernels")


def test_what_was_seen_and_what_to_try_stand_below_each_other() -> None:
    text = shown(replace(PASSED, timing=MULTIPLYING))
    assert "\n  Seen   Line 12 is slow.\n  Try    Pad it.\n" in text


def test_the_bottleneck_takes_the_place_of_the_costliest_line() -> None:
    counts = {"lines": {"9": {"global_load_requests": 1, "global_load_sectors": 32, "global_load_sectors_ideal": 4}}}
    assert "Seen on line 9" not in shown(replace(PASSED, counters=counts))
    assert "Seen on line 9" in shown(replace(PASSED, counters=counts, timing=None))


def test_why_times_are_slow_stands_beside_them() -> None:
    slowed = replace(STREAMING, slowed="The power cap held the GPU down.")
    assert medians(slowed).endswith("The power cap held the GPU down.")


def test_what_pytorch_and_the_limit_are_is_told() -> None:
    compiled = replace(STREAMING, rivals=(*STREAMING.rivals, rival("compiled", 0.74, 1.0, "tie")))
    assert "ran what pytorch runs, what compiled runs. The limit is what ceiling runs." in medians(compiled)
    assert medians(replace(STREAMING, rivals=())).endswith("95 % confidence.")


def test_who_could_not_be_timed_is_named_with_the_reason() -> None:
    left_out = replace(STREAMING, left_out={"pytorch": "The GPU has not enough free memory."})
    assert medians(left_out).endswith("Not timed, PyTorch: The GPU has not enough free memory.")


def test_a_refused_time_is_not_shown() -> None:
    text = shown(replace(PASSED, timing=replace(STREAMING, refused="Nothing can be as fast as that.")))
    assert "No time is accepted: Nothing can be as fast as that." in text
    assert not any(word in text for word in ("0.7358", "GOLD", "Medal", "█"))


def test_why_a_right_part_is_not_timed_is_told() -> None:
    untimed = replace(PASSED, timing=None, untimed="The driver does not answer.")
    assert "\n  Not timed: The driver does not answer.\n" in shown(untimed)
    assert "Not timed" not in shown(replace(untimed, untimed=None))


# ---- the same as JSON -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timing", [STREAMING, MULTIPLYING, replace(STREAMING, of_limit=None, bottleneck=None)])
def test_the_same_as_json_is_as_the_schema_says(timing: Timing) -> None:
    document = json.loads(Verdict("puzzle_01_vector_add", "Vector add", (replace(PASSED, timing=timing),)).to_json())
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    told = document["parts"][0]["timing"]
    assert [one["name"] for one in told["rivals"]] == [one.name for one in timing.rivals]
    assert told["medal"] == timing.medal


@pytest.mark.parametrize(
    "wrong",
    [
        {"medal": "platinum"},
        {"bound": "hope"},
        {"ms": 0.0},
        {"of_limit": -0.1},
        {"bottleneck": Bottleneck("luck", "", "")},
        {"rivals": (rival("cuBLAS", 1.0, 1.0, "tie"),)},
        {"rivals": (rival("reference", 1.0, 1.0, "draw"),)},
    ],
)
def test_the_schema_refuses_what_a_timing_cannot_say(wrong: dict[str, object]) -> None:
    timing = replace(STREAMING, **wrong)  # type: ignore[arg-type]
    document = json.loads(Verdict("puzzle_01_vector_add", "Vector add", (replace(PASSED, timing=timing),)).to_json())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
