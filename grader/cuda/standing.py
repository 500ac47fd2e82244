"""What a race says of a kernel: its time, its rates, how it stands to each rival, and whether its time can be true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from grader.cuda.contest import Race
from grader.cuda.decision import compared
from grader.cuda.defences import ALL, Defences
from grader.cuda.driver import DeviceFacts
from grader.cuda.limits import bound_of, past_the_peak
from grader.cuda.timing import Lap, clocks_disagree, gigabytes_per_second, median_interval, teraflops_per_second
from grader.explain import sentence
from grader.medals import medal_beside
from grader.puzzle import Case, Part, Work, call_by_name
from grader.verdict import Rival, Timing

MINE = "yours"


@dataclass(frozen=True)
class Heat:
    """A race, and what runs in it, in words, by contestant."""

    race: Race
    whats: Mapping[str, str]


def timing_of(part: Part, case: Case, device: DeviceFacts, heats: Sequence[Heat], defences: Defences = ALL) -> Timing:
    """The kernel called "yours" in one race, or several with other rivals each."""
    laps = [lap for heat in heats for lap in heat.race.laps[MINE]]
    times = [lap.ms for lap in laps]
    ms, work = median(times), _work(part, case)
    rivals = tuple(rival for heat in heats for rival in _rivals(heat))
    timed = {rival.name for rival in rivals}
    left_out = {name: why for heat in heats for name, why in heat.race.left_out.items() if name not in timed}
    return Timing(
        device=device.name,
        ms=ms,
        interval_ms=median_interval(times),
        gb_per_s=gigabytes_per_second(work.bytes, ms),
        runs=len(times),
        cold_l2=defences.cold_l2,
        tflop_per_s=teraflops_per_second(work.flops, ms),
        bound=bound_of(part, case, device),
        of_limit=next((rival.times for rival in rivals if rival.name == "ceiling"), None),
        medal=medal_beside(rivals),
        rivals=rivals,
        left_out=left_out,
        sensors=heats[0].race.sensors,
        slowed=slowed_by([reason for heat in heats for reason in heat.race.held_down_by]),
        refused=(_clocks(laps) if defences.host_clock else None) or past_the_peak(part, case, ms, device),
    )


def _work(part: Part, case: Case) -> Work:
    work: Work = call_by_name(part.work, case.params)
    return work


def _rivals(heat: Heat) -> list[Rival]:
    mine = heat.race.ms(MINE)
    return [rival_of(name, heat.whats[name], mine, heat.race.ms(name)) for name in heat.race.laps if name != MINE]


def rival_of(name: str, what: str, mine: Sequence[float], theirs: Sequence[float]) -> Rival:
    """What a race says of another kernel; milliseconds of both, paired by their places."""
    paired = compared(mine, theirs)
    return Rival(
        name=name,
        what=what,
        ms=median(theirs),
        interval_ms=median_interval(theirs),
        times=paired.times,
        times_interval=paired.interval,
        decision=paired.decision,
    )


def _clocks(laps: Sequence[Lap]) -> str | None:
    if not clocks_disagree(laps):
        return None
    device, host = (median(times) for times in zip(*((lap.ms, lap.host_ms) for lap in laps), strict=True))
    return sentence("timing", "clocks_disagree", facts={"device": f"{device:.4g}", "host": f"{host:.4g}"})


def slowed_by(reasons: Sequence[str]) -> str | None:
    """What held the GPU's clocks down, in a sentence; None for nothing."""
    if not reasons:
        return None
    words = [sentence("held_down", reason) for reason in dict.fromkeys(reasons)]
    return sentence("timing", "slowed", facts={"reasons": ", ".join(words)})
