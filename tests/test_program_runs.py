"""`grader run`: whole programs that check themselves run as on a GPU, and near twins of them are found out.

A wrong program says in its second line which kinds of finding it must show; `//: here` stands behind their lines. Each
is compiled: an ordinary run tries a third of the right ones and wrong ones of each kind, which change with the commit.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from grader import cli
from grader.cache import ToolMissing
from grader.program.build import Request, build_program
from grader.program.run import run_program
from grader.simt.ptx import PtxError
from tests.judging import CommandLine
from tests.sampling import one_of_each, sampled

PROGRAMS = Path(__file__).parent / "programs"
RIGHT = sorted(PROGRAMS.glob("*.cu"))
WRONG = sorted((PROGRAMS / "wrong").glob("*.cu"))
_FAULTY = 1


def wanted(program: Path) -> tuple[set[str], list[int]]:
    """The kinds of finding that a wrong program shows, and the lines at which they are told."""
    text = program.read_text()
    kinds = re.search(r"^//: ([\w ]+)$", text, re.MULTILINE)
    assert kinds is not None
    return set(kinds[1].split()), [
        number for number, line in enumerate(text.splitlines(), 1) if line.endswith("//: here")
    ]


@pytest.mark.parametrize("program", sampled(RIGHT, 3), ids=lambda path: path.stem)
def test_a_right_program_passes_its_own_check_and_nothing_is_found(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = cli.run(["run", str(program)])
    printed = capfd.readouterr()
    assert code == 0, printed.out + printed.err
    assert printed.out.splitlines()[-1] == "PASS"
    assert printed.err == ""


@pytest.mark.parametrize(
    "program", one_of_each(WRONG, [wanted(program)[0] for program in WRONG]), ids=lambda path: path.stem
)
def test_a_wrong_program_is_found_out(program: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    assert cli.run(["run", str(program), "--json", str(told)]) == _FAULTY
    said = capfd.readouterr().err
    findings: list[dict[str, Any]] = json.loads(told.read_text())["findings"]
    kinds, lines = wanted(program)
    assert {finding["kind"] for finding in findings} == kinds, said
    assert {finding["line"] for finding in findings} == set(lines), said
    assert findings[0]["message"].replace("`", "") in " ".join(said.split())


# ---- the program's own ending ----

ENDING = PROGRAMS / "ending"


def test_a_signal_is_told_as_the_shell_does_and_what_was_touched(command_line: CommandLine, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    done = command_line("run", str(ENDING / "host_touches_device.cu"), "--json", str(told))
    assert done.returncode == 128 + signal.SIGSEGV
    (finding,) = json.loads(told.read_text())["findings"]
    assert (finding["kind"], finding["line"]) == ("host_crash", 9)
    assert "`d_values`" in finding["message"]


def test_a_program_that_gives_up_keeps_its_word_and_its_exit_code(command_line: CommandLine) -> None:
    done = command_line("run", str(ENDING / "checked_call.cu"), "--", "--seed", "7")
    assert done.returncode == 5
    assert done.stdout == "invalid argument 3 7\n"
    assert "d_values was freed already on line" in " ".join(done.stderr.split())


def test_a_program_that_finds_its_results_wrong_hears_of_what_was_never_written(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = tmp_path / "told.json"
    assert cli.run(["run", str(ENDING / "half_written.cu"), "--json", str(told)]) == 3
    (finding,) = json.loads(told.read_text())["findings"]
    assert (finding["kind"], finding["index"], finding["count"]) == ("never_written", 768, 232)
    assert "the last 232 of its 1,000 floats" in finding["message"]


def test_standard_input_and_output_are_the_programs_own_and_kernels_print_in_order(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("grader")
    done = subprocess.run(
        [program, "run", str(ENDING / "echo.cu")], input="3\n4\n", capture_output=True, text=True, check=False
    )
    lines = [f"from the {where}: {number}" for number in (3, 4) for where in ("host", "kernel")]
    assert done.stdout.splitlines() == lines
    assert (done.returncode, done.stderr) == (4, "")


def test_a_program_that_is_interrupted_ends_as_it_would_alone(tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to all of a group: the grader waits for what the program makes of it."""
    source = tmp_path / "waits.cu"
    source.write_text(
        '#include <cstdio>\n#include <unistd.h>\nint main() { puts("ready"); fflush(stdout); pause(); }\n'
    )
    program = Path(sys.executable).with_name("grader")
    for number in (signal.SIGINT, signal.SIGTERM):
        started = subprocess.Popen([program, "run", source], stdout=subprocess.PIPE, start_new_session=True)
        assert started.stdout is not None
        assert started.stdout.readline() == b"ready\n"
        os.killpg(started.pid, number)
        assert started.wait(timeout=60) == 128 + number
        started.stdout.close()


