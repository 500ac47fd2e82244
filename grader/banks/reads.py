"""Eight loads of one warp from shared memory, run on the software GPU: what each costs, and which banks it takes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from grader.banks.lanes import LANES, BankMap

SOURCE = Path(__file__).with_name("reads.cu")
_LOADS = (
    ("float i", 4),
    ("float 2 · i", 4),
    ("float 3 · i", 4),
    ("float 32 · i", 4),
    ("float 33 · i", 4),
    ("float 0", 4),
    ("float2 i", 8),
    ("float4 i", 16),
)


@dataclass(frozen=True)
class Read:
    """One load: what lane i takes, in words; how many passes over the banks it took; where its lanes went."""

    what: str
    passes: int
    banks: BankMap


@functools.cache
def measured() -> tuple[Read, ...]:
    """The loads that puzzle 3.1 asks about, in its order, as the software GPU runs and counts them.

    Raises what building and running do where this machine lacks something.
    """
    import torch

    from grader.build import build
    from grader.record import EntryArgument, EntryCall, record_entry, software_layout
    from grader.record.plan import Launch
    from grader.simt.software import SoftwareGPU

    places = torch.zeros(len(_LOADS) * LANES, dtype=torch.int32)
    memory = {"where": places, "out": torch.zeros(4 * LANES)}
    arguments = [EntryArgument(name, "buffer", 4 * tensor.numel(), "out") for name, tensor in memory.items()]
    call = EntryCall("bank_reads", [*arguments, EntryArgument("stream", "stream")], software_layout([0, 0]), False)
    built = build(SOURCE)
    plan = record_entry(built, call).plan
    counted = SoftwareGPU(built).run(plan, memory, roles=dict.fromkeys(memory, "out")).counters["kernels"]
    kernels = [operation.kernel for operation in plan.operations if isinstance(operation, Launch)]
    return tuple(
        Read(what, int(counted[kernel]["shared_load_wavefronts"]), BankMap("load", size, _words(places, number)))
        for number, (kernel, (what, size)) in enumerate(zip(kernels, _LOADS, strict=True))
    )


def _words(places: object, number: int) -> tuple[int, ...]:
    """The first word of each lane of a load."""
    import torch

    assert isinstance(places, torch.Tensor)
    return tuple(int(place) // 4 for place in places[number * LANES : (number + 1) * LANES])
