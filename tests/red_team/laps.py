"""Attacks on timed runs: which defences are taken away for each, and how it is told what came of it.

The same for the stand-in driver and for hardware. `WITHOUT` names fields of `grader.cuda.defences.Defences`; one that
only keeps other ways out closed is among them: without `fresh_inputs` every run is on the same inputs, and answers that
were kept stay right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from grader.cache import ToolMissing
from grader.cuda.bench import Bench
from grader.cuda.contest import Rule
from grader.cuda.defences import ALL, Defences

# Whatever runs on the multiprocessors between two laps may take their shared memory for its own cache.
BETWEEN = ("scrubbed_shared", "scrubbed_local", "poison", "cold_l2", "reset_persisting", "restored_globals",
           "restored_inputs", "fresh_inputs")  # fmt: skip
WITHOUT: Mapping[str, tuple[str, ...]] = {
    "skips_later_laps": ("restored_globals", "poison", "fresh_inputs"),
    "skips_laps_by_chance": ("checked_laps", "checked_results"),
    "keeps_answers_in_the_module": ("restored_globals",),
    "keeps_answers_in_its_inputs": ("restored_inputs", "checked_inputs", "fresh_inputs"),
    "keeps_answers_behind_its_result": ("poison", "fresh_inputs"),
    "finds_old_allocations": ("poison", "fresh_inputs"),
    "finds_old_shared_memory": BETWEEN,
    "finds_old_reserved_memory": ("scrubbed_shared", "fresh_inputs"),
    "finds_old_local_memory": ("scrubbed_local", "fresh_inputs"),
    "finds_old_heap": ("refused_memory", "fresh_inputs"),
    "keeps_answers_in_managed_memory": ("refused_memory", "restored_globals", "fresh_inputs"),
    "finds_a_warm_l2": ("cold_l2", "restored_inputs", "poison", "fresh_inputs"),  # all of these go through the L2
    "keeps_lines_in_the_l2": ("reset_persisting", "restored_inputs", "fresh_inputs"),
}
QUICK = Rule(warm_up=2, fewest_rounds=5, least_rounds=8, most_rounds=10, seconds=0.5)


def defences_without(*names: str) -> Defences:
    """All defences but these."""
    return replace(ALL, **dict.fromkeys(names, False))


@dataclass(frozen=True)
class Outcome:
    """What came of a timed case: the kinds of findings, why there is no time if there is none, or milliseconds."""

    findings: tuple[str, ...]
    refused: str = ""
    ms: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.findings and not self.refused

    def gains(self, honest_ms: float, *, share: float = 0.8) -> bool:
        """Whether it passes in less than this share of an honest kernel's time."""
        return self.passed and self.ms < share * honest_ms


def outcome_of(bench: Bench) -> Outcome:
    """The case, timed in a race without rivals. Raises ToolMissing where there is no GPU."""
    try:
        ran, timing = bench.run()
    except ToolMissing as missing:
        return Outcome((), refused=str(missing))
    kinds = tuple(seen.kind for seen in ran.observations)
    if timing is None:
        return Outcome(kinds, refused="" if kinds else "there was no room for it")
    return Outcome(kinds, timing.refused or "", timing.ms)
