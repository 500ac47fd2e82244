"""What memory gives at best: streaming kernels that read and write as many bytes as a case has to, in its proportion.

They are parts as a puzzle's are, built, recorded and replayed in the same way (streaming.cu). One that is timed reads
scratch, as that is before a lap: nobody has to make gigabytes of input and move them to the GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cuda.limits import bytes_read, bytes_written
from grader.puzzle import Case, In, Out, Part, Scalar, Tolerance, Work, Workspace, f32, i32

if TYPE_CHECKING:
    import torch

SOURCE = Path(__file__).with_name("streaming.cu")
THREADS = 256  # a block, as in streaming.cu
_BLOCKS_A_MULTIPROCESSOR = 8  # of 256 threads: all that it holds
_QUAD = 16  # bytes
_MOST_STREAMS = 6  # in one direction, where the other has more than one
_SMALL_SHARE = 1 / 64  # of the bytes read: what a reduction writes


@dataclass(frozen=True)
class Ceiling:
    """A streaming kernel for one case: the part that it is, with the case as its bench case."""

    part: Part

    @property
    def case(self) -> Case:
        return self.part.bench

    @property
    def name(self) -> str:
        """`stream_read`, or how many streams there are each way: `stream_2_1`."""
        if self.part.name == READ.name:
            return READ.name
        return f"stream_{self.case.params['reads']}_{self.case.params['writes']}"


def ceiling_of(part: Part, case: Case, multiprocessors: int) -> Ceiling:
    """The kernel that moves what this case has to move; where next to nothing is written, one that only reads."""
    read, written = bytes_read(part, case), bytes_written(part, case)
    if written < _SMALL_SHARE * read:
        quads = max(read // _QUAD, 1)
        blocks = min(-(-quads // THREADS), multiprocessors * _BLOCKS_A_MULTIPROCESSOR)
        return Ceiling(_on_scratch(READ, Case(quads=quads, blocks=blocks)))
    reads, writes = streams(read, written)
    quads = max(round((read + written) / (reads + writes) / _QUAD), 1)
    return Ceiling(_on_scratch(STREAM, Case(reads=reads, writes=writes, quads=quads)))


def streams(read: int, written: int) -> tuple[int, int]:
    """How many arrays are read and how many written, a few, for the proportion that comes nearest; 0 for none."""
    if not read:
        return 0, 1
    share, some = read / (read + written), range(1, _MOST_STREAMS + 1)
    pairs = [(reads, writes) for reads in some for writes in some] + [(max(read // written, 1), 1)]
    return min(pairs, key=lambda pair: (round(abs(pair[0] / sum(pair) - share), 2), sum(pair)))


def _on_scratch(part: Part, case: Case) -> Part:
    made = [Workspace(one.name, one.dtype, *one.shape) if isinstance(one, In) else one for one in part.params]
    return replace(part, params=made, reference=_nothing, groups={"timed": [case]}, bench=case)


# ---- the two parts --------------------------------------------------------------------------------------------------


def _nothing() -> tuple[()]:
    return ()


def _streamed(in_: torch.Tensor, reads: int, writes: int, quads: int) -> torch.Tensor:
    return in_.reshape(reads, 4 * quads).sum(0).repeat(writes)


def _summed(in_: torch.Tensor, quads: int, blocks: int) -> torch.Tensor:
    from torch.nn.functional import pad

    rounds = pad(in_.reshape(quads, 4), (0, 0, 0, -quads % (blocks * THREADS)))
    return rounds.reshape(-1, blocks * THREADS, 4).sum((0, 2))


_ROUNDED = Tolerance(2.0**-10, 2.0**-10, why="a sum of a thousand terms, of which some cancel")
STREAM = Part(
    "stream",
    params=[
        In("in", f32, "4 * reads * quads"),
        Out("out", f32, "4 * writes * quads"),
        *(Scalar(name, i32) for name in ("reads", "writes", "quads")),
    ],
    reference=_streamed,
    groups={"small": [Case(reads=2, writes=3, quads=1000)]},
    bench=Case(reads=1, writes=1, quads=1 << 26),
    work=lambda reads, writes, quads: Work(bytes=_QUAD * (reads + writes) * quads, flops=0),
    tolerance=_ROUNDED,
    lesson="What memory gives, in one proportion.",
)
READ = Part(
    "stream_read",
    params=[
        In("in", f32, "4 * quads"),
        Out("out", f32, f"{THREADS} * blocks"),
        *(Scalar(name, i32) for name in ("quads", "blocks")),
    ],
    reference=_summed,
    groups={"small": [Case(quads=1000, blocks=3)]},
    bench=Case(quads=1 << 26, blocks=8 * 132),
    work=lambda quads, blocks: Work(bytes=_QUAD * quads + 4 * THREADS * blocks, flops=0),
    tolerance=_ROUNDED,
    lesson="What memory gives to those who only read.",
)
