"""What no kernel can beat: the bytes that must come from memory, and the operations of a case, at the GPU's own rates.

Only what has to go through the memory's pins counts. Inputs come from there, since the L2 cache is cold. Results may
stay in it: kernels reach 104 to 106 % of what a copy does, and are not to be refused for that. The rates are those of
the highest clocks, which no GPU holds under load.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.cuda.driver import DeviceFacts
from grader.explain.catalogue import sentence
from grader.puzzle import Case, Part, Work, buffer_bytes, call_by_name, dtype_of

# A launch alone takes about as long, between two events: where no rate asks for more, nothing bounds but this.
LAUNCH_MS = 0.003
# Clocks are nominal, and of a flushed cache a line in a hundred may be left.
_SURE = 0.95
_TRANSFERS_A_CLOCK = 2  # HBM, GDDR and LPDDR alike, by the clock that the driver names

# By compute capability: FP32 lanes of a multiprocessor (CUDA C++ Programming Guide, "Throughput of Native Arithmetic
# Instructions"), and operations of dense products of halves that its tensor cores finish in a clock, two a fused
# multiply-add (NVIDIA's architecture whitepapers: 312 TFLOP/s of an A100 at 1.41 GHz, 989 of an H100 SXM at 1.83 GHz).
_LANES = {70: 64, 75: 64, 80: 64, 86: 128, 87: 128, 89: 128, 90: 128, 100: 128, 103: 128, 120: 128, 121: 128}
_TENSOR = {70: 1024, 75: 1024, 80: 2048, 86: 1024, 87: 2048, 89: 1024, 90: 4096, 100: 8192, 103: 8192, 120: 1024}


@dataclass(frozen=True)
class Peaks:
    """Theoretical rates of a GPU, a second; 0 where driver or tables do not say.

    `bytes` to and from memory, `flops` in float on its FP32 lanes, `tensor_flops` of products of halves.
    """

    bytes: float
    flops: float
    tensor_flops: float


def peaks_of(device: DeviceFacts) -> Peaks:
    """At the highest clocks."""
    clocks = 1e3 * device.clock_khz * device.multiprocessors
    return Peaks(
        bytes=1e3 * device.memory_khz * _TRANSFERS_A_CLOCK * device.bus_bits / 8,
        flops=2 * _LANES.get(device.target, 0) * clocks,
        tensor_flops=_TENSOR.get(device.target, 0) * clocks,
    )


def bytes_read(part: Part, case: Case) -> int:
    """Those that a case has to read: inputs, each once, and no more than its work says."""
    held = sum(buffer_bytes(buffer, case.params) for buffer in part.buffers if buffer.is_read)
    asked: Work = call_by_name(part.work, case.params)
    return max(min(held, asked.bytes - bytes_written(part, case)), 0)


def bytes_written(part: Part, case: Case) -> int:
    """Those of all results."""
    return sum(buffer_bytes(buffer, case.params) for buffer in part.results)


def in_halves(part: Part, case: Case) -> bool:
    """Whether its products are of 16-bit numbers, which tensor cores take as they are."""
    return any(dtype_of(buffer, case.params).bytes == 2 and buffer.is_read for buffer in part.buffers)


def bound_of(part: Part, case: Case, device: DeviceFacts) -> str:
    """What bounds a good kernel, by the GPU's rates: "memory", "compute", or "launch" where both are done sooner."""
    peaks = peaks_of(device)
    flops = peaks.tensor_flops if in_halves(part, case) else peaks.flops
    memory = _ms(bytes_read(part, case) + bytes_written(part, case), peaks.bytes)
    compute = _ms(call_by_name(part.work, case.params).flops, flops)
    if max(memory, compute) < LAUNCH_MS and peaks.bytes:
        return "launch"
    return "compute" if compute > memory else "memory"


def past_the_peak(part: Part, case: Case, ms: float, device: DeviceFacts) -> str | None:
    """A sentence where a case cannot have taken so few milliseconds on this GPU; None where it can.

    Results count as far as the L2 cache cannot hold them all. Whatever the type, operations are held against the rate
    of tensor cores in half: there are ways to make exact products of those.
    """
    peaks = peaks_of(device)
    moved = bytes_read(part, case) + max(bytes_written(part, case) - device.l2_bytes, 0)
    flops = call_by_name(part.work, case.params).flops
    memory, compute = _ms(moved, peaks.bytes), _ms(flops, peaks.tensor_flops)
    facts = {"ms": f"{ms:.3g}", "device": device.name}
    if ms < _SURE * memory:
        facts |= {"least": f"{memory:.3g}", "gigabytes": f"{moved / 1e9:.3g}", "rate": f"{peaks.bytes / 1e9:,.0f}"}
        return sentence("limits", "memory", facts=facts)
    if ms < _SURE * compute:
        rate = f"{peaks.tensor_flops / 1e12:,.0f}"
        facts |= {"least": f"{compute:.3g}", "operations": f"{flops / 1e12:.3g}", "rate": rate}
        return sentence("limits", "compute", facts=facts)
    return None


def _ms(amount: float, rate: float) -> float:
    """Milliseconds for an amount at this rate a second; 0 where the rate is not known."""
    return 1e3 * amount / rate if rate else 0.0
