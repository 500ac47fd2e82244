"""The cage: what a program in it gets, what it is refused, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from grader.cache import ToolMissing
from grader.cage import Cage, Finished, abilities, run
from tests.ordinary_user import as_ordinary_user

SYSTEM = (Path("/usr/bin"), Path("/usr/lib"), Path("/usr/lib64"), Path("/lib"), Path("/lib64"), Path("/bin"))
EVERYTHING = Cage(read=(Path("/"),), write=(Path("/tmp"),))


def shell(
    script: str,
    directory: Path,
    *,
    cage: Cage | None = None,
    seconds: float = 10.0,
    pipes: Mapping[int, int] | None = None,
) -> Finished:
    cage = cage or Cage(read=SYSTEM, write=(directory,))
    return run(["/bin/sh", "-c", script], cage=cage, directory=directory, seconds=seconds, pipes=pipes)


def python(script: str, directory: Path, *, cage: Cage = EVERYTHING) -> Finished:
    return run([sys.executable, "-c", script], cage=cage, directory=directory, seconds=10.0)


def test_gives_input_and_collects_output_exit_code_and_further_pipes(tmp_path: Path) -> None:
    finished = run(
        ["/bin/sh", "-c", "cat; echo to three >&3; echo to seven >&7; echo trouble >&2; exit 5"],
        cage=Cage(read=SYSTEM),
        directory=tmp_path,
        seconds=10.0,
        stdin=b"a word\n",
        pipes={3: 100, 7: 100},
    )
    assert (finished.returncode, finished.ended) == (5, "exit")
    assert (finished.stdout, finished.stderr) == (b"a word\n", b"trouble\n")
    assert finished.pipes == {3: b"to three\n", 7: b"to seven\n"}


def test_passes_more_input_than_a_pipe_holds_and_minds_not_if_it_is_not_read(tmp_path: Path) -> None:
    much = bytes(range(256)) * 4096
    counted = run(["/usr/bin/wc", "-c"], cage=EVERYTHING, directory=tmp_path, seconds=10.0, stdin=much)
    assert int(counted.stdout) == len(much)
    assert run(["/bin/true"], cage=EVERYTHING, directory=tmp_path, seconds=10.0, stdin=much).returncode == 0


def test_environment_is_only_what_is_given(tmp_path: Path) -> None:
    finished = run(
        ["/usr/bin/env"], cage=Cage(read=SYSTEM), directory=tmp_path, seconds=10.0, environment={"LC_ALL": "C"}
    )
    assert finished.stdout == b"LC_ALL=C\n"


def test_signal_that_killed_the_program_is_told(tmp_path: Path) -> None:
    assert shell("kill -SEGV $$", tmp_path).returncode == -signal.SIGSEGV


# ---- files -----------------------------------------------------------------------------------------------------------


def check_files(directory: Path) -> None:
    """Nothing outside can be read, listed, written, or made; the directory itself can."""
    inside, outside = directory / "inside", directory / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret")
    cage = Cage(read=SYSTEM, write=(inside,))
    for command in (
        "cat /etc/passwd",
        "cat ../outside/secret",
        f"cat {Path(__file__)}",
        "ls ../outside",
        "ls $HOME/",
        "ls /root /home",
        "cat /proc/self/environ /proc/1/cmdline",
        "echo x > ../outside/new",
        "mkdir ../outside/directory",
        "rm ../outside/secret",
        "mv ../outside/secret stolen",
        "ln ../outside/secret stolen",
    ):
        finished = shell(command, inside, cage=cage)
        assert finished.returncode != 0, command
        assert b"secret" not in finished.stdout
    assert shell("echo kept > file && mkdir directory && cat file", inside, cage=cage).stdout == b"kept\n"
    assert (outside / "secret").read_text() == "secret"


def test_no_file_outside_is_within_reach(tmp_path: Path) -> None:
    check_files(tmp_path)


def test_no_file_outside_is_within_reach_of_an_ordinary_user() -> None:
    as_ordinary_user(check_files)


def test_what_was_written_cannot_be_executed(tmp_path: Path) -> None:
    finished = shell("cp /bin/true program && chmod +x program && ./program", tmp_path)
    assert finished.returncode == 126
    assert b"denied" in finished.stderr


# ---- system calls ----------------------------------------------------------------------------------------------------


def test_no_socket_can_be_opened(tmp_path: Path) -> None:
    for family in (socket.AF_INET, socket.AF_UNIX):
        finished = python(f"import socket; socket.socket({int(family)}, socket.SOCK_STREAM)", tmp_path)
        assert b"PermissionError" in finished.stderr


def test_no_process_can_leave_the_group_that_is_killed(tmp_path: Path) -> None:
    for call in ("os.setsid()", "os.setpgid(0, 0)"):
        finished = python(f"import os\nif os.fork() == 0: {call}\nelse: os.wait()", tmp_path)
        assert b"PermissionError" in finished.stderr, call


def test_fork_is_refused_where_the_cage_says_so(tmp_path: Path) -> None:
    script = "import os; os.fork()"
    assert python(script, tmp_path).returncode == 0
    assert b"PermissionError" in python(script, tmp_path, cage=replace(EVERYTHING, fork=False)).stderr


def test_programs_outside_cannot_be_signalled(tmp_path: Path) -> None:
    if "version" in (given := abilities()["files"]) and int(given.rsplit(maxsplit=1)[1]) < 6:
        pytest.skip("this kernel's Landlock does not know signals")
    finished = python(f"import os; os.kill({os.getpid()}, 0)", tmp_path)
    assert b"PermissionError" in finished.stderr


def test_root_has_no_power_left_but_over_file_permissions(tmp_path: Path) -> None:
    finished = python("print(open('/proc/self/status').read())", tmp_path)
    effective = next(line for line in finished.stdout.decode().splitlines() if line.startswith("CapEff"))
    assert int(effective.split()[1], 16) & ~0b110 == 0


# ---- limits ----------------------------------------------------------------------------------------------------------


def test_output_beyond_its_limit_is_dropped(tmp_path: Path) -> None:
    finished = run(
        ["/bin/sh", "-c", "head -c 5000 /dev/zero; exit 3"],
        cage=EVERYTHING,
        directory=tmp_path,
        seconds=10.0,
        output_bytes=1000,
    )
    assert (len(finished.stdout), finished.returncode, finished.ended) == (1000, 3, "exit")


def test_a_flooded_pipe_ends_the_program(tmp_path: Path) -> None:
    finished = shell("yes >&3", tmp_path, pipes={3: 10_000})
    assert finished.ended == "flood"
    assert len(finished.pipes[3]) == 10_000
    assert finished.seconds < 5


def test_time_over_kills_the_program_and_all_that_it_started(tmp_path: Path) -> None:
    finished = shell("sleep 60 & echo $!; sleep 60", tmp_path, seconds=0.3)
    assert finished.ended == "timeout"
    assert finished.seconds < 5
    assert_gone(int(finished.stdout))


def test_what_a_program_leaves_behind_is_killed_when_it_ends(tmp_path: Path) -> None:
    finished = shell("sleep 60 & echo $!", tmp_path)
    assert finished.ended == "exit"
    assert finished.seconds < 5
    assert_gone(int(finished.stdout))


def assert_gone(pid: int) -> None:
    for _ in range(100):
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} still runs")


def test_limits_of_size_and_open_files_hold(tmp_path: Path) -> None:
    cage = replace(EVERYTHING, write=(tmp_path,), file_bytes=4096, open_files=32, memory_bytes=1 << 30)
    assert shell("head -c 9999 /dev/zero > big", tmp_path, cage=cage).returncode != 0
    assert (tmp_path / "big").stat().st_size == 4096
    assert b"MemoryError" in python("bytearray(1 << 31)", tmp_path, cage=cage).stderr
    assert b"OSError" in python("files = [open('/dev/null') for _ in range(40)]", tmp_path, cage=cage).stderr


def test_processor_time_is_limited_with_a_second_to_say_where(tmp_path: Path) -> None:
    finished = shell("while :; do :; done", tmp_path, cage=replace(EVERYTHING, cpu_seconds=1))
    assert finished.returncode == -signal.SIGXCPU
    assert finished.ended == "exit"


# ---- in general ------------------------------------------------------------------------------------------------------


def test_many_threads_may_run_caged_programs_at_once(tmp_path: Path) -> None:
    def echo(number: int) -> bytes:
        return shell(f"echo {number}; echo {number} >&3", tmp_path, pipes={3: 100}).pipes[3]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(echo, range(32))) == [f"{number}\n".encode() for number in range(32)]


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    shell("true", tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        shell("yes >&3", tmp_path, pipes={3: 100})
        with pytest.raises(ToolMissing):
            run(["/nowhere"], cage=EVERYTHING, directory=tmp_path, seconds=1.0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_program_that_is_not_there_is_told_apart_from_one_that_fails(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="exec /nowhere: No such file"):
        run(["/nowhere"], cage=EVERYTHING, directory=tmp_path, seconds=1.0)
    assert run(["/bin/false"], cage=EVERYTHING, directory=tmp_path, seconds=10.0).returncode == 1


def test_abilities_say_what_this_machine_gives() -> None:
    told = abilities()
    assert set(told) == {"files", "system calls", "time and size"}
