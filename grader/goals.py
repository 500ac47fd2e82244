"""Goals that several puzzles ask for, judged on the software GPU's counters.

Each function makes a `Goal` of `grader/puzzle.py`. Where requests are counted, the case that asks most of global memory
decides, so that the ragged ends of small cases weigh nothing, and the line that misses the goal by most is named. A
request is one instruction of one warp, a sector 32 bytes, a pass over the banks a wavefront; docs/verdict.md lists the
counters. What ptxas mends by merging neighbours is no fault: too many are too many as written and as compiled.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from grader.evidence import Evidence, Goal, Shortfall
from grader.puzzle import Case, Work, call_by_name

Counts: TypeAlias = Mapping[str, Any]

_WIDEST = 16  # bytes that one lane can load or store at once
_SECTORS_TO_FEWEST = 2  # a row that begins inside a sector needs 5 where 4 are the fewest; scattered lanes need 32
_NARROW_SHARE = 0.1
_SECTOR = 32
_WORD = 4
_SMALL = 1 << 16  # bytes: below, the ragged ends weigh too much
_BYTES_TO_FEWEST = 1.25
_LOADS_TO_FEWEST = 1.1  # the ends of rows may be read in pieces that overlap
_HOW_OFTEN = {1: "once", 2: "twice", 3: "three times"}


def loss_falls() -> Goal:
    """The loss is smaller after each step than before it; how far it came is told."""

    def check(evidence: Evidence) -> Shortfall | None:
        pairs = enumerate(itertools.pairwise(evidence.losses), 1)
        risen = next(((step, before, after) for step, (before, after) in pairs if not after < before), None)
        if risen is None:
            return None
        step, before, after = risen
        return Shortfall(f"In step {step} it goes from {before:.6g} to {after:.6g}.")

    def measured(evidence: Evidence) -> str:
        if not evidence.losses:
            return ""
        before, after = evidence.losses[0], evidence.losses[-1]
        return f"{before:.4g} → {after:.4g} ({after - before:+.4g}) in {len(evidence.losses) - 1} steps"

    return Goal("loss falls", "goal_missed", "The loss falls at each step.", check, measured=measured)


def coalesced(*, where: Callable[[Case], bool] | None = None, only: str | None = None) -> Goal:
    """No line moves more than twice the sectors that its requests need at least, in the cases of `where`.

    `only` is "load" or "store", else both count.
    """

    def check(evidence: Evidence) -> Shortfall | None:
        shares = []
        chosen = _only(evidence, where)
        for line, access, counts in _of_all(_busiest(chosen), *_samples(chosen)):
            if only not in (None, access):
                continue
            sectors, fewest = counts[f"global_{access}_sectors"], counts[f"global_{access}_sectors_ideal"]
            if _takes_more(counts, f"global_{access}_sectors", _SECTORS_TO_FEWEST):
                shares.append((sectors / fewest, line, access, counts))
        if not shares:
            return None
        _, line, access, counts = max(shares, key=lambda share: share[0])
        requests = counts[f"global_{access}_requests"]
        sectors, fewest = (counts[f"global_{access}_{name}"] / requests for name in ("sectors", "sectors_ideal"))
        return Shortfall(
            f"A {access} of a warp moves {sectors:.0f} sectors, and {fewest:.0f} would hold its values.", line
        )

    whose = "Neighbouring lanes touch" if only is None else f"The {only}s of neighbouring lanes touch"
    sentence = f"{whose} neighbouring addresses: at most twice the fewest sectors possible."
    return Goal("coalesced" if only is None else f"coalesced {only}s", "uncoalesced_access", sentence, check)


def no_redundant_traffic(work: Callable[..., Work]) -> Goal:
    """No case moves more than a quarter above the bytes that `work`, the part's own, says it has to."""

    def check(evidence: Evidence) -> Shortfall | None:
        for judged in evidence.cases:
            fewest = call_by_name(work, judged.case.params).bytes
            accesses = list(_accesses(judged.counters))
            moved = sum(_SECTOR * counts[f"global_{access}_sectors"] for _, access, counts in accesses)
            if accesses and fewest > _SMALL and moved > _BYTES_TO_FEWEST * fewest:
                worst = max(accesses, key=lambda each: int(each[2][f"global_{each[1]}_sectors"]))
                said = f"It moves {moved / fewest:.1f} times the bytes that it has to."
                return Shortfall(said, worst[0], facts=_cause(judged.counters, worst, fewest))
        return None

    sentence = "Nothing is loaded or stored twice."
    return Goal("no redundant traffic", "redundant_traffic", sentence, check)


