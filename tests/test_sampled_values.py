"""What sparse buffers hold: the same from the machine and from Python, at any index, and spread as it should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.simt.lower import lower
from grader.simt.machine import ELEMENT_TYPES, Machine
from grader.simt.program import write_program
from grader.simt.sampled_values import values_at

PTX = Path(__file__).parent / "ptx" / "floats.ptx"
_BASE = 0x2000_0000_0000
_BYTES = 1 << 32
_STORED: dict[str, np.dtype[Any]] = {
    "f32": np.dtype("<f4"),
    "f16": np.dtype("<f2"),
    "bf16": np.dtype("<u2"),
    "i32": np.dtype("<i4"),
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    path = tmp_path_factory.mktemp("program") / "program.simt"
    write_program(lower(PTX.read_text(), "floats.cu"), path)
    return Machine(path)


def held(machine: Machine, kind: str, first: int, count: int) -> NDArray[np.float64]:
    stored = _STORED[kind]
    raw = np.frombuffer(machine.read(_BASE + first * stored.itemsize, count * stored.itemsize), stored)
    values = (raw.astype(np.uint32) << 16).view(np.float32) if kind == "bf16" else raw
    return values.astype(np.float64)


@pytest.mark.parametrize("seed", [0, 1, 0x0123_4567_89AB_CDEF, (1 << 64) - 1])
@pytest.mark.parametrize("kind", list(ELEMENT_TYPES))
def test_the_machine_and_python_agree_at_every_index(machine: Machine, kind: str, seed: int) -> None:
    machine.remove_buffers()
    machine.add_sparse("x", _BASE, _BYTES, kind, seed, writable=False)
    last = _BYTES // _STORED[kind].itemsize
    for first, count in ((0, 3000), (12_345, 7), (1 << 29, 2000), ((1 << 29) - 1, 2), (last - 1500, 1500)):
        expected = values_at(kind, seed, np.arange(first, first + count))
        assert np.array_equal(held(machine, kind, first, count), expected)


def test_a_buffer_without_values_can_still_be_filled_as_a_whole(machine: Machine) -> None:
    machine.remove_buffers()
    machine.add_sparse("x", _BASE, _BYTES, "f32", None, writable=True)
    machine.set(_BASE, 0x3F, 1, _BYTES)
    assert machine.read(_BASE + _BYTES - 5, 5) == b"?????"


def test_values_are_spread_over_their_range() -> None:
    index = np.arange(100_000)
    floats = values_at("f32", 7, index)
    assert floats.min() >= -1
    assert floats.max() < 1
    assert abs(floats.mean()) < 0.01
    assert abs(floats.std() - 3**-0.5) < 0.01
    assert len(np.unique(floats)) > 99_000
    assert np.array_equal(floats.astype(np.float32).astype(np.float64), floats)
    integers = values_at("i32", 7, index)
    assert set(integers) == set(range(256))


def test_seeds_and_neighbours_have_nothing_in_common() -> None:
    index = np.arange(10_000)
    first, second = values_at("f32", 1, index), values_at("f32", 2, index)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.05


def test_an_index_may_have_any_shape() -> None:
    rows, columns = np.ix_(np.array([3, 1 << 40]), np.arange(4))
    assert values_at("f16", 5, rows * 4 + columns).shape == (2, 4)
