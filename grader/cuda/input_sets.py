"""Several draws of a case's inputs, in memory that the processes which run on them share.

Drawn on the GPU where PyTorch has one: two sets of half a billion values take no time there, and half a minute on a
small machine's CPU.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

import torch

from grader.closing import Closing
from grader.cuda.shared_file import SharedFile
from grader.inputs import draw_inputs
from grader.puzzle import Buffer, Case, Part, buffer_bytes

SETS = 2


def secret_seeds(count: int = SETS) -> list[int]:
    """Seeds that nobody knew before."""
    return [secrets.randbits(63) for _ in range(count)]


class InputSets(Closing):
    """The inputs of `case`, once for each seed. `sets[k]` are CPU tensors by name, which nobody may change; `paths[k]`
    the files that hold their bytes, for other processes, as long as this is open. Raises OSError where memory ends.
    """

    def __init__(self, part: Part, case: Case, seeds: Sequence[int]) -> None:
        self.part = part
        self.case = case
        self._files: list[SharedFile] = []
        self._sets: list[dict[str, torch.Tensor]] = []
        self.paths: list[dict[str, str]] = []
        try:
            for seed in seeds:
                self._add(seed)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._sets)

    def __getitem__(self, number: int) -> Mapping[str, torch.Tensor]:
        return self._sets[number]

    def close(self) -> None:
        """Ends the paths; tensors that are still in use stay."""
        for held in self._files:
            held.close()
        self._files, self.paths, self._sets = [], [], []

    def _add(self, seed: int) -> None:
        files = {buffer.name: self._file(buffer) for buffer in self.part.buffers if buffer.is_read}
        drawn = _drawn(self.part, self.case, seed)
        held = {name: files[name].tensor(tensor.dtype, tuple(tensor.shape)) for name, tensor in drawn.items()}
        for name in drawn:
            held[name].copy_(drawn[name])
        self._sets.append(held)
        self.paths.append({name: shared.path for name, shared in files.items()})

    def _file(self, buffer: Buffer) -> SharedFile:
        self._files.append(SharedFile(buffer_bytes(buffer, self.case.params)))
        return self._files[-1]


def _drawn(part: Part, case: Case, seed: int) -> Mapping[str, torch.Tensor]:
    if not torch.cuda.is_available():
        return draw_inputs(part, case, seed)
    try:
        return draw_inputs(part, case, seed, "cuda")
    except RuntimeError:  # too large beside what else is there, or a puzzle's own function knows the CPU only
        return draw_inputs(part, case, seed)
    finally:
        torch.cuda.empty_cache()
