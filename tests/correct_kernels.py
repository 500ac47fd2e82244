"""A vocabulary for correct kernels: tests/kernels/FOLDER/TOPIC.cu holds them, TOPIC.py beside it says what they make.

    kernels = Kernels(__file__)               # targets=(75, 80, 90) where nvcc makes something else of each

    @kernels.entry(whole_numbers(128))
    def warp_sums(x):                             # the entry is warp_sums_entry(const int* x, int* out, int n, stream)
        return x.view(-1, 32).sum(1)

The result has the type and the number of elements that the function returns. Inputs are whole numbers small enough that
every sum of them is exact, in floats too: the right result is one result, whatever the order.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from grader.build import DEFAULT_TARGET, build
from grader.simt.software import RunResult, SoftwareGPU
from tests.kernel_runs import SCHEDULES, BufferSpec, Schedule, plan_of, run_plan

_SEED = 20_261_129
Result = Callable[[torch.Tensor], torch.Tensor]


def whole_numbers(count: int, *, dtype: torch.dtype = torch.int32, low: int = -50, high: int = 50) -> torch.Tensor:
    """`count` numbers from `low` to `high`, both included, the same in every run."""
    random = torch.Generator().manual_seed(_SEED + count)
    return torch.randint(low, high + 1, (count,), generator=random).to(dtype)


@dataclass(frozen=True)
class CorrectKernel:
    """One kernel, the input it is given, and the right result.

    `in_any_order`: which thread stores which element is left to chance. `workspace`: so many bytes of scratch, as a
    third pointer. `printed`: what the kernel prints.
    """

    source: Path
    name: str
    x: torch.Tensor
    right: torch.Tensor
    in_any_order: bool
    workspace: int
    printed: str

    def __str__(self) -> str:
        return f"{self.source.stem}-{self.name}"

    def assert_right(self, target: int = DEFAULT_TARGET) -> None:
        """Right values and no finding under every schedule; on one device, so that a run must leave it as it was."""
        for schedule, result, out in self.runs(target):
            assert result.findings == [], schedule
            assert torch.equal(self._ordered(out), self._ordered(self.right.flatten())), schedule
            assert sorted(result.printed.splitlines()) == sorted(self.printed.splitlines()), schedule

    def runs(self, target: int = DEFAULT_TARGET) -> Iterator[tuple[Schedule, RunResult, torch.Tensor]]:
        """Each schedule with what was found, and the result."""
        built = build(self.source, target=target)
        buffers = [
            BufferSpec("x", "in", self.x.numel(), self.x.dtype),
            BufferSpec("out", "out", self.right.numel(), self.right.dtype),
        ]
        if self.workspace:
            buffers.append(BufferSpec("workspace", "workspace", self.workspace, torch.uint8))
        plan, gpu = plan_of(built, f"{self.name}_entry", buffers), SoftwareGPU(built)
        for schedule in SCHEDULES:
            memory = {buffer.name: buffer.poisoned() for buffer in buffers} | {"x": self.x.clone()}
            result = run_plan(gpu, plan, memory, schedule)
            yield schedule, result, memory["out"]

    def _ordered(self, out: torch.Tensor) -> torch.Tensor:
        return out.sort().values if self.in_any_order else out


class Kernels(list[CorrectKernel]):
    """The kernels of the .cu file beside `module`, and the architectures (times ten) that they are compiled for."""

    def __init__(self, module: str, *, targets: Sequence[int] = (DEFAULT_TARGET,)) -> None:
        super().__init__()
        self.source = Path(module).with_suffix(".cu")
        self.targets = tuple(targets)

    def add(
        self,
        name: str,
        x: torch.Tensor,
        right: torch.Tensor,
        *,
        in_any_order: bool = False,
        workspace: int = 0,
        printed: str = "",
    ) -> None:
        """Register a kernel with its input and the right result; the options are those of `CorrectKernel`."""
        self.append(CorrectKernel(self.source, name, x, right, in_any_order, workspace, printed))

    def entry(
        self, x: torch.Tensor, *, in_any_order: bool = False, workspace: int = 0, printed: str = ""
    ) -> Callable[[Result], Result]:
        """Register the kernel that is named as the decorated function, which makes the right result of `x`."""

        def register(result: Result) -> Result:
            self.add(result.__name__, x, result(x), in_any_order=in_any_order, workspace=workspace, printed=printed)
            return result

        return register

    def entries(self) -> list[str]:
        """The names of the entries that the file has, whether a kernel is registered for them or not."""
        text = self.source.read_text()
        found = re.findall(r"^(?:ENTRY\w*\((\w+)|extern \"C\" cudaError_t (\w+)_entry)", text, re.MULTILINE)
        return [name for pair in found for name in pair if name]


def kernels_in(folder: str) -> list[Kernels]:
    """The files of tests/kernels/FOLDER."""
    sources = sorted((Path(__file__).parent / "kernels" / folder).glob("*.cu"))
    modules = [importlib.import_module(f"tests.kernels.{folder}.{source.stem}") for source in sources]
    return [module.kernels for module in modules]
