"""The example that trains on digits, a small part of it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.judging import ROOT

pytestmark = pytest.mark.filterwarnings("default")  # those of scikit-learn and matplotlib are not ours

STEPS = 60


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("digits_example", ROOT / "examples" / "digits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "apart"), [("f32", 1e-6), ("f16", 0.02)])
def test_our_ops_learn_to_read_as_pytorch_does(example: Any, name: str, apart: float) -> None:
    digits = example.Digits.load()
    ours, theirs = example.on_our_ops(digits, name, STEPS, "cpu"), example.on_pytorch(digits, STEPS)
    assert ours.losses[-1] < ours.losses[0] / 4
    assert ours.accuracy > 0.7
    for one, other in zip(ours.losses, theirs.losses, strict=True):
        assert abs(one - other) <= apart * other
    assert abs(ours.accuracy - theirs.accuracy) < 0.03


def test_the_losses_are_drawn_beside_each_other(example: Any, tmp_path: Path) -> None:
    training = example.Training("ours", [0, 10], [0.3, 0.1], 0.9)
    example.plot([training, training], tmp_path / "digits.png")
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")
