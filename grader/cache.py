"""Where built things are kept: directories named by the content they were made from.

Many processes may share one cache, on one machine or on a home directory that several machines mount. An entry is
made in a directory of its own and renamed into place, so it is there whole or not at all. Nothing in the cache is
precious: it may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_ABANDONED_AFTER = 24 * 3600.0  # seconds: nothing takes a day to build, so its maker was killed


class ToolMissing(Exception):
    """Something this machine lacks; the message is one sentence that names it, and the next command."""


def cache_root() -> Path:
    """$GRADER_CACHE, else $XDG_CACHE_HOME/grader, else ~/.cache/grader."""
    if chosen := os.environ.get("GRADER_CACHE"):
        return Path(chosen).absolute()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).absolute() / "grader"
    return Path(os.path.expanduser("~/.cache/grader"))  # noqa: PTH111 - Path.home() raises where there is no home


def content_key(*parts: str | bytes) -> str:
    """32 hexadecimal digits that name this sequence of parts; lengths count, so ("ab", "c") is not ("a", "bc")."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


def entry(kind: str, key: str, make: Callable[[Path], None], *, one_at_a_time: bool = False) -> Path:
    """The directory `kind`/`key`, filled by `make` if it is not there yet.

    `make` gets an empty directory; what it raises is passed on and leaves no entry behind. With `one_at_a_time` a
    second process waits for the first instead of making the same thing beside it: for what takes long and all want.
    """
    shelf = cache_root() / kind
    directory = shelf / key
    if directory.is_dir():
        return directory
    writable(shelf)
    with _turn(shelf) if one_at_a_time else contextlib.nullcontext():
        if not directory.is_dir():
            _make(directory, make)
    return directory


def writable(directory: Path) -> Path:
    """`directory`, made if need be; raises ToolMissing where that cannot be done."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ToolMissing(
            f"the cache {cache_root()} cannot be written ({error.strerror}): "
            "set GRADER_CACHE to a directory of your own, e.g. GRADER_CACHE=/tmp/grader-cache"
        ) from error
    return directory


def trim(kind: str, keep: int) -> None:
    """Remove the entries of `kind` that were used longest ago, all but `keep`."""
    aged: list[tuple[float, str]] = []
    with contextlib.suppress(OSError), os.scandir(cache_root() / kind) as found:
        aged = [(item.stat().st_mtime, item.path) for item in found if item.is_dir()]
    for _, path in sorted(aged, reverse=True)[keep:]:
        shutil.rmtree(path, ignore_errors=True)


def mark_used(directory: Path) -> None:
    """Note that an entry was used now, so that `trim` keeps it."""
    with contextlib.suppress(OSError):  # another user's cache, read-only: nothing is lost
        os.utime(directory)


def _make(directory: Path, make: Callable[[Path], None]) -> None:
    work = writable(cache_root() / "work")
    _remove_abandoned(work)
    temporary = Path(tempfile.mkdtemp(dir=work))
    try:
        make(temporary)
        try:
            temporary.rename(directory)
        except OSError:
            if not directory.is_dir():  # else another process was quicker: its entry has the same content
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _remove_abandoned(work: Path) -> None:
    with contextlib.suppress(OSError), os.scandir(work) as found:
        for item in found:
            if time.time() - item.stat().st_mtime > _ABANDONED_AFTER:
                shutil.rmtree(item.path, ignore_errors=True)


@contextlib.contextmanager
def _turn(shelf: Path) -> Iterator[None]:
    descriptor = os.open(shelf, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: the work may then be done twice, no worse
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
