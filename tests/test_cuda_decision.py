"""The rule that says which of two kernels is faster, on laps with noise like a GPU's: drift, outliers, luck."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from grader.closing import Closing
from grader.cuda.contest import Lap, Race, Rule, race
from grader.cuda.decision import LEVEL, MARGIN, compared, decide, margin_at
from grader.cuda.timing import median_interval
from tests.judging import ROOT

COMPARISONS = 200
# What laps differ by on an H200 where arithmetic bounds them, and where memory does; and more than twice that.
NOISES = [0.002, 0.004, 0.01]


@dataclass
class World:
    """A GPU whose clock drifts by as much as 8 % within a race, and now and then is disturbed."""

    random: random.Random
    noise: float = 0.004
    laps: int = 0
    drift: float = 0.0

    def factor(self) -> float:
        """What multiplies the time of this lap."""
        self.laps += 1
        self.drift = 0.04 * math.sin(self.laps / 40) + 0.02 * math.sin(self.laps / 7)
        slow = self.random.uniform(1.2, 5.0) if self.random.random() < 0.03 else 1.0
        return (1 + self.drift) * slow * math.exp(self.random.gauss(0.0, self.noise))


@dataclass
class Simulated(Closing):
    """A kernel in a process that has its own small luck, as with the physical memory that it got."""

    name: str
    ms: float
    world: World
    what: str = ""
    luck: float = field(init=False)

    def __post_init__(self) -> None:
        self.luck = math.exp(self.world.random.gauss(0.0, 0.0015))

    def lap(self, inputs: int) -> Lap:
        ms = self.ms * self.luck * self.world.factor()
        return Lap(ms, ms)

    def close(self) -> None:
        pass


def decisions(times: float, seed: int, noise: float) -> list[str]:
    """What is said of a kernel of 1 ms beside one of `times` ms, by as many races."""
    said = []
    for number in range(COMPARISONS):
        world = World(random.Random(seed * 1000 + number), noise)
        held = race([Simulated("yours", 1.0, world), Simulated("reference", times, world)], sets=2, rule=Rule())
        said.append(compared(held.ms("yours"), held.ms("reference")).decision)
    return said


@pytest.mark.parametrize("noise", NOISES)
def test_a_kernel_against_itself_is_never_called_different(noise: float) -> None:
    assert decisions(1.0, seed=1, noise=noise).count("tie") == COMPARISONS


@pytest.mark.parametrize("noise", NOISES)
def test_kernels_that_differ_by_three_percent_are_called_different(noise: float) -> None:
    assert decisions(1.03, seed=2, noise=noise).count("faster") >= 195
    assert decisions(1 / 1.03, seed=3, noise=noise).count("slower") >= 195


def test_on_a_gpu_it_says_the_same() -> None:
    """What `python -m tests.gpu.decisions` found: counted, and decided again from the intervals."""
    kernels = json.loads((ROOT / "results" / "h200" / "decisions.json").read_text(encoding="utf-8"))["kernels"]
    for bound in ("memory", "compute"):
        assert kernels[bound]["itself"] == {"tie": COMPARISONS}
        assert kernels[bound]["more"]["faster"] >= 195
    assert kernels["launch"]["itself"].keys() == {"tie"}
    for kernel in kernels.values():
        for beside in {"itself", "more"} & kernel.keys():
            ends = [(*race[beside]["interval"], margin_at(race["ms"])) for race in kernel["races"]]
            assert kernel[beside] == Counter(decide(low, high, margin) for low, high, margin in ends)


def test_a_drift_that_one_kernel_alone_would_show_is_gone_from_the_ratios() -> None:
    mine = [1.0 + 0.002 * lap for lap in range(60)]
    theirs = [ms * 1.0001 for ms in mine]
    low, high = median_interval(mine)
    assert high / low > 1.01
    assert compared(mine, theirs).interval == pytest.approx((1.0001, 1.0001))


def test_a_rule_without_its_margin_would_call_equals_different() -> None:
    """What the margin is for: the luck of a process is seen by any interval that is narrow enough."""
    seen = 0
    for number in range(COMPARISONS):
        world = World(random.Random(number), noise=0.001)
        contestants = [Simulated("yours", 1.0, world), Simulated("reference", 1.0, world)]
        low, high = _interval(race(contestants, sets=2, rule=Rule()))
        seen += low > 1 or high < 1
    assert seen > COMPARISONS // 10


def _interval(held: Race) -> tuple[float, float]:
    return compared(held.ms("yours"), held.ms("reference")).interval


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1 + MARGIN, 1.5, "tie"),
        (1.0101, 1.5, "faster"),
        (0.5, 0.99, "slower"),
        (0.5, 1 / (1 + MARGIN), "tie"),
        (0.5, 2.0, "tie"),
        (0.995, 1.005, "tie"),
    ],
)
def test_only_an_interval_that_lies_beyond_the_margin_decides(low: float, high: float, said: str) -> None:
    assert decide(low, high) == said


def test_what_events_do_not_resolve_decides_nothing() -> None:
    assert compared([0.003776] * 20, [0.003552] * 20).decision == "tie"
    assert compared([0.003776] * 20, [0.0043] * 20).decision == "faster"
    assert compared([0.02] * 20, [0.02049] * 20).decision == "tie", "the margin is of the kernel that is judged"
    assert margin_at(0.1) == margin_at(10.0) == MARGIN


def test_eleven_turns_are_the_fewest_that_know_an_interval_of_its_level() -> None:
    assert 2.0 ** (1 - 11) <= 1 - LEVEL < 2.0 ** (1 - 10)


def test_a_comparison_has_the_interval_of_that_level() -> None:
    """The third of twenty on either side; at 95 % it is the sixth."""
    others = [1.0 + turn / 100 for turn in range(20)]
    assert compared([1.0] * 20, others).interval == (others[2], others[-3])


def test_turns_that_are_no_pairs_are_no_comparison() -> None:
    with pytest.raises(ValueError, match="no turns"):
        compared([], [])
    with pytest.raises(ValueError, match="longer"):
        compared([1.0], [1.0, 2.0])
