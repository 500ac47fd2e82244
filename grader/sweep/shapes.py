"""What came of a sweep, as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.occupancy import Occupancy
from grader.record.operations import Triple
from grader.verdict import dumps

SCHEMA = 1


@dataclass(frozen=True)
class Time:
    """One shape at full size: its median in milliseconds with its interval; `times` is the time of the file as it is
    over its own, the median of neighbouring turns with its interval: above 1, it is faster. `decision` says of it
    "faster", "slower" or "tie", and nothing of the file as it is.
    """

    ms: float
    interval_ms: tuple[float, float]
    times: float = 1.0
    times_interval: tuple[float, float] = (1.0, 1.0)
    decision: str | None = None


@dataclass(frozen=True)
class Shape:
    """One value of the constant: the `block` at full size and what its kernel needs, as far as it came, `threads` being
    what was to be expected until then. Registers are a thread's, `spilled` the bytes of its local memory; shared memory
    is in bytes of a block. `refused` says why it is not legal or not right, `untimed` why it was not timed.
    """

    value: int
    threads: int
    block: Triple | None = None
    registers: int = 0
    spilled: int = 0
    static_shared: int = 0
    dynamic_shared: int = 0
    occupancy: Occupancy | None = None
    refused: str | None = None
    time: Time | None = None
    untimed: str | None = None

    @property
    def right(self) -> bool:
        return self.refused is None


@dataclass(frozen=True)
class Swept:
    """A sweep of one part: the constant `name` ("" for a number that stands in the launch) in `line` of `file` had
    `value`, and makes the block of the launch in `launch_line`. `device` is the GPU that occupancy, and times if there
    are any, are of. Shapes were found right or not in the case `checked`. `others` are constants that change the block
    too. `no_times` says why there are none.
    """

    part: str
    label: str
    file: str
    device: str
    name: str
    value: int
    line: int
    launch_line: int
    shapes: tuple[Shape, ...]
    checked: Mapping[str, int | float] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    no_times: str | None = None
    slowed: str | None = None

    @property
    def own(self) -> Shape:
        """The file as it is."""
        return next(shape for shape in self.shapes if shape.value == self.value)

    @property
    def best(self) -> Shape | None:
        """The fastest of those that are faster than the file as it is, beyond a tie; None where none is."""
        faster = [(shape.time.times, shape) for shape in self.timed if shape.time and shape.time.decision == "faster"]
        return max(faster, key=lambda one: one[0], default=(0.0, None))[1]

    @property
    def timed(self) -> Sequence[Shape]:
        return [shape for shape in self.shapes if shape.time is not None]

    def to_json(self) -> str:
        """One JSON object on one line, as docs/profiling.md describes it."""
        shapes = [_shape(shape) for shape in self.shapes]
        plain = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        best = self.best.value if self.best is not None else None
        return dumps({"schema": SCHEMA, **plain, "shapes": shapes, "best": best})


def _shape(shape: Shape) -> dict[str, Any]:
    plain = {one.name: getattr(shape, one.name) for one in dataclasses.fields(shape)}
    held = shape.occupancy
    share = {**dataclasses.asdict(held), "warps": held.warps, "share": held.share} if held is not None else None
    return {**plain, "occupancy": share, "right": shape.right}
