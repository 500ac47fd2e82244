"""A cache of a test's own, in which nothing is built yet but our own C++."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.build import build_library
from grader.cache import cache_root
from grader.cage import protection


@contextlib.contextmanager
def fresh_cache(directory: Path) -> Iterator[Path]:
    """$GRADER_CACHE is `directory` for so long; runtime and cage are there, as links to the ordinary cache's."""
    build_library("runtime")
    protection()
    ordinary = cache_root()
    directory.mkdir(parents=True, exist_ok=True)
    for kind in ("runtime", "cage"):
        (directory / kind).symlink_to(ordinary / kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_CACHE", str(directory))
        yield directory
