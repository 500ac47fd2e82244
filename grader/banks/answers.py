"""Judges an entry that is host code alone and fills in answers: which are wrong, and why."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch

from grader.compare import compare
from grader.explain import Observation, sentence
from grader.inputs import torch_type
from grader.puzzle import Buffer, Case, Part, element_count
from grader.trial import Ran, Trial
from grader.verdict import Stage

if TYPE_CHECKING:
    from grader.banks.reads import Read
    from grader.build import Build
    from grader.record import Recording
    from grader.tools import Tools

_POISONS = (0xA5, 0x5A)  # what the recorder fills host memory with before the first call and before the second
_MOST_NAMED = 4  # lanes


def trial_of(part: Part, group: str, case: Case, built: Build, recording: Recording, seed: int) -> Trial:
    """A recorded case, ready to run: of kernels, or of an entry that has given its answers already."""
    if part.is_host:
        return AnswerTrial(part, group, case, built, recording.plan, seed, host=recording.host)
    return Trial(part, group, case, built, recording.plan, seed)


@dataclass(frozen=True)
class AnswerTrial(Trial):
    """`host` is what the entry left in host memory in each of two calls; there is nothing to run."""

    host: Sequence[bytes] = field(kw_only=True)

    def run(self, tools: Tools) -> Ran:  # noqa: ARG002 - what the answers are about has been run by whoever knows them
        """Every answer that was not given, then every one that is wrong, each with its reason."""
        begun = time.perf_counter()
        (buffer,) = self.part.results
        first, second = (self._answers(buffer, left) for left in self.host)
        compared = compare(self.part, self.case, {}, {buffer.name: first}).buffers[0]
        unset = [index for index in range(len(first)) if _is_unset(first.itemsize, index, self.host)]
        seen = [_unset(buffer, unset)] if unset else []
        reads = self.part.answers() if self.part.answers is not None else ()
        text = self.build.source.read_text(encoding="utf-8", errors="replace")
        for index in (int(index) for index in compared.wrong.nonzero()):
            if index not in unset:
                seen.append(_wrong(buffer, index, int(first[index]), reads, text))
        if not seen and not torch.equal(first, second):
            seen.append(Observation("non_deterministic", buffer=buffer.name, facts={"variant": "second_run"}))
        result = replace(self.result(None), passed=not seen, checked=len(first), wrong=compared.count)
        return Ran(result, seen, Stage.compare if seen else Stage.done, seconds=time.perf_counter() - begun)

    def _answers(self, buffer: Buffer, left: bytes) -> torch.Tensor:
        count = element_count(buffer, self.case.params)
        return torch.frombuffer(bytearray(left), dtype=torch_type(buffer, self.case.params), count=count)


def _is_unset(size: int, index: int, host: Sequence[bytes]) -> bool:
    """Whether the element, of `size` bytes, still holds what was there before each of the calls."""
    at = index * size
    return all(left[at : at + size] == bytes([poison] * size) for left, poison in zip(host, _POISONS, strict=True))


def _unset(buffer: Buffer, indices: Sequence[int]) -> Observation:
    """All answers that were not given; there is at least one."""
    facts = {"variant": "answer" if len(indices) == 1 else "answers", "why": "answer"}
    return Observation("never_written", buffer=buffer.name, index=indices[0], count=len(indices), facts=facts)


def _wrong(buffer: Buffer, index: int, got: int, reads: Sequence[Read], text: str) -> Observation:
    """One wrong answer: what the load does that it is about, and where its lanes meet; never the right number."""
    facts: dict[str, object] = {"variant": "answer", "got": str(got)}
    if reads:
        read = reads[index]
        bank, lanes = read.banks.fullest()
        why = "answer_meet" if len(lanes) > 1 else "answer_same" if read.banks.shares_words else "answer_apart"
        facts |= {"what": read.what, "why": why, "bank": bank, "lanes_named": _named(lanes), "banks": read.banks}
    line = next(_lines_of(buffer.name, index, text), None)
    return Observation("wrong_values", line=line, buffer=buffer.name, index=index, facts=facts)


def _named(lanes: Sequence[int]) -> str:
    if len(lanes) <= _MOST_NAMED:
        facts = {"first": ", ".join(map(str, lanes[:-1])), "last": lanes[-1]}
        return sentence("words", "lanes_and", facts=facts)
    return sentence("words", "lanes_so_on", facts={"first": ", ".join(map(str, lanes[: _MOST_NAMED - 1]))})


def _lines_of(name: str, index: int, text: str) -> Iterator[int]:
    """Lines that set this element by its number."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(rf"\b{re.escape(name)}\s*\[\s*{index}\s*\]\s*=", line):
            yield number
