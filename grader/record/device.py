"""The device that a recorded launcher believes in: what CUDA's queries answer, by compute capability."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Device:
    """A GPU's limits. Shared memory, L2 and memory in bytes, clocks in kHz, the bus in bits.

    Limits of an architecture are those of the CUDA C++ Programming Guide's table "Technical Specifications per Compute
    Capability"; the rest is one card's data sheet.
    """

    name: str
    major: int
    minor: int
    multiprocessors: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    shared_per_block_optin: int
    shared_per_multiprocessor: int
    l2_bytes: int
    bus_bits: int
    memory_khz: int
    clock_khz: int
    memory_bytes: int
    shared_per_block: int = 48 * KIB
    registers_per_multiprocessor: int = 65_536

    @property
    def shared_reserved(self) -> int:
        """What CUDA keeps of each block's shared memory: nothing before sm_80."""
        return KIB if self.major >= 8 else 0


DEVICES = {
    75: Device("Tesla T4", 7, 5, 40, 1024, 16, 64 * KIB, 64 * KIB, 4 * MIB, 256, 5_001_000, 1_590_000, 15 * GIB),
    80: Device("NVIDIA A100-SXM4-40GB", 8, 0, 108, 2048, 32, 163 * KIB, 164 * KIB, 40 * MIB, 5120, 1_215_000, 1_410_000,
               40 * GIB),
    86: Device("NVIDIA A10", 8, 6, 72, 1536, 16, 99 * KIB, 100 * KIB, 6 * MIB, 384, 6_251_000, 1_695_000, 22 * GIB),
    89: Device("NVIDIA L4", 8, 9, 58, 1536, 24, 99 * KIB, 100 * KIB, 48 * MIB, 192, 6_251_000, 2_040_000, 22 * GIB),
    90: Device("NVIDIA H100 80GB HBM3", 9, 0, 132, 2048, 32, 227 * KIB, 228 * KIB, 50 * MIB, 5120, 2_619_000, 1_980_000,
               79 * GIB),
}  # fmt: skip


def device_for(target: int) -> Device:
    """The device of the newest known architecture that is not newer than `target` (the capability times ten)."""
    known = [architecture for architecture in DEVICES if architecture <= target]
    if not known:
        raise ValueError(f"no device of compute capability {target / 10} is known")
    return DEVICES[max(known)]
