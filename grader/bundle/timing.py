"""Each entry of a bundle on the GPU that is here, beside its rivals; whatever is wrong with one is a sentence."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from grader.bundle.archive import Bundle
from grader.bundle.format import Bundled, BundleInvalid
from grader.bundle.ready import NotTimed, Preparation
from grader.bundle.rebuild import NotItsSource
from grader.cache import ToolMissing
from grader.catalog import Catalog, Located, UsageError
from grader.cuda.addresses import Place
from grader.cuda.session import RealGPU, ReplayFailed
from grader.explain import sentence, title
from grader.identity import grader_hash, reference_hash, statement_hash, text_hash
from grader.leaderboard.entry import Entry, entry_from_json, entry_of
from grader.leaderboard.fields import EntryRefused
from grader.leaderboard.names import Player
from grader.submission import Submission, written
from grader.timed import TimedPart
from grader.tools import default_tools

if TYPE_CHECKING:
    from grader.build import Build
    from grader.trial import Ran
    from grader.verdict import Timing

__all__ = ["NotTimed", "Timer"]

_SEED = 0  # nothing that is timed is drawn from it: times are taken on inputs from seeds that nobody knows


@dataclass(frozen=True)
class Timer:
    """Times entries of bundles by the course in `catalog`, each beside its rivals, PyTorch's compiled form among them
    where `compiled` is set.
    """

    catalog: Catalog
    compiled: bool = False
    _given: list[Place] = field(default_factory=list)

    def time(self, bundle: Bundle, entry: Bundled, progress: Callable[[str], None]) -> Entry:
        """The result; `progress` is told in short sentences what is being done. Raises `NotTimed`."""
        with _told(), TemporaryDirectory(prefix="grader-bundle-") as folder, contextlib.ExitStack() as stack:
            submission = self._submission(bundle, entry, Path(folder))
            made = Preparation(bundle, entry, submission, Path(folder), stack, self._given).ready()
            timed = TimedPart(
                submission=submission,
                build=cast("Build", made.module),  # of which only the cubin is looked at
                recording=made.recording,
                gpu=made.gpu,
                tools=default_tools(),
                compiled=self.compiled,
                progress=progress,
                nvcc=made.nvcc,
            )
            timing = _right(*timed.run(_SEED), made.gpu)
            player = Player(entry.player_id, entry.player_name)
            result = entry_of(submission, timing, player, target=made.module.target)
            return entry_from_json(result.to_json())  # as whoever imports it will read it

    def known(self, bundle: Bundle, entry: Bundled, device: str, results: Sequence[Entry]) -> Entry | None:
        """The result that is there already: of this player's same source, on this GPU, by this grader and beside this
        reference, or no import would take it. Raises `NotTimed`.
        """
        with _told():
            located = self.located(entry)
            source = text_hash(*_texts(bundle, entry))
            reference = reference_hash(located)
        asked = (entry.statement, source, reference, grader_hash())
        wanted = (entry.player_id, entry.puzzle, entry.part, *asked, device)
        return next((result for result in results if _key(result) == wanted), None)

    def located(self, entry: Bundled) -> Located:
        """The part that an entry is of; raises `NotTimed` where this course asks something else."""
        try:
            _, located = self.catalog.resolve(entry.puzzle, entry.part)
        except UsageError:
            located = None
        if located is None or located.part.is_host:
            raise NotTimed(sentence("bundle", "no_part", facts={"puzzle": entry.puzzle, "part": entry.part}))
        if statement_hash(located) != entry.statement:
            raise NotTimed(sentence("bundle", "other_statement", facts={"label": located.label}))
        return located

    def _submission(self, bundle: Bundle, entry: Bundled, folder: Path) -> Submission:
        located = self.located(entry)
        return written(located, entry.file, *_texts(bundle, entry), folder)


def _key(result: Entry) -> tuple[str, ...]:
    hashes = result.hashes
    asked = (hashes[name] for name in ("statement", "source", "reference", "grader"))
    return result.player.id, result.puzzle, result.part, *asked, result.device


def _right(ran: Ran, timing: Timing | None, gpu: RealGPU) -> Timing:
    """The timing of a kernel whose values were right in the timed runs, and whose times can be true."""
    if ran.observations:
        seen = ran.observations[0]
        facts = {"what": title(seen.kind, str(seen.facts.get("variant", "plain"))), "gpu": gpu.name}
        raise NotTimed(sentence("bundle", "wrong", facts=facts))
    if timing is None:
        raise NotTimed(sentence("bundle", "does_not_fit"))
    if timing.refused is not None:
        raise NotTimed(timing.refused)
    if not timing.hashes:
        raise NotTimed(sentence("bundle", "no_solutions"))
    return timing


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Whatever is the matter with an entry becomes a sentence: the others are to go on."""
    try:
        yield
    except BundleInvalid as invalid:
        raise NotTimed(sentence("bundle", "invalid", facts={"why": invalid})) from None
    except NotTimed:
        raise
    except (EntryRefused, NotItsSource, ToolMissing, ReplayFailed, UsageError) as why:
        raise NotTimed(str(why)) from None
    except Exception as error:
        logging.getLogger(__name__).debug("an entry of a bundle", exc_info=True)
        raise NotTimed(sentence("bundle", "itself", facts={"why": f"{type(error).__name__}: {error}"})) from error


def _texts(bundle: Bundle, entry: Bundled) -> tuple[str, dict[str, str]]:
    """The entry's source, and by entry those of the own parts that it builds on."""
    return _text(bundle, entry.source), {name: _text(bundle, member) for name, member in entry.uses.items()}


def _text(bundle: Bundle, member: str) -> str:
    try:
        return bundle.read(member).decode("utf-8")
    except UnicodeDecodeError:
        raise BundleInvalid("a source in it is no text in UTF-8") from None
