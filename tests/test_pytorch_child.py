"""PyTorch's process: what it runs, on which tensors, and what it says where it cannot."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch

from grader.catalog import Located, load_catalog
from grader.cuda import pytorch_child
from grader.cuda.pytorch_child import Prepared, Refused, Run, of_part, of_product
from grader.inputs import draw_inputs
from grader.puzzle import Case
from grader.wire import send
from tests.conftest import SEED
from tests.judging import ROOT

PARTS = {located.label: located for puzzle in load_catalog(ROOT).puzzles for located in puzzle.parts}


class Watched:
    """A device that notes what a lap finds in the tensors, and what it leaves."""

    place = "cpu"

    def __init__(self) -> None:
        self.runs: list[object] = []
        self.given_back = 0

    def give_back(self) -> None:
        self.given_back += 1

    def captured(self, run: Run) -> Run | None:
        def replay() -> None:
            self.runs.append(run())

        return replay

    def timed(self, replay: Run) -> tuple[float, float]:
        replay()
        return 2.0, 2.5


def files_of(located: Located, case: Case, seeds: list[int], folder: Any) -> list[dict[str, str]]:
    """Inputs as raw bytes, as their parent leaves them."""
    sets = []
    for seed in seeds:
        drawn = draw_inputs(located.part, case, seed)
        paths = {name: folder / f"{name}_{seed}" for name in drawn}
        for name, tensor in drawn.items():
            paths[name].write_bytes(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
        sets.append({name: str(path) for name, path in paths.items()})
    return sets


@pytest.fixture
def loaded(tmp_path: Any) -> Callable[..., tuple[Watched, Prepared]]:
    def load(label: str, case: Case, *, compiled: bool = False) -> tuple[Watched, Prepared]:
        located, device = PARTS[label], Watched()
        sets = files_of(located, case, [SEED, SEED + 1], tmp_path)
        folder = str(located.puzzle.directory)
        return device, of_part(device, folder, located.part.name, case.params, sets, compiled)

    return load


def test_each_set_of_inputs_gives_its_own_results(loaded: Callable[..., tuple[Watched, Prepared]]) -> None:
    device, prepared = loaded("1.2", Case(n=1000))
    assert prepared.captured
    assert [prepared.lap(number) for number in (1, 0, 1)] == [(2.0, 2.5)] * 3
    for number, result in zip((1, 0, 1), device.runs, strict=True):
        drawn = draw_inputs(PARTS["1.2"].part, Case(n=1000), SEED + number)
        assert isinstance(result, torch.Tensor)
        assert torch.equal(result, drawn["a"] + drawn["b"])


def test_an_update_in_place_begins_each_time_where_the_first_did(
    loaded: Callable[..., tuple[Watched, Prepared]],
) -> None:
    case = Case(n=1000, lr=0.1)
    device, prepared = loaded("9.1", case)
    results = []
    for _ in range(3):
        prepared.lap(0)
        assert isinstance(device.runs[-1], torch.Tensor)
        results.append(device.runs[-1].clone())
    drawn = draw_inputs(PARTS["9.1"].part, case, SEED)
    assert torch.allclose(results[0], drawn["w"] - 0.1 * drawn["g"])
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_tensors_have_the_types_of_the_part(loaded: Callable[..., tuple[Watched, Prepared]]) -> None:
    for label, dtype in (("6.2", torch.float32), ("6.4", torch.float16), ("6.7", torch.bfloat16)):
        device, prepared = loaded(label, Case(rows=3, cols=50, eps=1e-5))
        prepared.lap(0)
        assert isinstance(device.runs[0], torch.Tensor)
        assert device.runs[0].dtype is dtype


def test_an_input_of_no_elements_has_no_file_to_map(loaded: Callable[..., tuple[Watched, Prepared]]) -> None:
    device, prepared = loaded("1.2", Case(n=0))
    prepared.lap(1)
    assert isinstance(device.runs[0], torch.Tensor)
    assert device.runs[0].numel() == 0


def test_the_compiled_function_is_the_same_function(
    loaded: Callable[..., tuple[Watched, Prepared]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Mapping[str, Any]] = []

    def compiling(function: Callable[..., Any], **how: Any) -> Callable[..., Any]:
        asked.append({"function": function, **how})
        return function

    monkeypatch.setattr(torch, "compile", compiling)
    device, prepared = loaded("6.2", Case(rows=3, cols=50, eps=1e-5), compiled=True)
    prepared.lap(0)
    (how,) = asked
    assert how["function"].__name__ == "rmsnorm"
    assert how["dynamic"] is False
    assert len(device.runs) == 1


def test_a_part_without_anything_of_pytorch_is_refused_in_a_sentence(tmp_path: Any) -> None:
    located = PARTS["3.1"]
    with pytest.raises(Refused, match="PyTorch has nothing like bank_answers"):
        of_part(Watched(), str(located.puzzle.directory), located.part.name, {}, [{}], False)


def test_what_ran_before_makes_room_for_what_is_asked_next() -> None:
    device, replies = Watched(), io.BytesIO()
    requests = io.BytesIO()
    for size in (16, 32):
        send(requests, {"do": "product", "dtype": "float32", "size": size})
        send(requests, {"do": "lap", "inputs": 0})
    requests.seek(0)
    pytorch_child.serve(lambda: device, requests, replies)
    assert [getattr(run, "shape", None) for run in device.runs] == [(16, 16), (32, 32)]
    assert device.given_back == 1


def test_a_product_is_square_and_of_the_type_asked_for() -> None:
    device = Watched()
    of_product(device, "bfloat16", 48).lap(0)
    assert isinstance(device.runs[0], torch.Tensor)
    assert (device.runs[0].shape, device.runs[0].dtype) == ((48, 48), torch.bfloat16)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Refused("One sentence."), "One sentence."),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB"), "not enough free memory"),
        (ValueError("\n  the first line\nand more"), "PyTorch says ValueError: the first line"),
        (RuntimeError(), "PyTorch says RuntimeError: "),
    ],
)
def test_what_fails_is_said_in_a_sentence(error: Exception, said: str) -> None:
    answer = pytorch_child._said(error)
    assert said in answer["error"]
    assert (answer.get("name") == "CUDA_ERROR_OUT_OF_MEMORY") == isinstance(error, torch.OutOfMemoryError)