def _cause(counters: Counts, worst: tuple[int, str, Counts], fewest: int) -> dict[str, str]:
    """Why too many bytes move, where it is not that values are loaded again; `fewest` bytes have to move."""
    _, access, counts = worst
    stored = _WORD * sum(_moved(counters, "global", "store", _WORD).values())
    if stored > _BYTES_TO_FEWEST * fewest:
        return {"cause": "same_work"}
    if counts[f"global_{access}_sectors"] > _SECTORS_TO_FEWEST * counts[f"global_{access}_sectors_ideal"]:
        return {"cause": "jumps"}
    lanes = counts[f"global_{access}_lanes"] / counts[f"global_{access}_requests"]
    return {"cause": "few_lanes"} if lanes < _SECTOR / _WORD else {}


def reuse(work: Callable[..., Work], times: float, *, of: str = "global", value_bytes: int = _WORD) -> Goal:
    """Each value loaded from `of` memory, "global" or "shared", serves `times` operations of `work` or more.

    The case with most operations decides. A multiply-add is two operations on two values, of `value_bytes` each. Loads
    count lane by lane, whether a cache has the value or not, and whether lanes that ask for one word of shared memory
    get it together.
    """
    loaded_from = {"global": "loaded from global memory", "shared": "read from shared memory"}[of]

    def check(evidence: Evidence) -> Shortfall | None:
        run = [judged for judged in evidence.cases if _loaded(judged.counters, "global")]
        largest = max(run, key=lambda judged: call_by_name(work, judged.case.params).flops, default=None)
        if largest is None:
            return None
        operations, loaded = call_by_name(work, largest.case.params).flops, _loaded(largest.counters, of, value_bytes)
        values = sum(loaded.values())
        if times * values <= operations:
            return None
        worst = max(loaded, key=lambda line: loaded[line])
        again = "loaded again" if of == "global" else "read again"
        said = f"Here it is used {operations / values:.1f} times before it is {again}."
        return Shortfall(said, worst, facts={} if of == "global" else {"cause": "shared"})

    sentence = f"Each value {loaded_from} is used at least {times:g} times."
    return Goal("reuse" if of == "global" else f"{of} reuse", "redundant_traffic", sentence, check)


def tensor_cores(work: Callable[..., Work]) -> Goal:
    """All multiplications of `work` are made by matrix instructions, in the case with most of them.

    A matrix instruction counts with all that its shape multiplies, zeros that fill a tile included.
    """

    def check(evidence: Evidence) -> Shortfall | None:
        run = [judged for judged in evidence.cases if judged.counters.get("lines")]
        largest = max(run, key=lambda judged: call_by_name(work, judged.case.params).flops, default=None)
        if largest is None:
            return None
        flops, lines = call_by_name(work, largest.case.params).flops, largest.counters["lines"]
        made = sum(counts.get("matrix_flops", 0) for counts in lines.values())
        if made >= flops:
            return None
        busiest = max(lines, key=lambda line: lines[line]["thread_instructions"])
        share = f"{100 * made / flops:.0f} % of the multiplications" if made else "No multiplication"
        return Shortfall(f"{share} ran on tensor cores.", int(busiest))

    return Goal("tensor cores", "goal_missed", "All products are made by matrix instructions.", check)


