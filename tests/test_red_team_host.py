"""Attacks by launch code: each achieves its aim without what holds it, nothing with it, and its twin passes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.build import Build
from grader.record import Recording, record_entry
from grader.record.protocol import read_transcript
from tests.red_team.attacks import attack, attacks
from tests.red_team.building import build_with, built_together
from tests.red_team.open_run import Seen, call_of, run_beside_the_answers, run_open

ALL = attacks("host", "loading")
LEAST_SLEEP = 0.3  # seconds, of each of two calls
LONG = 1.0
KEPT = 16_384  # bytes of what a launcher prints


def built(entry: str) -> Build:
    return build_with(entry) if attack(entry.removesuffix("_twin")).folder == "loading" else built_together("host")


def held(name: str, *, inject: int = 0) -> Recording:
    """The attack, recorded as any entry is."""
    return record_entry(built(name), call_of(name, inject=inject))


# ---- with the defence off --------------------------------------------------------------------------------------------


def left_a_mark(seen: Seen) -> bool:
    return (seen.folder / "mark").exists()


def forged(seen: Seen) -> bool:
    transcript = read_transcript(seen.stream, 2)
    kinds = [event.kind for call in transcript.calls for event in call.events]
    return bool(kinds) and seen.code == 0 and transcript.ending is not None and transcript.ending.kind == "done"


# What each attack wants, and whether a run without filter, limits and cage shows that it got it.
AIMS: dict[str, Callable[[Seen], bool]] = {
    "forks": left_a_mark,
    "runs_a_program": left_a_mark,
    "starts_a_thread": left_a_mark,
    "writes_a_file": left_a_mark,
    "runs_while_it_is_loaded": left_a_mark,
    "reads_a_file": lambda seen: b"root:" in seen.printed,
    "reads_the_graders_environment": lambda seen: b"PATH=" in seen.printed,
    "signals_the_grader": lambda seen: seen.signalled,
    "opens_a_socket": lambda seen: seen.outside.startswith(b"what is a + b?"),
    "survives_its_crash": lambda seen: b"still here" in seen.printed and seen.code == 0,
    "sleeps": lambda seen: seen.seconds >= 2 * LEAST_SLEEP,
    "never_returns": lambda seen: seen.code is None and seen.seconds >= LONG,
    "takes_all_memory": lambda seen: b"all of it" in seen.printed,
    "floods_the_output": lambda seen: len(seen.printed) > 100 * KEPT,
    "exits": lambda seen: seen.code == 0 and b'"done"' not in seen.stream,
    "forges_a_plan": forged,
    "forges_by_the_recorders_hand": forged,
}
IN_ONE_PROCESS = ("prints_a_verdict", "patches_the_judge", "reads_the_answers")
DISAGREEING = ("works_in_the_first_call_only", "keeps_a_pointer")


@pytest.mark.parametrize("name", AIMS)
def test_it_succeeds_where_nothing_holds_the_launcher(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.record.request.CPU_MILLISECONDS", 60_000)
    seen = run_open(built(name), name, tmp_path, seconds=LONG if name == "never_returns" else 20.0)
    assert AIMS[name](seen), seen


@pytest.mark.parametrize("name", IN_ONE_PROCESS)
def test_it_succeeds_in_the_process_that_judges(name: str, tmp_path: Path) -> None:
    lines = run_beside_the_answers(built(name), name, tmp_path).splitlines()
    assert json.loads(lines[0])["passed"]


def test_a_launcher_that_does_nothing_is_not_passed_by_that_judge(tmp_path: Path) -> None:
    twin = run_beside_the_answers(built("exits"), "exits_twin", tmp_path)
    assert json.loads(twin) == {"passed": False}  # there is no GPU to work on


@pytest.mark.parametrize("name", DISAGREEING)
def test_it_succeeds_where_the_recordings_are_not_compared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.record.judge.difference", lambda *_: None)
    recording = held(name)
    assert recording.findings == []
    assert len(recording.plan.operations) == 1


def test_a_forged_plan_is_believed_where_its_addresses_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.record.judge.check_operations", lambda *_: None)
    monkeypatch.setattr("grader.record.plan.check_operations", lambda *_: None)
    recording = held("forges_by_the_recorders_hand")
    assert recording.findings == []
    assert len(recording.plan.operations) == 1


def test_errors_may_be_swallowed_where_no_launch_fails() -> None:
    assert held("swallows_errors").findings == []


def test_every_attack_is_shown_to_succeed() -> None:
    assert {*AIMS, *IN_ONE_PROCESS, *DISAGREEING, "swallows_errors"} == set(ALL)


# ---- with the defence on ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_it_fails_as_the_grader_records_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "never_returns":  # so that nobody waits for two seconds
        monkeypatch.setattr("grader.record.request.CPU_MILLISECONDS", 100)
    wanted = attack(name).finding
    recording = held(name, inject=1 if wanted == "ignored_error" else 0)
    assert [finding.kind for finding in recording.findings] == ([wanted] if wanted else [])
    assert not (built(name).directory / "mark").exists()
    assert len(recording.printed) <= KEPT
    assert "root:" not in recording.printed
    assert "PATH=" not in recording.printed


@pytest.mark.parametrize("name", IN_ONE_PROCESS)
def test_what_is_not_named_has_launched_nothing(name: str) -> None:
    assert held(name).plan.operations == ()


@pytest.mark.parametrize("name", ALL)
def test_its_twin_passes(name: str) -> None:
    recording = record_entry(built(f"{name}_twin"), call_of(f"{name}_twin", inject=1))
    assert recording.findings == []
    assert recording.plan.operations
