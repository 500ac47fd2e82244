"""Bundles on a real GPU, by hand: `python -m tests.gpu.bundles [--out FILE]`; some forty seconds.

First, which of the places that bundles are recorded at the driver gives. Then solutions, packed without looking at the
GPU, are timed as a class's files would be: where nvcc is, beside their rivals; and as if it were not, each plan at each
place that is given. Exits 0 only if one place at least is given and everything is timed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from grader.bundle import ready
from grader.bundle.archive import Bundle, BundleWriter
from grader.bundle.format import Bundled, Manifest
from grader.bundle.plans import offsets
from grader.bundle.timing import NotTimed, Timer
from grader.bundle.write import Bundler
from grader.cache import ToolMissing
from grader.catalog import Catalog, Located, load_catalog
from grader.cuda import rivals
from grader.cuda.addresses import PLACES, Place
from grader.cuda.session import RealGPU, ReplayFailed
from grader.leaderboard.names import Player
from grader.submission import Submission
from grader.toolchain import find_toolchain
from grader.verdict import dumps
from tests.gpu.bare import about
from tests.gpu.first_light import ROOT

PARTS = ("1.2", "1.6", "5.3")  # one buffer after the other at an offset; a memset and memory of its own
WITH_RIVALS = PARTS[0]


def main() -> int:
    options = _options()
    catalog = load_catalog(ROOT)
    located = [_located(catalog, label) for label in PARTS]
    found: dict[str, Any] = {
        "about": {"commit": options.commit, **about("tests.gpu.bundles")},
        "places": [],
        "timed": [],
    }

    def keep(name: str, row: dict[str, Any]) -> None:
        found[name].append(row)
        print(json.dumps({key: value for key, value in row.items() if key != "result"}), flush=True)
        if options.out is not None:
            options.out.write_text(json.dumps(json.loads(dumps(found)), indent=1) + "\n", encoding="utf-8")

    for place in PLACES:
        keep("places", _asked(located[1], place))
    with tempfile.TemporaryDirectory() as folder:
        path, target = Path(folder) / "x.zip", _target(located[0])
        _pack(located, target, path)
        given = [Place(row["first"], row["between"]) for row in found["places"] if row["given"]]
        for row in _timed(catalog, path, given):
            keep("timed", row)
    return 0 if given and all(row["ms"] is not None for row in found["timed"]) else 1


def _located(catalog: Catalog, label: str) -> Located:
    located = catalog.resolve(label)[1]
    assert located is not None
    return located


def _target(located: Located) -> int:
    with RealGPU(located.part) as gpu:
        return gpu.device.target


def _asked(located: Located, place: Place) -> dict[str, Any]:
    """What the driver gives when it is asked for a place."""
    wanted = place.layout(offsets(located.part))
    row: dict[str, Any] = {"first": place.first, "between": place.between, "given": False}
    try:
        with RealGPU(located.part, place=place) as gpu:
            layout = gpu.layout(located.part.bench)
    except ReplayFailed as failed:
        return {**row, "failed": str(failed)}
    got = [*layout.first, layout.arenas[0]]
    return {**row, "given": got == [*wanted.first, wanted.arenas[0]], "got": got}


def _pack(parts: list[Located], target: int, path: Path) -> None:
    with BundleWriter(path) as writer:
        bundler = Bundler(writer, [target])
        submissions = [Submission(part, part.solution_path, part.path.name) for part in parts]
        entries = [bundler.add(submission, Player("0" * 16, "the course")) for submission in submissions]
        writer.finish(Manifest(find_toolchain().version, tuple(entries)))


def _timed(catalog: Catalog, path: Path, given: list[Place]) -> Iterator[dict[str, Any]]:
    timer = Timer(catalog)
    with Bundle(path) as bundle:
        by_label = dict(zip(PARTS, bundle.manifest.entries, strict=True))
        yield _row(timer, bundle, by_label[WITH_RIVALS], WITH_RIVALS, "with nvcc")
        missing = patch.object(ready, "find_toolchain", side_effect=ToolMissing("as if nvcc were missing"))
        with missing, patch.object(rivals, "rivals_of", return_value=[]):
            for label, entry in by_label.items():
                for place in given:
                    yield _row(timer, bundle, _at(entry, place), label, f"without, at {place.first:#x}")


def _at(entry: Bundled, place: Place) -> Bundled:
    """The entry with the plan of this place only."""
    compiled = entry.compiled[0]
    plans = tuple(at for at in compiled.plans if at.first == place.first)
    return replace(entry, compiled=(replace(compiled, plans=plans),))


def _row(timer: Timer, bundle: Bundle, entry: Bundled, label: str, how: str) -> dict[str, Any]:
    begun = time.monotonic()
    row: dict[str, Any] = {"label": label, "how": how, "ms": None}
    try:
        result = timer.time(bundle, entry, lambda _words: None)
        row |= {"ms": result.timing.ms, "medal": result.timing.medal, "result": result.without_texts().to_json()}
    except NotTimed as why:
        row["why"] = str(why)
    return {**row, "seconds": round(time.monotonic() - begun, 1)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--commit", help="of the tree that this is, where git cannot say")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
