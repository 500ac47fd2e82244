"""Layer norm and linear layer, apart and in one kernel, on a real GPU: `python -m tests.gpu.fusion [--out FILE]`.

By width of the output, forward and backward: the solutions of puzzle 7, the pieces of which 7.2 is made, and PyTorch's
own (eager, TF32 off), on the GPU and on the CPU. 7.2 stands there twice: as it is, and with the product of 7.3
(`product_of_64.cu`), so that what fusing brings can be told from what a tile brings. The way back apart is 7.4 and 7.5
with the normed rows kept from the forward pass (`backward_apart.cu`). Values are judged in each case. Exits 0 only if
all are right, and 7.3 is faster than 7.2 at 256 columns of output and fewer.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from grader.build import Companion, UsedSource, build
from grader.catalog import Located, load_catalog
from grader.cuda.bench import Bench
from grader.cuda.session import RealGPU
from grader.puzzle import Case, In, Param, Part, Tolerance, Workspace, f32
from grader.record import record
from grader.submission import used_sources
from tests.gpu.eager_layers import measured_eager
from tests.gpu.first_light import SEED, about

HERE = Path(__file__).parent
ROWS, COLS, EPS = 8192, 1024, 1e-5
WIDTHS = (64, 128, 256, 512, 1024, 2048, 4096)
NARROW = 256  # up to here 7.3 has to be faster than 7.2
ENTRIES = {
    "layernorm": "layernorm",
    "product": "gemm_nt",
    "unfused": "layernorm_linear_unfused",
    "fused": "layernorm_linear",
    "backward_fused": "layernorm_linear_backward",
}


@dataclass(frozen=True)
class Way:
    """Something to be timed: a part, its source, and what that is compiled with."""

    name: str
    part: Part
    source: Path
    uses: Sequence[Companion] = ()

    def case(self, width: int) -> Case:
        """At this width of the output; a product calls it N."""
        sizes = {"rows": ROWS, "cols": COLS, "out_features": width, "eps": EPS, "M": ROWS, "N": width, "K": COLS}
        return Case.of({scalar.name: sizes[scalar.name] for scalar in self.part.scalars})


def ways() -> list[Way]:
    """All that is timed."""
    catalog = load_catalog()
    found = {name: _solved(name, catalog.part_named(entry)) for name, entry in ENTRIES.items()}
    unfused, backward = found["unfused"], found["backward_fused"]
    product = UsedSource("gemm_nt", (HERE / "product_of_64.cu").read_text(encoding="utf-8"))
    others = [one for one in unfused.uses if not isinstance(one, UsedSource) or one.entry != product.entry]
    found["same_tile"] = replace(unfused, name="same_tile", uses=[*others, product])
    source, part = HERE / "backward_apart.cu", _apart(backward.part)
    found["backward_apart"] = Way("backward_apart", part, source, backward.uses)
    return list(found.values())


def _solved(name: str, located: Located) -> Way:
    return Way(name, located.part, located.solution_path, used_sources(located))


def _apart(backward: Part) -> Part:
    """7.6 with normed among its inputs, in the place of beta, and with less workspace."""
    normed, workspace = In("normed", f32, "rows", "cols"), Workspace("workspace", f32, "rows + 512", "cols")
    changed: dict[str, Param] = {"beta": normed, "workspace": workspace}
    return replace(
        backward,
        name="backward_apart",
        params=[changed.get(param.name, param) for param in backward.params],
        reference=_gradients,
        tolerance=Tolerance(2.0**-10, 0.05, why="sums of 8,192 rounded terms; a wrong call is off by far more"),
        sampled=None,
        groups={"some": [backward.bench]},
        mistakes=(),
        beside=None,
    )


def _gradients(
    dy: Tensor,
    x: Tensor,
    gamma: Tensor,
    normed: Tensor,
    W: Tensor,  # noqa: N803 - the parameter's name
    mean: Tensor,
    rstd: Tensor,
) -> tuple[Tensor, ...]:
    """By x, gamma, beta, W and bias."""
    dnormed, centred = dy @ W, (x - mean[:, None]) * rstd[:, None]
    scaled = dnormed * gamma
    back = scaled - scaled.mean(1, keepdim=True) - centred * (scaled * centred).mean(1, keepdim=True)
    return rstd[:, None] * back, (dnormed * centred).sum(0), dnormed.sum(0), dy.T @ normed, dy.sum(0)


def timed(way: Way, target: int) -> Iterator[tuple[int, dict[str, Any], list[str]]]:
    """Width, time and what is not as it has to be, width by width, on one GPU."""
    built = build(way.source, target=target, uses=way.uses)
    cases = [way.case(width) for width in WIDTHS]
    with RealGPU(replace(way.part, groups={"widths": cases}, bench=cases[-1], beside=None)) as gpu:
        for width, case in zip(WIDTHS, cases, strict=True):
            plan = record(built, way.part, case, layout=gpu.layout(case)).plan
            ran, timing = Bench(way.part, case, built, plan, SEED, gpu).run()
            problems = [f"{way.name}, {width}: {seen.kind}" for seen in ran.observations]
            if timing is None:
                yield width, {}, [*problems, f"{way.name}, {width}: not timed"]
            else:
                yield width, {"ms": timing.ms, "interval_ms": list(timing.interval_ms)}, problems


def too_slow(widths: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The narrow widths at which 7.3 is no faster than 7.2."""
    narrow = (row for width, row in widths.items() if int(width) <= NARROW)
    return [f"7.3 is slower than 7.2: {row}" for row in narrow if row["fused"]["ms"] >= row["unfused"]["ms"]]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("fusion.json"))
    parser.add_argument("--commit")
    options = parser.parse_args(arguments)
    widths: dict[str, dict[str, Any]] = {str(width): {} for width in WIDTHS}
    problems: list[str] = []
    found: dict[str, Any] = {"about": about(options.commit) | {"command": "python -m tests.gpu.fusion"}}
    found |= {"rows": ROWS, "cols": COLS, "widths": widths, "problems": problems}
    with RealGPU(load_catalog().part_named("layernorm").part) as gpu:
        target = gpu.device.target
        found["about"] |= {"device": gpu.device.name, "driver": gpu.driver}
    for way in ways():
        for width, time, wrong in timed(way, target):
            widths[str(width)][way.name] = time
            problems += wrong
            print(width, way.name, time.get("ms"), flush=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    eager = measured_eager(ROWS, COLS, WIDTHS)
    found["about"] |= eager.pop("about")
    for width_shown, row in eager.items():
        widths[width_shown].update(row)
    problems += too_slow(widths)
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for problem in problems:
        print(f"PROBLEM {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
