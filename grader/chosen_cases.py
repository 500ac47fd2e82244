"""The cases of a part that somebody names by their sizes."""

from __future__ import annotations

from collections.abc import Sequence

from grader.catalog import UsageError
from grader.host_memory import free_bytes
from grader.puzzle import Case, Number, Part, PuzzleError, Scalar, buffer_bytes

_HELD = 10  # bytes that a check holds at its peak, for each byte of the buffers: shadows, copies, PyTorch in float64


def chosen_cases(part: Part, text: str, *, runs: bool = True) -> Sequence[tuple[str, Case]]:
    """The cases that `--case M=65,N=33` means: the part's own of these sizes, else one new case.

    Scalars that are left out are those of the part's first case. Raises UsageError for what is no case of the part, and
    for one that runs and has no room in this machine's memory.
    """
    given = _numbers(part, text)
    own = [(group, case) for group, cases in part.groups.items() for case in cases]
    matching = [(group, case) for group, case in own if given.items() <= case.params.items()]
    if matching:
        return matching
    first = own[0][1]
    case = Case.of({**first.params, **given})
    try:
        size = sum(buffer_bytes(buffer, case.params) for buffer in part.buffers)
    except PuzzleError as error:
        raise UsageError(f"--case {text} cannot be: {error}") from None
    free = free_bytes()
    if runs and _HELD * size > free:
        raise UsageError(
            f"--case {text} would need some {_HELD * size / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free: "
            "take smaller sizes. A whole check looks at a part's full size by a sample of its blocks."
        )
    return [("--case", case)]


def _numbers(part: Part, text: str) -> dict[str, Number]:
    scalars = {scalar.name: scalar for scalar in part.scalars}
    given: dict[str, Number] = {}
    for piece in text.split(","):
        name, equals, value = piece.strip().partition("=")
        if not equals or name not in scalars:
            raise UsageError(f"--case wants {','.join(f'{known}=…' for known in scalars)}, not {piece.strip()!r}.")
        if name in given:
            raise UsageError(f"--case gives {name} twice; give it once.")
        given[name] = _number(scalars[name], value.strip())
    return given


def _number(scalar: Scalar, value: str) -> Number:
    try:
        if scalar.dtype.is_float:
            return float(value)
        number = int(value.replace("_", ""))
    except ValueError:
        raise UsageError(f"--case: {scalar.name} is a number, not {value[:40]!r}.") from None
    if not -(2 ** (8 * scalar.dtype.bytes - 1)) <= number < 2 ** (8 * scalar.dtype.bytes - 1):
        raise UsageError(
            f"--case: {scalar.name} = {number} does not fit the {8 * scalar.dtype.bytes} bits of {scalar.dtype.name}."
        )
    return number
