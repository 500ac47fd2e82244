"""CUDA tensors: a built object's calls go on to libcudart as they are. Here it is a stand-in that writes them down."""

from __future__ import annotations

import ctypes
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from grader.build import build
from grader.op import EntryFailed, NoBackEnd, load_entry
from grader.op import entry as entries
from grader.op import library as libraries
from grader.op.cudart import VARIABLE, candidates
from grader.toolchain import find_toolchain
from tests.op.parts import SCALE

FILES = Path(__file__).parent / "op"
STREAM = 0x5EED
INVALID_CONFIGURATION, ILLEGAL_ADDRESS, NO_IMAGE = 9, 700, 209


class OnCuda(torch.Tensor):
    """A tensor that says it is on the GPU, and lies in the host's memory."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("cuda", 0)


def on_cuda(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32).as_subclass(OnCuda)


class StandIn:
    """The library, and what it was asked since `calls` was read last."""

    def __init__(self, path: Path) -> None:
        self.path, self._library = path, ctypes.CDLL(str(path))
        self._library.stand_in_calls.restype = ctypes.c_char_p

    def calls(self) -> list[str]:
        return str(self._library.stand_in_calls().decode()).splitlines()

    def answers(self, *, launch: int = 0, load: int = 0, devices: int = 0) -> None:
        self._library.stand_in_answers(launch, load, devices)


def compiled(folder: Path, *flags: str) -> Path:
    path, source = folder / "libcudart.so.13", FILES / "stand_in_cudart.cpp"
    command = [
        str(find_toolchain().host_compiler),
        "-std=c++17",
        "-shared",
        "-fPIC",
        *flags,
        str(source),
        "-o",
        str(path),
    ]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    path = compiled(tmp_path_factory.mktemp("cudart"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(path))
        patch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=STREAM))
        patch.setattr(torch.cuda, "current_device", lambda: 0)
        libraries.cuda_table.cache_clear()
        yield StandIn(path)
    libraries.cuda_table.cache_clear()


@pytest.fixture(scope="module")
def scale(stand_in: StandIn) -> entries.Entry:
    return load_entry(build(FILES / "scale.cu"), SCALE)


def called(scale: entries.Entry, count: int = 3, block: int = 32) -> tuple[torch.Tensor, torch.Tensor]:
    x, scratch = on_cuda(*range(count)), on_cuda(0.0)
    scale(x, scratch, count, 2.0, block)
    return x, scratch


def test_the_first_call_registers_and_loads_what_nvcc_made_and_every_call_is_passed_on(
    stand_in: StandIn, scale: entries.Entry
) -> None:
    kernel = next(name for name in scale.build.kernels)
    x, scratch = called(scale)
    expected = [
        f"memset {scratch.data_ptr():#x} value 7 bytes 4 stream {STREAM:#x}",
        f"launch {kernel} grid 1 1 1 block 32 1 1 shared 16 stream {STREAM:#x} pointer {x.data_ptr():#x} n 3",
    ]
    registered = [
        "fat binary given",
        f"function {kernel}",
        "variable table 16 constant 1",
        "end",
        "capture mode 2",
        f"load {kernel}",
        "capture mode 0",
    ]
    assert stand_in.calls() == [*registered, *expected]
    x, scratch = called(scale, 70)
    assert [call.split()[0] for call in stand_in.calls()] == ["memset", "launch"]


def test_what_the_entry_does_not_ask_for_is_not_asked(stand_in: StandIn, scale: entries.Entry) -> None:
    called(scale)
    stand_in.calls()
    scale(on_cuda(), on_cuda(0.0), 0, 2.0, 32)
    assert stand_in.calls() == []


def test_an_error_of_the_launch_is_raised_in_words_and_not_left_for_pytorch(
    stand_in: StandIn, scale: entries.Entry
) -> None:
    called(scale)
    stand_in.answers(launch=INVALID_CONFIGURATION)
    with pytest.raises(EntryFailed, match=r"`scale` returned cudaErrorInvalidConfiguration: words of the stand-in\.$"):
        called(scale)
    stand_in.answers()
    assert ctypes.CDLL(str(stand_in.path)).cudaPeekAtLastError() == 0
    stand_in.answers(launch=ILLEGAL_ADDRESS)
    with pytest.raises(EntryFailed, match="this process cannot use the GPU any more") as raised:
        called(scale)
    assert raised.value.error == "cudaErrorIllegalAddress"
    stand_in.answers()


def test_any_thread_may_call(stand_in: StandIn, scale: entries.Entry) -> None:
    called(scale)
    stand_in.calls()
    thread = threading.Thread(target=called, args=(scale,))
    thread.start()
    thread.join()
    assert [call.split()[0] for call in stand_in.calls()] == ["memset", "launch"]


def test_the_same_object_serves_both_devices_in_turn(stand_in: StandIn, scale: entries.Entry) -> None:
    """A kernel's stub keeps the first handle that it is given, so it must be good for both."""
    for _ in range(2):
        called(scale)
        stand_in.calls()
        x = torch.arange(100.0)
        scale(x, torch.empty(1), 100, 3.0, 32)
        assert torch.equal(x, 3.0 * torch.arange(100.0))
        assert stand_in.calls() == []


