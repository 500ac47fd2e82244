"""What holds a right kernel back on a GPU, as far as counts show it, and what to try.

The software GPU has counted the kernel and the reference solution on the same case, a sample of the timed case's blocks
besides. Each look below tells one thing that was counted, most of them only where the reference does better, so that
what is advised can be reached. The first look that finds something is told: what idles a GPU before what wastes its
memory, that before what wastes its cores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from grader.evidence import KernelFact, LaunchFact
from grader.explain import sentence
from grader.verdict import Bottleneck, Timing

Counts: TypeAlias = Mapping[str, Any]

AT_THE_LIMIT = 0.95  # of the measured limit: what is left is noise and the ends of the grid
_FEW_THREADS = 256  # for a multiprocessor that holds 1536 or 2048
_MORE = 1.25  # times the reference's count: less is a matter of taste
_WASTE = 2  # times the fewest: a row that begins inside a sector is no waste
_UNITS = {
    "global_load": "sectors",
    "global_store": "sectors",
    "shared_load": "wavefronts",
    "shared_store": "wavefronts",
}
_SECTORS = "memory_l2_theoretical_sectors_global"


@dataclass(frozen=True)
class Counted:
    """What is known of a timed kernel besides its times: the launches of the timed case, what each kernel was compiled
    to, by mangled name, and how many multiprocessors the GPU has. `counters` and `reference` are of one smaller case,
    `sampled` of some blocks of the timed one; all as in `docs/verdict.md`, and empty where nothing was counted.
    """

    launches: Sequence[LaunchFact]
    kernels: Mapping[str, KernelFact]
    multiprocessors: int
    counters: Counts
    reference: Counts
    sampled: Counts


@dataclass(frozen=True)
class CostlyAccess:
    """A line's access that takes more sectors or passes than its values need, both for each request of a warp."""

    line: int
    access: str
    taken: float
    fewest: float


def bottleneck(timing: Timing, counted: Counted) -> Bottleneck | None:
    """The first thing that holds the kernel back; None where nothing that is counted stands out."""
    if timing.of_limit is not None and timing.of_limit >= AT_THE_LIMIT:
        return Bottleneck("limit", "", sentence("bottleneck", "limit", "advice"))
    return next(filter(None, (look(timing, counted) for look in _LOOKS)), None)


def costliest_access(counters: Counts, reference: Counts, *accesses: str) -> CostlyAccess | None:
    """Of these accesses ("global_load", …; none given: of all) the one that takes most for what it needs.

    None where none takes more than twice what it needs, as written and as compiled, or such an access of the reference
    takes as much.
    """
    shares = [each for each in _shares(counters) if not accesses or each[2] in accesses]
    least, line, access, counts = max(shares, key=lambda each: each[0], default=(0.0, "", "", {}))
    if least <= max([_WASTE, *(share for share, _, other, _ in _shares(reference) if other == access)]):
        return None
    fewest = counts[f"{access}_{_UNITS[access]}_ideal"] / counts[f"{access}_requests"]
    return CostlyAccess(int(line), access, _share(counts, access) * fewest, fewest)


# ---- looks ----------------------------------------------------------------------------------------------------------


def _idle(timing: Timing, counted: Counted) -> Bottleneck | None:
    """Fewer blocks than multiprocessors; a kernel that keeps up with the reference has as many as there can be."""
    blocks = max((math.prod(launch.grid) for launch in counted.launches), default=0)
    if timing.medal == "gold" or not 0 < blocks < counted.multiprocessors:
        return None
    said = sentence("words", "one_block" if blocks == 1 else "blocks", facts={"count": f"{blocks:,}"})
    return _told("idle", blocks=said, multiprocessors=counted.multiprocessors)


def _few_threads(timing: Timing, counted: Counted) -> Bottleneck | None:
    threads = max((math.prod((*launch.grid, *launch.block)) for launch in counted.launches), default=0)
    if timing.medal == "gold" or not 0 < threads < _FEW_THREADS * counted.multiprocessors:
        return None
    return _told("few_threads", threads=f"{threads / counted.multiprocessors:,.0f}")


def _scattered(_: Timing, counted: Counted) -> Bottleneck | None:
    return _costly(counted, "global_load", "global_store")


def _conflicting(_: Timing, counted: Counted) -> Bottleneck | None:
    return _costly(counted, "shared_load", "shared_store")


def _costly(counted: Counted, *accesses: str) -> Bottleneck | None:
    costly = costliest_access(counted.counters, counted.reference, *accesses)
    costly = costly or costliest_access(counted.sampled, counted.reference, *accesses)
    if costly is None:
        return None
    facts = {"taken": f"{costly.taken:.3g}", "fewest": f"{costly.fewest:.3g}"}
    return _told(costly.access, costly.line, **facts)


