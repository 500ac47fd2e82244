"""What an H200 made of the cases of tests/instructions: results/h200/instructions.npz, written and read.

A word for which a case expects very bits, and has got them, is not kept: it stands in the case. All others are, and the
digest of all words of a case shows that nothing was lost. A case that was changed since has another key, and counts as
not measured.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.instructions.case import Case, Row, ptx

FILE = Path(__file__).parent.parent.parent / "results" / "h200" / "instructions.npz"
Words = NDArray[np.uint64]


def key(case: Case) -> str:
    """The same for the same kernel on the same operands."""
    content = ptx(case) + repr((case.rows, case.words, case.block))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _digest(words: Words) -> str:
    return hashlib.sha256(words.astype("<u8").tobytes()).hexdigest()[:16]


@functools.cache
def promised(case: Case) -> Sequence[Row]:
    """What PTX says of it: worked out with fractions once, which takes longer than anything else here."""
    return case.expected()


def _expected(case: Case) -> Words:
    """The bits that the case expects, 0 where it expects none."""
    rows = [[word if isinstance(word, int) else 0 for word in row] for row in promised(case)]
    return np.array(rows, np.uint64).reshape(len(case.rows), case.words)


def _is_open(case: Case) -> NDArray[np.bool_]:
    rows = [[not isinstance(word, int) for word in row] for row in promised(case)]
    return np.array(rows, bool).reshape(len(case.rows), case.words)


def packed(
    about: Mapping[str, str], cases: Sequence[Case], measured: Mapping[str, Words], failed: Mapping[str, str]
) -> dict[str, NDArray[Any]]:
    """The arrays of the file. `measured`: the words by the cases' names, `failed`: why others have none."""
    index: dict[str, list[object]] = {}
    places: list[NDArray[np.uint32]] = []
    words: list[Words] = []
    for case in cases:
        if case.name not in measured:
            continue
        got = measured[case.name]
        kept = np.flatnonzero(_is_open(case) | (got != _expected(case)))
        index[case.name] = [key(case), _digest(got), len(kept)]
        places.append(np.diff(kept, prepend=0).astype(np.uint32))
        words.append(got.reshape(-1)[kept])
    results = sum(measured[name].size for name in index)
    head = json.dumps({"about": about, "results": results, "cases": index, "failed": failed})
    return {"head": np.array(head), "places": np.concatenate(places), "words": np.concatenate(words)}


class Record:
    """The file. `about`: device and tools, `failed`: cases that could not be measured, and why; `count` and `results`:
    how many cases were, and how many words they left.
    """

    def __init__(self, file: Path = FILE) -> None:
        with np.load(file) as archive:
            head = json.loads(str(archive["head"]))
            self._places, self._words = archive["places"], archive["words"]
        self.about: dict[str, str] = head["about"]
        self.failed: dict[str, str] = head["failed"]
        self._cases: dict[str, tuple[str, str, int, int]] = {}
        self.count, self.results = len(head["cases"]), int(head["results"])
        start = 0
        for name, (key_then, digest, count) in head["cases"].items():
            self._cases[name] = (key_then, digest, start, start + count)
            start += count

    def has(self, case: Case) -> bool:
        """Whether this very case was measured."""
        return case.name in self._cases and self._cases[case.name][0] == key(case)

    def words(self, case: Case) -> Words:
        """What the threads left, (threads, words). Raises ValueError where the case expects other bits than it did."""
        _, digest, start, stop = self._cases[case.name]
        made = _expected(case)
        made[_is_open(case)] = 0
        flat = made.reshape(-1)
        flat[np.cumsum(self._places[start:stop], dtype=np.int64)] = self._words[start:stop]
        if _digest(made) != digest:
            raise ValueError(f"{case.name}: the GPU gave other bits than the case expects")
        return made


@functools.cache
def record() -> Record:
    return Record()
