"""The story of one thread: variables out of debug sections, probes into PTX, a trace into lines that are read."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.build import Build, build
from grader.catalog import load_catalog
from grader.findings import Place
from grader.inputs import memory_for
from grader.puzzle import Case
from grader.report.story import _Table
from grader.simt.lower import lower
from grader.simt.program import write_program
from grader.simt.software import SoftwareGPU
from grader.story.events import Event, Names, events, shown_value
from grader.story.probes import MARK, Probe, instrument
from grader.story.run import Story, _telling, tell
from grader.story.steps import Call, Item, Rounds, Step, in_rounds, steps
from grader.story.variables import Debugged, DebugUnreadable, Type, Variable, read_variables
from grader.tools import default_tools
from tests.judging import ROOT

SOURCE = ROOT / "tests" / "kernels" / "story.cu"
PART = next(part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if part.label == "1.2")


@pytest.fixture(scope="module")
def built() -> Build:
    return build(SOURCE, debug=True)


@pytest.fixture(scope="module")
def ptx(built: Build) -> str:
    return built.ptx.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def debugged(ptx: str) -> Debugged:
    return read_variables(ptx)


def told(source: Path, n: int) -> Story:
    words = Place(PART.part, PART.label, source.name, source)
    story = tell(words, PART.part, Case(n=n), source, 7, default_tools())
    assert story is not None
    return story


def flat(items: Sequence[Item]) -> list[Step]:
    """All steps that are shown, those of called functions too."""
    found: list[Step] = []
    for item in items:
        if isinstance(item, Rounds):
            found += [step for _, shown in item.shown for step in flat(shown)]
            continue
        found.append(item)
        for part in item.parts:
            if isinstance(part, Call):
                found += flat(part.items)
    return found


def at(text: str) -> int:
    """The line of the kernel that has this text."""
    return next(number for number, line in enumerate(SOURCE.read_text().split("\n"), 1) if text in line)


def notes(items: Sequence[Item], line: int) -> list[tuple[str, str, str]]:
    steps = [step for step in flat(items) if step.line == line]
    return [(part.kind, part.what, part.value) for step in steps for part in step.parts if isinstance(part, Event)]


# ---- variables ----


def test_variables_have_names_types_and_places(debugged: Debugged) -> None:
    kernel = next(name for name in debugged.variables if "story_kernel" in name)
    found = {variable.name: variable for variable in debugged.variables[kernel]}
    assert {"t", "i", "sum", "k", "next", "p", "parts", "pair", "tile", "halves"} <= set(found)
    assert (found["sum"].type.kind, found["i"].type.kind, found["k"].type.kind) == ("float", "unsigned", "int")
    assert (found["tile"].type.extents, found["tile"].type.bytes) == ((8, 2), 64)
    assert [member[:2] for member in found["pair"].type.members] == [("x", 0), ("n", 4)]
    assert len(found["sum"].ranges) > 2  # from one register to the next, round by round
    assert found["parts"].frame is not None
    assert found["halves"].symbol in debugged.symbols
    assert [name for name, _ in debugged.parameters[kernel]] == ["a", "b", "out", "n"]


def test_a_debug_section_that_makes_no_sense_is_said_to_be_unreadable(ptx: str) -> None:
    assert read_variables("").variables == {}
    lines = ptx.splitlines()
    places = [number for number, line in enumerate(lines) if line.startswith(".b")]
    random.seed(3)
    for _ in range(60):
        broken = list(lines)
        for number in random.sample(places, 8):
            broken[number] = random.choice([".b8 255", ".b32 $L__nowhere-7", ".b64 x+1", "", ".b8 0", ".b8 1,2,3,4"])
        try:
            found = read_variables("\n".join(broken))
        except DebugUnreadable:
            continue
        instrument("\n".join(broken), found, "story.cu")


# ---- probes ----


def run(built: Build, text: str, folder: Path) -> torch.Tensor:
    program = folder / "program.simt"
    write_program(lower(text, built.source_name), program)
    case = Case(n=11)
    memory = memory_for(PART.part, case, 7)
    plan = default_tools().record(built, PART.part, case).plan
    roles = {buffer.name: buffer.role for buffer in PART.part.buffers}
    result = SoftwareGPU(built, program=program).run(plan, memory, roles=roles)
    assert result.findings == []
    return memory["out"]


def test_probes_change_nothing_of_what_a_kernel_computes(
    built: Build, ptx: str, debugged: Debugged, tmp_path: Path
) -> None:
    instrumented = instrument(ptx, debugged, "story.cu")
    assert {probe.kind for probe in instrumented.probes} == {"line", "set", "barrier"}
    assert torch.equal(run(built, instrumented.text, tmp_path), run(built, ptx, tmp_path))


def test_code_of_headers_gets_no_probes(ptx: str, debugged: Debugged) -> None:
    assert instrument(ptx, debugged, "another.cu").probes == []
    lines = SOURCE.read_text(encoding="utf-8").count("\n")
    assert all(0 < probe.line <= lines for probe in instrument(ptx, debugged, "story.cu").probes)


# ---- events ----

FLOATS = Type("array", 24, of=Type("float", 4), extents=(3, 2))
NAMES = Names(
    buffers={"a": "f32", "h": "f16", "o": "i64"},
    addresses={"a": (0x1000, 64), "h": (0x2000, 8)},
    shared=[("tile_symbol", 0, 24), ("nameless", 32, 8)],
    variables={
        "k": [
            Variable(
                "pair", Type("struct", 8, members=(("x", 0, Type("float", 4)), ("n", 4, Type("int", 4)))), 3, frame=8
            )
        ]
    },
    symbols={"tile_symbol": Variable("tile", FLOATS, 1, symbol="tile_symbol")},
)
PROBES = [
    Probe("line", "k", 5),
    Probe("set", "k", 5, Variable("x", Type("float", 4), 5)),
    Probe("set", "k", 6, Variable("a", Type("pointer", 8, of=Type("float", 4)), 6)),
    Probe("set", "k", 6, Variable("wide", Type("int", 8), 6)),
    Probe("barrier", "k", 7),
]


def probed(number: int, value: bytes, offset: int = 64) -> dict[str, Any]:
    mark = (MARK + number).to_bytes(len(value), "little")
    return {"line": 5, "op": "st.local", "function": "k", "space": "local", "region": "", "offset": offset} | {
        "write": True,
        "value": (mark + value).hex(),
    }


def access(space: str, region: str, offset: int, value: bytes, *, write: bool = False, op: str = "") -> dict[str, Any]:
    where = {"line": None, "op": op or "ld", "function": "header", "space": space, "region": region, "offset": offset}
    return where | {"write": write, "value": value.hex()}


OWN = access("local", "", 0, b"", write=True) | {"function": "k"}


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


@pytest.mark.parametrize(
    ("entry", "event"),
    [
        (access("global", "a", 12, floats(0.5)), ("read", "a[3]", "0.5")),
        (access("global", "a", 16, floats(1, 2, 3, 4), write=True), ("write", "a[4…7]", "1, 2, 3, 4")),
        (access("global", "h", 2, struct.pack("<e", 1.5)), ("read", "h[1]", "1.5")),
        (access("global", "o", 8, (-3).to_bytes(8, "little", signed=True)), ("read", "o[1]", "-3")),
        (access("global", "a", 64, b""), ("read", "a[16]", "")),
        (access("global", "a", 0, floats(2), write=True, op="red.global.add.f32"), ("atomic", "a[0]", "2")),
        (access("shared", "", 12, floats(0.5)), ("read", "tile[1][1]", "0.5")),
        (access("shared", "", 32, floats(0.5)), ("read", "shared memory at byte 32", "0.5")),
        (OWN | {"offset": 64 + 16 + 8 + 4, "value": "07000000"}, ("set", "pair.n", "7")),
    ],
)
def test_accesses_are_told_by_the_names_of_the_source(entry: dict[str, Any], event: tuple[str, str, str]) -> None:
    *_, found = events([probed(0, bytes(4)), entry], PROBES, NAMES)
    assert (found.kind, found.what, found.value) == event
    assert (found.function, found.line) == ("k", 5)  # a header's function has no line of its own


def test_probes_are_told_as_lines_variables_and_barriers() -> None:
    trace = [
        probed(0, bytes(4)),
        probed(1, floats(0.25)),
        probed(2, (0x1008).to_bytes(8, "little")),
        probed(2, (0x1000).to_bytes(8, "little")),  # a points to a: nothing to tell
        probed(2, (0x9999).to_bytes(8, "little")),  # an address that means nothing to anybody
        probed(3, (-1).to_bytes(8, "little", signed=True)),
        probed(4, bytes(4)),
    ]
    found = [(event.kind, event.line, event.what, event.value) for event in events(trace, PROBES, NAMES)]
    assert found == [
        ("line", 5, "", ""),
        ("set", 5, "x", "0.25"),
        ("set", 6, "a", "a + 2"),
        ("set", 6, "wide", "-1"),
        ("barrier", 7, "", ""),
    ]


def test_what_looks_like_a_probe_and_is_none_is_left_out() -> None:
    beyond = probed(len(PROBES), bytes(4))
    (told,) = events([beyond, beyond | {"space": "global", "region": "a", "offset": 0}], PROBES, NAMES)
    assert (told.kind, told.what) == ("write", "a[0…1]")


@pytest.mark.parametrize(
    ("value", "of", "shown"),
    [
        (floats(1.0), Type("float", 4), "1"),
        (b"\x80\x3f", Type("bfloat", 2), "1"),
        (b"\xff\xff\xff\xff", Type("int", 4), "-1"),
        (b"\xff\xff\xff\xff", Type("unsigned", 4), "4294967295"),
        (b"\x01", Type("bool", 1), "true"),
        (bytes(8), Type("pointer", 8), "nullptr"),
        ((0x1006).to_bytes(8, "little"), Type("pointer", 8, of=Type("float", 4)), "a + 6 bytes"),
        (floats(1, 2), Type("struct", 8, members=(("x", 0, Type("float", 4)), ("y", 4, Type("float", 4)))), "(1, 2)"),
        (b"\x01\x02", Type("float", 4), "0x0201"),
    ],
)
def test_values_are_shown_as_they_are_written(value: bytes, of: Type, shown: str) -> None:
    assert shown_value(value, of, NAMES) == shown


# ---- steps ----


def ran(*lines: int | tuple[str, int]) -> list[Item]:
    return steps(Event("line", *(("k", line) if isinstance(line, int) else line)) for line in lines)


def outline(items: Sequence[Item]) -> list[Any]:
    return [
        item.line
        if isinstance(item, Step)
        else {number: outline(shown) for number, shown in item.shown} | {"of": item.total}
        for item in items
    ]


def test_lines_are_steps_and_a_line_told_twice_is_one() -> None:
    assert outline(ran(1, 2, 2, 3)) == [1, 2, 3]


def test_a_loop_shows_its_first_second_and_last_round() -> None:
    assert outline(ran(1, *([2, 3] * 9), 2, 4)) == [1, {1: [2, 3], 2: [2, 3], 9: [2, 3, 2], "of": 9}, 4]
    assert outline(ran(1, *([2, 3] * 4), 2, 4)) == [1, {1: [2, 3], 2: [2, 3], 3: [2, 3], 4: [2, 3, 2], "of": 4}, 4]


def test_loops_within_loops_are_folded_each_for_itself() -> None:
    inner = [3, 4] * 8 + [3]
    told = ran(1, *([2, *inner, 5] * 6), 2, 6)
    shown = [2, {1: [3, 4], 2: [3, 4], 8: [3, 4, 3], "of": 8}, 5]
    assert outline(told) == [1, {1: shown, 2: shown, 6: [*shown, 2], "of": 6}, 6]


def test_rounds_may_take_different_branches() -> None:
    assert outline(ran(2, 3, 2, 4, 2, 3, 5)) == [{1: [2, 3], 2: [2, 4], 3: [2, 3], "of": 3}, 5]


def test_a_called_function_stands_within_the_line_that_called_it() -> None:
    (first, second) = ran(1, ("f", 10), ("f", 11), ("k", 1), ("f", 10), ("k", 2))
    assert isinstance(first, Step)
    assert [outline(part.items) for part in first.parts if isinstance(part, Call)] == [[10, 11], [10]]
    assert isinstance(second, Step)


def test_a_loop_on_one_line_is_told_in_rounds() -> None:
    told = [Event("set", "k", 1, what) for what in ("w", "s", "w", "s", "w")]
    assert [[event.what for event in one] for one in in_rounds(told)] == [["w", "s"], ["w", "s"], ["w"]]
    assert len(in_rounds(told[:2])) == 1


# ---- the whole ----


def test_a_thread_is_followed_by_name_up_to_the_wrong_store() -> None:
    story = told(SOURCE, 11)
    assert story.named
    assert story.element is not None
    assert (story.element.buffer, story.element.index, story.block, story.thread) == ("out", 0, (0, 0, 0), (0, 0, 0))
    assert story.arguments == "a, b, out, n = 11"
    inputs = memory_for(PART.part, Case(n=11), 7)
    assert ("set", "t", "0") in notes(story.items, at("const int t"))
    assert ("write", "tile[0][1]", f"{float(inputs['a'][0]):.7g}") in notes(story.items, at("tile[t % T][1] ="))
    assert ("write", "halves[0]", "1.5") in notes(story.items, at("halves[t % T] ="))
    assert ("barrier", "", "") in notes(story.items, at("__syncthreads"))
    assert [value for kind, what, value in notes(story.items, at("for (int k")) if what == "k"] == [
        "0",
        "1",
        "10",
        "11",
    ]
    assert ("read", "b[10]", f"{float(inputs['b'][10]):.7g}") in notes(story.items, at("float next"))
    assert [value for _, what, value in notes(story.items, at("while (p")) if what == "p"] == [
        "a + 1",
        "a + 2",
        "a + 3",
    ]
    assert ("set", "product", "3") in notes(story.items, at("float product"))
    assert ("set", "pair.n", "7") in notes(story.items, at("pair.n"))
    last = flat(story.items)[-1]
    assert isinstance(last.parts[-1], Event)
    assert (last.line, last.parts[-1].what) == (at("if (i < n) out"), "out[0]")


WRONG = ROOT / "tests" / "wrong" / "puzzle_01_vector_add"


def test_where_nobody_stored_the_element_the_nearest_store_is_told() -> None:
    story = told(WRONG / "forgets_the_block.cu", 257)
    assert story.element is not None
    assert (story.element.index, story.beside, story.block, story.thread) == (256, 255, (1, 0, 0), (255, 0, 0))
    assert ("set", "i", "255") in notes(story.items, 5)


def test_a_race_ends_the_story_in_the_round_that_uses_the_place_in_question() -> None:
    part = next(part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if part.label == "5.1")
    source = ROOT / "tests/wrong/puzzle_05_reductions/block_no_barrier_in_the_loop.cu"
    story = tell(Place(part.part, part.label, source.name, source), part.part, Case(n=1), source, 7, default_tools())
    assert story is not None
    found = re.search(r"partial\[\d+\]", story.found)
    assert found is not None
    used = [one.what for one in flat(story.items)[-1].parts if isinstance(one, Event) and one.kind in ("read", "write")]
    assert found[0] in used
    assert "partial[1]" not in used


def test_a_fault_ends_the_story_at_its_line() -> None:
    story = told(ROOT / "tests" / "cases" / "p01_no_guard.cu", 5)
    assert "one past the 5 floats" in story.found
    assert flat(story.items)[-1].line == 7
    assert ("read", "a[5]", "") in notes(story.items, 7)


def test_what_fails_only_when_optimised_is_told_by_lines_and_memory(tmp_path: Path) -> None:
    source = tmp_path / "part.cu"
    text = (WRONG / "subtracts.cu").read_text(encoding="utf-8").replace("a[i] - b[i]", "a[i] SIGN b[i]")
    source.write_text(f"#ifdef __CUDACC_DEBUG__\n#define SIGN +\n#else\n#define SIGN -\n#endif\n{text}")
    story = told(source, 3)
    assert not story.named
    inputs = memory_for(PART.part, Case(n=3), 7)
    assert ("read", "a[0]", f"{float(inputs['a'][0]):.7g}") in notes(story.items, 11)


def test_a_case_that_is_right_has_no_story() -> None:
    words = Place(PART.part, PART.label, "x.cu", PART.solution_path)
    assert tell(words, PART.part, Case(n=5), PART.solution_path, 7, default_tools()) is None


# ---- in the terminal ----


def printed(items: Sequence[Item], source: str) -> list[str]:
    """The rows of a story of these items, without their notes' indents."""
    story = Story(Case(n=1), None, "", (0, 0, 0), (0, 0, 0), items)  # type: ignore[arg-type]  # no launch is shown
    return [" ".join(row.plain.split()) for row in _Table(story, source.split("\n"), 100).rows()]


