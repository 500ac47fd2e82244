"""Matrix instructions against what an H200 made of them (results/h200/matrices.npz): products bit for bit, and which
element of a matrix lies where in a fragment.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from grader.build import build
from grader.simt.software import SoftwareGPU
from tests.one_launch import launched
from tests.oracle.layouts import FRAGMENTS, LDMATRIX_ROWS, in_words, numbered
from tests.oracle.matrices import FORMS, GROUPS, assembled, fragments, operands, stored
from tests.oracle.recorded_matrices import KEPT, TILES, Array, digest, matrices

WARP = (32, 1, 1)


@pytest.fixture(scope="module")
def gpu() -> SoftwareGPU:
    return SoftwareGPU(build(Path(__file__).parent / "oracle" / "matrix.cu", target=90))


def _run(
    gpu: SoftwareGPU, kernel: str, blocks: int, given: list[Array], out: Array, scalar: int | None = None
) -> Array:
    """What the kernel leaves in `out`, its last pointer."""
    buffers = {f"in{number}": ("in", _tensor(array)) for number, array in enumerate(given)}
    result = _tensor(out)
    buffers["out"] = ("inout", result)
    launched(gpu, kernel, ((blocks, 1, 1), WARP), buffers, scalar)
    made: Array = result.numpy().view(out.dtype).reshape(out.shape)
    return made


def _tensor(array: Array) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(array.tobytes(), np.uint8).copy())


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("group", GROUPS)
def test_products_are_those_of_the_gpu(gpu: SoftwareGPU, name: str, group: str) -> None:
    form = FORMS[name]
    narrow = np.uint16 if form.d == "f16" else np.uint32
    a, b, c = operands(form, group, TILES)
    if form.wmma:
        d = _run(gpu, name, TILES, list(stored(form, a, b, c)), np.zeros((TILES, form.m, form.n), narrow))
    else:
        empty = np.zeros((TILES, 32, 2 if form.d == "f16" else 4), np.uint32)
        d = assembled(form, _run(gpu, name, TILES, list(fragments(form, a, b, c)), empty)).astype(narrow)
    theirs = matrices().arrays[f"{name} {group}"]
    differing = [
        (tuple(place), hex(d[tuple(place)]), hex(theirs[tuple(place)])) for place in np.argwhere(d[:KEPT] != theirs)
    ]
    assert differing[:5] == []
    assert digest(d) == matrices().digests[f"{name} {group}"]


@pytest.mark.parametrize("name", FRAGMENTS)
def test_elements_lie_where_the_gpu_has_them(gpu: SoftwareGPU, name: str) -> None:
    fragment = FRAGMENTS[name]
    out = np.zeros(520 + (in_words(fragment) if fragment.is_accumulator else 0), np.uint32)
    made = _run(gpu, f"layout_{name}", 1, [numbered(fragment)], out, fragment.leading)
    assert np.array_equal(made, matrices().arrays[f"layout_{name}"])


@pytest.mark.parametrize("rows", range(len(LDMATRIX_ROWS)))
@pytest.mark.parametrize("name", [f"ldmatrix_x{count}{order}" for count in (1, 2, 4) for order in ("", "_trans")])
def test_ldmatrix_gives_the_gpus_words(gpu: SoftwareGPU, name: str, rows: int) -> None:
    theirs = matrices().arrays[f"{name} {rows}"]
    assert np.array_equal(_run(gpu, name, 1, [LDMATRIX_ROWS[rows]], np.zeros_like(theirs)), theirs)


def test_movmatrix_gives_the_gpus_words(gpu: SoftwareGPU) -> None:
    theirs = matrices().arrays["movmatrix"]
    assert np.array_equal(_run(gpu, "movmatrix", 1, [LDMATRIX_ROWS[0]], np.zeros_like(theirs)), theirs)