def _loaded_again(_: Timing, counted: Counted) -> Bottleneck | None:
    own, other = (_reads(counts) for counts in (counted.counters, counted.reference))
    if not other or own <= _MORE * other:
        return None
    return _told("loaded_again", _busiest(counted.counters, "global_load_lanes"), own=_plain(own), other=_plain(other))


def _more_moved(_: Timing, counted: Counted) -> Bottleneck | None:
    own, other = _both(counted, _SECTORS)
    if not other or own <= _MORE * other:
        return None
    return _told("more_moved", _busiest(counted.counters, _SECTORS), ratio=f"{own / other:.2f}")


def _atomics(_: Timing, counted: Counted) -> Bottleneck | None:
    own, other = _both(counted, "global_atomic_lanes")
    if own <= _MORE * other or not counted.reference:
        return None
    return _told("atomics", _busiest(counted.counters, "global_atomic_lanes"), own=f"{own:,}", other=f"{other:,}")


def _spilled(timing: Timing, counted: Counted) -> Bottleneck | None:
    launched = {launch.kernel for launch in counted.launches}
    most = max((fact.local for name, fact in counted.kernels.items() if name in launched), default=0)
    return _told("local_memory", bytes=f"{most:,}") if most and timing.medal != "gold" else None


def _without_tensor_cores(_: Timing, counted: Counted) -> Bottleneck | None:
    own, other = _both(counted, "matrix_instructions")
    return _told("no_tensor_cores") if other and not own else None


def _many_launches(timing: Timing, counted: Counted) -> Bottleneck | None:
    launches = len(counted.launches)
    return _told("launches", launches=launches) if timing.bound == "launch" and launches > 1 else None


def _narrow(timing: Timing, counted: Counted) -> Bottleneck | None:
    own, other = (_bytes_a_lane(counts) for counts in (counted.counters, counted.reference))
    if timing.bound != "memory" or not other or own * _MORE >= other:
        return None
    line = _busiest(counted.counters, "global_load_requests")
    return _told("narrow", line, own=_plain(own), other=_plain(other))


def _many_instructions(_: Timing, counted: Counted) -> Bottleneck | None:
    own, other = _both(counted, "warp_instructions")
    if not other or own <= _MORE * other:
        return None
    return _told("instructions", _busiest(counted.counters, "warp_instructions"), ratio=f"{own / other:.2f}")


_LOOKS: tuple[Callable[[Timing, Counted], Bottleneck | None], ...] = (
    _idle,
    _few_threads,
    _without_tensor_cores,
    _scattered,
    _loaded_again,
    _more_moved,
    _atomics,
    _spilled,
    _conflicting,
    _many_launches,
    _narrow,
    _many_instructions,
)


def _told(kind: str, line: int | None = None, **facts: object) -> Bottleneck:
    seen = sentence("bottleneck", kind, "seen", facts=facts | {"line": line})
    return Bottleneck(kind, seen, sentence("bottleneck", kind, "advice", facts=facts), line)


# ---- counts ---------------------------------------------------------------------------------------------------------


def _shares(counters: Counts) -> list[tuple[float, str, str, Counts]]:
    """Of each line and access: how many times what it needs it takes at least, the line, the access, and its counts."""
    return [
        (min(_share(counts, access), _share(counts.get("compiled", counts), access)), line, access, counts)
        for line, counts in counters.get("lines", {}).items()
        for access in _UNITS
        if _share(counts, access)
    ]


def _share(counts: Counts, access: str) -> float:
    """How many times what it needs an access takes; 0 where there is no such access."""
    unit = _UNITS[access]
    fewest = counts.get(f"{access}_{unit}_ideal", 0)
    return float(counts[f"{access}_{unit}"] / fewest) if fewest else 0.0


def _both(counted: Counted, name: str) -> tuple[int, int]:
    """A count summed over all kernels, the learner's and the reference's."""
    own, other = (
        sum(int(kernel.get(name, 0)) for kernel in counts.get("kernels", {}).values())
        for counts in (counted.counters, counted.reference)
    )
    return own, other


def _reads(counters: Counts) -> float:
    return float(counters.get("reads", {}).get("elements_a_result", 0))


def _bytes_a_lane(counters: Counts) -> float:
    """The mean width of a load from global memory as compiled, in bytes; 0 where there is none."""
    moved = requests = 0
    for kernel in counters.get("kernels", {}).values():
        for size, count in kernel.get("compiled", kernel).get("global_load_requests_by_bytes", {}).items():
            moved, requests = moved + int(size) * count, requests + count
    return moved / requests if requests else 0.0


def _busiest(counters: Counts, name: str) -> int | None:
    """The line with most of a count."""
    lines = {int(line): counts.get(name, 0) for line, counts in counters.get("lines", {}).items() if int(line)}
    line = max(lines, key=lambda line: lines[line], default=None)
    return line if line is not None and lines[line] else None


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
