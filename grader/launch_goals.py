"""Goals on what an entry launches: how many blocks, which kernels, with how much shared memory.

They are judged as those of `grader/goals.py` are, on the launches of a plan and on what ptxas made of their kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.evidence import Evidence, Goal, Shortfall
from grader.puzzle import Case


def fixed_grid(most_blocks: int) -> Goal:
    """No launch has more than `most_blocks` blocks, whatever the case."""

    def check(evidence: Evidence) -> Shortfall | None:
        for judged in evidence.cases:
            for launch in judged.launches:
                blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
                if blocks > most_blocks:
                    sentence = f"For {_sizes(judged.case)} the grid has {blocks:,} blocks."
                    return Shortfall(sentence, launch.line, launch.kernel)
        return None

    sentence = f"The grid stops growing: {most_blocks:,} blocks at most, whatever the size."
    return Goal("fixed grid", "goal_missed", sentence, check)


def kernel_chosen(choose: Callable[[Case], str]) -> Goal:
    """Whatever a case launches is the kernel that `choose` names for it, without namespaces and template arguments."""

    def check(evidence: Evidence) -> Shortfall | None:
        from grader.explain.names import base_name

        for judged in evidence.cases:
            wanted = choose(judged.case)
            for launch in judged.launches:
                if (chosen := base_name(launch.kernel)) != wanted:
                    moved = [f", {name} moved by {by} bytes" for name, by in judged.case.offset.items()]
                    where = _sizes(judged.case) + "".join(moved)
                    return Shortfall(
                        f"For {where} you launch {chosen}; {wanted} was made for it.", launch.line, launch.kernel
                    )
        return None

    return Goal("kernel chosen", "goal_missed", "Each case is left to the kernel that was made for it.", check)


def variants_chosen(choose: Callable[[Case], Sequence[str] | None]) -> Goal:
    """The launches of a case are, in their order, of the variants that `choose` names; cases of None are passed over.

    A variant is named after its kernel, or after the entry of another part that it calls.
    """

    def check(evidence: Evidence) -> Shortfall | None:
        from grader.explain.names import base_name, used_part

        for judged in evidence.cases:
            wanted = choose(judged.case)
            if wanted is None:
                continue
            for launch, name in zip(judged.launches, wanted, strict=False):
                if name not in (chosen := base_name(launch.kernel), used_part(launch.kernel)):
                    said = f"For {_sizes(judged.case)} it is {chosen}, not {name}."
                    return Shortfall(said, launch.line, launch.kernel)
            if len(judged.launches) != len(wanted):
                said = f"For {_sizes(judged.case)} there are {len(judged.launches)} launches, not {len(wanted)}."
                return Shortfall(said, next((launch.line for launch in judged.launches[len(wanted) :]), None))
        return None

    return Goal("variants", "goal_missed", "Each op is done by the variant that was made for it.", check)


def kernels_only() -> Goal:
    """No case asks for anything but launches, so that a graph of it has kernel nodes alone."""

    def check(evidence: Evidence) -> Shortfall | None:
        other = next((judged for judged in evidence.cases if judged.besides), None)
        if other is None:
            return None
        return Shortfall(f"For {_sizes(other.case)} there are {other.besides} copies, fills or allocations besides.")

    sentence = "Nothing but kernels is launched: nothing is copied, filled or allocated."
    return Goal("kernels only", "goal_missed", sentence, check)


def shared_memory(most_bytes: int) -> Goal:
    """No block of any launch has more than `most_bytes` of shared memory."""

    def check(evidence: Evidence) -> Shortfall | None:
        for judged in evidence.cases:
            for launch in judged.launches:
                kernel = evidence.kernels.get(launch.kernel)
                used = launch.shared + (kernel.static_shared if kernel is not None else 0)
                if used > most_bytes:
                    sentence = f"A block has {used:,} bytes of shared memory, {used - most_bytes:,} too many."
                    return Shortfall(sentence, launch.line, launch.kernel)
        return None

    sentence = f"A block has at most {most_bytes:,} bytes of shared memory."
    return Goal("shared memory", "goal_missed", sentence, check)


def _sizes(case: Case) -> str:
    return ", ".join(f"{name} = {value:,}" for name, value in case.params.items())
