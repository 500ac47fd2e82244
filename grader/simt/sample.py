"""A sample of a Plan's blocks, run on buffers that are too large to be held: sparse ones.

Each chosen block is launched alone, with its place in the whole grid, so that what it did is known apart from what the
others did. Only what a block shows by itself is believed: one that waits for a block which was left out, or reads what
such a block would have written, ends the sample without a finding. After a launch of which blocks were left out, a
block that misses what they would have written is left out too: what the launches before it showed stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from grader.record.plan import Copy, Launch, Memset, Operation, SymbolCopy, Upload
from grader.simt.counters import access_of
from grader.simt.execution import Execution
from grader.simt.machine import MachineError
from grader.simt.process import MachineDied
from grader.simt.remote import SparseBuffer, Written
from grader.simt.sampling import chosen_blocks

_MOST_BLOCKS = 24  # of a launch
_MOST_LAUNCHES = 32
# So many blocks will do once so many warp instructions were spent; a million of them are about half a second.
_ENOUGH = ((8, 1 << 18), (4, 3 << 18), (1, 1 << 20))
_COST_OF_PRODUCT = 40  # of matrices, with the loads that belong to it, in warp instructions
_MOST_RANGES = 64
_MOST_COPIED = 64 << 20  # bytes: a copy touches all of what it copies
_OF_OTHER_BLOCKS = ("unsupported", "endless_loop", "redundant_traffic", "deadlock")


@dataclass
class LaunchSample:
    """The blocks of a launch that were run, and a report for each; one report where `whole`: all of them were."""

    launch: Launch
    whole: bool
    reports: list[dict[str, Any]] = field(default_factory=list)

    @property
    def blocks(self) -> int:
        return prod(self.launch.grid) if self.whole else len(self.reports)

    def most_elements(self, buffer: str, size: int) -> int:
        """How many elements of a buffer the whole launch writes at most, if no block writes more than the busiest."""
        stored = [_stored_bytes(report, buffer) // size for report in self.reports]
        return max(stored, default=0) * (1 if self.whole else prod(self.launch.grid))


@dataclass(frozen=True)
class Coverage:
    """How many elements of a buffer the whole plan writes at most, `each` by one block of its last launch.

    `again` counts those that the sample wrote a second time, `line` is where: they are missing elsewhere.
    """

    most: int
    each: int
    again: int
    line: int | None


@dataclass
class SampledExecution(Execution):
    """`launches` are the launches as far as they came. `cut`: something ended the sample that is no finding.

    `elements` of the largest result, spread evenly over a grid, say which blocks are of interest.
    """

    elements: int = 1
    launches: list[LaunchSample] = field(default_factory=list)
    written: dict[str, Written] = field(default_factory=dict)
    cut: bool = False

    def run_sample(
        self, sparse: Mapping[str, SparseBuffer], roles: Mapping[str, str], sizes: Mapping[str, int]
    ) -> None:
        """Runs on buffers that hold what `sparse` says; `sizes` are the bytes of an element."""
        try:
            self.machine.begin_sparse(self.plan.buffers, sparse, roles, self.limits)
            self._operations()
            for name in (name for name, role in roles.items() if role in ("out", "inout")):
                self.written[name] = self.machine.written(name, sizes[name], _MOST_RANGES)
        except MachineDied as died:
            self._could_not(died.variant)
        except MachineError as error:
            self._could_not("refused", reason=str(error))
        self.cut |= bool(self.undone)

    @property
    def is_conclusive(self) -> bool:
        """Whether what was written can be judged: nothing hangs on blocks that were left out.

        No launch follows one of which some were, and no block has told others by an atomic how far it is.
        """
        accesses = [one for report in self.reports for one in report["counters"]["accesses"]]
        talks = any(access_of(access)[:2] == ("global", "atomic") for access in accesses)
        *before, last = (sample.whole for sample in self.launches)
        return not self.cut and all(before) and (last or not talks)

    def coverage(self, buffer: str, size: int) -> Coverage:
        """What the sample says about the elements of a buffer, `size` bytes each."""
        written = self.written[buffer]
        stores = [access for sample in self.launches for report in sample.reports for access in _stores(report)]
        own = [access for access in stores if access["buffer"] == buffer]
        again = 0
        if written.count is not None and all(access["buffer"] is not None for access in stores):
            again = max(sum(_bytes(access) for access in own) // size - written.count, 0)
        most = sum(sample.most_elements(buffer, size) for sample in self.launches)
        last = self.launches[-1] if self.launches else None
        return Coverage(
            most=most + self._set_by_operations(buffer) // size,
            each=max((_stored_bytes(report, buffer) // size for report in last.reports), default=0) if last else 0,
            again=again,
            line=own[0]["line"] if own else None,
        )

    def _set_by_operations(self, buffer: str) -> int:
        """Bytes of a buffer that fills and copies set."""
        place = next(held for held in self.plan.buffers if held.name == buffer)
        reach = range(place.address, place.address + place.bytes)
        total = 0
        for operation in self.plan.operations:
            match operation:
                case Memset() if operation.address in reach:
                    total += operation.bytes
                case Copy() if operation.destination in reach:
                    total += operation.bytes
                case Upload() if operation.destination in reach:
                    total += len(operation.payload)
        return total

    def _operation(self, operation: Operation) -> None:
        if isinstance(operation, Memset | Copy | SymbolCopy) and operation.bytes > _MOST_COPIED:
            whole = any(
                operation.bytes == buffer.bytes and getattr(operation, "address", None) == buffer.address
                for buffer in self.plan.buffers
            )
            if not whole:  # a fill of all of a sparse buffer touches nothing
                raise MachineError("this plan moves more memory than a sample should")
        super()._operation(operation)

    def _launch(self, launch: Launch) -> None:
        asked = sum(isinstance(operation, Launch) for operation in self.plan.operations)
        if asked > _MOST_LAUNCHES:
            raise MachineError("this plan has more launches than a sample should")
        most = max(_MOST_BLOCKS // asked, 2)
        blocks = chosen_blocks(launch.grid, most=most, seed=self.schedule.seed, elements=self.elements)
        sample = LaunchSample(launch, whole=len(blocks) == prod(launch.grid))
        self.launches.append(sample)
        spent = 0
        for chosen in [()] if sample.whole else [(block,) for block in blocks]:
            (report,) = self._launched(launch, blocks=chosen)
            hangs_on_others = any(_is_of_other_blocks(finding) for finding in report["findings"])
            if hangs_on_others and not all(before.whole for before in self.launches[:-1]):
                return
            sample.reports.append(report)
            self.reports.append(report)
            self.cut = hangs_on_others
            spent += sum(
                line["warp_instructions"] + _COST_OF_PRODUCT * line["matrix_instructions"]
                for line in report["counters"]["lines"]
            )
            ran = len(sample.reports)
            if self._is_over() or any(ran >= blocks and spent > instructions for blocks, instructions in _ENOUGH):
                return


def _is_of_other_blocks(finding: Mapping[str, Any]) -> bool:
    """Whether it may come from blocks that were left out: a wait for them, a read of what they would have written."""
    unwritten = finding["kind"] == "uninitialised_read" and finding["space"] == "global"
    return unwritten or finding["kind"] in _OF_OTHER_BLOCKS


def _stores(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [access for access in report["counters"]["accesses"] if access_of(access)[:2] == ("global", "store")]


def _stored_bytes(report: Mapping[str, Any], buffer: str) -> int:
    """Bytes that a report's blocks store to a buffer or may, atomics too, and those that are stored twice."""
    return sum(
        _bytes(access)
        for access in report["counters"]["accesses"]
        if access_of(access)[0] == "global" and access_of(access)[1] != "load" and access["buffer"] in (buffer, None)
    )


def _bytes(access: Mapping[str, Any]) -> int:
    return int(access["lanes"]) * access_of(access)[2]
