"""The bits of the approximations, by the million: `python -m tests.gpu.oracle_approx [--out FILE]`.

For each function of f32 a range of consecutive numbers, every one of them, or every few where the range is long; of f16
and bf16 all 65,536. What comes back is results/h200/approximations.npz: for f16 and bf16 the results, for f32 how often
a result lies how many units in the last place from the rounded true one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.gpu.bare import Array, BareGPU, about, save

Function = Callable[[Array], Array]
FUNCTIONS: dict[str, Function] = {
    "rcp": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}


@dataclass(frozen=True)
class Sweep:
    """Consecutive bit patterns from `first` on, `step` apart, of an instruction of f32."""

    instruction: str
    first: float
    count: int
    step: int = 1

    @property
    def name(self) -> str:
        return f"{self.instruction} from {self.first}"

    @property
    def function(self) -> Function:
        return FUNCTIONS[self.instruction.split(".")[0]]

    def bits(self) -> Array:
        start = np.float32(self.first).view(np.uint32)
        return start + np.arange(self.count, dtype=np.uint32) * np.uint32(self.step)


BINADE = 1 << 23
SWEEPS = (
    Sweep("rcp.approx.ftz.f32", 1.0, BINADE),
    Sweep("rcp.approx.f32", 1e-39, BINADE, 255),
    Sweep("rsqrt.approx.ftz.f32", 1.0, 2 * BINADE),
    Sweep("rsqrt.approx.f32", 1e-39, BINADE, 255),
    Sweep("sqrt.approx.ftz.f32", 1.0, 2 * BINADE),
    Sweep("ex2.approx.ftz.f32", 1.0, BINADE),
    Sweep("ex2.approx.ftz.f32", 2.0**-10, BINADE, 17),
    Sweep("ex2.approx.ftz.f32", -0.0078125, BINADE, 14),
    Sweep("lg2.approx.ftz.f32", 0.5, 2 * BINADE),
    Sweep("lg2.approx.ftz.f32", 2.0, BINADE, 64),
    Sweep("sin.approx.ftz.f32", 2.0**-12, BINADE, 16),
    Sweep("cos.approx.ftz.f32", 2.0**-12, BINADE, 16),
    Sweep("tanh.approx.f32", 2.0**-14, BINADE, 19),
)
HALVES = (
    "ex2.approx.f16",
    "tanh.approx.f16",
    "ex2.approx.ftz.bf16",
    "tanh.approx.bf16",
)


def text(instruction: str) -> str:
    """A kernel `k(in, out)`: a thread a number, blocks of 256 threads."""
    half = instruction.endswith("16")
    size, register = (2, "%h1") if half else (4, "%r1")
    return f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_in, .param .u64 k_out)
{{
.reg .b16 %h<3>; .reg .b32 %r<9>; .reg .b64 %d<5>;
ld.param.u64 %d1, [k_in];
ld.param.u64 %d2, [k_out];
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %tid.x;
mad.lo.u32 %r3, %r3, 256, %r4;
mad.wide.u32 %d1, %r3, {size}, %d1;
mad.wide.u32 %d2, %r3, {size}, %d2;
ld.global.b{8 * size} {register}, [%d1];
{instruction} {register[:2]}2, {register};
st.global.b{8 * size} [%d2], {register[:2]}2;
ret;
}}
"""


def results(gpu: BareGPU, instruction: str, given: Array) -> Array:
    """What the instruction gives, of each bit pattern in turn."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "k.ptx", Path(folder) / "k.cubin"
        source.write_text(text(instruction))
        subprocess.run(["ptxas", "-arch=sm_90", str(source), "-o", str(cubin)], check=True)
        module = gpu.module(cubin.read_bytes())
    out = np.zeros_like(given)
    return gpu.run(module, "k", len(given) // 256, 256, [given, out], out)


def distance(sweep: Sweep, got: Array) -> Array:
    """Units in the last place of the result's format between the result and the rounded true one, as int8."""
    with np.errstate(all="ignore"):
        true = sweep.function(sweep.bits().view(np.float32).astype(np.float64)).astype(np.float32)

    def order(bits: Array) -> Array:
        wide = bits.astype(np.int64)
        return np.where(wide >> 31, -(wide & 0x7FFFFFFF), wide)

    apart = order(got) - order(true.view(np.uint32))
    wrong = ~np.isfinite(got.view(np.float32)) & np.isfinite(true)
    return np.where(wrong, 127, np.clip(apart, -126, 126)).astype(np.int8)


def counted(apart: Array) -> dict[str, int]:
    """How many results lie how far from the rounded true one: to 3 units each, beyond that together."""
    near = {str(units): int(np.sum(apart == units)) for units in range(-3, 4)}
    return {units: count for units, count in near.items() if count} | {"further": int(np.sum(np.abs(apart) > 3))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("approximations.npz"))
    options = parser.parse_args()
    gpu = BareGPU()
    found = {name: results(gpu, name, np.arange(1 << 16, dtype=np.uint16)) for name in HALVES}
    sweeps = {}
    for sweep in SWEEPS:
        apart = distance(sweep, results(gpu, sweep.instruction, sweep.bits()))
        sweeps[sweep.name] = counted(apart)
        print(sweep.name, sweeps[sweep.name], flush=True)
    head = json.dumps({"about": about("tests.gpu.oracle_approx"), "sweeps": sweeps})
    save(options.out, {"head": np.array(head), **found})


if __name__ == "__main__":
    main()
