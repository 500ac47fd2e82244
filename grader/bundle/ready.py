"""What is replayed for an entry of a bundle, and the GPU at whose addresses it was recorded.

Where nvcc is, the source is compiled and recorded again: a cubin or a plan that was not made from it is refused, and
what runs is what was made here. Where it is not, the bundle's own runs, at the first place whose addresses the GPU
gives.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.bundle.archive import Bundle
from grader.bundle.cubins import Cubin, read_cubin
from grader.bundle.format import Bundled, Compiled
from grader.bundle.gpus import shown
from grader.bundle.plans import checked_plan, offsets
from grader.bundle.rebuild import check_code, check_plan, rebuilt
from grader.cache import ToolMissing
from grader.cuda.addresses import Place
from grader.cuda.session import RealGPU
from grader.explain import sentence
from grader.toolchain import find_toolchain
from grader.tools import default_tools

if TYPE_CHECKING:
    from grader.build import Build
    from grader.puzzle import Part
    from grader.record import Recording
    from grader.submission import Submission


class NotTimed(Exception):
    """Why an entry has no time; the message is one sentence."""


@dataclass(frozen=True)
class Ready:
    """A module, the release of nvcc that made it, and a recording of it at the addresses that `gpu` has reserved."""

    gpu: RealGPU
    module: Build | Cubin
    recording: Recording
    nvcc: str


@dataclass(frozen=True)
class Preparation:
    """An entry, and the submission that it is; `folder` is for its files, `stack` closes the GPUs that it asks for.

    `given` holds the place whose addresses the GPU was found to give, once that is known.
    """

    bundle: Bundle
    entry: Bundled
    submission: Submission
    folder: Path
    stack: contextlib.ExitStack
    given: list[Place]

    def ready(self) -> Ready:
        """What is to be replayed.

        Raises `NotTimed`, `BundleInvalid`, `NotItsSource`, `ReplayFailed`, and `ToolMissing` where nvcc is there and
        does not come to an end: only where there is none does the bundle's own code run.
        """
        gpu = self.stack.enter_context(RealGPU(self._part))
        compiled = self._for_target(gpu)
        path = self.folder / "kernel.cubin"
        path.write_bytes(self.bundle.read(compiled.cubin))
        module = read_cubin(path, compiled.target)
        try:
            nvcc = find_toolchain().version
        except ToolMissing:
            gpu.close()
            return self._as_it_came(compiled, module)
        return self._made_here(compiled, module, gpu, nvcc)

    @property
    def _part(self) -> Part:
        return self.submission.located.part

    def _for_target(self, gpu: RealGPU) -> Compiled:
        target = gpu.device.target
        found = next((one for one in self.entry.compiled if one.target == target), None)
        if found is None:
            made_for = ", ".join(shown(one.target) for one in self.entry.compiled)
            facts = {"gpu": gpu.name, "target": target, "made_for": made_for}
            raise NotTimed(sentence("bundle", "no_target", facts=facts))
        return found

    def _made_here(self, compiled: Compiled, module: Cubin, gpu: RealGPU, nvcc: str) -> Ready:
        """What the source is compiled to and asks for here, once the bundle's cubin and plans are known to be the same.

        Another nvcc makes another cubin: then nothing can be said of the bundle's, and it does not run either.
        """
        part, built = self._part, rebuilt(self.submission, compiled.target)
        if nvcc == self.bundle.manifest.nvcc:
            check_code(built, module.code)
        for at in compiled.plans:
            layout = Place(at.first, at.between).layout(offsets(part))
            plan = checked_plan(self.bundle.read(at.plan), part, module, layout)
            check_plan(self.submission, built, plan, layout)
        return Ready(gpu, built, gpu.tools(default_tools()).record(built, part, part.bench), nvcc)

    def _as_it_came(self, compiled: Compiled, module: Cubin) -> Ready:
        """The bundle's own cubin and plan, at the first place whose addresses the GPU gives."""
        from grader.record import Recording

        plans = {Place(at.first, at.between): at.plan for at in compiled.plans}
        for place in sorted(plans, key=lambda place: place not in self.given):
            wanted = place.layout(offsets(self._part))
            plan = checked_plan(self.bundle.read(plans[place]), self._part, module, wanted)
            gpu = self.stack.enter_context(RealGPU(self._part, place=place))
            layout = gpu.layout(self._part.bench)
            if (layout.first, layout.arenas[0]) == (wanted.first, wanted.arenas[0]):
                self.given[:] = [place]
                return Ready(gpu, module, Recording(plan, [], "", 0.0), self.bundle.manifest.nvcc)
            gpu.close()
        raise NotTimed(sentence("bundle", "no_place"))
