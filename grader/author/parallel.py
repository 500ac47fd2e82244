"""Mutants judged by several processes at once, each on a core of its own: a full run takes minutes instead of hours.

A mutant's part holds functions, which no process can send to another. So each process reads the puzzles itself, and is
told a part's label and which of its mutants is meant.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.author.mutants import REASONS, Fate, Judged, Mutant, Reasons, judge_mutants, mutants_of
from grader.catalog import Catalog, load_catalog
from grader.tools import Tools, TorchLoading, default_tools

if TYPE_CHECKING:
    from multiprocessing.queues import Queue


@dataclass(frozen=True)
class _Worker:
    catalog: Catalog
    reasons: Reasons
    tools: Tools
    loading: TorchLoading
    seed: int

    def judge(self, label: str, key: tuple[str, str, str, int]) -> Judged:
        part = self.catalog.resolve(label)[1]
        assert part is not None  # a label names a part
        mutant = next(mutant for mutant in mutants_of(part) if mutant.key == key)
        return next(iter(judge_mutants([mutant], self.reasons, self.tools, self.loading, self.seed)))


def judge_with(jobs: int, mutants: Sequence[Mutant], root: Path, seed: int) -> Iterator[Judged]:
    """The same as `judge_mutants`, in the same order, by `jobs` processes."""
    context = multiprocessing.get_context("spawn")
    cores: Queue[int] = context.Queue()
    allowed = sorted(os.sched_getaffinity(0))
    for number in range(jobs):
        cores.put(allowed[number % len(allowed)])
    with ProcessPoolExecutor(jobs, context, _take_core, (cores,)) as pool:
        asked = [(root, seed, mutant.part.label, mutant.key) for mutant in mutants]
        for mutant, (fate, note) in zip(mutants, pool.map(_judged, asked), strict=True):
            yield Judged(mutant, Fate(fate), note)


def _take_core(cores: Queue[int]) -> None:
    os.sched_setaffinity(0, {cores.get()})


@functools.cache
def _worker(root: Path, seed: int) -> _Worker:
    """One a process: PyTorch is loaded once."""
    return _Worker(load_catalog(root), Reasons(root / REASONS), default_tools(), TorchLoading(), seed)


def _judged(asked: tuple[Path, int, str, tuple[str, str, str, int]]) -> tuple[str, str]:
    root, seed, label, key = asked
    judged = _worker(root, seed).judge(label, key)
    return str(judged.fate), judged.note
