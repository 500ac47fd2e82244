"""The approximations of f16 and bf16, every operand there is, against what an H200 gave and what PTX promises."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.instructions.case import outcome
from tests.instructions.registers import on_registers

FILE = Path(__file__).parent.parent / "results" / "h200" / "approximations.npz"
Array = NDArray[Any]
Floats = NDArray[np.float64]
FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {"ex2": np.exp2, "tanh": np.tanh}
# By PTX ISA 9.1, section 9.7.4: whether the error is relative, and how large it is.
ERRORS = {
    "ex2.approx.f16": (True, 2.0**-9.9),
    "tanh.approx.f16": (False, 2.0**-10.987),
    "ex2.approx.ftz.bf16": (True, 2.0**-7),
    "tanh.approx.bf16": (False, 2.0**-8),
}
EXCESS = {"tanh.approx.bf16": 1.0001}  # at ±0.746 an H200's error is a hair above what PTX gives
SMALLEST = {"f16": 2.0**-24, "bf16": 2.0**-126}  # of the numbers that a result may be


@functools.cache
def recorded() -> dict[str, Array]:
    with np.load(FILE) as archive:
        return {name: archive[name] for name in archive.files}


def values(bits: Array, kind: str) -> Floats:
    with np.errstate(invalid="ignore"):  # a NaN that signals
        if kind == "f16":
            return bits.astype(np.uint16).view(np.float16).astype(np.float64)
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


@functools.cache
def ours(name: str) -> Array:
    rows = [(bits,) for bits in range(1 << 16)]
    return np.array(outcome(on_registers(name, "h", "h", rows, lambda bits: 0)).rows)[:, 0]


@pytest.mark.parametrize("name", ERRORS)
def test_the_gpu_and_the_software_gpu_keep_the_error_of_ptx(name: str) -> None:
    kind, (is_relative, error) = name.rsplit(".", maxsplit=1)[-1], ERRORS[name]
    operand = values(np.arange(1 << 16), kind)
    with np.errstate(all="ignore"):
        true = FUNCTIONS[name.split(".", maxsplit=1)[0]](operand)
        for bits, limit in ((recorded()[name], error * EXCESS.get(name, 1)), (ours(name), error)):
            got = values(bits, kind)
            allowed = limit * np.abs(true) if is_relative else np.full_like(true, limit)
            near = np.abs(got - true) <= np.maximum(allowed, SMALLEST[kind])
            huge = np.isinf(got) & (true >= 65504 if kind == "f16" else true >= 3.38e38)
            assert np.all(near | huge | (got == true) | (np.isnan(got) & np.isnan(operand)))


@pytest.mark.parametrize("name", ERRORS)
def test_the_software_gpu_lies_within_a_unit_of_the_gpu(name: str) -> None:
    """Ours is rounded, the GPU's is cut off."""
    theirs, mine = recorded()[name].astype(np.int64), ours(name).astype(np.int64)
    assert np.array_equal(theirs & 0x8000, mine & 0x8000)
    apart = np.abs(theirs - mine)
    assert apart.max() == 1
    assert 0.5 < np.mean(apart == 0) < 1


def test_single_precision_lies_within_two_units_of_the_rounded_result() -> None:
    """rcp, rsqrt, sqrt and ex2, whose errors PTX gives relative to the result."""
    sweeps = json.loads(str(recorded()["head"]))["sweeps"]
    assert len(sweeps) == 13
    for name, counts in sweeps.items():
        if name.startswith(("rcp", "rsqrt", "sqrt", "ex2")) and "1e-39" not in name and "-0.0078125" not in name:
            assert set(counts) <= {"-2", "-1", "0", "1", "further"}
            assert counts["further"] == 0
            assert counts["0"] > 0.6 * sum(counts.values())
