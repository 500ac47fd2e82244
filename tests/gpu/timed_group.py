"""Parts that ask for the same thing, timed in one race with PyTorch and with what the GPU gives at best."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

import torch

from grader.catalog import Located
from grader.compare import compare_values, reference_results, scale_results
from grader.cuda.child import Child, ReplayFailed
from grader.cuda.contest import Contestant, Race, ReplayContestant, Rule, race
from grader.cuda.driver import DeviceFacts
from grader.cuda.input_sets import InputSets, secret_seeds
from grader.cuda.limits import bound_of, past_the_peak
from grader.cuda.pytorch_rival import COMMAND, WITH_COMPILER, pytorch_of
from grader.cuda.rivals import Later, ceiling_beside, solution_of
from grader.cuda.sensors import Sensors
from grader.cuda.session import RealGPU
from grader.cuda.standing import rival_of
from grader.cuda.timing import clocks_disagree, gigabytes_per_second, median_interval, teraflops_per_second
from grader.inputs import torch_type
from grader.puzzle import Work, call_by_name, element_count
from grader.tools import default_tools

RULE = Rule(warm_up=1, fewest_rounds=5, least_rounds=20, most_rounds=30, seconds=1.0)
PLACES = 256  # of each result, in the last lap, that are judged
RIVALS = ("pytorch", "compiled", "ceiling")

Row = dict[str, Any]
Looks = dict[str, tuple[list[int], torch.Tensor]]


def groups_of(located: Sequence[Located]) -> list[list[Located]]:
    """Parts that ask for the same, in the order of the first of each."""
    found: list[list[Located]] = []
    for one in located:
        group = next((group for group in found if _asked(group[0]) == _asked(one)), None)
        if group is None:
            found.append([one])
        else:
            group.append(one)
    return found


def _asked(one: Located) -> tuple[Any, ...]:
    return one.part.params, one.part.bench, one.part.in_pytorch


class Kept:
    """A process of PyTorch that stays from race to race; where it has failed, another one takes its place."""

    def __init__(self, *options: str) -> None:
        self._command = (*COMMAND, *options)
        self._child: Child | None = Child(self._command)

    def ask(self, message: Mapping[str, Any], *, seconds: float) -> Row:
        self._child = self._child or Child(self._command)
        try:
            return self._child.ask(message, seconds=seconds)
        except ReplayFailed:
            self._child = None
            raise

    def close(self) -> None:
        """Nothing: a race is over, and the next one wants it."""

    def end(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


class PyTorch:
    """Its three processes. They import it at once, and touch the GPU when they are told what to run."""

    def __init__(self) -> None:
        self.eager, self.compiled, self.product = Kept(), Kept(WITH_COMPILER), Kept()

    def end(self) -> None:
        for one in (self.eager, self.compiled, self.product):
            one.end()


@dataclass
class Group:
    """Some parts in one race: `prepare`, `race` with nothing beside it, `finish`. Then there are `rows` and `problems`.

    `left_out` says why somebody has no laps, `hung` that a solution's first has not come to an end.
    """

    parts: Sequence[Located]
    device: DeviceFacts
    pytorch: PyTorch
    compiled: bool
    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    hung: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    _running: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _contestants: list[Contestant] = field(default_factory=list)
    _held: Race = field(default_factory=Race)
    _looks: dict[str, Looks] = field(default_factory=dict)

    @property
    def labels(self) -> str:
        return ", ".join(one.label for one in self.parts)

    def prepare(self) -> None:
        """Draws the inputs, and has each contestant run once: all at the same time, as loading is what takes long."""
        first = self.parts[0].part
        gpus = [self._running.enter_context(RealGPU(one.part)) for one in self.parts]
        with self._taking("drawing"):
            self._sets = self._running.enter_context(InputSets(first, first.bench, secret_seeds(1)))
        made = [self._running.enter_context(one) for one in self._all(gpus)]
        with self._taking("loading"), ThreadPoolExecutor(len(made)) as pool:
            ran = list(pool.map(self._first_lap, made))
        self._contestants = [one for one, well in zip(made, ran, strict=True) if well]

    def race(self) -> None:
        """Laps in turn, and a look at what the last of each solution has left."""
        sensors = Sensors(self.device.uuid)
        with self._taking("racing"):
            self._held = race(self._contestants, sets=1, rule=RULE, sensors=sensors, pause=lambda _: time.sleep(0.1))
        self.left_out |= self._held.left_out
        solutions = [one for one in self._contestants if isinstance(one, Later) and one.name not in RIVALS]
        self._looks = {one.name: _looks(one, self._sets) for one in solutions if one.name in self._held.laps}

    def finish(self) -> None:
        """Ends all processes, and judges."""
        with self._taking("ending"), ThreadPoolExecutor(len(self._contestants) or 1) as pool:
            list(pool.map(lambda one: one.close(), self._contestants))
        with self._taking("judging"):
            judged = _judged(self._sets, self._looks) if self._looks else {}
        raced = [one for one in self.parts if one.label in self._held.laps]
        self.rows = [self._row(one) | judged.get(one.label, {}) for one in raced]
        self.problems += self._seen()

    def close(self) -> None:
        self._running.close()

    @contextlib.contextmanager
    def _taking(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - begun, 1)

    def _all(self, gpus: Sequence[RealGPU]) -> Iterator[Contestant]:
        (first, *_), tools, pytorch = self.parts, default_tools(), self.pytorch
        part, case, sets = first.part, first.part.bench, self._sets
        for one, gpu in zip(self.parts, gpus, strict=True):
            yield solution_of(one, sets, tools, name=one.label, gpu=gpu)
        if part.in_pytorch is not None:
            yield pytorch_of(first, case, sets, child=pytorch.eager)
        if part.in_pytorch is not None and self.compiled:
            yield pytorch_of(first, case, sets, compiled=True, child=pytorch.compiled)
        yield ceiling_beside(part, case, sets=len(sets), device=self.device, tools=tools, child=pytorch.product)

    def _first_lap(self, one: Contestant) -> bool:
        try:
            one.lap(0)
        except ReplayFailed as failed:
            one.close()
            self.left_out[one.name] = str(failed)
            self.hung |= failed.kind == "hang" and one.name not in RIVALS
            return False
        return True

    def _row(self, one: Located) -> Row:
        part, case, mine = one.part, one.part.bench, self._held.ms(one.label)
        work: Work = call_by_name(part.work, case.params)
        ms, whats = median(mine), {each.name: each.what for each in self._contestants}
        row: Row = {"label": one.label, "part": part.name, "params": dict(case.params), "ms": ms}
        row |= {"interval_ms": list(median_interval(mine)), "runs": len(mine)}
        row["gb_per_s"] = round(gigabytes_per_second(work.bytes, ms), 1)
        row["tflop_per_s"] = round(teraflops_per_second(work.flops, ms), 3)
        row["bound"] = bound_of(part, case, self.device)
        there = [name for name in RIVALS if name in self._held.laps]
        row["rivals"] = [asdict(rival_of(name, whats[name], mine, self._held.ms(name))) for name in there]
        row["left_out"] = {name: said for name, said in self.left_out.items() if name in RIVALS}
        return row | {"sensors": self._held.sensors, "held_down_by": self._held.held_down_by}

    def _seen(self) -> Iterator[str]:
        """What is not as it must be."""
        part, case = self.parts[0].part, self.parts[0].part.bench
        yield from (f"{one.label}: {self.left_out[one.label]}" for one in self.parts if one.label in self.left_out)
        for name in self._held.laps:
            if refused := past_the_peak(part, case, median(self._held.ms(name)), self.device):
                yield f"{self.parts[0].label}, {name}: {refused}"
        for row in self.rows:
            laps = self._held.laps[row["label"]]
            if clocks_disagree(laps):
                host = median(lap.host_ms for lap in laps)
                yield f"{row['label']}: {row['ms']:.4g} ms on the device, {host:.4g} ms by the host's clock"
            if row.get("wrong", 0):
                yield f"{row['label']}: {row['wrong']} wrong of {row['judged']}"


def _looks(one: Later, sets: InputSets) -> Looks:
    """Some values of each result, as the last lap has left them: places, and what lies there."""
    made, params = one.made, sets.case.params
    found: Looks = {}
    assert isinstance(made, ReplayContestant)
    for buffer in sets.part.results:
        count, dtype = element_count(buffer, params), torch_type(buffer, params)
        places = [secrets.randbelow(count) for _ in range(PLACES)]
        raw = bytearray(made.gpu.peek(buffer.name, places, dtype.itemsize))
        found[buffer.name] = places, torch.frombuffer(raw, dtype=dtype)
    return found


def _judged(sets: InputSets, looks: Mapping[str, Looks]) -> dict[str, Row]:
    """How many values were judged, and how many are wrong, by solution; on PyTorch's GPU, where there is one."""
    part, case = sets.part, sets.case
    try:
        inputs = {name: tensor.to("cuda" if torch.cuda.is_available() else "cpu") for name, tensor in sets[0].items()}
        expected = reference_results(part, case, inputs)
        scales = scale_results(part, case, inputs) or expected
        return {name: _judged_one(sets, seen, expected, scales) for name, seen in looks.items()}
    except RuntimeError:  # no room, or a reference that knows the CPU only
        return {}
    finally:
        torch.cuda.empty_cache()


def _judged_one(
    sets: InputSets, seen: Looks, expected: Mapping[str, torch.Tensor], scales: Mapping[str, torch.Tensor]
) -> Row:
    row: Row = {"judged": 0, "wrong": 0}
    for buffer in sets.part.results:
        places, values = seen[buffer.name]
        right, scale = (each[buffer.name].flatten()[places].double().cpu() for each in (expected, scales))
        row["judged"] += len(places)
        row["wrong"] += compare_values(sets.part, sets.case, buffer, places, values.double(), right, scale).count
    return row
