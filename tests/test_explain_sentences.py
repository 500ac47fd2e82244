"""Every kind has its words and its page, and findings, patterns and compiler errors are told in them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.catalog import load_catalog
from grader.explain import (
    KINDS,
    Observation,
    Setting,
    diagnostics,
    element,
    page,
    say,
    sentence,
    title,
    unset_variables,
)
from grader.explain.compiler_rules import RULES
from grader.explain.names import kernel_name
from grader.findings import Place
from tests.judging import ROOT

PUZZLE = next(part for puzzle in load_catalog(ROOT).puzzles for part in puzzle.parts if part.label == "1.2")
SETTING = Setting(
    entry="vector_add",
    label="1.2",
    grid=(2, 1, 1),
    block=(256, 1, 1),
    types={"a": "f32", "out": "f32"},
    elements={"a": 257, "out": 257},
    shapes={"a": (257,), "out": (257,)},
)
DESIGN_KINDS = """compile_error, missing_entry, host_crash, host_timeout, launch_error, ignored_error, capture_unsafe,
out_of_bounds_read, out_of_bounds_write, misaligned_access, uninitialised_read, data_race, barrier_divergence, deadlock,
bad_sync_mask, endless_loop, integer_overflow, read_only_violation, never_written, wrong_values, low_precision,
not_a_number, non_deterministic, device_trap, forbidden_call, bank_conflicts, uncoalesced_access, redundant_traffic,
goal_missed, unsupported"""


def test_the_catalogue_knows_every_kind() -> None:
    assert list(KINDS) == DESIGN_KINDS.replace("\n", " ").split(", ")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_title_a_page_with_an_example_and_what_to_do(kind: str) -> None:
    text = page(kind)
    assert text.startswith(f"# {kind}: ")
    assert "```cuda\n" in text
    assert "**How to look for it.**" in text
    assert "**What to do.**" in text
    assert 2 <= len(title(kind)) <= 32


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_words_even_when_nothing_else_is_known(kind: str) -> None:
    said = say(Observation(kind), Setting(entry="vector_add"))
    assert said.message
    assert said.marks == ()


def test_an_unknown_kind_has_no_page() -> None:
    with pytest.raises(KeyError):
        page("../../etc/passwd")


# ---- findings ----


def outside(index: int, **facts: Any) -> Observation:
    return Observation(
        "out_of_bounds_read",
        line=7,
        kernel="add",
        block=(1, 0, 0),
        thread=(index - 256, 0, 0),
        buffer="a",
        index=index,
        facts=facts,
    )


def test_an_access_past_the_end_names_thread_element_and_size_and_the_missing_guard() -> None:
    said = say(outside(257), SETTING)
    assert said.message == "Thread 1 of block 1 reads `a[257]`, one past the 257 floats of `a`."
    assert "starts 512 threads, 2 blocks of 256, for 257 floats" in said.why
    assert [(mark.line, mark.text) for mark in said.marks] == [(7, "thread 1 of block 1 reads `a[257]`")]


def test_an_access_far_past_the_end_is_an_overflow() -> None:
    assert "254 past the 257 floats" in say(outside(510), SETTING).message
    assert "overflow" in say(outside(-(2**31)), SETTING).why
    assert "below 0" in say(outside(-4), SETTING).message


def test_a_wide_access_that_begins_inside_and_ends_outside_says_so() -> None:
    said = say(outside(256, bytes=16), SETTING)
    assert said.message == (
        "Thread 0 of block 1 reads 16 bytes from `a[256]` on, and they reach past the end of `a`, which has 257 floats."
    )


def test_an_atomic_on_what_nobody_wrote_is_told_as_an_addition() -> None:
    seen = Observation(
        "uninitialised_read", 7, block=(0, 0, 0), thread=(0, 0, 0), buffer="out", index=0, facts={"write": True}
    )
    said = say(seen, SETTING)
    assert said.message == "Thread 0 of block 0 adds to `out[0]` by an atomic before anything was written there."
    assert "cudaMemsetAsync" in said.why
    assert "atomic" not in say(replace(seen, facts={"write": False}), SETTING).message


def test_threads_that_store_to_one_place_on_one_line_are_told_that_it_belongs_to_one() -> None:
    facts = {"write": True, "other_write": True, "other_block": (0, 0, 0), "other_thread": (1, 0, 0)}
    seen = Observation(
        "data_race", 7, block=(0, 0, 0), thread=(0, 0, 0), buffer="out", index=0, other_line=7, facts=facts
    )
    one = "several threads of a block store to one and the same place"
    assert one in say(seen, SETTING).why
    assert one not in say(replace(seen, other_line=9), SETTING).why
    read = {**facts, "write": False}
    assert one not in say(replace(seen, facts=read), SETTING).why
    assert one in say(replace(seen, facts={**read, "one_place": True}, count=31), SETTING).why  # out[0] += x[i]
    assert one not in say(replace(seen, facts={**read, "one_place": False}, count=31), SETTING).why  # a tree


def test_threads_that_meet_at_an_element_of_a_matrix_are_asked_for_its_width_and_guard() -> None:
    setting = replace(SETTING, elements={"C": 561}, shapes={"C": (17, 33)})
    facts = {"write": True, "other_write": True, "other_block": [0, 0, 0], "other_thread": [1, 0, 0]}
    seen = Observation("data_race", 7, "k", (0, 0, 0), (0, 0, 0), buffer="C", index=33, other_line=7, facts=facts)
    for between_blocks in (False, True):
        why = say(replace(seen, facts={**facts, "between_blocks": between_blocks}), setting).why
        assert "another number than 33 stands for the width" in why
        assert "a guard for the column" in why
    assert "width" not in say(replace(seen, facts={**facts, "other_write": False, "between_blocks": True}), setting).why


def test_a_place_of_a_workspace_that_no_launch_wrote_asks_how_many_there_are() -> None:
    setting = replace(SETTING, workspaces=frozenset(["w"]), elements={"w": 8, "out": 8}, shapes={"w": (8,)})
    seen = Observation("uninitialised_read", 9, "k", (0, 0, 0), (1, 0, 0), buffer="w", index=1)
    assert "How many places does the launch before write" in say(seen, setting).why
    assert "cudaMemsetAsync" in say(replace(seen, buffer="out"), setting).why


def test_an_access_past_the_end_of_a_matrix_names_row_and_column_and_asks_for_guard_or_width() -> None:
    setting = replace(SETTING, elements={"A": 255}, shapes={"A": (17, 15)})
    why = say(replace(outside(264), buffer="A", block=(0, 0, 0)), setting).why
    assert "17 rows of 15" in why
    assert "row 17, column 9; its last row is 16" in why
    assert "another number than 15 stands for the width" in why


def test_an_access_past_the_end_by_groups_of_elements_says_what_an_index_counts_after_a_cast() -> None:
    setting = replace(SETTING, elements={"a": 1024}, shapes={"a": (1024,)})
    why = say(replace(outside(1024, bytes=16), thread=(0, 0, 0)), setting).why
    assert "The access takes 4 floats at once" in why
    assert "After a cast to `float4` an index counts groups of 4" in why


def test_any_other_access_past_the_end_asks_which_index_it_is() -> None:
    why = say(replace(outside(300), thread=(7, 0, 0)), SETTING).why
    assert "`a` ends with `[256]`" in why
    assert "has to keep out every index from 257 on" in why


def test_an_address_of_the_launch_codes_own_variable_is_told_as_one() -> None:
    facts = {
        "variant": "call_said",
        "call": "cudaMemsetAsync",
        "error": "cudaErrorInvalidValue",
        "reason": "the address is no device memory that the entry was given",
    }
    assert "A `&` in front" in say(Observation("launch_error", 7, facts=facts), SETTING).why
    assert "never ran" not in say(Observation("launch_error", 7, facts={**facts, "reason": "too far"}), SETTING).why


def test_a_call_that_waits_is_headed_as_one_and_told_with_what_does_not_wait() -> None:
    facts = {"variant": "synchronize", "call": "cudaMemset"}
    said = say(Observation("capture_unsafe", 7, facts=facts), SETTING)
    assert said.title == "waits for the GPU"
    assert "`vector_add` is an entry, a function that others call" in said.message
    assert "`cudaMemsetAsync(pointer, 0, bytes, stream)`" in said.why


def test_an_access_to_no_buffer_says_so() -> None:
    nowhere = Observation(
        "out_of_bounds_write", block=(0, 0, 0), thread=(3, 0, 0), facts={"bytes": 4, "address": 1 << 45}
    )
    assert say(nowhere, SETTING).message == "Thread 3 of block 0 writes 4 bytes at an address that lies in no buffer."
    null = Observation("out_of_bounds_write", block=(0, 0, 0), thread=(3, 0, 0), facts={"bytes": 4, "address": 16})
    assert "null pointer" in say(null, SETTING).message


def test_an_error_returned_for_nothing_to_do_is_not_called_a_refused_launch() -> None:
    returned = Observation("launch_error", facts={"variant": "returned", "error": "cudaErrorInvalidValue"})
    said = say(returned, Setting(entry="add", empty="n = 0"))
    assert (said.title, said.message) == (
        "returns an error",
        "`add` returned cudaErrorInvalidValue for n = 0, although no launch failed.",
    )
    assert "return cudaSuccess before launching" in said.why
    assert "never ran" not in say(returned, Setting(entry="add")).why


@pytest.mark.parametrize("kind", ["launch_error", "ignored_error"])
def test_an_empty_grid_is_wrong_only_where_there_is_work(kind: str) -> None:
    facts = {"variant": "said", "error": "cudaErrorInvalidValue", "reason": "a grid of 0 blocks"}
    refused = Observation(kind, line=8, facts=facts)
    assert "n = 0 is no error" in say(refused, Setting(entry="add", empty="n = 0", zero="n = 0")).why
    assert "the result has a value all the same" in say(refused, Setting(entry="add", zero="n = 0")).why
    assert "rounds down" in say(refused, Setting(entry="add")).why


def test_two_dimensional_launches_have_two_dimensional_threads() -> None:
    setting = Setting(entry="t", grid=(2, 2, 1), block=(16, 16, 1))
    said = say(Observation("device_trap", block=(1, 0, 0), thread=(0, 2, 0)), setting)
    assert said.message.startswith("Thread (0,2) of block (1,0)")


def test_a_race_names_both_lines_and_both_threads() -> None:
    race = Observation(
        "data_race",
        line=9,
        other_line=8,
        block=(0, 0, 0),
        thread=(3, 0, 0),
        buffer="out",
        index=4,
        facts={"write": False, "other_write": True, "other_block": [1, 0, 0], "other_thread": [4, 0, 0]},
    )
    said = say(race, SETTING)
    assert said.message == "One thread writes `out[4]` while another reads it."
    assert "Blocks run in any order" in said.why
    assert [(mark.line, mark.text) for mark in said.marks] == [
        (8, "thread 4 of block 1 may be writing here"),
        (9, "thread 3 of block 0 reads here"),
    ]


def test_a_copy_that_may_be_under_way_is_told_with_what_to_wait_for() -> None:
    facts = {"write": False, "other_write": True, "copy": "in_flight", "other_thread": [3, 0, 0], "variable": "x"}
    seen = Observation("data_race", line=9, other_line=8, thread=(3, 0, 0), buffer="tile", facts=facts)
    said = say(replace(seen, facts={**facts, "space": "shared"}), SETTING)
    assert said.message == "One thread writes to `tile` while another reads the same bytes."
    assert "not even that thread" in said.why
    assert said.marks[0].text == "the copy of thread 3 from here may still be under way"
    changed = replace(seen, facts={**facts, "copy": "overwritten"})
    assert "what it copies must stay as it is" in say(changed, SETTING).why


def test_a_race_on_a_variable_of_the_module_names_it() -> None:
    facts = {"write": True, "other_write": True, "space": "global", "region": "_ZL7counter"}
    words = Place(PUZZLE.part, PUZZLE.label, "x.cu", PUZZLE.solution_path)
    found = words.finding(Observation("data_race", line=9, other_line=8, facts=facts))
    assert found.message.startswith("Two threads use the variable `counter` at the same time")
    assert found.buffer == "counter"


def test_what_is_seen_in_a_given_function_is_shown_with_the_learners_call(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("given\ngiven\n// --- your code ---\nown\ncall\n// --- end ---\nlaunch\n")
    words = Place(PUZZLE.part, PUZZLE.label, "k.cu", source)
    facts = {"callers": [1, 5, 7], "other_callers": [5], "other_thread": [0, 0, 0]}
    found = words.finding(Observation("barrier_divergence", line=2, other_line=1, facts=facts))
    assert [line for line, text in found.marks if text == "which is called here"] == [5]
    own = words.finding(Observation("barrier_divergence", line=4, facts=facts))
    assert [line for line, _ in own.marks] == [4]


@pytest.mark.parametrize(
    ("kind", "variant", "words"),
    [
        ("device_trap", "grid", "but the launch is an ordinary one"),
        ("uninitialised_read", "mbarrier", "nobody has made"),
    ],
)
def test_waits_that_cannot_work_are_told_as_such(kind: str, variant: str, words: str) -> None:
    said = say(Observation(kind, line=9, facts={"variant": variant, "space": "shared"}), SETTING)
    assert words in said.message
    assert said.why


def test_a_race_on_one_line_has_one_mark_with_both_threads() -> None:
    race = Observation(
        "data_race",
        line=9,
        other_line=9,
        block=(0, 0, 0),
        thread=(1, 0, 0),
        buffer="out",
        index=0,
        facts={"write": True, "other_write": True, "other_block": [0, 0, 0], "other_thread": [0, 0, 0]},
    )
    said = say(race, SETTING)
    assert said.message == "Two threads write `out[0]`, and nothing says whose value stays."
    assert [mark.text for mark in said.marks] == ["thread 1 of block 0 and thread 0 of block 0 meet here"]


def test_a_race_between_warps_too_is_no_matter_of_a_warp() -> None:
    facts = {"space": "shared", "write": True, "other_write": False, "other_block": [0, 0, 0]}
    facts |= {"other_thread": [1, 0, 0], "between_warps": True}
    why = say(Observation("data_race", 9, "k", (0, 0, 0), (0, 0, 0), other_line=8, facts=facts), SETTING).why
    assert "__syncwarp" not in why
    assert "`__syncthreads()`" in why


def race_between(thread: tuple[int, int, int], other: tuple[int, int, int], block: list[int], size: Any) -> str:
    facts = {"space": "shared", "write": True, "other_write": False, "other_block": block, "other_thread": list(other)}
    seen = Observation("data_race", line=9, other_line=8, block=(0, 0, 0), thread=thread, facts=facts)
    return say(seen, Setting(entry="k", grid=(2, 1, 1), block=size)).why


def test_the_reason_of_a_race_depends_on_who_meets() -> None:
    assert "`__syncwarp()`" in race_between((0, 0, 0), (31, 0, 0), [0, 0, 0], (256, 1, 1))
    assert "needs one in between" in race_between((0, 0, 0), (32, 0, 0), [0, 0, 0], (256, 1, 1))
    assert "`__syncwarp()`" in race_between((0, 0, 0), (15, 1, 0), [0, 0, 0], (16, 16, 1))
    assert "needs one in between" in race_between((0, 0, 0), (0, 2, 0), [0, 0, 0], (16, 16, 1))
    assert "let every access to it be an atomic" in race_between((0, 0, 0), (1, 0, 0), [1, 0, 0], (256, 1, 1))


@pytest.mark.parametrize(
    ("variant", "lanes", "message", "why"),
    [
        (
            "absent",
            range(16, 32),
            "The mask 0x0000ffff names lanes 16 to 31, and they do not come",
            "Let all 32 lanes come",
        ),
        ("ended", [3], "The mask 0x0000ffff names lane 3, and it does not come", "has returned"),
        ("ended", [1, 3, 5, 7], "names lanes 1, 3, 5 and 7,", "has returned"),
        ("ended", range(1, 32, 2), "names lanes 1, 3, 5, … (16 in all),", "has returned"),
        ("source", [16], "Thread 15 of block 0 takes a value from lane 16,", "nobody has defined"),
        ("no_such_lane", [20], "takes a value from lane 20, and its warp has no such lane", "a multiple of 32 threads"),
        ("caller", [16, 17], "Lanes 16 and 17 of a warp come to this operation, whose mask", "no other lane may"),
    ],
)
def test_a_wrong_mask_names_the_lanes(variant: str, lanes: Any, message: str, why: str) -> None:
    facts = {"variant": variant, "mask": 0xFFFF, "lanes": list(lanes)}
    seen = Observation("bad_sync_mask", line=9, block=(0, 0, 0), thread=(15, 0, 0), facts=facts, other_line=12)
    said = say(seen, SETTING)
    assert message in said.message
    assert why in said.why
    assert [mark.line for mark in said.marks] == [9, 12]
    assert "…" not in said.message.replace("…  (", "").replace("5, … (16", "")


def test_a_matrix_operation_names_the_lanes_that_it_lacks() -> None:
    facts = {"variant": "matrix_absent", "mask": 0xFFFFFFFF, "lanes": list(range(16, 32))}
    said = say(Observation("bad_sync_mask", line=9, block=(0, 0, 0), thread=(0, 0, 0), facts=facts), SETTING)
    assert said.message.endswith("and it is made without lanes 16 to 31.")
    said = say(Observation("bad_sync_mask", line=9, facts=facts | {"variant": "matrix_partial"}), SETTING)
    assert "The last warp of this block lacks lanes 16 to 31." in said.message
    assert "a multiple of 32 threads" in said.why


def test_a_fragment_is_told_by_its_address_or_by_the_distance_of_its_rows() -> None:
    facts = {"variant": "pitch", "alignment": 16, "bytes": 34, "address": 0x1000}
    said = say(Observation("misaligned_access", line=9, facts=facts), SETTING)
    assert said.message == "The rows of a matrix fragment lie 34 bytes apart, which is no multiple of 16."
    assert "padded by 8 instead" in said.why
    facts = {"variant": "fragment", "alignment": 32, "bytes": 32, "address": 0x1010}
    said = say(Observation("misaligned_access", line=9, facts=facts), SETTING)
    assert said.message == "A matrix fragment begins at an address that is no multiple of 32 bytes."
    assert [mark.text for mark in said.marks] == ["needs a multiple of 32 bytes"]


def test_a_barrier_that_a_thread_goes_past_names_both() -> None:
    facts = {"other_block": [0, 0, 0], "other_thread": [100, 0, 0]}
    seen = Observation("barrier_divergence", 10, "k", (0, 0, 0), (0, 0, 0), other_line=11, facts=facts)
    said = say(seen, SETTING)
    assert said.message == "Thread 0 of block 0 waits at this `__syncthreads()`, and thread 100 does not come to it."
    assert [mark.text for mark in said.marks] == [
        "thread 0 of block 0 waits here",
        "thread 100 of block 0 is here instead",
    ]


def test_a_deadlock_counts_who_waits() -> None:
    seen = Observation("deadlock", 10, "k", (0, 0, 0), (0, 0, 0), facts={"waiting": 64, "wanted": 1024})
    assert (
        "64 threads stand at this barrier, which waits for 1,024, and nobody else comes" in say(seen, SETTING).message
    )


def test_a_result_that_depends_on_the_order_says_why_it_may() -> None:
    seen = Observation("non_deterministic", 12, buffer="out", index=0, facts={"variant": "order"})
    said = say(seen, SETTING)
    assert said.message.startswith("The result depends on which warp or block comes first: `out[0]` is right")
    assert "by a second launch" in said.why


def test_a_grid_that_reaches_over_the_edge_of_a_matrix_says_so() -> None:
    setting = Setting("gemm", grid=(3, 2, 1), block=(16, 16, 1), elements={"C": 561}, result=(17, 33))
    beyond = Observation("out_of_bounds_write", 7, "k", (0, 1, 0), (0, 1, 0), buffer="C", index=561)
    assert say(beyond, setting).why.startswith("The grid has 48 × 32 threads, along x and y, for 33 × 17 elements:")
    turned = replace(setting, grid=(2, 3, 1))  # a transpose may have its threads lie as its input does
    assert "for 17 × 33 elements" in say(replace(beyond, block=(1, 0, 0), thread=(1, 0, 0)), turned).why
    within = replace(beyond, block=(0, 0, 0))  # its own row and column are there: the index is wrong
    assert "The grid has" not in say(within, setting).why
    assert "The grid has" not in say(beyond, replace(setting, grid=(3, 5, 1))).why


@pytest.mark.parametrize(
    ("kind", "size", "words"),
    [("f16", 4, "one `half2`, must start at a multiple of 4 bytes"), ("f16", 16, "the index a multiple of 8 halves")],
)
def test_a_misaligned_access_counts_in_elements_of_its_buffer(kind: str, size: int, words: str) -> None:
    setting = replace(SETTING, types={"a": kind, "out": kind})
    facts = {"bytes": size, "alignment": size, "address": 0x1002}
    said = say(Observation("misaligned_access", line=8, buffer="a", index=1, facts=facts), setting)
    assert words in said.why


def test_a_misaligned_access_says_what_the_address_should_be() -> None:
    seen = Observation(
        "misaligned_access",
        line=8,
        block=(0, 0, 0),
        thread=(0, 0, 0),
        buffer="a",
        index=127,
        facts={"bytes": 16, "alignment": 16, "address": 0x1000 + 508},
    )
    said = say(seen, SETTING)
    assert (
        said.message == "Thread 0 of block 0 accesses 16 bytes at once at `a[127]`, whose address is no multiple of 16."
    )
    assert "`float4`" in said.why
    assert said.marks[0].text == "address modulo 16 is 12"


def test_elements_of_a_matrix_are_named_by_row_and_column() -> None:
    assert element("C", 2112, (65, 33)) == "`C[2112]` (row 64, column 0)"
    assert element("C", 9999, (65, 33)) == "`C[9999]`"
    assert element("a", 3, (257,)) == "`a[3]`"


def test_facts_of_a_stranger_cannot_break_a_sentence() -> None:
    said = say(
        Observation("launch_error", facts={"variant": "said", "error": "{who.__class__}", "reason": "{0}"}), SETTING
    )
    assert "{who.__class__}: {0}" in said.message


def test_kernel_names_are_those_of_the_source() -> None:
    assert kernel_name("_Z10add_kernelPKfS0_Pfi") == "add_kernel"
    assert kernel_name("_Z4tileILi16EEvPf") == "tile<16>"
    assert kernel_name("_ZN12_GLOBAL__N_11kEPf") == "k"
    assert kernel_name("plain") == "plain"
    assert kernel_name("_Zgarbage") == "_Zgarbage"


# ---- nvcc ----


@pytest.mark.parametrize(
    ("raw", "line", "told"),
    [
        ('k.cu(7): error: identifier "i" is undefined\n  o[i] = 1;\n    ^\n', 7, "`i` is not declared"),
        ('k.cu(3): error: expected a ";"\n', 3, "`;` is missing"),
        ('k.cu(3): error: identifier "assert" is undefined\n', 3, "`#include <cassert>`"),
        ('k.cu(3): error: namespace "std" has no member "cout"\n', 3, "`#include <iostream>`"),
        ("k.cu:9:1: error: control reaches end of non-void function [-Werror=return-type]\n", 9, "without `return`"),
        (
            'k.cu(8): error: argument of type "cudaStream_t" (aka "CUstream_st *") is incompatible with '
            'parameter of type "size_t" (aka "unsigned long")\n',
            8,
            "The stream stands third",
        ),
        (
            "k.cu(8): error: expression must have integral or unscoped enum type\n    add<<blocks, 256>>(a);\n    ^\n",
            8,
            "Did you mean `<<<",
        ),
        ('At end of source: error: expected a "}"\nk.cu(2): note #3196-D: to match this "{"\n', 2, "`}` is missing"),
        ("k.cu(2): error: a __global__ function call must be configured\n", 2, "`<<<blocks, threads, 0, stream>>>`"),
        ("k.cu:2:10: fatal error: nothere.h: No such file or directory\n", 2, "`nothere.h` does not exist"),
        ('k.cu(9): error: identifier "__shfl_down" is undefined\n', 9, "`__shfl_down_sync`"),
        ("k.cu(5): error: expression must be a modifiable lvalue\n", 5, "cannot be written"),
        (
            'k.cu(2): error: no operator "*" matches these operands\n    operand types are: const uint3 * const int\n',
            2,
            "`.x`",
        ),
        (
            "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x13880 bytes, 0xc000 max)\n",
            None,
            "80,000 bytes",
        ),
    ],
)
def test_usual_errors_of_nvcc_are_one_sentence_with_the_original_beside_it(
    raw: str, line: int | None, told: str
) -> None:
    (found,) = diagnostics(raw)
    assert found.line == line
    assert told in found.sentence
    assert found.original in raw


def test_a_brace_that_is_never_closed_is_told_without_what_follows_from_it() -> None:
    raw = (
        "k.cu(8): error: linkage specification is not allowed\n"
        'k.cu(8): error: expected a ";"\n'
        'k.cu(4): error: identifier "j" is undefined\n'
        'At end of source: error: expected a "}"\nk.cu(2): note #3196-D: to match this "{"\n'
    )
    assert [(found.line, found.original[:12]) for found in diagnostics(raw)] == [
        (2, 'expected a "'),
        (4, 'identifier "'),
    ]


def test_a_variable_without_a_first_value_is_read_off_the_warnings_once() -> None:
    warning = 'k.cu(6): warning #549-D: variable "sum" is used before its value is set\n      sum += a[i];\n'
    assert unset_variables(warning * 2 + "/usr/include/x.h" + warning[4:]) == [(6, "sum")]


def test_an_unusual_error_keeps_its_own_words() -> None:
    (found,) = diagnostics("k.cu(4): error: the frobnicator is not concave\n")
    assert (found.line, found.sentence, found.original) == (4, "", "the frobnicator is not concave")


def test_errors_in_headers_stand_back_behind_the_learners_own() -> None:
    raw = "/usr/include/x.h(88): error: something deep\nk.cu(4): error: expected an expression\n"
    assert [found.line for found in diagnostics(raw)] == [4]


def test_a_runtime_that_is_hidden_from_the_linker_is_told_once() -> None:
    names = ("__cudaInitModule", "__cudaRegisterFunction", "__cudaPopCallConfiguration")
    (found,) = diagnostics("".join(f"k.cu:(.text+0x1): undefined reference to `{name}'\n" for name in names))
    assert "hidden from the linker" in found.sentence


def test_no_text_at_all_is_no_error() -> None:
    assert diagnostics("") == []
    assert diagnostics("\x00\xff: : error\n" * 50) == []


def test_every_sentence_can_be_filled_in() -> None:
    def leaves(node: Any, path: tuple[str, ...]) -> list[tuple[str, ...]]:
        return (
            [leaf for key, item in node.items() for leaf in leaves(item, (*path, key))]
            if isinstance(node, dict)
            else [path]
        )

    catalogue = tomllib.loads((Path(sentence.__code__.co_filename).parent / "en" / "sentences.toml").read_text("utf-8"))
    for path in leaves(catalogue, ()):
        assert sentence(*path), path


def test_every_rule_for_an_error_of_nvcc_has_its_sentence() -> None:
    assert [rule.key for rule in RULES if not sentence("compiler", rule.key)] == []


def test_no_sentence_has_a_gap_that_its_code_never_fills() -> None:
    catalogue = (Path(sentence.__code__.co_filename).parent / "en" / "sentences.toml").read_text(encoding="utf-8")
    gaps = set(re.findall(r"\{(\w*)\}", catalogue))
    assert "" not in gaps
    assert not [gap for gap in gaps if not re.fullmatch(r"[A-Za-z_]+", gap)]
