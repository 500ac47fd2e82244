"""Builds our own C++ with ninja into the content-keyed cache: CUDA runtime, recorder, software GPU and cage.

The code is ours, so it is built outside the cage and warnings are errors. What is built is keyed by every source and
header, the flags and the compilers; objects too are kept by content, so that a change to one file compiles that file.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from grader.cache import ToolMissing, cache_root, content_key, entry, mark_used, trim
from grader.toolchain import Toolchain, find_toolchain

Library = Literal["runtime", "software", "forward", "recorder", "machine", "confinement", "occupancy"]

_PACKAGE = Path(__file__).resolve().parent
_FORMAT = "1"
_COMMON = ("-std=c++20", "-Wall", "-Wextra", "-Werror", "-pthread")
_KEPT_VERSIONS = 4  # of each library, for those who switch between branches
_KEPT_OBJECTS = 256
_HEADERS = "headers.hpp"
_WORTH_PRECOMPILING = 8  # sources: their headers take as long to precompile as to be read by five


class NativeBuildFailed(ToolMissing):
    """Our own C++ does not build here; the message begins with one sentence, the compiler's words follow."""


@dataclass(frozen=True)
class Recipe:
    """One program or shared library: what it is made of and how.

    `sources` are files of `directory`, whose headers all of them may include. `generator` is a Python module that
    writes one more source, given the directory of CUDA's headers and the path to write. `native`: for this CPU alone.
    `precompiled`: many sources include nearly the same headers, which are then read once for all of them.
    """

    name: str
    output: str
    directory: Path
    sources: tuple[str, ...]
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    generator: str | None = None
    native: bool = False
    precompiled: bool = False


def build_library(name: Library) -> Path:
    """The path of one of ours, built if need be: the program `recorder`, or a shared library.

    Raises ToolMissing where a compiler is missing, NativeBuildFailed where it refuses our code.
    """
    toolchain = find_toolchain()
    return build_recipe(_recipes()[name](toolchain), toolchain)


def build_cage() -> Path:
    """The path of the program `cage`, built if need be."""
    directory = _PACKAGE / "cage"
    recipe = Recipe("cage", "cage", directory, ("cage.cpp",), (*_COMMON, "-O2"), ())
    return build_recipe(recipe, find_toolchain())


def build_sanitized_machine(sanitizers: str) -> Path:
    """The machine's library with g++'s sanitizers in it, such as "address,undefined": it ends at the first fault.

    For tests, which ask for it when they want it. Raises as `build_library` does.
    """
    toolchain = find_toolchain()
    return build_recipe(sanitized(_machine(toolchain), sanitizers), toolchain)