def reads_at_most(
    buffer: str, times: int, elements: Callable[..., int], *, where: Callable[[Case], bool] | None = None, of: str = ""
) -> Goal:
    """Each of the `elements` of an input is loaded `times` times at most on average, in the largest case of `where`.

    Loads count lane by lane, whether a cache has the value or not. How often it is loaded is told also where that is
    seldom enough. `of` ends the sentence where `elements` counts some of the input again: " for every 32 queries".
    """

    def largest(evidence: Evidence) -> tuple[Counts, float]:
        """The counters of the case with most elements, and how often each of them is loaded."""
        judged = [one for one in evidence.cases if one.counters and (where is None or where(one.case))]
        sizes = [call_by_name(elements, one.case.params) for one in judged]
        if not any(sizes):
            return {}, 0.0
        counters = judged[sizes.index(max(sizes))].counters
        loaded = counters.get("reads", {}).get("buffers", {}).get(buffer, {}).get("elements", 0)
        return counters, loaded / max(sizes)

    def check(evidence: Evidence) -> Shortfall | None:
        counters, loads = largest(evidence)
        if loads <= times * _LOADS_TO_FEWEST:
            return None
        loaded = _loaded(counters, "global")
        return Shortfall(f"It is read {loads:.1f} times.", max(loaded, key=lambda line: loaded[line]))

    def measured(evidence: Evidence) -> str:
        _, loads = largest(evidence)
        better = f"; {times} are allowed, best: {_HOW_OFTEN[1]}" if loads > _LOADS_TO_FEWEST else ""
        return f"read {loads:.1f} times{better}"

    how_often = _HOW_OFTEN.get(times, f"{times} times")
    sentence = f"`{buffer}` is read {how_often}{' at most' if times > 1 else ''}{of}."
    return Goal(f"reads of {buffer}", "redundant_traffic", sentence, check, measured=measured)


def writes_results_only(results: Callable[..., int]) -> Goal:
    """No case writes more bytes to global memory than `results`, those of its results: none lies there in between."""

    def check(evidence: Evidence) -> Shortfall | None:
        for judged in evidence.cases:
            most = call_by_name(results, judged.case.params)
            written = _moved(judged.counters, "global", "store", value_bytes=1)
            if most and sum(written.values()) > most * _BYTES_TO_FEWEST:
                worst = max(written, key=lambda line: written[line])
                times = sum(written.values()) / most
                said = f"{times:.1f} times as many bytes are written as the results have."
                return Shortfall(said, worst, facts={"cause": "stored"})
        return None

    sentence = "Nothing but the results is written to memory, and each once."
    return Goal("results only", "redundant_traffic", sentence, check)


def no_bank_conflicts() -> Goal:
    """No line makes more passes over the banks of shared memory than its requests need, in any case."""

    def check(evidence: Evidence) -> Shortfall | None:
        shares = []
        for judged in evidence.cases:
            for line, access, counts in _of_all(judged.counters, judged.sample_counters, space="shared"):
                passes, fewest = counts[f"shared_{access}_wavefronts"], counts[f"shared_{access}_wavefronts_ideal"]
                if _takes_more(counts, f"shared_{access}_wavefronts"):
                    shares.append((passes / fewest, line, access, fewest / counts[f"shared_{access}_requests"]))
        if not shares:
            return None
        share, line, access, fewest = max(shares, key=lambda each: each[0])
        return Shortfall(
            f"A warp's {access} takes {share * fewest:.3g} passes over shared memory, and {fewest:.3g} would do.", line
        )

    sentence = "The lanes of a warp find their words in different banks of shared memory."
    return Goal("no bank conflicts", "bank_conflicts", sentence, check)


