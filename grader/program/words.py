"""What a run showed → findings, in the words of a check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from grader.explain import Observation, Setting, element, sentence
from grader.explain.names import variable_name
from grader.findings import in_words
from grader.program.build import Program
from grader.program.log import Allocation, Event
from grader.program.run import Finished
from grader.program.sources import Destination, destinations, looks_at_result
from grader.record.device import device_for
from grader.record.limits import cooperative_refusal, judge
from grader.shared_arrays import shared_place
from grader.simt.early_return import without_early_returns
from grader.simt.findings import Budgets, DeviceFinding, device_findings
from grader.simt.shared_variables import with_variables
from grader.verdict import Finding

_BUDGETS = Budgets(warp=1 << 28, launch=0)  # as in grader/runtime/software/machine.cpp
_OF_THE_HOST = 0x5000_0000_0000  # where Linux puts programs, heaps and stacks; what CUDA gives lies below
_FREED = ("freed", "freed_twice")  # reasons for which a call failed
_OF_VARIABLES = range(0x6000_0000_0000, 0x7000_0000_0000)


def program_findings(program: Program, finished: Finished, shown: str) -> list[Finding]:
    """All that the run showed, each once, in the order it happened; `shown` is the file as the user knows it."""
    source = program.source.read_text(encoding="utf-8", errors="replace")
    return _Words(program, finished, source, shown).findings()


@dataclass(frozen=True)
class _Place:
    """A variable, and the element of it that is meant; `text` where the source writes it otherwise than `name[index]`.

    `of_module`: a variable of the module, whose elements are not known.
    """

    name: str | None
    index: int | None = None
    type: str | None = ""
    elements: int | None = None
    text: str | None = None
    of_module: bool = False


@dataclass
class _Words:
    program: Program
    finished: Finished
    source: str
    shown: str
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def findings(self) -> list[Finding]:
        found: list[Finding] = []
        for event in self.finished.log.events:
            for finding in self._of_event(event):
                self._add(found, finding)
        if not found and self.finished.exit_code != 0:
            found = [finding for event in self.finished.log.events for finding in self._of_unwritten(event)]
        return found

    def _add(self, found: list[Finding], finding: Finding) -> None:
        """A launch in a loop shows the same again and again: it is told once, as often as it happened."""
        key = (finding.kind, finding.line, finding.other_line, finding.kernel, finding.buffer)
        if key in self._known:
            at = self._known[key]
            found[at] = replace(found[at], count=found[at].count + finding.count)
        else:
            self._known[key] = len(found)
            found.append(finding)

    def _of_event(self, event: Event) -> Iterator[Finding]:
        match event.kind:
            case "report":
                yield from self._of_report(event)
            case "refused":
                yield from self._of_refused(event)
            case "failed":
                yield from self._of_failed(event)
            case "unsupported":
                call = event.fields["function"]
                yield self._finding(Observation("unsupported", event.line, facts={"call": call}))
            case "refused_by_machine":
                facts = {"variant": "refused", "reason": event.fields["reason"]}
                yield self._finding(Observation("unsupported", event.line, event.fields["kernel"], facts=facts))
            case "crash":
                name = self._name(event.fields["allocation"])
                facts = {"variant": "program", "buffer": name}
                yield self._finding(Observation("host_crash", event.line, facts=facts))

    # ---- kernels -----------------------------------------------------------------------------------------------------

    def _of_report(self, event: Event) -> Iterator[Finding]:
        report: dict[str, Any] = event.fields["report"]
        raw = without_early_returns(report["findings"], self.source)
        sizes = {each["region"]: size for each in raw if (size := self._element_bytes(each))}
        found = device_findings([report | {"findings": raw}], [event.line], sizes, _BUDGETS)
        for finding in with_variables(found, self.program.lowered):
            yield self._of_kernel(report, finding)

    def _element_bytes(self, raw: Mapping[str, Any]) -> int | None:
        """Of memory that the program asked for, the bytes of an element: by the source, else as it was accessed."""
        number = _number(raw["region"])
        if number is None:
            return None
        known = self._destinations.get(number)
        return known.bytes if known is not None and known.bytes else raw["bytes"] or None

    def _of_kernel(self, report: Mapping[str, Any], finding: DeviceFinding) -> Finding:
        facts = {**finding.facts, **self._elsewhere(finding)}
        place = self._place(finding, facts)
        if place.text is not None:
            facts["element"] = place.text
        if place.of_module:
            facts["region"] = place.name
        index = None if "memory" in facts else place.index
        where = (finding.line, finding.kernel, finding.block, finding.thread)
        seen = Observation(finding.kind, *where, place.name, index, finding.other_line, finding.count, facts)
        known = {place.name: place} if place.name is not None and place.elements is not None else {}
        setting = Setting(
            entry="main",
            grid=_triple(report["grid"]),
            block=_triple(report["block"]),
            types={name: each.type or "any" for name, each in known.items()},
            elements={name: each.elements or 0 for name, each in known.items()},
        )
        freed = facts.get("memory") == "freed"
        about = facts.get("allocation", self._allocation(finding.buffer))
        return self._finding(seen, setting, self._marks_of(about, freed=freed))

    def _place(self, finding: DeviceFinding, facts: Mapping[str, Any]) -> _Place:
        """The variable in which it was seen, as the source names it."""
        if "memory" in facts:
            return _Place(facts.get("buffer"))
        if "variable" in finding.facts:
            return self._in_shared_memory(finding)
        allocation = self._allocation(finding.buffer)
        if allocation is not None:
            destination = self._destinations[allocation.id]
            size = destination.bytes or finding.facts.get("bytes", 1)
            return _Place(destination.name, finding.index, destination.type, allocation.size // size)
        if finding.facts.get("space") != "shared" and finding.facts.get("region"):
            return _Place(variable_name(finding.facts["region"]), of_module=True)
        return _Place(finding.buffer, finding.index)

    def _in_shared_memory(self, finding: DeviceFinding) -> _Place:
        name, size = variable_name(finding.facts["variable"]), finding.facts["variable_bytes"]
        place = shared_place(self.source, name, finding.facts["at"], size)
        if place.text is None:
            return _Place(name)
        return _Place(place.name, place.index, place.type, place.elements, place.text)

    def _elsewhere(self, finding: DeviceFinding) -> dict[str, Any]:
        """What lay at an address outside everything that is there: something freed, or memory of the host."""
        if not finding.kind.startswith("out_of_bounds") or finding.facts.get("space") in ("shared", "local"):
            return {}
        address = finding.facts["address"]
        near = self.finished.log.near(address)
        if near is not None and near.freed is not None:
            return {"memory": "freed", "allocation": near, **self._facts_of(near)}
        if address >= _OF_THE_HOST and address not in _OF_VARIABLES:
            return {"memory": "host"}
        return {}

    def _of_unwritten(self, event: Event) -> Iterator[Finding]:
        """What the host fetched and nobody had written: the likely reason where a program finds its results wrong."""
        if event.kind != "unwritten" or event.fields["allocation"] not in self._destinations:
            return
        allocation = self.finished.log.allocations[event.fields["allocation"]]
        destination = self._destinations[allocation.id]
        size = destination.bytes or 1
        first, end = event.fields["offset"], event.fields["offset"] + event.fields["bytes"]
        parts = [(max(low, first), min(high + 1, end)) for low, high in event.fields["unwritten"]["ranges"]]
        missing = [each for low, high in parts for each in range(low // size, -(-high // size))]
        if not missing:
            return
        elements, index = (end - first) // size, missing[0] - first // size
        tail = index + len(missing) == elements and index > 0
        facts = {"variant": "all" if len(missing) == elements else "tail" if tail and len(missing) > 1 else "some"}
        name = destination.name
        facts["before"] = element(name, missing[0] - 1)
        seen = Observation("never_written", event.line, buffer=name, index=missing[0], count=len(missing), facts=facts)
        setting = Setting(entry="main", types={name: destination.type or "any"}, elements={name: elements})
        marks = self._marks_of(allocation, freed=False)
        fetched = [(event.line, sentence("program", "fetched"))] if event.line else []
        yield self._finding(seen, setting, [*marks, *fetched])

    # ---- calls -------------------------------------------------------------------------------------------------------

    def _of_refused(self, event: Event) -> Iterator[Finding]:
        """A launch that CUDA refused, if the program never asked."""
        fields = event.fields
        dropped = fields["function"] == "a launch" or not looks_at_result(self.source, event.line, fields["function"])
        if event.looked or not dropped:
            return
        reason = self._refusal(fields)
        facts = {"variant": "program_launch", "error": fields["name"], "reason": reason}
        yield self._finding(Observation("ignored_error", event.line, fields["kernel"], facts=facts))

    def _refusal(self, fields: Mapping[str, Any]) -> str:
        refusal = judge(
            self.program.kernels[fields["kernel"]],
            device_for(self.program.target),
            grid=_triple(fields["grid"]),
            block=_triple(fields["block"]),
            shared=fields["shared"],
            max_dynamic_shared=fields["max_dynamic_shared"],
        )
        return (refusal or cooperative_refusal()).reason

    def _of_failed(self, event: Event) -> Iterator[Finding]:
        """A call that failed: told where nobody looked, and, as the likely reason, where the program gave up."""
        fields = event.fields
        ignored = not event.looked and not looks_at_result(self.source, event.line, fields["function"])
        last = [other for other in self.finished.log.events if other.kind == "failed"][-1]
        if not ignored and (self.finished.exit_code == 0 or event is not last):
            return
        about = self._facts_of(self.finished.log.allocations.get(fields["allocation"]))
        reason = sentence("program", "reason", fields["why"], facts={"bytes": f"{fields['bytes']:,}", **about})
        facts = {"call": fields["function"], "error": fields["name"], "reason": reason}
        facts["variant"] = "program" if reason else "program_bare"
        kind = "ignored_error" if ignored else "launch_error"
        allocation = self.finished.log.allocations.get(fields["allocation"])
        marks = self._marks_of(allocation, freed=fields["why"] in _FREED)
        yield self._finding(Observation(kind, event.line, facts=facts), marks=marks)

    # ---- memory ------------------------------------------------------------------------------------------------------

    @cached_property
    def _destinations(self) -> dict[int, Destination]:
        return destinations(self.source, self.finished.log.allocations)

    def _allocation(self, region: str | None) -> Allocation | None:
        number = _number(region or "")
        return self.finished.log.allocations.get(number) if number is not None else None

    def _name(self, number: int) -> str:
        return self._destinations[number].name if number in self._destinations else "memory of the GPU"

    def _facts_of(self, allocation: Allocation | None) -> dict[str, Any]:
        if allocation is None:
            return {"buffer": "memory"}
        freed = sentence("program", "freed_on", facts={"line": allocation.freed}) if allocation.freed else ""
        facts = {"buffer": self._name(allocation.id), "size": f"{allocation.size:,}", "function": allocation.function}
        return facts | {"freed_on": freed}

    def _marks_of(self, allocation: Allocation | None, *, freed: bool) -> list[tuple[int, str]]:
        """Where the memory in question came from, and where it went if that matters."""
        if allocation is None:
            return []
        facts = {"buffer": self._name(allocation.id), "bytes": f"{allocation.size:,}"}
        places = [("allocated", allocation.line), *([("freed", allocation.freed)] if freed else [])]
        return [(line, sentence("program", key, facts=facts)) for key, line in places if line]

    def _finding(
        self, seen: Observation, setting: Setting | None = None, marks: Sequence[tuple[int, str]] = ()
    ) -> Finding:
        finding = in_words(seen, setting or Setting(entry="main"), self.shown)
        return replace(finding, marks=tuple(sorted([*finding.marks, *marks], key=lambda mark: mark[0])))


def _number(region: str) -> int | None:
    return int(region[1:]) if region.startswith("#") else None


def _triple(values: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = values
    return x, y, z
