"""What the red team builds: its sources, many in one build, and programs without the grader's defences.

The files of `host` and `device` hold an attack, an entry by the file's name, and its benign twin, an entry by that name
with `_twin` behind it. All of a folder are compiled together. Where loading the library is the attack, or what outlives
a launch, each has a build of its own.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from grader import native
from grader.build import Build, HeaderFile, build
from grader.toolchain import find_toolchain

FOLDER = Path(__file__).parent


@functools.cache
def built_together(folder: str, target: int = 80, answers: str = "0.f") -> Build:
    """All attacks and twins of `host` or `device` in one library; `answers` are known to one of them."""
    texts = [path.read_text().replace("KNOWN_ANSWERS", answers) for path in sorted((FOLDER / folder).glob("*.cu"))]
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / f"{folder}.cu"
        source.write_text("\n".join(texts))
        return build(source, target=target, uses=[_honest()])


@functools.cache
def built_alone(name: str, target: int = 80) -> Build:
    """A file of `loading` or `laps`."""
    (source,) = FOLDER.glob(f"*/{name}.cu")
    return build(source, target=target, uses=[_honest()])


def build_with(entry: str, target: int = 80) -> Build:
    """The build in `laps` or `loading` with this entry: the attack's, unless the twin has a file of its own."""
    name = entry.removesuffix("_twin")
    own = entry != name and any(FOLDER.glob(f"*/{name}.twin.cu"))
    return built_alone(f"{name}.twin" if own else name, target)


def _honest() -> HeaderFile:
    return HeaderFile("honest.cuh", (FOLDER / "honest.cuh").read_text())


@functools.cache
def open_recorder() -> Path:
    """The recorder as it is, except that it neither limits nor filters itself."""
    toolchain = find_toolchain()
    recipe = native._recorder(toolchain)
    with tempfile.TemporaryDirectory() as work:
        copied = Path(work) / "runtime"
        shutil.copytree(recipe.directory, copied, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(FOLDER / "open_filter.cpp", copied / "recorder_filter.cpp")
        return native.build_recipe(replace(recipe, name="open-recorder", directory=copied), toolchain)


@functools.cache
def one_process() -> Path:
    """The careless judge: answers, entry and comparison in one process. Its own names can be looked up in it."""
    runtime = native.build_library("runtime")
    recipe = native.Recipe(
        name="one-process",
        output="one_process",
        directory=FOLDER,
        sources=("one_process.cpp",),
        compile_flags=("-std=c++20", "-Wall", "-Wextra", "-Werror", "-O1"),
        link_flags=("-rdynamic", f"-Wl,-rpath,{runtime.parent}", "-Wl,--no-as-needed", str(runtime), "-ldl"),
    )
    return native.build_recipe(recipe, find_toolchain())
