"""Against nvcc itself, where it is at hand; and how long lowering takes."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from grader.simt.lower import lower
from grader.simt.program_text import program_text
from grader.toolchain import ToolMissing, find_toolchain
from tests.ptx_snippets import FIXTURES


def test_the_stored_text_is_what_nvcc_writes(tmp_path: Path) -> None:
    try:
        toolchain = find_toolchain()
    except ToolMissing:
        pytest.skip("there is no nvcc")
    if toolchain.version != "13.0.88":
        pytest.skip(f"this is nvcc {toolchain.version}")
    source = tmp_path / "control_flow.cu"
    shutil.copy(FIXTURES / source.name, source)
    made = tmp_path / "control_flow.ptx"
    flags = ["-gencode", "arch=compute_80,code=compute_80", "-lineinfo", "-std=c++17", "-ptx"]
    includes = [f"-I{path}" for path in toolchain.include]
    subprocess.run([toolchain.nvcc, *flags, *includes, source, "-o", made], check=True, cwd=tmp_path)
    stored = (FIXTURES / "control_flow.ptx").read_text()
    assert program_text(lower(made.read_text(), source.name)) == program_text(lower(stored, source.name))


def renamed(text: str, number: int) -> str:
    """The functions of a text under other names, without its head and tail."""
    body = text[text.index(".visible") : text.index("\t.file")]
    return re.sub(r"(_Z\w+|\$L__BB\w+)", rf"\1_{number}", body)


def seconds(text: str, runs: int) -> float:
    """The best of some runs, in seconds of this process."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        lower(text, "x.cu")
        best = min(best, time.process_time() - start)
    return best


def test_lowering_takes_little_time() -> None:
    text = (FIXTURES / "control_flow.ptx").read_text()
    head, tail = text[: text.index(".visible")], text[text.index("\t.file") :]
    copies = 20_000 // renamed(text, 0).count("\n") + 1
    large = head + "".join(renamed(text, number) for number in range(copies)) + tail
    assert large.count("\n") >= 20_000
    assert seconds(large, 1) < 2
    small = (FIXTURES / "uninitialised.ptx").read_text()
    assert small.count("\n") > 300
    assert seconds(small, 5) < 0.03
