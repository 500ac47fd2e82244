"""What a GPU does with matrices: `python -m tests.gpu.oracle_matrix [--out FILE]`.

tests/oracle/matrix.cu is compiled twice, once with the instructions of sm_80 alone; both must give the same bits. What
comes back is results/h200/matrices.npz (tests/oracle/recorded_matrices.py).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.gpu.bare import Array, BareGPU, about, save
from tests.oracle.layouts import FRAGMENTS, LDMATRIX_ROWS, in_words, numbered
from tests.oracle.matrices import FORMS, GROUPS, Form, assembled, fragments, operands, stored
from tests.oracle.recorded_matrices import TILES, digest, packed

SOURCE = Path(__file__).parent.parent / "oracle" / "matrix.cu"


def product(gpu: BareGPU, module: Any, form: Form, group: str, tiles: int) -> Array:
    """D of every tile of a group, shape (tiles, M, N): uint16 for f16, uint32 for f32."""
    a, b, c = operands(form, group, tiles)
    narrow = np.uint16 if form.d == "f16" else np.uint32
    if not form.wmma:
        words = fragments(form, a, b, c)
        empty = np.zeros((tiles, 32, 2 if form.d == "f16" else 4), np.uint32)
        return assembled(form, gpu.run(module, form.name, tiles, 32, [*words, empty], empty)).astype(narrow)
    empty = np.zeros((tiles, form.m, form.n), narrow)
    return gpu.run(module, form.name, tiles, 32, [*stored(form, a, b, c), empty], empty)


def layouts(gpu: BareGPU, module: Any) -> dict[str, Array]:
    """For each fragment the words that its kernel leaves, and what ldmatrix leaves of every lane's row."""
    found: dict[str, Array] = {}
    for name, fragment in FRAGMENTS.items():
        out = np.zeros(520 + (in_words(fragment) if fragment.is_accumulator else 0), np.uint32)
        found[f"layout_{name}"] = gpu.run(
            module, f"layout_{name}", 1, 32, [numbered(fragment), out, fragment.leading], out
        )
    for number, rows in enumerate(LDMATRIX_ROWS):
        for count in (1, 2, 4):
            for suffix in ("", "_trans"):
                name = f"ldmatrix_x{count}{suffix}"
                out = np.zeros((32, count), np.uint32)
                found[f"{name} {number}"] = gpu.run(module, name, 1, 32, [rows, out], out)
    out = np.zeros(32, np.uint32)
    found["movmatrix"] = gpu.run(module, "movmatrix", 1, 32, [LDMATRIX_ROWS[0], out], out)
    return found


def everything(gpu: BareGPU, target: int, cubin: Path) -> tuple[dict[str, Array], dict[str, Array]]:
    """Products and fragments, by code that uses the instructions of `target` alone."""
    architecture = f"-gencode=arch=compute_{target},code=sm_90"
    subprocess.run(["nvcc", "-std=c++17", "-cubin", architecture, str(SOURCE), "-o", str(cubin)], check=True)
    module = gpu.module(cubin.read_bytes())
    products: dict[str, Array] = {}
    for name, form in FORMS.items():
        products |= {f"{name} {group}": product(gpu, module, form, group, TILES) for group in GROUPS}
    return products, layouts(gpu, module)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("matrices.npz"))
    options = parser.parse_args()
    gpu = BareGPU()
    with tempfile.TemporaryDirectory() as folder:
        products, places = everything(gpu, 90, Path(folder) / "90.cubin")
        others, other_places = everything(gpu, 80, Path(folder) / "80.cubin")
    found, other = products | places, others | other_places
    differing = [name for name in found if digest(found[name]) != digest(other[name])]
    print(f"{len(products)} groups, {len(places)} fragments; with the code of sm_80 these differ: {differing}")
    save(options.out, packed(about("tests.gpu.oracle_matrix"), products, places))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
