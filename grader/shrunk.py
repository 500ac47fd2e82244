"""What a search for the smallest failing case has found (`shrink.py`), and how it is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.explain import sentence
from grader.facts import listed
from grader.puzzle import Case, Number


@dataclass(frozen=True)
class Sizes:
    """What was seen of one size, all others at their smallest: it fails at `fails`, and `passes` beside it is right.

    `from_here` tells that all larger ones that were tried fail, except multiples of `multiple`, if it is not 0, which
    pass. `smallest` tells that `fails` is the smallest size there is, `equal` names the size that it has to equal for
    all that was tried to pass.
    """

    names: tuple[str, ...]
    fails: int
    passes: int
    from_here: bool
    multiple: int
    smallest: bool
    equal: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shrunk:
    """The smallest case found, what was seen of its sizes, and the scalars of the cases that were run and are right."""

    case: Case
    sizes: tuple[Sizes, ...]
    passed: tuple[Mapping[str, Number], ...]


def told(shrunk: Shrunk) -> str:
    """What was found, in a sentence or two: "From M = 33 on; multiples of 32 pass. The smallest: …"."""
    said: list[str] = []
    for seen in shrunk.sizes:
        if seen.equal and said and any(other.equal == seen.names for other in shrunk.sizes):
            continue  # "rows = cols" has been said as "cols = rows"
        key = "from_passes" if seen.from_here else "passes"
        if seen.multiple:
            key = "only_multiples" if seen.smallest else "from_multiples"
        if seen.equal:
            key = "only_equal"
        facts = {"size": _spelled(seen.names, seen.fails), "passes": _spelled(seen.names, seen.passes)}
        facts["other"] = " = ".join(seen.equal)
        said.append(sentence("sizes", key, facts=facts | {"multiple": seen.multiple, "name": " = ".join(seen.names)}))
    facts = {"case": listed(shrunk.case.params)}
    if not said:
        said.append(_smaller(shrunk))
    elif len(shrunk.case.params) > 1:
        said.append(sentence("sizes", "smallest", facts=facts))
    return " ".join(said)


def _smaller(shrunk: Shrunk) -> str:
    """The case, beside the smallest that is right, if one is known."""
    facts = {"case": listed(shrunk.case.params)}
    if len(shrunk.case.params) > 1 or not shrunk.passed:
        return sentence("sizes", "smaller", facts=facts)
    passes = min(shrunk.passed, key=lambda params: tuple(params.values()))
    return sentence("sizes", "smaller_beside", facts=facts | {"passes": listed(passes)})


def _spelled(names: Sequence[str], value: int) -> str:
    return f"{' = '.join(names)} = {value}"
