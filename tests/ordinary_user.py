"""Lets a test that runs as root see what an ordinary user would."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cache import ToolMissing, cache_root
from grader.toolchain import find_toolchain

NOBODY = 65534
_PASSED, _FAILED, _NO_TOOLCHAIN = 0, 1, 77


def as_ordinary_user(check: Callable[[Path], None]) -> None:
    """Run `check` in a child that is nobody, with a home directory and a cache of its own, which it gets as argument.

    What is built of our own C++ goes along: ninja may lie where nobody can read it.
    """
    if os.getuid() != 0:
        pytest.skip("this is an ordinary user already")
    home = Path(tempfile.mkdtemp(prefix="grader-nobody-"))
    try:
        _furnish(home)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that this process has threads: the child uses none of what they hold
            child = os.fork()
        if child == 0:
            os._exit(_in_child(check, home))
        _, status = os.waitpid(child, 0)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    code = os.waitstatus_to_exitcode(status)
    if code == _NO_TOOLCHAIN:
        pytest.skip("nobody cannot read the toolchain: it lies in root's own directories")
    assert code == _PASSED, "what failed as nobody is printed above"


def _furnish(home: Path) -> None:
    for kind in ("runtime", "cage"):
        shutil.copytree(cache_root().resolve() / kind, home / kind)
    for directory, _, files in os.walk(home):
        for path in (directory, *(f"{directory}/{name}" for name in files)):
            os.chown(path, NOBODY, NOBODY)


def _in_child(check: Callable[[Path], None], home: Path) -> int:
    try:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.environ.update(HOME=str(home), GRADER_CACHE=str(home))
        find_toolchain()
        check(home)
    except ToolMissing:
        traceback.print_exc()
        return _NO_TOOLCHAIN
    except BaseException:
        traceback.print_exc()
        return _FAILED
    return _PASSED
