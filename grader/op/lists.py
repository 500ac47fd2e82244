"""The list of a part by its name alone, as files in Python ask for it: a function that returns calls of ops."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import sys
from collections.abc import Callable
from typing import Any

from grader.list_part import ListPart
from grader.op_record import OpNote

_loads = itertools.count()


def part_list(name: str) -> Callable[..., list[OpNote]]:
    """The function of the part of that name, of any puzzle here: the learner's own file where it has passed, else the
    reference. It takes tensors and numbers in the places of their names.

    The file is read when it is called first, in this process. In a check the grader stands in its place.
    """

    def listed(*arguments: Any) -> list[OpNote]:
        return list(_loaded(name)(*arguments))

    listed.__name__ = name
    return listed


@functools.cache
def _loaded(name: str) -> Callable[..., list[OpNote]]:
    from grader.catalog import UsageError, load_catalog
    from grader.own_parts import standing_for

    located = load_catalog().part_named(name)
    if not isinstance(located.part, ListPart):
        raise UsageError(f"{located.label} {name} is no list of op calls.")
    path = standing_for(located).path
    spec = importlib.util.spec_from_file_location(f"grader_list_{next(_loads)}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function: Callable[..., list[OpNote]] = getattr(module, name)
    return function
