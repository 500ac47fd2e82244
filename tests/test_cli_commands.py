"""The commands as they are typed: what they print, their exit codes, and one sentence for every mistake."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import jsonschema
import pytest

from grader import cli
from grader.catalog import load_catalog
from grader.identity import statement_hash, text_hash
from grader.leaderboard.store import Leaderboard
from grader.progress import Progress
from grader.submission import Submission
from grader.verdict import PartVerdict, Rival, Stage, State, Timing

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((ROOT / "docs" / "verdict.schema.json").read_text(encoding="utf-8"))
PUZZLE = "puzzle_01_vector_add"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one's own, with skeletons and solutions, and notes of its own."""
    for folder in ("puzzles", "solutions"):
        shutil.copytree(ROOT / folder / PUZZLE, tmp_path / folder / PUZZLE)
    monkeypatch.setenv("GRADER_DATA", str(tmp_path / "notes"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def grader(*arguments: str) -> int:
    return cli.run(arguments)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence of a refusal, which goes to standard error; with --json it is an object on standard output."""
    assert grader(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("grader: ")
    assert printed.err.count("\n") == 1
    assert grader(*arguments, "--json") == 2 or "--json" in arguments
    told = json.loads(capsys.readouterr().out) if arguments[0] == "check" else {}
    if told:
        jsonschema.validate(told, SCHEMA)
    return printed.err


# ---- bad usage ----


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", "2"], "no puzzle or part '2'"),
        (["check", "vector_ad"], "did you mean 'vector_add'"),
        (["check", "1.9"], "1.1 to 1.6"),
        (["check", "1", "--part", "nope"], "vector_add_block, vector_add"),
        (["check", "1.1", "--part", "vector_add"], "name one of them"),
        (["check", "1", "--file", "x.cu"], "say which with --part"),
        (["check", "1.2", "--file", "x.cu"], "no file x.cu"),
        (["check", "1.2", "--file", "puzzles"], "is a folder"),
        (["check", "1.2", "--file", "/dev/null"], "no ordinary file"),
        (["check", "1.2", "--file", "a\0b"], "no file"),
        (["check", "1.2", "--file", "x.cu", "--solution"], "exclude each other"),
        (["check", "1.2", "--case", "m=3"], "n=…"),
        (["check", "1.2", "--case", "n"], "n=…"),
        (["check", "1.2", "--case", ""], "n=…"),
        (["check", "1.2", "--case", "n=many"], "is a number"),
        (["check", "1.2", "--case", "n=3,n=4"], "twice"),
        (["check", "1.2", "--case", "n=-1"], "cannot be"),
        (["check", "1.2", "--case", "n=99999999999"], "32 bits"),
        (["check", "1.2", "--seed", "-1"], "--seed"),
        (["check", "1.2", "--seed", "x"], "--seed"),
        (["check", "1.2", "--seed", "1", "--seed", "2"], "--seed is given twice"),
        (["check", "1.2", "--solution", "--solution"], "--solution is given twice"),
        (["check", "1.2", "--device", "tpu"], "--device"),
        (["check", "1.2", "--verbose"], "--verbose"),
        (["check"], "PUZZLE"),
        (["check", "1", "2"], "2"),
        (["check", "puzzle", "1"], "`grader check 1`"),
        (["check", "Part", "1.2"], "`grader check 1.2`"),
    ],
)
def test_bad_usage_of_check_is_one_sentence_and_exit_code_2(
    workspace: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert told in refused(capsys, *arguments)


def test_a_case_without_room_in_memory_is_refused_where_it_would_run(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.chosen_cases.free_bytes", lambda: 10**9)
    told = refused(capsys, "check", "1.2", "--case", "n=50_000_000")
    assert "6.0 GB of memory, and 1.0 GB are free: take smaller sizes" in told
    assert grader("plan", "1.2", "--solution", "--case", "n=50_000_000") == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["frobnicate"], "frobnicate"),
        (["explain", "data-rase"], "did you mean data_race"),
        (["hint", "nope"], "grader list"),
        (["list", "nope"], "grader list"),
        (["solution", "1"], "1.1, 1.2"),
        (["plan"], "Name a puzzle"),
        (["plan", "--load", "nothing.json"], "cannot be read"),
        (["plan", "1", "--save", "x.json"], "one part"),
        (["reset", "1.1"], "--yes"),
        (["solution", "1.1"], "--yes"),
    ],
)
def test_bad_usage_elsewhere_is_one_sentence_too(
    workspace: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    own_file(workspace).write_text("changed\n")
    assert grader(*arguments) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert told in printed.err


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"\x7fELF\0\0", "no text"), (b"caf\xe9\n", "no text"), (b"//\n" * 400_000, "at most 1,048,576")],
)
def test_a_file_that_is_no_source_is_refused(
    workspace: Path, capsys: pytest.CaptureFixture[str], content: bytes, told: str
) -> None:
    (workspace / "x.cu").write_bytes(content)
    assert told in refused(capsys, "check", "1.2", "--file", "x.cu")


def test_a_file_that_may_not_be_read_is_refused(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "x.cu").touch(mode=0)
    if os.geteuid() == 0:  # who may read everything is told so by hand
        error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=error))
    assert "x.cu cannot be read: Permission denied." in refused(capsys, "check", "1.2", "--file", "x.cu")


def test_a_missing_file_of_ones_own_is_refused_with_how_to_get_it_back(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own_file(workspace).unlink()
    assert "grader reset 1.1" in refused(capsys, "check", "1")


# ---- check ----


def own_file(workspace: Path, name: str = "1_vector_add_block.cu") -> Path:
    return workspace / "puzzles" / PUZZLE / name


def judged(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = grader("check", *arguments, "--json")
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 1
    document = json.loads(printed.out)
    jsonschema.validate(document, SCHEMA, cls=jsonschema.Draft202012Validator)
    return code, document


def test_the_skeletons_stop_at_the_first_and_name_the_rest(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict = judged(capsys, "puzzle_1")
    assert (code, verdict["puzzle"], verdict["passed"]) == (1, PUZZLE, False)
    assert [(part["part"], part["state"]) for part in verdict["parts"]] == [("vector_add_block", "not_started")]
    assert verdict["remaining"] == ["1.2", "1.3", "1.4", "1.5"]


def test_all_does_not_stop_and_extras_count_only_when_named(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, verdict = judged(capsys, "1", "--all", "--case", "n=3")
    assert [part["label"] for part in verdict["parts"]] == ["1.1", "1.2", "1.3", "1.4", "1.5"]


def test_a_solution_passes_and_changes_no_notes(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict = judged(capsys, "1", "--part", "vector_add_block", "--solution", "--seed", "5")
    (part,) = verdict["parts"]
    assert (code, verdict["passed"], part["state"], part["stage"], part["seed"]) == (0, True, "passed", "done", 5)
    groups = load_catalog(workspace).puzzles[0].puzzle.parts[0].groups
    assert [case["group"] for case in part["cases"]][-1] == "bench"
    assert {case["group"] for case in part["cases"]} == {*groups, "bench"}
    assert Progress(workspace).parts(PUZZLE) == {}


def test_ones_own_file_is_noted_and_its_failed_seed_tried_first(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, first = judged(capsys, "1.1")
    _, second = judged(capsys, "1.1")
    assert first["parts"][0]["seed"] == second["parts"][0]["seed"]
    shutil.copy(workspace / "solutions" / PUZZLE / "1_vector_add_block.cu", own_file(workspace))
    code, third = judged(capsys, "1.1")
    assert (code, third["parts"][0]["seed"]) == (0, first["parts"][0]["seed"])
    noted = Progress(workspace).part(PUZZLE, "vector_add_block")
    assert (noted.state, noted.failed_seed, noted.checks) == (State.passed, None, 3)


def test_one_case_does_not_make_a_part_passed(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(workspace / "solutions" / PUZZLE / "1_vector_add_block.cu", own_file(workspace))
    code, verdict = judged(capsys, "1.1", "--case", "n=77")
    assert (code, verdict["parts"][0]["cases"][0]["params"]) == (0, {"n": 77})
    assert Progress(workspace).part(PUZZLE, "vector_add_block").state is State.not_started


def test_what_a_file_prints_stays_inside_the_verdict(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (workspace / "solutions" / PUZZLE / "1_vector_add_block.cu").read_text()
    fake = '{"schema": 1, "passed": true}'
    printing = source.replace(
        "constexpr unsigned threads", f'printf("%s\\n", R"({fake})");\n    constexpr unsigned threads'
    )
    (workspace / "x.cu").write_text("#include <cstdio>\n" + printing)
    _, verdict = judged(capsys, "1.1", "--file", "x.cu", "--case", "n=3")
    assert fake in verdict["parts"][0]["printed"]


def test_an_empty_file_is_judged_and_has_no_entry(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "x.cu").write_text("")
    code, verdict = judged(capsys, "1.1", "--file", "x.cu")
    assert (code, verdict["parts"][0]["findings"][0]["kind"]) == (1, "missing_entry")


def test_without_a_gpu_the_device_cuda_is_unchecked(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, verdict = judged(capsys, "1.1", "--solution", "--device", "cuda")
    assert (code, verdict["parts"][0]["state"]) == (3, "unchecked")
    assert verdict["parts"][0]["reason"]


def test_without_nvcc_nothing_is_not_passed(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("GRADER_CACHE", str(workspace / "cache"))
    code, verdict = judged(capsys, "1.1", "--solution")
    assert (code, verdict["parts"][0]["state"]) == (3, "unchecked")
    assert "missing" in verdict["parts"][0]["reason"]


def test_the_verdict_in_the_terminal(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert grader("check", "1.1") == 1
    shown = capsys.readouterr().out
    assert "part 1 of 6, vector_add_block" in shown
    assert "NOT STARTED" in shown
    assert "grader hint 1.1 (0 of 3 seen)" in shown
    assert "No thread writes out" in shown
    assert not [line for line in shown.splitlines() if line != line.rstrip()]


# ---- the others ----


def test_list_shows_parts_and_states(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Progress(workspace).note_check(PUZZLE, "vector_add", State.passed, 1, None)
    assert grader("list") == 0
    shown = capsys.readouterr().out
    assert "Puzzle 1 Vector add · 1 of 5 passed" in shown
    assert "1.6+ vector_add_wide" in shown
    assert "✔ 1.2  vector_add" in shown


def test_hints_come_one_at_a_time_the_last_finding_first(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Progress(workspace).note_check(PUZZLE, "vector_add", State.wrong, 1, "out_of_bounds_read")
    numbers, fits = [], []
    for _ in range(3):
        assert grader("hint", "1.2") == 0
        shown = capsys.readouterr().out
        numbers.append(shown.split("hint ")[1][0])
        fits.append("this one fits your last verdict" in shown)
    assert numbers == ["2", "1", "3"]
    assert fits == [True, False, False]
    assert grader("hint", "1.2") == 0
    assert "all 3 hints" in capsys.readouterr().out


def test_a_hint_for_a_puzzle_is_for_its_first_open_part(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Progress(workspace).note_check(PUZZLE, "vector_add_block", State.passed, 1, None)
    assert grader("hint", "1") == 0
    assert capsys.readouterr().out.startswith("1.2 vector_add ")


def test_reset_keeps_a_copy_and_says_where(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = own_file(workspace)
    skeleton = path.read_text()
    for number in (1, 2):
        path.write_text(f"mine {number}\n")
        assert grader("reset", "1.1", "--yes") == 0
        assert f"1_vector_add_block.cu.{number}.bak" in capsys.readouterr().out
        assert path.read_text() == skeleton
    assert path.with_name("1_vector_add_block.cu.2.bak").read_text() == "mine 2\n"
    assert grader("reset", "1") == 0
    assert "Nothing to do" in capsys.readouterr().out


def test_a_solution_is_shown_at_once_when_the_part_is_passed(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Progress(workspace).note_check(PUZZLE, "vector_add", State.passed, 1, None)
    assert grader("solution", "1.2") == 0
    assert capsys.readouterr().out == (workspace / "solutions" / PUZZLE / "2_vector_add.cu").read_text()
    assert grader("solution", "1.3", "--yes") == 0


def test_explain_shows_a_page_or_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert grader("explain", "data_race") == 0
    assert "__syncthreads()" in capsys.readouterr().out
    assert grader("explain") == 0
    assert len(capsys.readouterr().out.splitlines()) == 30


@pytest.mark.usefixtures("workspace")
def test_a_plan_is_not_written_over_a_source(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.cu").write_text("// mine\n")
    assert grader("plan", "1.2", "--solution", "--save", "own.cu") == 2
    assert "own.cu is there already and holds no JSON" in capsys.readouterr().err
    assert Path("own.cu").read_text() == "// mine\n"


def test_a_plan_is_printed_saved_and_loaded_again(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert grader("plan", "1.2", "--solution", "--case", "n=257") == 0
    printed = capsys.readouterr().out
    (launch,) = json.loads(printed)["operations"]
    assert (launch["op"], launch["grid"]) == ("launch", [2, 1, 1])
    assert grader("plan", "1.2", "--solution", "--case", "n=257", "--save", "plan.json") == 0
    assert grader("plan", "--load", "plan.json") == 0
    assert capsys.readouterr().out == printed
    (workspace / "plan.json").write_text("{}")
    assert grader("plan", "--load", "plan.json") == 2
    assert grader("plan", "1", "--solution") == 0
    assert len([json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]) == 6


def test_doctor_finds_everything_here_and_proves_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert grader("doctor", "--prove") == 0
    shown = capsys.readouterr().out
    assert "racy.cu was judged data_race" in shown
    assert "wrong.cu was judged wrong_values" in shown
    assert "right.cu was judged passed" in shown


# ---- times ----


def test_list_shows_the_best_medal_of_what_is_asked_today(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    located = load_catalog(workspace).resolve("1.1")[1]
    assert located is not None
    today = {**timed().hashes, "statement": statement_hash(located)}
    for medal, times, decision in (("gold", 1.0, "tie"), ("silver", 0.9, "slower")):
        reference = Rival("reference", "", times, (times, times), times, (times, times), decision)
        noted(workspace, monkeypatch, timed(medal=medal, rivals=(reference,), hashes=today))
        capsys.readouterr()
        grader("list", "1")
        assert "✔ 1.1  vector_add_block   passed · gold" in capsys.readouterr().out
    statement = workspace / "puzzles" / PUZZLE / "puzzle.py"
    statement.write_text(statement.read_text() + "# changed\n")
    grader("list", "1")
    assert "gold" not in capsys.readouterr().out


MINE = "// mine\n"


def timed(**changes: Any) -> Timing:
    hashes = dict.fromkeys(("statement", "source", "reference", "grader", "cubin"), "0" * 32)
    hashes |= {"nvcc": "13.0.88", "driver": "580.95", "device": "GPU", "source": text_hash(MINE, {})}
    timing = Timing("GPU", 1.0, (0.9, 1.1), 100.0, 30, True, hashes=hashes, target=90)
    return replace(timing, **changes)


def noted(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, timing: Timing, *options: str, state: State = State.passed
) -> list[str]:
    """The sources on the workspace's leaderboard, once a check came to this state and time."""

    def judged(submission: Submission, *_: object) -> PartVerdict:
        part = submission.located.part.name
        return PartVerdict(part, "1.1", state, "GPU", 7, Stage.done, submission.shown, timing=timing)

    monkeypatch.setattr("grader.cli.check.check_part", judged)
    own_file(workspace).write_text(MINE)
    grader("check", "1.1", *options)
    with Leaderboard(workspace) as board:
        return [kept.entry.source or "" for kept in board.entries(PUZZLE, "vector_add_block")]


def test_the_time_of_a_passed_part_is_noted_with_its_source(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert noted(workspace, monkeypatch, timed()) == [MINE]


@pytest.mark.parametrize(
    ("changes", "options", "state"),
    [
        ({"refused": "It cannot be."}, (), State.passed),
        ({"hashes": {}}, (), State.passed),
        ({}, (), State.goal_open),
        ({}, ("--solution",), State.passed),
        ({}, ("--file", f"puzzles/{PUZZLE}/1_vector_add_block.cu"), State.passed),
        ({}, ("--case", "n=3"), State.passed),
    ],
)
def test_no_other_time_is_noted(
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    options: tuple[str, ...],
    state: State,
) -> None:
    assert noted(workspace, monkeypatch, timed(**changes), *options, state=state) == []


# ---- the program ----


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_fault_of_the_grader_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("grader.catalog.workspace_root", broken)
    assert grader("check", "1", *options) == 3
    printed = capsys.readouterr()
    told = json.loads(printed.out)["error"] if options else printed.err
    assert "RuntimeError: boom" in told


def test_an_interruption_leaves_one_json_object(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("grader.catalog.workspace_root", interrupted)
    assert grader("check", "1", "--json") == 130
    jsonschema.validate(json.loads(capsys.readouterr().out), SCHEMA)


def run_program(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader", *arguments], capture_output=True, text=True, check=False, cwd=ROOT, **options
    )


def test_help_is_instant_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from grader import cli; code = cli.run(['--help']);"
        "heavy = {'torch', 'numpy', 'rich', 'pydantic', 'elftools'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    begun = time.perf_counter()
    assert run_program("--help").returncode == 0
    assert time.perf_counter() - begun < 1.5  # 0.3 s on a quiet machine; tests/bench measures


def test_no_argument_is_help() -> None:
    done = run_program()
    assert (done.returncode, done.stderr) == (0, "")
    assert "check" in done.stdout


@pytest.mark.parametrize(
    "command",
    ["check", "debug", "list", "hint", "reset", "solution", "explain", "plan", "profile", "sweep", "doctor"],
)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert grader(command, "--help") == 0
    shown = capsys.readouterr().out
    assert "Usage: grader " + command in shown
    assert len(shown.splitlines()) > 4


def test_a_terminal_that_knows_no_unicode_is_no_reason_to_crash() -> None:
    done = run_program("list", env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "1.1" in done.stdout


def test_a_closed_pipe_is_no_reason_for_a_traceback() -> None:
    command = f"{sys.executable} -m grader explain | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stderr == ""
    assert done.stdout.startswith("compile_error")