def sanitized(recipe: Recipe, sanitizers: str) -> Recipe:
    """The same with g++'s sanitizers; what it is linked to needs the same ones."""
    checks = (f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all")
    return replace(
        recipe,
        name=f"{recipe.name}-sanitized",
        compile_flags=(*recipe.compile_flags, "-O0", "-g1", "-fno-omit-frame-pointer", *checks),
        link_flags=(*recipe.link_flags, *checks),
    )


def _recipes() -> dict[Library, Callable[[Toolchain], Recipe]]:
    return {
        "runtime": _runtime,
        "software": _software,
        "forward": _forward,
        "recorder": _recorder,
        "machine": _machine,
        "confinement": _confinement,
        "occupancy": _occupancy,
    }


def _runtime(toolchain: Toolchain) -> Recipe:
    """Our CUDA runtime that records."""
    sources = (name for name in _cpp_files(_PACKAGE / "runtime") if not name.startswith("recorder"))
    return _cudart("runtime", "libgrader_cudart.so", tuple(sources), toolchain)


def _software(toolchain: Toolchain) -> Recipe:
    """Our CUDA runtime that executes, for programs with a main of their own."""
    directory = _PACKAGE / "runtime"
    shared = [name for name in _cpp_files(directory) if not name.startswith("record")]
    own = [f"software/{name}" for name in _cpp_files(directory / "software")]
    return _cudart("software", "libgrader_cudart_software.so", (*shared, *own), toolchain)


def _forward(toolchain: Toolchain) -> Recipe:
    """Our CUDA runtime that forwards, under the name that a learner's object asks for."""
    sources = tuple(f"forward/{name}" for name in _cpp_files(_PACKAGE / "runtime" / "forward"))
    return _cudart("forward", "libgrader_cudart.so", sources, toolchain, "grader.runtime.trampolines")


def _cudart(
    name: str,
    output: str,
    sources: tuple[str, ...],
    toolchain: Toolchain,
    generator: str = "grader.runtime.generate",
) -> Recipe:
    return Recipe(
        name=name,
        output=output,
        directory=_PACKAGE / "runtime",
        sources=sources,
        compile_flags=(*_COMMON, "-O2", "-fPIC", *_headers(toolchain)),
        # Where libstdc++ is linked statically, what a learner's object needs of it is the object's own affair.
        link_flags=(
            "-shared",
            "-pthread",
            f"-Wl,-soname,{output}",
            "-Wl,--no-undefined",
            "-Wl,--exclude-libs,ALL",
            "-ldl",
        ),
        generator=generator,
        precompiled=True,
    )


def _recorder(toolchain: Toolchain) -> Recipe:
    runtime = build_library("runtime")
    return Recipe(
        name="recorder",
        output="recorder",
        directory=_PACKAGE / "runtime",
        sources=_cpp_files(_PACKAGE / "runtime", "recorder*.cpp"),
        compile_flags=(*_COMMON, "-O2", *_headers(toolchain)),
        link_flags=(
            "-pthread",
            f"-L{runtime.parent}",
            f"-Wl,-rpath,{runtime.parent}",
            "-Wl,--no-as-needed",  # what a learner's object may need is loaded before the filter forbids to open it
            *(f"-l{library}" for library in (f":{runtime.name}", "m", "gcc_s", "pthread", "dl", "rt")),
        ),
    )


def machine_recipe(architecture: str) -> Recipe:
    """The software GPU's machine for a value of g++'s -march: "native" is this CPU alone, "" any of its kind."""
    chosen = (f"-march={architecture}",) if architecture else ()
    fast = ("-O3", *chosen, "-ffp-contract=off", "-fno-math-errno")
    return Recipe(
        name="machine",
        output="libgrader_machine.so",
        directory=_PACKAGE / "simt" / "machine",
        sources=_cpp_files(_PACKAGE / "simt" / "machine"),
        compile_flags=(*_COMMON, *fast, "-fPIC"),
        link_flags=("-shared", "-pthread", "-Wl,--no-undefined"),
        native=architecture == "native",
        precompiled=True,
    )


def _machine(_toolchain: Toolchain) -> Recipe:
    return machine_recipe("" if os.environ.get("GRADER_PORTABLE") == "1" else "native")


def _confinement(_toolchain: Toolchain) -> Recipe:
    return Recipe(
        name="confinement",
        output="libgrader_confinement.so",
        directory=_PACKAGE / "cage",
        sources=("confine.cpp",),
        compile_flags=(*_COMMON, "-O2", "-fPIC"),
        link_flags=("-shared", "-Wl,--no-undefined"),
    )


def _occupancy(toolchain: Toolchain) -> Recipe:
    """NVIDIA's occupancy calculator, which is a header of the toolkit, as a library."""
    return Recipe(
        name="occupancy",
        output="libgrader_occupancy.so",
        directory=_PACKAGE / "cuda",
        sources=("occupancy.cpp",),
        compile_flags=(*_COMMON, "-O2", "-fPIC", *_headers(toolchain)),
        link_flags=("-shared", "-Wl,--no-undefined"),
    )


def _cpp_files(directory: Path, pattern: str = "*.cpp") -> tuple[str, ...]:
    return tuple(sorted(path.name for path in directory.glob(pattern)))


def _headers(toolchain: Toolchain) -> tuple[str, ...]:
    """CUDA's headers as system headers: their warnings are not ours."""
    return tuple(argument for path in toolchain.include for argument in ("-isystem", str(path)))


# ---- keys ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """A recipe with the text of every file as it was read once, so that what is built is what the keys were made of."""

    recipe: Recipe
    toolchain: Toolchain
    files: dict[str, bytes]

    @property
    def _platform(self) -> str:
        cpu = _cpu() if self.recipe.native else os.uname().machine
        return content_key(_FORMAT, self.toolchain.identity, cpu, *self.recipe.compile_flags)

    def object_keys(self) -> dict[str, str]:
        """For each source the key of its object: its own text and that of every header."""
        headers = [part for name, text in self.files.items() if not name.endswith(".cpp") for part in (name, text)]
        return {
            source: content_key(self._platform, source, self.files[source], *headers) for source in self.recipe.sources
        }

    def key(self) -> str:
        generator = [path.read_bytes() for path in self._generator_modules()]
        return content_key(self._platform, *self.recipe.link_flags, *self.object_keys().values(), *generator)

    def _generator_modules(self) -> list[Path]:
        return sorted(self.recipe.directory.glob("*.py")) if self.recipe.generator else []


def build_recipe(recipe: Recipe, toolchain: Toolchain) -> Path:
    """The path of what a recipe makes, built if need be; raises as `build_library` does."""
    if not recipe.sources:
        raise NativeBuildFailed(f"this installation of grader is incomplete: it has no source of {recipe.name}")
    headers = sorted(path for pattern in ("*.h", "*.hpp") for path in recipe.directory.rglob(pattern))
    names = [*(str(path.relative_to(recipe.directory)) for path in headers), *recipe.sources]
    plan = _Plan(recipe, toolchain, {name: (recipe.directory / name).read_bytes() for name in names})
    directory = entry(recipe.name, plan.key(), lambda empty: _make(empty, plan), one_at_a_time=True)
    mark_used(directory)
    return directory / recipe.output


@functools.cache
def _cpu() -> str:
    """What -march=native stands for: code built for one CPU may not run on another that shares the cache."""
    wanted = ("model name", "flags", "Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part")
    with Path("/proc/cpuinfo").open(errors="replace") as lines:
        first = [line for line, _ in zip(lines, range(40), strict=False)]  # the first core of many
    told = sorted({line.strip() for line in first if line.startswith(wanted)})
    return hashlib.sha256("\n".join([os.uname().machine, *told]).encode()).hexdigest()


# ---- ninja -----------------------------------------------------------------------------------------------------------


def _make(directory: Path, plan: _Plan) -> None:
    recipe, work = plan.recipe, directory / "work"
    for name, text in plan.files.items():
        path = work / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    objects = plan.object_keys()
    (work / "build.ninja").write_text(_ninja_text(plan, objects, work))
    said = _run_ninja(work)
    for key in objects.values():
        _keep_object(work / f"{key}.o", key)
    if not (work / recipe.output).is_file():
        told = said.replace(f"{work}/source", str(recipe.directory))
        raise NativeBuildFailed(
            f"the grader's own {recipe.name} does not build with g++ {plan.toolchain.host_version}:\n{told}"
        )
    (work / recipe.output).rename(directory / recipe.output)
    shutil.rmtree(work)
    trim(recipe.name, _KEPT_VERSIONS)
    trim("objects", _KEPT_OBJECTS)


def _run_ninja(work: Path) -> str:
    """What ninja and the compilers said, "" if all went well."""
    cores = len(os.sched_getaffinity(0))
    environment = {**os.environ, "PYTHONPATH": str(_PACKAGE.parent), "LC_ALL": "C"}
    done = subprocess.run(
        [_ninja(), "-C", work, f"-j{cores}", "--quiet"],
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
    return done.stdout + done.stderr


def _ninja_text(plan: _Plan, objects: dict[str, str], work: Path) -> str:
    """One object a file, so that all cores are used; objects already in the cache are only linked."""
    recipe, compiler = plan.recipe, _words(str(plan.toolchain.host_compiler))
    sources = work / "source"
    flags = _words(*recipe.compile_flags, f"-I{sources}", f"-ffile-prefix-map={sources}={recipe.directory}")
    lines = [
        f"rule compile\n  command = {compiler} {flags} -c $in -o $out",
        f"rule link\n  command = {compiler} $in -o $out {_words(*recipe.link_flags)}",
    ]
    missing = {source: key for source, key in objects.items() if not _fetch_object(key, work)}
    rule = "compile"
    if recipe.precompiled and len(missing) >= _WORTH_PRECOMPILING:
        lines += _precompiling(plan, f"{compiler} {flags}", work)
        rule = "compile_with_headers"
    for source, key in missing.items():
        needed = "" if rule == "compile" else f" | {_HEADERS}.gch"
        lines.append(f"build {key}.o: {rule} {_path(sources / source)}{needed}")
    linked = [f"{key}.o" for key in objects.values()]
    if recipe.generator is not None:
        command = _words(sys.executable, "-m", recipe.generator, str(plan.toolchain.include[0]))
        lines.append(f"rule generate\n  command = {command} $out")
        lines.append("build generated.cpp: generate\nbuild generated.o: compile generated.cpp")
        linked.append("generated.o")
    lines.append(f"build {recipe.output}: link {' '.join(linked)}")
    return "\n".join(lines) + "\n"


def _precompiling(plan: _Plan, compiler: str, work: Path) -> list[str]:
    """Rules that compile with all headers read already; where g++ cannot use what it kept, it reads them once more."""
    headers = [name for name in plan.files if not name.endswith(".cpp")]
    (work / _HEADERS).write_text("".join(f'#include "{name}"\n' for name in headers))
    return [
        f"rule precompile\n  command = {compiler} -x c++-header $in -o $out",
        f"rule compile_with_headers\n  command = {compiler} -include {_HEADERS} -c $in -o $out",
        f"build {_HEADERS}.gch: precompile {_HEADERS}",
    ]


def _fetch_object(key: str, work: Path) -> bool:
    """Whether the cache has this object, which is then copied to where it is linked."""
    kept = cache_root() / "objects" / key / "object.o"
    if not kept.is_file():
        return False
    mark_used(kept.parent)
    shutil.copy(kept, work / f"{key}.o")
    return True


def _keep_object(built: Path, key: str) -> None:
    def make(directory: Path) -> None:
        shutil.copy(built, directory / "object.o")

    if built.is_file():
        entry("objects", key, make)


def _words(*arguments: str) -> str:
    """A command's words, quoted for the shell and then for ninja."""
    return shlex.join(arguments).replace("$", "$$")


def _path(path: Path) -> str:
    """A path in a build statement, where ninja takes blanks and colons for its own."""
    return re.sub(r"([$ :])", r"$\1", str(path))


def _ninja() -> str:
    beside_python = Path(sysconfig.get_path("scripts")) / "ninja"
    found = str(beside_python) if beside_python.is_file() else shutil.which("ninja")
    if found is None:
        raise ToolMissing(f"ninja is missing: {sys.executable} -m pip install ninja")
    return found
