"""What a source may not read: it gets none of it, and is told from one with a mistyped header."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.build import BuildFailed, build
from tests.fresh_cache import fresh_cache
from tests.ordinary_user import as_ordinary_user

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = ROOT / "solutions" / "puzzle_01_vector_add" / "2_vector_add.cu"
UP = "../" * 12

# Each on line 2, after the include of CUDA's header: what it is, and the path that must be named.
READS = {
    "absolute": ('#include "/etc/passwd"', "/etc/passwd"),
    "angle brackets": ("#include </etc/passwd>", "/etc/passwd"),
    "by a macro": ('#define ANSWER "/etc/passwd"\n#include ANSWER', "/etc/passwd"),
    "next": ('#include_next "/etc/passwd"', "/etc/passwd"),
    "a solution": (f'#include "{SOLUTION}"', str(SOLUTION)),
    "a solution, climbing": (f'#include "{UP}{SOLUTION}"', "2_vector_add.cu"),
    "a solution that is not there": ('#include "solutions/2_vector_add.cu"', "solutions/2_vector_add.cu"),
    "the file beside it": ('#include "beside.h"', "beside.h"),
    "the environment": ('#include "/proc/self/environ"', "/proc/self/environ"),
    "asked for": ('#if __has_include("/etc/passwd")\n#endif', "/etc/passwd"),
    "a dependency": ('#pragma GCC dependency "/etc/passwd"', "/etc/passwd"),
}
ASSEMBLED = {
    "in a function": ('void f() { asm(".incbin \\"/etc/hostname\\""); }', "/etc/hostname"),
    "at file level": ('asm(".incbin \\"/etc/hostname\\"");', "/etc/hostname"),
    "as source": ('asm(".include \\"/etc/hostname\\"");', "/etc/hostname"),
    "in a kernel": ('__global__ void k() { asm volatile(".incbin \\"/etc/hostname\\""); }', ".incbin"),
    "as source in a kernel": ('__global__ void k() { asm volatile(".include \\"/etc/hostname\\""); }', ".include"),
}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with fresh_cache(tmp_path_factory.mktemp("cache")) as directory:
        yield directory


def write(directory: Path, text: str) -> Path:
    source = directory / "attack.cu"
    source.write_text(f"#include <cuda_runtime.h>\n{text}\n")
    (directory / "beside.h").write_text("int secret;\n")
    return source


def assert_forbidden(directory: Path, text: str, path: str) -> None:
    with pytest.raises(BuildFailed) as failed:
        build(write(directory, text))
    assert failed.value.forbidden is not None, failed.value.diagnostics
    line, named = failed.value.forbidden
    assert line == 2
    assert named.endswith(path)
    assert "root:" not in failed.value.diagnostics


@pytest.mark.parametrize("what", READS)
def test_include_of_a_file_outside_is_forbidden(what: str, tmp_path: Path) -> None:
    assert_forbidden(tmp_path, *READS[what])


@pytest.mark.parametrize("what", ASSEMBLED)
def test_assembler_reads_no_file_outside(what: str, tmp_path: Path) -> None:
    assert_forbidden(tmp_path, *ASSEMBLED[what])


def test_an_ordinary_user_is_held_as_well() -> None:
    def check(home: Path) -> None:
        for what in ("absolute", "a solution", "the file beside it", "the environment"):
            assert_forbidden(home, *READS[what])
        assert_forbidden(home, *ASSEMBLED["in a function"])
        assert_forbidden(home, f'#include "{home}/beside.h"', "beside.h")

    as_ordinary_user(check)


@pytest.mark.parametrize("text", ["#include <cuda_runtim.h>", '#include "vector_ad.h"', "#include <cublas_v2.h>"])
def test_a_mistyped_or_missing_header_is_no_crime(text: str, tmp_path: Path) -> None:
    with pytest.raises(BuildFailed) as failed:
        build(write(tmp_path, text))
    assert failed.value.forbidden is None
    assert "attack.cu:2:10: fatal error: " in failed.value.diagnostics


def test_headers_of_cuda_and_the_system_are_there(tmp_path: Path) -> None:
    headers = ("cuda_fp16.h", "cooperative_groups.h", "cuda/std/cstdint", "vector", "cmath")
    built = build(write(tmp_path, "\n".join(f"#include <{header}>" for header in headers)))
    assert built.kernels == {}


def test_nonsense_in_the_line_table_costs_the_lines_and_nothing_else(tmp_path: Path) -> None:
    nonsense = 'asm(".pushsection .debug_info\\n.fill 999, 1, 0x5a\\n.popsection");'
    built = build(write(tmp_path, f'{nonsense}\nextern "C" int f() {{ return 3; }}'))
    assert built.functions == {}
    assert built.host_lines.line(0x1200) is None


def test_a_library_of_unreasonable_size_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed) as failed:
        build(write(tmp_path, 'asm(".data\\n.fill 70000000, 1, 1\\n.text");'))
    assert failed.value.forbidden is None


# ---- where the kernel has no Landlock --------------------------------------------------------------------------------

JUDGE = """
import json, sys
from pathlib import Path
from grader.build import BuildFailed, build
from grader.cage import protection
told = {"files": protection().files}
for source in map(Path, sys.argv[1:]):
    try:
        told[source.parent.name] = build(source).cached
    except BuildFailed as failed:
        told[source.parent.name] = [failed.forbidden, failed.diagnostics]
