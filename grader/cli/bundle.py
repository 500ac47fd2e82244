"""The command `grader bundle`."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.bundle.gpus import DEFAULT, shown, targets
from grader.cache import ToolMissing
from grader.catalog import Catalog, Located, UsageError, load_catalog, shown_path
from grader.cli.progress_line import progress_line
from grader.cli.target import own_submission, refuse_unchecked
from grader.explain import sentence

if TYPE_CHECKING:
    from grader.bundle.format import Bundled
    from grader.bundle.write import Bundler
    from grader.leaderboard.names import Player
    from grader.submission import Submission

NOT_PASSED = 1


def bundle(
    parts: Annotated[
        list[str], typer.Argument(metavar="PART…", help="1.2, vector_add, or a puzzle for all its parts.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE.zip", help="Where to write the bundle.")],
    gpus: Annotated[
        str, typer.Option("--for", metavar="GPU,…", help="GPUs that may time it: T4, A100, L4, H100, … or sm_75, …")
    ] = DEFAULT,
    submissions: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A class: a folder for each learner, instead of your own files.")
    ] = None,
) -> None:
    """Pack passed parts into a file that a machine with a GPU can time.

    Each part is judged on the software GPU first; what does not pass stays out. No GPU is needed here.

    Exit code: 0 if everything is in it, 1 if something stayed out, 2 bad usage, 3 without nvcc.
    """
    chosen = targets(gpus)
    catalog = load_catalog()
    located = _timed_parts(catalog, parts)
    _refuse_place(out)
    nvcc = _nvcc()
    from grader.bundle.archive import BundleWriter
    from grader.bundle.write import Bundler

    try:
        with BundleWriter(out) as writer:
            packing = _Packing(Bundler(writer, chosen), nvcc)
            packing.pack(_of_class(catalog, submissions, located) if submissions else _own(catalog, located))
            packing.finish(out)
    except zipfile.LargeZipFile:
        raise UsageError(sentence("bundle", "too_large")) from None
    except OSError as error:
        raise UsageError(f"{shown_path(out)} cannot be written: {error.strerror or error}.") from None
    raise typer.Exit(NOT_PASSED if packing.left_out else 0)


def _timed_parts(catalog: Catalog, names: Sequence[str]) -> list[Located]:
    """The parts that are named, each once, and of a puzzle those that a GPU can time."""
    found: dict[str, Located] = {}
    for name in names:
        puzzle, part = catalog.resolve(name)
        timed = [one for one in ([part] if part else puzzle.parts) if not one.part.is_host]
        if not timed:
            label = part.label if part else puzzle.name
            raise UsageError(f"{label} has nothing that a GPU could time; `grader list` shows the other parts.")
        found |= {one.label: one for one in timed}
    return list(found.values())


def _nvcc() -> str:
    """The release of the nvcc that is here."""
    from grader.toolchain import find_toolchain

    try:
        return find_toolchain().version
    except ToolMissing as missing:
        raise typer.Exit(refuse_unchecked(str(missing))) from None


def _refuse_place(out: Path) -> None:
    if out.is_dir():
        raise UsageError(f"{shown_path(out)} is a folder; --out names the file to write.")
    if not out.parent.is_dir():
        raise UsageError(f"There is no folder {shown_path(out.parent)} to write the bundle in.")
    if out.exists() and not (out.is_file() and zipfile.is_zipfile(out)):
        raise UsageError(sentence("bundle", "not_over", facts={"file": shown_path(out)}))


# ---- whose files ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    """A submission, whose it is, and how the terminal calls them; a sentence instead of one that cannot be read."""

    located: Located
    player: Player
    who: str
    submission: Submission | None
    why_not: str = ""


def _own(catalog: Catalog, parts: Sequence[Located]) -> Iterator[_Candidate]:
    from grader.leaderboard.store import Leaderboard

    with Leaderboard(catalog.root) as board:
        player = board.player
    for located in parts:
        yield _Candidate(located, player, player.name, own_submission(located))


def _of_class(catalog: Catalog, folder: Path, parts: Sequence[Located]) -> Iterator[_Candidate]:
    """Of each learner the files that they have begun; who has begun none is named."""
    from grader.cli.classes import learners
    from grader.leaderboard.store import Leaderboard

    with Leaderboard(catalog.root) as board:
        for learner in learners(folder, _passes):
            player, begun = board.player_named(learner.name), 0
            who = f"{learner.name} ({player.name})"
            for located in parts:
                try:
                    submission = learner.submission(located)
                except UsageError as error:
                    yield _Candidate(located, player, who, None, str(error))
                    begun += 1
                    continue
                if submission is not None:
                    yield _Candidate(located, player, who, submission)
                    begun += 1
            if not begun:
                typer.echo(sentence("bundle", "nothing_begun", facts={"who": who}))


def _passes(submission: Submission) -> bool:
    """Whether a file that another part builds on is right."""
    from grader.bundle.write import judged
    from grader.tools import TorchLoading, default_tools

    return judged(submission, default_tools(), TorchLoading()).passed


# ---- what comes of it -----------------------------------------------------------------------------------------------


@dataclass
class _Packing:
    """Packs one after the other and says of each what came of it."""

    bundler: Bundler
    nvcc: str
    entries: list[Bundled] = field(default_factory=list)
    left_out: int = 0

    def pack(self, candidates: Iterator[_Candidate]) -> None:
        from grader.bundle.write import NotBundled

        for candidate in candidates:
            try:
                if candidate.submission is None:
                    raise NotBundled(candidate.why_not)
                with progress_line() as tell:
                    tell(f"{candidate.who}  {candidate.located.label}")
                    self.entries.append(self.bundler.add(candidate.submission, candidate.player))
            except (NotBundled, ToolMissing) as why:
                self.left_out += 1
                self._say(candidate, found=False, words=str(why))
            else:
                made_for = ", ".join(shown(one.target) for one in self.entries[-1].compiled)
                self._say(candidate, found=True, words=made_for)
                for target, words in self.bundler.skipped.items():
                    typer.echo(f"    {sentence('bundle', 'not_for', facts={'gpu': shown(target), 'why': words})}")

    def finish(self, out: Path) -> None:
        """The bundle, if there is anything in it."""
        from grader.bundle.format import Manifest

        facts = {"count": len(self.entries), "file": shown_path(out), "left_out": self.left_out}
        if not self.entries:
            typer.echo(sentence("bundle", "empty", facts=facts))
            return
        self.bundler.writer.finish(Manifest(self.nvcc, tuple(self.entries)))
        typer.echo(sentence("bundle", "written_one" if len(self.entries) == 1 else "written", facts=facts))
        typer.echo(sentence("bundle", "next", facts=facts))

    @staticmethod
    def _say(candidate: _Candidate, *, found: bool, words: str) -> None:
        mark = typer.style("✔", fg="green") if found else typer.style("✘", fg="red")
        located = candidate.located
        typer.echo(f"  {mark} {candidate.who}  {located.label} {located.part.name}  {words}")
