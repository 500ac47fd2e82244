"""Entries of other parts, run for a learner's Python as in any check: recorded in a cage, then on the software GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from grader.findings import Place
from grader.launcher import host_observations
from grader.op.arguments import Arguments
from grader.op.errors import EntryFailed
from grader.puzzle import Case, element_count, shape_of
from grader.submission import UsedPart
from grader.tools import Tools
from grader.trial import from_device

if TYPE_CHECKING:
    from grader.build import Build
    from grader.explain import Observation
    from grader.simt.software import SoftwareGPU

_MOST_ELEMENTS = 1 << 22  # of one buffer
_MOST_CALLS = 256


@dataclass(frozen=True)
class Called:
    """One call of an entry: `before` and `after` hold its buffers by name, as they were given and as they came out."""

    entry: str
    line: int | None
    before: Mapping[str, torch.Tensor]
    after: Mapping[str, torch.Tensor]
    launches: int


@dataclass
class _Loaded:
    used: UsedPart
    build: Build
    arguments: Arguments
    software: SoftwareGPU


@dataclass
class Kernels:
    """The parts that may be called, and the calls there were."""

    parts: Sequence[UsedPart]
    tools: Tools
    called: list[Called] = field(default_factory=list)
    _loaded: dict[str, _Loaded] = field(default_factory=dict)

    def run(self, entry: str, arguments: Sequence[Any], line: int | None) -> list[torch.Tensor]:
        """Calls an entry; its tensors as they are afterwards, in order.

        Raises EntryMisused for arguments that do not fit, EntryFailed where the entry or a kernel fails, BuildFailed
        where a file of the learner's does not compile any more.
        """
        loaded = self._loaded.get(entry) or self._load(entry)
        words, _ = loaded.arguments.words(arguments)
        part = loaded.used.located.part
        case = Case.of({scalar.name: words[place] for place, scalar in loaded.arguments.scalars})
        if len(self.called) >= _MOST_CALLS or any(
            element_count(buffer, case.params) > _MOST_ELEMENTS for buffer in part.buffers
        ):
            raise EntryFailed(f"`{entry}` is called too often, or with too much, for a check.", "cudaSuccess")
        given = {tensor.buffer.name: arguments[tensor.place] for tensor in loaded.arguments.tensors}
        memory = {
            buffer.name: given[buffer.name]
            .flatten()[: element_count(buffer, case.params)]
            .clone()
            .reshape(shape_of(buffer, case.params))
            for buffer in part.buffers
        }
        before = {name: tensor.clone() for name, tensor in memory.items()}
        launches = self._launch(loaded, case, memory)
        self.called.append(Called(entry, line, before, memory, launches))
        return [_written_into(tensor, memory[name]) if name in memory else tensor for name, tensor in given.items()]

    def _launch(self, loaded: _Loaded, case: Case, memory: Mapping[str, torch.Tensor]) -> int:
        part = loaded.used.located.part
        recording = self.tools.record(loaded.build, part, case)
        if recording.findings:
            raise self._failure(loaded, case, list(host_observations(recording, loaded.build, part.name)))
        roles = {buffer.name: buffer.role for buffer in part.buffers}
        result = loaded.software.run(recording.plan, memory, roles=roles)
        if result.findings:
            raise self._failure(loaded, case, [from_device(finding) for finding in result.findings])
        return len(recording.plan.operations)

    def _failure(self, loaded: _Loaded, case: Case, seen: Sequence[Observation]) -> EntryFailed:
        located = loaded.used.located
        place = Place(located.part, located.label, loaded.used.path.name, loaded.used.path, case)
        findings = [place.finding(one) for one in seen]
        first = findings[0]
        at = f", line {first.line}" if first.line else ""
        return EntryFailed(f"{loaded.used.path.name}{at}: {first.message}", "cudaSuccess", findings)

    def _load(self, entry: str) -> _Loaded:
        used = next((one for one in self.parts if one.located.part.name == entry), None)
        if used is None:
            raise EntryFailed(f"This part has no entry `{entry}` to call.", "cudaSuccess")
        needed = {part.label for part in used.located.used}
        sources = [one.source() for one in self.parts if one.located.label in needed]
        built = self.tools.build(used.path, sources)
        loaded = _Loaded(used, built, Arguments(used.located.part), self.tools.software_gpu(built))
        self._loaded[entry] = loaded
        return loaded


def _written_into(tensor: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """The tensor with its first elements replaced; a workspace may have more."""
    after = tensor.clone().flatten()
    after[: result.numel()] = result.flatten()
    return after.reshape(tensor.shape)