print(json.dumps(told))
"""


def judge_without_landlock(sources: list[Path], path: str) -> dict[str, object]:
    without = [sys.executable, str(Path(__file__).with_name("without_landlock.py"))]
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    command = [*without, sys.executable, "-c", JUDGE, *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    told = json.loads(done.stdout)
    assert isinstance(told, dict)
    return told


def write_attacks(directory: Path) -> dict[str, tuple[Path, str]]:
    """Some of each kind: the preprocessor reads, the assembler reads, the assembler's errors quote what it read."""
    chosen = {name: READS[name] for name in ("absolute", "a solution, climbing", "the file beside it")}
    chosen |= {name: ASSEMBLED[name] for name in ("at file level", "as source")}
    attacks: dict[str, tuple[Path, str]] = {}
    for what, (text, path) in chosen.items():
        (directory / what).mkdir()
        attacks[what] = (write(directory / what, text), path)
    return attacks


def write_honest(directory: Path) -> Path:
    (directory / "honest").mkdir()
    return write(directory / "honest", "__global__ void k(int* x) { x[0] = 1; }")


def assert_all_forbidden(told: dict[str, object], attacks: dict[str, tuple[Path, str]]) -> None:
    for what, (_, path) in attacks.items():
        judged = told[what]
        assert isinstance(judged, list), what
        forbidden, diagnostics = judged
        assert forbidden is not None, (what, diagnostics)
        assert forbidden[0] == 2, what
        assert forbidden[1].endswith(path), what
        assert "root:" not in diagnostics, what


def test_without_landlock_and_bubblewrap_what_was_read_is_found_afterwards(tmp_path: Path) -> None:
    forbidden_here = tmp_path / "bwrap"
    forbidden_here.write_text("#!/bin/sh\nexit 1\n")
    forbidden_here.chmod(0o755)
    attacks, honest = write_attacks(tmp_path), write_honest(tmp_path)
    with fresh_cache(tmp_path / "cache"):
        sources = [*(source for source, _ in attacks.values()), honest]
        told = judge_without_landlock(sources, f"{tmp_path}:{os.environ['PATH']}")
    assert told["files"] == "none"
    assert told["honest"] is False
    assert_all_forbidden(told, attacks)


def test_without_landlock_bubblewrap_holds_the_compiler(tmp_path: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    attacks, honest = write_attacks(tmp_path), write_honest(tmp_path)
    with fresh_cache(tmp_path / "cache"):
        told = judge_without_landlock([*(source for source, _ in attacks.values()), honest], os.environ["PATH"])
    if told["files"] == "none":
        pytest.skip("bubblewrap may not make namespaces here")
    assert told["files"] == "bubblewrap"
    assert told["honest"] is False
    assert_all_forbidden(told, attacks)
