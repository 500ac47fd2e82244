"""Races: who runs when and on what, what happens to laps in which the GPU was held back, and to rivals that fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from grader.closing import Closing
from grader.cuda.child import ReplayFailed
from grader.cuda.contest import Race, Rule, race
from grader.cuda.timing import Lap, clocks_disagree

RULE = Rule(warm_up=2, fewest_rounds=5, least_rounds=10, most_rounds=40, seconds=100.0)


@dataclass
class Scripted(Closing):
    """A contestant whose laps take what a function of their number says, and who writes down when they are."""

    name: str
    log: list[tuple[str, int]]
    ms: Callable[[int], float] = lambda _lap: 1.0
    fails_at: int | None = None
    is_full: bool = False
    what: str = ""
    laps: int = 0
    closed: bool = False

    def lap(self, inputs: int) -> Lap:
        self.laps += 1
        if self.laps == self.fails_at:
            raise ReplayFailed("fault", f"{self.name} failed.", is_full=self.is_full)
        self.log.append((self.name, inputs))
        return Lap(self.ms(self.laps), self.ms(self.laps))

    def close(self) -> None:
        self.closed = True


@dataclass
class Thermometer:
    """Sensors that hold the clocks down in the rounds of these numbers, looked at once a round."""

    hot: set[int]
    looks: int = 0
    reads: list[int] = field(default_factory=list)

    def held_down(self) -> list[str]:
        self.looks += 1
        return ["temperature"] if self.looks in self.hot else []

    def read(self) -> dict[str, float | list[str]]:
        self.reads.append(self.looks)
        return {"celsius": 60.0}


def run(contestants: list[Scripted], rule: Rule = RULE, **others: object) -> Race:
    return race(contestants, sets=2, rule=rule, pause=lambda _seconds: None, **others)  # type: ignore[arg-type]


# ---- turns ----------------------------------------------------------------------------------------------------------


def test_contestants_take_turns_the_learner_first_all_on_one_set_of_inputs_a_round() -> None:
    log: list[tuple[str, int]] = []
    names = ["yours", "reference", "pytorch"]
    held = run([Scripted(name, log) for name in names])
    rounds = [log[at : at + 3] for at in range(0, len(log), 3)]
    assert rounds[0][0][0] == "yours"  # who comes to the GPU first has room on it; then all others
    assert all([name for name, _ in turn] == names for turn in rounds[1:])
    assert all(len({inputs for _, inputs in turn}) == 1 for turn in rounds)
    assert [turn[0][1] for turn in rounds[1 + RULE.warm_up :]] == held.sets


def test_chance_decides_which_inputs_a_round_has() -> None:
    sets = [run([Scripted("yours", [])]).sets for _ in range(8)]
    assert all({0, 1} >= set(one) for one in sets)
    assert len(set(map(tuple, sets))) > 1


def test_laps_before_it_is_warm_do_not_count() -> None:
    held = run([Scripted("yours", [], ms=lambda lap: 9.0 if lap <= 1 + RULE.warm_up else 1.0)])
    assert set(held.ms("yours")) == {1.0}


def test_a_race_ends_when_it_knows_enough_or_nobody_waits_longer() -> None:
    assert len(run([Scripted("yours", [])]).sets) == RULE.least_rounds
    spread = run([Scripted("yours", [], ms=lambda lap: 1.0 + lap % 5)])
    assert len(spread.sets) == RULE.most_rounds
    seconds = iter(range(10_000))
    late = run([Scripted("yours", [], ms=lambda lap: 1.0 + lap % 5)], clock=lambda: float(20 * next(seconds)))
    assert len(late.sets) == RULE.fewest_rounds


def test_a_race_goes_on_until_each_comparison_is_narrow_too() -> None:
    log: list[tuple[str, int]] = []
    held = run([Scripted("yours", log), Scripted("reference", log, ms=lambda lap: 1.0 + lap % 5)])
    assert len(held.sets) == RULE.most_rounds


def test_looking_at_results_takes_none_of_the_seconds_that_are_for_laps() -> None:
    now = [0.0]

    def look(_set: int, _last: bool) -> None:
        now[0] += RULE.seconds

    spread = Scripted("yours", [], ms=lambda lap: 1.0 + lap % 5)
    assert len(run([spread], after_lap=look, clock=lambda: now[0]).sets) == RULE.most_rounds


def test_the_learners_results_can_be_read_before_anybody_else_runs() -> None:
    log: list[tuple[str, int]] = []
    seen: list[tuple[int, bool]] = []

    def after(number: int, last: bool) -> None:
        assert log[-1] == ("yours", number)
        seen.append((number, last))

    held = run([Scripted("yours", log), Scripted("reference", log)], after_lap=after)
    assert [number for number, _ in seen] == held.sets
    assert [last for _, last in seen] == [False] * (len(seen) - 1) + [True]


# ---- a GPU that is held back ----------------------------------------------------------------------------------------


def test_a_round_in_which_the_clocks_were_held_down_is_taken_again() -> None:
    pauses: list[float] = []
    log: list[tuple[str, int]] = []
    mine = Scripted("yours", log, ms=lambda lap: 5.0 if lap == 1 + RULE.warm_up + 4 else 1.0)
    held = race([mine], sets=2, rule=RULE, sensors=Thermometer({4}), pause=pauses.append)
    assert set(held.ms("yours")) == {1.0}
    assert held.held_down_by == []
    assert len(pauses) == 1


def test_what_pauses_do_not_end_is_said_and_the_laps_stand() -> None:
    pauses: list[float] = []
    held = race([Scripted("yours", [])], sets=2, rule=RULE, sensors=Thermometer(set(range(1000))), pause=pauses.append)
    assert held.held_down_by == ["temperature"]
    assert len(held.sets) == RULE.least_rounds
    assert pauses == sorted(pauses)
    assert sum(pauses) < 5.0


def test_what_held_the_clocks_down_in_a_round_that_stands_is_said_though_it_ended_later() -> None:
    held = run([Scripted("yours", [])], sensors=Thermometer({1, 2, 3, 4}))
    assert held.held_down_by == ["temperature"]


def test_sensors_are_read_while_the_race_is_on() -> None:
    sensors = Thermometer(set())
    assert run([Scripted("yours", [])], sensors=sensors).sensors == {"celsius": 60.0}
    assert sensors.reads == [RULE.fewest_rounds]


# ---- what fails -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lap", [1, 2, 9])
def test_a_rival_that_fails_is_left_out_and_the_others_go_on(lap: int) -> None:
    failing, other = Scripted("reference", [], fails_at=lap), Scripted("pytorch", [])
    held = run([Scripted("yours", []), failing, other])
    assert held.left_out == {"reference": "reference failed."}
    assert failing.closed
    assert held.laps.keys() == {"yours", "pytorch"}
    assert len(held.laps["yours"]) == len(held.laps["pytorch"]) == RULE.least_rounds


def test_only_a_rival_that_found_no_memory_may_have_another_race() -> None:
    broken, large = Scripted("reference", [], fails_at=1), Scripted("pytorch", [], fails_at=1, is_full=True)
    assert run([Scripted("yours", []), broken, large]).full == {"pytorch"}


def test_a_learners_kernel_that_fails_ends_the_race() -> None:
    with pytest.raises(ReplayFailed, match="yours failed"):
        run([Scripted("yours", [], fails_at=9), Scripted("reference", [])])


# ---- two clocks -----------------------------------------------------------------------------------------------------


def test_a_device_that_says_less_or_more_than_the_hosts_clock_is_not_believed() -> None:
    assert not clocks_disagree([Lap(1.0, 1.02)] * 20)
    assert not clocks_disagree([Lap(0.004, 0.015)] * 20)
    assert clocks_disagree([Lap(1.0, 2.0)] * 20)
    assert clocks_disagree([Lap(2.0, 1.0)] * 20)
    assert clocks_disagree([Lap(0.004, 0.1)] * 20)
    assert not clocks_disagree([Lap(10.0, 10.2)] * 20)
    assert clocks_disagree([Lap(10.0, 10.4)] * 20)


def test_a_host_that_was_disturbed_now_and_then_refuses_nobody() -> None:
    assert not clocks_disagree([Lap(1.0, 40.0)] * 9 + [Lap(1.0, 1.01)] * 11)
    assert clocks_disagree([Lap(1.0, 40.0)] * 11 + [Lap(1.0, 1.01)] * 9)