def test_tensors_of_two_devices_are_refused(stand_in: StandIn, scale: entries.Entry) -> None:
    with pytest.raises(ValueError, match=r"on one device: `scratch` is on cpu, another on cuda:0\.$"):
        scale(on_cuda(1.0), torch.empty(1), 1, 2.0, 32)


# ---- no library, no GPU, no code for it ----


def another(tmp_path: Path, remark: str) -> entries.Entry:
    """The same entry as another object, of which no library has been told."""
    source = tmp_path / "scale.cu"
    source.write_text(f"{(FILES / 'scale.cu').read_text()}// {remark}\n")
    return load_entry(build(source), SCALE)


def test_kernels_that_the_gpu_does_not_take_are_refused_once_and_for_all(stand_in: StandIn, tmp_path: Path) -> None:
    scale = another(tmp_path, "not for this GPU")
    stand_in.answers(load=NO_IMAGE)
    for _ in range(2):
        with pytest.raises(NoBackEnd, match=r"CUDA does not load the kernels of scale.cu .* for sm_80\.$"):
            called(scale)
    stand_in.answers()


@pytest.fixture
def forgotten() -> Iterator[None]:
    """As if no CUDA library had been looked for yet."""
    libraries.cuda_table.cache_clear()
    yield
    libraries.cuda_table.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_without_a_gpu_one_sentence_says_so(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.answers(devices=100)
    with pytest.raises(NoBackEnd, match=r"^There is no GPU that CUDA can use here: .* answers cudaErrorNoDevice\.$"):
        called(another(tmp_path, "no GPU"))
    stand_in.answers()


@pytest.mark.usefixtures("forgotten", "stand_in")
def test_without_a_library_one_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nothing.so"))
    with pytest.raises(NoBackEnd, match=rf"^CUDA tensors need .* or {VARIABLE} names it\.$"):
        called(another(tmp_path, "no library"))


@pytest.mark.usefixtures("forgotten", "stand_in")
def test_a_library_that_is_too_old_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(compiled(tmp_path, "-DOLD")))
    with pytest.raises(NoBackEnd, match="it is older than the toolkit that compiled the kernels"):
        called(another(tmp_path, "too old"))


def test_a_function_that_the_library_lacks_says_so_and_without_a_library_there_is_no_device(stand_in: StandIn) -> None:
    forwarding = libraries._forwarding()
    forwarding.grader_table_use(libraries.cuda_table())
    lacking = forwarding.cudaGraphLaunch()
    forwarding.grader_table_use(None)
    assert (lacking, forwarding.cudaGraphLaunch()) == (801, 100)


def test_the_library_that_pytorch_has_loaded_comes_first(monkeypatch: pytest.MonkeyPatch, stand_in: StandIn) -> None:
    """The stand-ins have been loaded by this process, as PyTorch loads its own."""
    monkeypatch.delenv(VARIABLE)
    found = list(candidates(13))
    assert Path(found[0]).is_relative_to(stand_in.path.parents[1])
    assert str(stand_in.path) in found
    assert found[-1] == "libcudart.so.13"
    assert list(candidates(99)) == ["libcudart.so.99"]
