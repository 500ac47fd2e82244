"""Puzzle 9: the tolerance lies between one rounding and arithmetic in half; PyTorch's own step is right by it.

Results are made by PyTorch and compared as those of a kernel are, in every case of a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest
import torch

from grader.build import Build, build
from grader.catalog import Located, UsageError, load_catalog
from grader.chosen_cases import chosen_cases
from grader.compare import compare
from grader.explain.names import kernel_name
from grader.facts import launch_facts
from grader.inputs import draw_inputs
from grader.puzzle import Case, scalar_value
from grader.record import record
from grader.verdict import State
from tests.conftest import SEED
from tests.judging import ROOT, Judge, shown

PARTS = load_catalog(ROOT).resolve("puzzle_9")[0].parts
STEPS, MOMENTUM = PARTS[:4], PARTS[4]
EACH_STEP = pytest.mark.parametrize("part", STEPS, ids=lambda part: str(part.label))
SEEDS = range(SEED, SEED + 3)

Tensor = torch.Tensor
Step = Callable[[Tensor, Tensor, float], Tensor]


def half_rate(lr: float) -> float:
    return float(torch.tensor(lr).half())


def rounded_twice(w: Tensor, g: Tensor, lr: float) -> Tensor:
    """In float, product and difference apart."""
    return w.float() - torch.tensor(lr) * g.float()


def rounded_once(w: Tensor, g: Tensor, lr: float) -> Tensor:
    """In float, product and difference fused."""
    return (w.double() - lr * g.double()).float()


PRETENDERS: dict[str, Step] = {
    "zeros": lambda w, g, lr: torch.zeros_like(w),
    "the weights as they were": lambda w, g, lr: w,
    "the gradients": lambda w, g, lr: g,
    "the step alone": lambda w, g, lr: -lr * g.float(),
    "a step of the wrong sign": lambda w, g, lr: w.float() + lr * g.float(),
    "a step of rate 1": lambda w, g, lr: w.float() - g.float(),
}
NARROW: dict[str, Step] = {
    "everything in half": lambda w, g, lr: w.half() - (g.half() * torch.tensor(lr).half()),
    "the rate in half": lambda w, g, lr: rounded_once(w, g, half_rate(lr)),
    "the product in half": lambda w, g, lr: w.float() - (lr * g.float()).half().float(),
    "fused in half": lambda w, g, lr: rounded_once(w.half(), g.half(), half_rate(lr)).half(),
}
MANY = pytest.mark.parametrize("name", [*PRETENDERS, *NARROW])


def with_weights(part: Located) -> Iterator[Case]:
    return (case for case in part.part.cases() if case.params["n"])


def rate(part: Located, case: Case) -> float:
    return float(next(scalar_value(one, case.params) for one in part.part.scalars if one.name == "lr"))


def shares(part: Located, step: Step, seeds: Sequence[int] = (SEED,)) -> Iterator[float]:
    """For each case and seed, the largest error of a step in shares of what is allowed; infinity where it is none."""
    for case in with_weights(part):
        for seed in seeds:
            inputs = draw_inputs(part.part, case, seed)
            w, g, lr = inputs["w"], inputs["g"], rate(part, case)
            (right,) = compare(part.part, case, inputs, {"w": rounded_once(w, g, lr).to(w.dtype)}).buffers
            got = step(w, g, lr).to(w.dtype).double()
            error = (got - right.expected).abs().masked_fill(got == right.expected, 0.0)
            yield float((error.nan_to_num(nan=torch.inf, posinf=torch.inf) / right.allowed).max())


@EACH_STEP
@pytest.mark.parametrize("step", [rounded_once, rounded_twice])
def test_one_rounding_or_two_take_a_quarter_of_what_is_allowed_at_most(part: Located, step: Step) -> None:
    largest = max(shares(part, step, SEEDS))
    print(f"{part.label}: {largest:.3f} of the tolerance")
    assert largest <= 1 / 4


@EACH_STEP
@MANY
def test_what_is_no_step_and_what_is_rounded_too_soon_misses_by_four_tolerances(part: Located, name: str) -> None:
    assert any(share >= 4 for share in shares(part, (PRETENDERS | NARROW)[name]))


@pytest.mark.parametrize("part", STEPS[1:3], ids=lambda part: str(part.label))
def test_a_rate_that_is_0_as_a_half_moves_weights_all_the_same(part: Located) -> None:
    for case in part.part.groups["small rates"]:
        inputs = draw_inputs(part.part, case, SEED)
        w, g, lr = inputs["w"], inputs["g"], rate(part, case)
        moved = rounded_twice(w, g, lr).half() != w
        assert moved.float().mean() > 0.9
        assert compare(part.part, case, inputs, {"w": rounded_once(w, g, half_rate(lr)).half()}).wrong > len(w) // 4
    assert half_rate(rate(part, part.part.groups["small rates"][0])) == 0


# ---- beside PyTorch's own ----


@EACH_STEP
def test_the_step_of_pytorch_in_float_is_right(part: Located) -> None:
    """On a CPU, PyTorch rounds the rate to a half where the weights are halves; what is asked for is done in float."""

    def by_pytorch(w: Tensor, g: Tensor, lr: float) -> Tensor:
        weights = torch.nn.Parameter(w.float())
        weights.grad = g.float()
        torch.optim.SGD([weights], lr=lr).step()
        return weights.detach()

    assert max(shares(part, by_pytorch)) <= 1


@pytest.mark.parametrize(("momentum", "weight_decay"), [(0.9, 0.0), (0.9, 0.01), (0.0, 0.01), (0.5, 0.1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_momentum_is_that_of_pytorch_from_the_first_step_on(
    dtype: torch.dtype, momentum: float, weight_decay: float
) -> None:
    random = torch.Generator().manual_seed(SEED)
    w = torch.randn(100, generator=random, dtype=dtype)
    weights = torch.nn.Parameter(w.clone())
    optimizer = torch.optim.SGD([weights], lr=0.1, momentum=momentum, weight_decay=weight_decay)
    velocity = torch.zeros_like(w)
    for lr in (0.1, 0.1, 0.05, 0.02):
        g = torch.randn(100, generator=random, dtype=dtype)
        optimizer.param_groups[0]["lr"] = lr
        weights.grad = g.clone()
        optimizer.step()
        w, velocity = MOMENTUM.part.reference(w, g, velocity, lr, momentum, weight_decay)
        torch.testing.assert_close(weights.detach(), w, rtol=8 * torch.finfo(dtype).eps, atol=1e-6)
        if momentum:
            kept = optimizer.state[weights]["momentum_buffer"]
            torch.testing.assert_close(kept, velocity, rtol=8 * torch.finfo(dtype).eps, atol=1e-6)


# ---- the kernel that fits ----


@pytest.fixture(scope="module")
def chooser() -> Build:
    return build(STEPS[3].solution_path)


@pytest.mark.parametrize(("w", "g"), list(product((0, 2, 4, 6, 8, 14), repeat=2)))
def test_each_type_number_and_address_gets_the_kernel_that_was_made_for_it(chooser: Build, w: int, g: int) -> None:
    for dtype, n in product((0, 1), (1, 2, 1023, 1024)):
        if dtype == 0 and (w % 4 or g % 4):
            continue
        case = Case(n=n, lr=0.1, dtype=dtype, offset={"w": w, "g": g})
        (launch,) = launch_facts(record(chooser, STEPS[3].part, case).plan)
        pairs = n % 2 == 0 and w % 4 == 0 and g % 4 == 0
        suffix = "f32" if dtype == 0 else "f16_half2" if pairs else "f16"
        assert kernel_name(launch.kernel) == f"sgd_step_{suffix}_kernel"


def test_a_type_that_there_is_not_is_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="w: dtype is 0 to 1, not 2"):
        chosen_cases(STEPS[3].part, "n=4,lr=0.1,dtype=2")


# ---- an update in place ----

PROGRAM = """#include <cuda_runtime.h>

__global__ void kernel(float* w, const float* g, float lr, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i % 3) w[i] -= lr * g[i];
    OTHERS
}

extern "C" cudaError_t sgd_f32(float* w, const float* g, float lr, int n, cudaStream_t stream) {
    kernel<<<(n + 255) / 256, 256, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
"""


@pytest.mark.parametrize(
    ("others", "kind", "told"),
    [
        ("", "never_written", "86 of the 256 floats of `w` are never written"),
        ("else w[i] -= 0.0f * g[i];", "wrong_values", "86 of the 256 values of `w` are wrong"),
    ],
)
def test_a_weight_that_nobody_writes_is_told_from_one_that_is_written_as_it_was(
    judge: Judge, tmp_path: Path, others: str, kind: str, told: str
) -> None:
    source = tmp_path / "1_sgd_f32.cu"
    source.write_text(PROGRAM.replace("OTHERS", others), encoding="utf-8")
    verdict = judge(PARTS[0], source, cases=[("some", Case(n=256, lr=0.1))])
    assert verdict.state is State.wrong, shown(verdict)
    assert [finding.kind for finding in verdict.findings] == [kind], shown(verdict)
    assert told in verdict.findings[0].message
