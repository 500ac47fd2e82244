"""What a GPU does with matrices: `python -m tests.gpu.oracle_matrix [--tiles N] [--cubin FILE…] [--out FILE]`.

Without cubins tests/oracle/matrix.cu is compiled here, which needs nvcc. The file that comes back, an .npz, holds for
each form and group of tests/oracle/matrices.py the bits of D, and for each fragment which element lies where.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from tests.gpu.bare import Array, BareGPU, save
from tests.oracle.layouts import FRAGMENTS, LDMATRIX_ROWS, in_words
from tests.oracle.matrices import FORMS, GROUPS, Form, assembled, fragments, operands

SOURCE = Path(__file__).parent.parent / "oracle" / "matrix.cu"


def product(gpu: BareGPU, module: Any, form: Form, group: str, tiles: int) -> Array:
    """D of every tile of a group, shape (tiles, M, N): uint16 for f16, uint32 for f32."""
    a, b, c = operands(form, group, tiles)
    narrow = np.uint16 if form.d == "f16" else np.uint32
    if not form.wmma:
        words = fragments(form, a, b, c)
        empty = np.zeros((tiles, 32, 2 if form.d == "f16" else 4), np.uint32)
        return assembled(form, gpu.run(module, form.name, tiles, 32, [*words, empty], empty)).astype(narrow)
    width = {"f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32, "f32": np.uint32}
    by_columns = np.ascontiguousarray(np.swapaxes(b, 1, 2))
    given = [a.astype(width[form.kind]), by_columns.astype(width[form.kind]), c.astype(width[form.c])]
    empty = np.zeros((tiles, form.m, form.n), narrow)
    return gpu.run(module, form.name, tiles, 32, [*given, empty], empty)


def layouts(gpu: BareGPU, module: Any) -> dict[str, Array]:
    """For each fragment the words that its kernel leaves, and what ldmatrix leaves of every lane's row."""
    found: dict[str, Array] = {}
    for name, fragment in FRAGMENTS.items():
        numbered = np.arange(fragment.rows * fragment.columns, dtype=np.uint16 if fragment.bits == 16 else np.uint32)
        out = np.zeros(520 + (in_words(fragment) if fragment.is_accumulator else 0), np.uint32)
        found[f"layout_{name}"] = gpu.run(module, f"layout_{name}", 1, 32, [numbered, out, fragment.leading], out)
    for number, rows in enumerate(LDMATRIX_ROWS):
        for count in (1, 2, 4):
            for suffix in ("", "_trans"):
                name = f"ldmatrix_x{count}{suffix}"
                out = np.zeros((32, count), np.uint32)
                found[f"{name} {number}"] = gpu.run(module, name, 1, 32, [rows, out], out)
    out = np.zeros(32, np.uint32)
    found["movmatrix"] = gpu.run(module, "movmatrix", 1, 32, [LDMATRIX_ROWS[0], out], out)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tiles", type=int, default=24)
    parser.add_argument("--cubin", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, default=Path("matrix.npz"))
    options = parser.parse_args()
    cubins = options.cubin
    if not cubins:
        cubins = [Path("matrix.cubin")]
        subprocess.run(["nvcc", "-std=c++17", "-cubin", "-arch=sm_90", str(SOURCE), "-o", str(cubins[0])], check=True)
    gpu = BareGPU()
    found: dict[str, Array] = {}
    for cubin in cubins:
        module = gpu.module(cubin.read_bytes())
        made = layouts(gpu, module)
        for name, form in FORMS.items():
            for group in GROUPS:
                made[f"{name} {group}"] = product(gpu, module, form, group, options.tiles)
        differing = sorted(name for name in found if not np.array_equal(found[name], made[name]))
        print(f"{cubin.name}: {len(made)} arrays, differing from the first file: {differing}", flush=True)
        found = found or made
    save(options.out, found)


if __name__ == "__main__":
    main()