def step(line: int, *parts: Event | Call) -> Step:
    return Step("k", line, list(parts))


def test_loops_that_an_earlier_round_has_shown_stand_on_one_line() -> None:
    def inner(store: int) -> Rounds:
        return Rounds(2, 8, [(number, [step(2), step(store)]) for number in (1, 2, 8)])

    rows = printed([step(9), Rounds(1, 5, [(number, [step(1), inner(3)]) for number in (1, 2, 5)]), step(4)], "\n" * 9)
    assert rows.count("┄ loop on line 2, 8 rounds as above") == 2
    ended = printed([step(9), Rounds(1, 5, [(1, [step(1), inner(3)]), (5, [step(1), inner(3)])])], "\n" * 9)
    assert not [row for row in ended if "as above" in row], "the story ends in there"


def test_a_given_function_is_told_by_what_it_was_called_with() -> None:
    source = "given\nits body\n// --- your code ---\nown call\nown function\nits own body\n// --- end ---\n"
    given, own = ([step(line, Event("set", "f", line, "x", "1")), step(line + 1)] for line in (1, 5))
    rows = printed([step(9), step(4, Call(given), Call(own)), step(3)], source)
    assert any("given" in row for row in rows)
    assert not any("its body" in row for row in rows)
    assert any("its own body" in row for row in rows)
    rows = printed([step(9), step(4, Call(given))], source)
    assert any("its body" in row for row in rows), "the story ends in there"


def test_a_wrong_element_off_the_diagonal_is_told_of() -> None:
    wrong = torch.tensor([True, False, True, True, True, False])
    assert _telling(wrong, (2, 3)) == 2
    assert _telling(wrong, (6,)) == 0
    assert _telling(torch.tensor([True, False, False, False]), (2, 2)) == 0