# ---- building ----


def test_the_architecture_decides_the_device(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", str(PROGRAMS / "device_queries.cu"), "--arch", "sm_90"]) == 0
    assert capfd.readouterr().out.startswith("NVIDIA H100 80GB HBM3, 9.0")


def test_headers_are_found_and_a_change_of_one_is_seen(command_line: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    header, source = tmp_path / "own" / "value.h", tmp_path / "p.cu"
    source.write_text('#include "value.h"\nint main() { return VALUE + MORE; }\n')
    header.write_text("#define VALUE 3\n")
    arguments = ("run", "p.cu", "-I", "own", "--nvcc-flag", "-DMORE=10")
    assert command_line(*arguments, cwd=tmp_path).returncode == 13
    header.write_text("#define VALUE 4\n")
    assert command_line(*arguments, cwd=tmp_path).returncode == 14
    assert command_line(*arguments, "--nvcc-flag", "-DUNUSED", cwd=tmp_path).returncode == 14


def test_what_nvcc_says_is_shown_and_is_no_traceback(command_line: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "p.cu").write_text("int main() { return missing; }\n")
    done = command_line("run", "p.cu", cwd=tmp_path)
    assert done.returncode == _FAULTY
    assert 'identifier "missing" is undefined' in done.stderr
    assert done.stderr.splitlines()[-1] == "grader: nvcc does not accept p.cu."


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing.cu"], "no file nothing.cu"),
        (["p.cu", "--arch", "sm_20"], "--arch is one of sm_75"),
        (["p.cu", "--nvcc-flag", "-O2 -rdc=true"], "cannot be used here"),
        (["p.cu", "--nvcc-flag", "-DNAME='"], "no closing quotation"),
        (["p.cu", "--json", "no/such/folder.json"], "cannot be written"),
        (["p.cu", "--json", "p.cu"], "p.cu is there already and holds no JSON"),
        ([], "PROGRAM.cu"),
    ],
)
def test_bad_usage_is_one_sentence(arguments: list[str], told: str, command_line: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "p.cu").write_text("int main() { return 0; }\n")
    done = command_line("run", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert told in done.stderr


def test_without_its_parent_the_program_finds_no_device(tmp_path: Path) -> None:
    source = tmp_path / "p.cu"
    source.write_text("#include <cuda_runtime.h>\nint main() { void* p; return cudaMalloc(&p, 4); }\n")
    program = build_program(Request(source))
    no_device = 100
    assert subprocess.run([program.executable], check=False).returncode == no_device
    assert run_program(program, []).exit_code == 0


def test_lines_and_names_are_known_of_optimised_host_code_too(command_line: CommandLine, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    program = PROGRAMS / "wrong" / "past_the_end.cu"
    command_line("run", str(program), "--json", str(told), "--nvcc-flag", "-O3")
    (finding,) = json.loads(told.read_text())["findings"]
    assert (finding["buffer"], finding["index"]) == ("d_values", 1000)
    allocated = next(mark["line"] for mark in finding["marks"] if "gets its 4,000 bytes" in mark["text"])
    assert "cudaMalloc" in program.read_text().splitlines()[allocated - 1]


def test_the_same_finding_of_many_launches_is_told_once(command_line: CommandLine, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    command_line("run", str(PROGRAMS / "wrong" / "missing_barrier.cu"), "--json", str(told))
    (finding,) = json.loads(told.read_text())["findings"]
    assert finding["buffer"] == "tile"
    assert finding["count"] % 3 == 0


def test_a_missing_compiler_is_exit_code_3_and_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> NoReturn:
        raise ToolMissing("nvcc is missing: type this")

    monkeypatch.setattr("grader.program.build.find_toolchain", missing)
    assert cli.run(["run", str(PROGRAMS / "vector_add.cu")]) == 3
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "grader: nvcc is missing: type this\n")


def test_ptx_that_cannot_be_read_is_exit_code_3_and_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def unreadable(*_: object) -> NoReturn:
        raise PtxError(7, "strange", "no such statement")

    monkeypatch.setattr("grader.simt.lower.lower", unreadable)
    source = tmp_path / "p.cu"
    source.write_text("__global__ void k() {}\nint main() {}\n")
    assert cli.run(["run", str(source)]) == 3
    printed = capsys.readouterr().err
    assert printed.startswith("grader: the software GPU cannot read what nvcc made of p.cu: ")
    assert printed.count("\n") == 1
