"""What a result is a result of: the hashes that say which statement, source, reference and grader it belongs to.

Two times can be compared where the statement is the same: what is asked, the cases, tolerances and goals. A result
names it, so that a tolerance that was changed since re-ranks nobody without a word. Names are 32 hexadecimal digits.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grader.cache import content_key
from grader.catalog import Located
from grader.cubin import read_code
from grader.submission import Submission, UsedPart, references
from grader.toolchain import find_toolchain

HASHED = ("statement", "source", "reference", "grader", "cubin")  # beside "nvcc", "driver", "device", which are names

_GRADER = Path(__file__).parent
_JUDGING = (".py", ".cpp", ".hpp", ".h", ".cu")
_SHOWING = frozenset({"author", "cli", "explain", "leaderboard", "program", "report", "story", "sweep"})
_LEARNERS = re.compile(r"\d+_\w+\.py")


def identity(
    submission: Submission, cubin: Path, *, device: str, driver: str, nvcc: str | None = None
) -> dict[str, str]:
    """The `hashes` of a timing: of what was asked, what was timed, and by what. `device` and `driver` by their names,
    the latter "" where nobody knows it; `nvcc` is the version that made the cubin, None for the one here.

    Raises `ToolMissing` where that is gone, and `UsageError` where the reference solution is missing.
    """
    located = submission.located
    return {
        "statement": statement_hash(located),
        "source": source_hash(submission),
        "reference": reference_hash(located),
        "grader": grader_hash(),
        "cubin": cubin_hash(cubin),
        "nvcc": find_toolchain().version if nvcc is None else nvcc,
        "driver": driver,
        "device": device,
    }


def statement_hash(located: Located) -> str:
    """What judges a part: the Python files of its puzzle that no learner writes, and the headers that come with it.

    The whole files count, their comments too: what a change means is for people to say, and a hash errs on the side of
    telling of it.
    """
    folder = located.puzzle.directory
    judging = {path.name: path for path in folder.glob("*.py") if not _LEARNERS.fullmatch(path.name)}
    headers = {
        f"{part.puzzle.name}/{name}": part.puzzle.directory / name
        for part in (*located.used, located)
        for name in part.headers
    }
    return content_key(located.part.name, *_named(sorted({**judging, **headers}.items())))


def source_hash(submission: Submission) -> str:
    """The text that was timed, and those of the learner's own parts that it builds on."""
    return text_hash(submission.text(), own_uses(submission))


def text_hash(source: str, uses: Mapping[str, str]) -> str:
    """`source_hash` of texts: the part's own, and by entry those of the learner's own parts that it builds on."""
    beside = (word for entry, text in sorted(uses.items()) for word in (entry, _lines(text)))
    return content_key(_lines(source), *beside)


def own_uses(submission: Submission) -> dict[str, str]:
    """By entry the texts of the learner's own parts that this one builds on."""
    return {used.located.part.name: used.source().text for used in submission.used if used.is_own}


def reference_hash(located: Located) -> str:
    """The course's own solution, and the solutions that it builds on."""
    used = {one.located.part.name: one.source().text for one in references(located)}
    return text_hash(UsedPart(located, located.solution_path).source().text, used)


@functools.cache
def grader_hash() -> str:
    """The part of the grader that builds, judges and times; not what only shows it."""
    files = (path for path in sorted(_GRADER.rglob("*")) if path.suffix in _JUDGING)
    judging = ((path.relative_to(_GRADER).as_posix(), path) for path in files)
    return content_key(*_named((name, path) for name, path in judging if name.split("/")[0] not in _SHOWING))


def cubin_hash(cubin: Path) -> str:
    """Code and constants that a GPU runs, and their links, without line tables: the same of one source and compiler."""
    return content_key(*(word for name, data in read_code(cubin) for word in (name, data)))


def _named(files: Iterable[tuple[str, Path]]) -> Iterator[str]:
    """Each name with the text, whatever ends its lines."""
    for name, path in files:
        yield name
        yield _lines(path.read_text(encoding="utf-8", errors="replace"))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")