def wide_accesses(access: str, *, where: Callable[[Case], bool] | None = None, bytes_a_lane: int = _WIDEST) -> Goal:
    """At least nine in ten requests of `access`, "load" or "store", are so wide or wider, in the cases of `where`."""

    def check(evidence: Evidence) -> Shortfall | None:
        counters = _busiest(_only(evidence, where))
        narrow: dict[int, int] = {}
        total = 0
        for line, kind, counts in _accesses(counters):
            if kind == access:
                requests = counts[f"global_{access}_requests"]
                by_bytes = counts[f"global_{access}_requests_by_bytes"]
                narrow[line] = requests - sum(by_bytes[size] for size in by_bytes if int(size) >= bytes_a_lane)
                total += requests
        if sum(narrow.values()) <= _NARROW_SHARE * total:
            return None
        worst = max(narrow, key=lambda line: narrow[line])
        share = 100 * sum(narrow.values()) / total
        said = f"{share:.0f} % of the {access}s move fewer than {bytes_a_lane} bytes a lane."
        return Shortfall(said, worst, facts={"cause": "narrow", "wanted": str(bytes_a_lane)})

    sentence = f"Nine in ten {access}s move {bytes_a_lane} bytes a lane{' or more' if bytes_a_lane < _WIDEST else ''}."
    return Goal(f"wide {access}s", "goal_missed", sentence, check)


def local_memory(most_bytes: int) -> Goal:
    """No thread of any launch has more than `most_bytes` of local memory, as compiled."""

    def check(evidence: Evidence) -> Shortfall | None:
        for judged in evidence.cases:
            for launch in judged.launches:
                kernel = evidence.kernels.get(launch.kernel)
                if kernel is not None and kernel.local > most_bytes:
                    stored = _moved(judged.counters, "local", "store", value_bytes=1)
                    line = max(stored, key=lambda line: stored[line], default=launch.line)
                    return Shortfall(f"A thread has arrays of {kernel.local:,} bytes there.", line, launch.kernel)
        return None

    sentence = f"A thread keeps at most {most_bytes:,} bytes in local memory, which is device memory as well."
    return Goal("local memory", "goal_missed", sentence, check)


def _only(evidence: Evidence, where: Callable[[Case], bool] | None) -> Evidence:
    """The evidence of the cases that `where` chooses; all of them where it is None."""
    return Evidence([judged for judged in evidence.cases if where is None or where(judged.case)], evidence.kernels)


def _busiest(evidence: Evidence) -> Counts:
    """The counters of the case in which most lanes ask for global memory; empty where nothing was run."""

    def lanes(counters: Counts) -> int:
        return sum(counts[f"global_{access}_lanes"] for _, access, counts in _accesses(counters))

    return max((judged.counters for judged in evidence.cases), key=lanes, default={})


def _samples(evidence: Evidence) -> list[Counts]:
    """What a sample of the bench case counted: a loop whose stride grows with the size shows itself there."""
    return [judged.sample_counters for judged in evidence.cases]


def _of_all(*counters: Counts, space: str = "global") -> Iterator[tuple[int, str, Counts]]:
    for each in counters:
        yield from _accesses(each, space)


def _takes_more(counts: Counts, name: str, times: float = 1) -> bool:
    """Whether an access takes more than `times` the fewest that it needs, both as written and as compiled."""
    both = (counts, counts.get("compiled", counts))
    return all(each.get(name, 0) > times * each.get(f"{name}_ideal", 0) for each in both)


def _loaded(counters: Counts, space: str, value_bytes: int = _WORD) -> dict[int, float]:
    """Line → values of so many bytes loaded from that memory, one for each lane that loads it."""
    return _moved(counters, space, "load", value_bytes)


def _moved(counters: Counts, space: str, access: str, value_bytes: int) -> dict[int, float]:
    """The same for either way, "load" or "store"."""
    moved = {}
    for line, way, counts in _accesses(counters, space):
        if way == access:
            by_bytes = counts[f"{space}_{access}_requests_by_bytes"]
            values = sum(int(size) * requests for size, requests in by_bytes.items()) / value_bytes
            moved[line] = counts[f"{space}_{access}_lanes"] * values / counts[f"{space}_{access}_requests"]
    return moved


def _accesses(counters: Counts, space: str = "global") -> Iterator[tuple[int, str, Counts]]:
    """Line, "load" or "store", and the line's counts, for each line that makes such requests to that memory."""
    for line, counts in counters.get("lines", {}).items():
        for access in ("load", "store"):
            if counts.get(f"{space}_{access}_requests"):
                yield int(line), access, counts
