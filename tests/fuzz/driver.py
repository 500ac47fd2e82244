"""The program that damages programs and runs them: tests/fuzz/*.cpp, linked to the machine, both under sanitizers."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from grader.native import Recipe, build_recipe, build_sanitized_machine, sanitized
from grader.toolchain import find_toolchain

SANITIZERS = "address,undefined"
_DIRECTORY = Path(__file__).parent
_TRY = "#include <vector>\nint main(int count, char**) { return std::vector<int>(2)[count] << 1; }\n"


def build_driver(sanitizers: str = SANITIZERS) -> Path:
    """The path of the program, built if need be; raises ToolMissing as `build_library` does."""
    machine = build_sanitized_machine(sanitizers)
    recipe = Recipe(
        name="fuzz",
        output="fuzz",
        directory=_DIRECTORY,
        sources=tuple(sorted(path.name for path in _DIRECTORY.glob("*.cpp"))),
        compile_flags=("-std=c++20", "-Wall", "-Wextra", "-Werror"),
        link_flags=("-pthread", f"-L{machine.parent}", f"-Wl,-rpath,{machine.parent}", f"-l:{machine.name}"),
    )
    return build_recipe(sanitized(recipe, sanitizers), find_toolchain())


def sanitizers_missing() -> str | None:
    """Why programs with sanitizers cannot be built or run here; None where they can."""
    compiler = find_toolchain().host_compiler
    with tempfile.TemporaryDirectory() as work:
        source, program = Path(work) / "try.cpp", Path(work) / "try"
        source.write_text(_TRY)
        commands: list[list[str | Path]] = [[compiler, f"-fsanitize={SANITIZERS}", source, "-o", program], [program]]
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                words = (done.stderr or done.stdout).strip().splitlines() or ["it ends badly"]
                return f"{compiler.name} has no {SANITIZERS} sanitizers here: {words[-1]}"
    return None
