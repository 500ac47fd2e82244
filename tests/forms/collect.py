"""Which forms of instructions CUDA's headers compile to: `python -m tests.forms.collect`.

Compiles tests/forms/sources and the kernels of headers.py for sm_75, sm_80 and sm_90, and writes
tests/forms/forms.json. Needs nvcc, and a few minutes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from grader.toolchain import find_toolchain
from tests.forms.forms import instructions
from tests.forms.headers import HEADERS, Header, kernels

HERE = Path(__file__).parent
FILE = HERE / "forms.json"
TARGETS = (75, 80, 90)
SOURCES = {
    "matrix": "mma.h",
    "groups": "cooperative_groups",
    "pipelines": "cuda/pipeline",
    "barriers": "cuda/barrier",
    "block_primitives": "cub/block",
    "warp_primitives": "cub/warp",
}
PATTERNS = 3  # kinds of operands that are kept of a form


def compiled(source: Path, target: int) -> str:
    """The PTX. Raises CalledProcessError with what nvcc said."""
    toolchain = find_toolchain()
    include = [f"-I{folder}" for folder in toolchain.include]
    command = [str(toolchain.nvcc), "-std=c++17", "-ptx", f"-arch=compute_{target}", "-o", "-", *include, str(source)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def of_declarations(header: Header, target: int) -> str:
    """The PTX of all functions of a header that there are for the target: lines that nvcc refuses go."""
    include = next(folder for folder in find_toolchain().include if (folder / header.name).is_file())
    lines = [f"#include <{header.name}>", header.operators().replace("\n", " "), *kernels(header, include)]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "declarations.cu"
        while True:
            source.write_text("\n".join(lines) + "\n")
            try:
                return compiled(source, target)
            except subprocess.CalledProcessError as error:
                refused = {int(number) for number in re.findall(r"declarations\.cu\((\d+)\): error", error.stderr)}
                if not refused - {1}:
                    raise
                for number in sorted(refused):
                    print(f"sm_{target} has no {lines[number - 1][:110]}", flush=True)
                    lines[number - 1] = ""


def collected() -> dict[str, dict[str, list[str]]]:
    """By opcode: the kinds of operands, and where it was met ("cuda/barrier 80")."""
    operands: dict[str, dict[str, None]] = defaultdict(dict)
    places: dict[str, dict[str, None]] = defaultdict(dict)
    for target in TARGETS:
        texts = {name: of_declarations(header, target) for name, header in HEADERS.items()}
        texts |= {name: compiled(HERE / "sources" / f"{stem}.cu", target) for stem, name in SOURCES.items()}
        for name, text in texts.items():
            for opcode, pattern in instructions(text):
                if len(operands[opcode]) < PATTERNS:
                    operands[opcode][pattern] = None
                places[opcode][f"{name} {target}"] = None
            print(f"{name} sm_{target}: {len(operands)} forms so far", flush=True)
    return {name: {"operands": list(operands[name]), "met": list(places[name])} for name in sorted(operands)}


def main() -> int:
    found = collected()
    about = {"nvcc": find_toolchain().version, "targets": list(TARGETS)}
    lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in found.items()]
    head = json.dumps({"about": about}).removesuffix("}")
    FILE.write_text(f'{head},\n "forms": {{\n' + ",\n".join(lines) + "\n }\n}\n")
    print(f"{len(found)} forms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
