"""The command `grader time`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.catalog import UsageError, load_catalog, shown_path
from grader.cli.progress_line import progress_line
from grader.cli.target import refuse_unchecked
from grader.cuda.presence import has_device, why_not
from grader.explain import sentence

if TYPE_CHECKING:
    from grader.bundle.archive import Bundle
    from grader.bundle.format import Bundled
    from grader.bundle.timing import Timer
    from grader.leaderboard.entry import Entry

NOT_TIMED = 1
_FIRST_DRIVER = 13_000  # CUDA's version times 1000, of a driver that is sure to load what nvcc 13 makes


def time_bundles(
    bundles: Annotated[list[Path], typer.Argument(metavar="BUNDLE.zip…", help="What `grader bundle` wrote.")],
    out: Annotated[Path, typer.Option(metavar="FILE.json", help="The results; what is in it already is kept.")],
    compiled: Annotated[
        bool, typer.Option("--compiled", help="Beside torch.compile too, which takes a minute a part.")
    ] = False,
) -> None:
    """Time the parts in bundles on this machine's GPU.

    Only device code runs. Results are written as they come; a run that was stopped goes on where it was. Afterwards,
    where the bundles were made: grader leaderboard import FILE.json

    Exit code: 0 if everything was timed, 1 if something was not, 2 bad usage, 3 without a GPU.
    """
    catalog = load_catalog()
    results = _Results(out)
    from grader.bundle.timing import Timer

    with contextlib.ExitStack() as stack:
        opened = _opened(bundles, stack)
        if (why := _no_gpu()) is not None:
            raise typer.Exit(refuse_unchecked(why))
        timed = _Timed(Timer(catalog, compiled), results)
        timed.run(opened)
    raise typer.Exit(NOT_TIMED if timed.failed or len(opened) < len(bundles) else 0)


def _no_gpu() -> str | None:
    """Why nothing can be timed here, in a sentence."""
    return why_not() if has_device() else sentence("bundle", "no_gpu")


def _opened(paths: Sequence[Path], stack: contextlib.ExitStack) -> list[Bundle]:
    """The bundles that are some; of each other the terminal hears why it is none."""
    from grader.bundle.archive import Bundle
    from grader.bundle.format import BundleInvalid

    found: list[Bundle] = []
    refused: list[str] = []
    for path in paths:
        try:
            found.append(stack.enter_context(Bundle(path)))
        except BundleInvalid as why:
            refused.append(f"{shown_path(path)} is no bundle: {why}.")
    if not found:
        raise UsageError(" ".join(refused))
    for line in refused:
        typer.echo(f"grader: {line}", err=True)
    return found


class _Results:
    """The file of results, written anew after each."""

    def __init__(self, path: Path) -> None:
        from grader.leaderboard.entry import entry_from_json, read_results
        from grader.leaderboard.fields import EntryRefused

        self.path = path
        self.entries: list[Entry] = []
        if not path.parent.is_dir() or path.is_dir():
            raise UsageError(f"{shown_path(path)} cannot be written: it is a folder, or there is none to hold it.")
        if path.exists():
            try:
                self.entries = [entry_from_json(plain) for plain in read_results(path.read_text(encoding="utf-8"))]
            except (OSError, ValueError, EntryRefused):
                raise UsageError(f"{shown_path(path)} is there already and holds no results; name another.") from None

    def add(self, entry: Entry) -> None:
        """One result more; the file is never half written."""
        from grader.leaderboard.entry import results_text

        self.entries.append(entry)
        unfinished = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        unfinished.write_text(results_text(self.entries), encoding="utf-8")
        unfinished.replace(self.path)


@dataclass
class _Timed:
    """Times one entry after the other and says of each what came of it."""

    timer: Timer
    results: _Results
    failed: int = 0

    def run(self, bundles: Sequence[Bundle]) -> None:
        """All entries, those of one part together: what they are timed beside is compiled once."""
        from grader.bundle.timing import NotTimed

        jobs = sorted(_jobs(bundles), key=lambda job: (job[1].puzzle, job[1].part))
        device = self._device(entry for _, entry in jobs)
        for number, (bundle, entry) in enumerate(jobs, 1):
            head = f"{number:>{len(str(len(jobs)))}}/{len(jobs)}  {entry.player_name}  {entry.part}"
            try:
                words = self._one(bundle, entry, device)
            except NotTimed as why:
                self.failed += 1
                words = f"{typer.style('✘', fg='red')} {why}"
            typer.echo(f"{head}  {words}")
        facts = {"count": len(jobs) - self.failed, "of": len(jobs), "file": shown_path(self.results.path)}
        typer.echo(sentence("bundle", "timed", facts=facts))
        if self.results.entries:
            typer.echo(sentence("bundle", "then", facts=facts))

    def _one(self, bundle: Bundle, entry: Bundled, device: str) -> str:
        there = self.timer.known(bundle, entry, device, self.results.entries)
        if there is not None:
            return sentence("bundle", "there_already", facts={"words": _words(there)})
        with progress_line() as progress:
            result = self.timer.time(bundle, entry, progress)
        self.results.add(result)
        return f"{typer.style('✔', fg='green')} {_words(result)}"

    def _device(self, entries: Iterator[Bundled]) -> str:
        """The GPU's name, once it is known to work; what may be the matter with it is said."""
        from grader.bundle.timing import NotTimed
        from grader.cuda.session import RealGPU, ReplayFailed

        for entry in entries:
            with contextlib.suppress(NotTimed):
                try:
                    with RealGPU(self.timer.located(entry).part) as gpu:
                        typer.echo(f"{gpu.name}, sm_{gpu.device.target}, driver {gpu.driver or '?'}")
                        if gpu.device.driver < _FIRST_DRIVER:
                            typer.echo(sentence("bundle", "old_driver"))
                        return gpu.name
                except ReplayFailed as failed:
                    raise typer.Exit(refuse_unchecked(str(failed))) from None
        return ""


def _jobs(bundles: Sequence[Bundle]) -> Iterator[tuple[Bundle, Bundled]]:
    for bundle in bundles:
        for entry in bundle.manifest.entries:
            yield bundle, entry


def _words(entry: Entry) -> str:
    """A result in a line."""
    timing = entry.timing
    low, high = timing.interval_ms
    rate = f"{timing.tflop_per_s:.1f} TFLOP/s" if timing.bound == "compute" else f"{timing.gb_per_s:.0f} GB/s"
    words = [f"{timing.ms:.4g} ms ({low:.4g} to {high:.4g})", rate]
    if timing.of_limit is not None:
        words.append(f"{100 * timing.of_limit:.0f} % of the limit")
    if timing.medal is not None:
        words.append(timing.medal)
    return "  ".join(words)
