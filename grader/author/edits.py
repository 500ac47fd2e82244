"""Mechanical changes of CUDA code, each one small mistake: what mutants are made by.

An operator takes the tokens of a source, and yields an `Edit` for each place where it fits. None adds or removes a
line, but for the one that needs a header. Places in templates and casts are told from comparisons by the blanks around
them, which clang-format sees to.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from grader.author.tokens import Code, arguments, calls, closing, is_between_blanks


@dataclass(frozen=True)
class Edit:
    """`text[start:end]` of the source becomes `text`; `header` is one that the new text needs."""

    start: int
    end: int
    text: str
    header: str | None = None


Operator: TypeAlias = Callable[[Code], Iterator[Edit]]

_BARRIERS = ("__syncthreads", "__syncwarp", "sync")
_COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "&": "|", "<<": ">>", ">>": "<<"}
_COUNTING = {*_COMPARISONS, *_ARITHMETIC, "+=", "-="}
_LOGIC = {"&&": "||", "||": "&&"}
_AXES = {"x": "y", "y": "x", "z": "x"}
_WORDS = {
    "min": "max",
    "max": "min",
    "fminf": "fmaxf",
    "fmaxf": "fminf",
    "__shfl_down_sync": "__shfl_up_sync",
    "__shfl_up_sync": "__shfl_down_sync",
    "__shfl_xor_sync": "__shfl_down_sync",
    "row_major": "col_major",
    "col_major": "row_major",
}
_ALL_LANES = re.compile(r"0x[fF]{8}u?|~0u")


def drop_barrier(code: Code) -> Iterator[Edit]:
    """`__syncthreads();` becomes nothing."""
    for name, end in calls(code, _BARRIERS):
        if code[end + 1 : end + 2] and code[end + 1].text == ";":
            first = name
            while first >= 2 and code[first - 1].text in (".", "->", "::"):
                first -= 2
            if code[first].kind == "name":
                yield Edit(code[first].start, code[end].end, "")


def loosen_comparison(code: Code) -> Iterator[Edit]:
    """`<` becomes `<=`, `==` becomes `!=`, and back."""
    yield from _signs(code, _COMPARISONS)


def shorten_bound(code: Code) -> Iterator[Edit]:
    """`i < n` becomes `i + 1 < n`: the last one is left out."""
    for token in code:
        if token.text in ("<", "<=") and token.kind == "sign" and is_between_blanks(code.text, token):
            yield Edit(token.start, token.end, f"+ 1 {token.text}")


def exchange_logic(code: Code) -> Iterator[Edit]:
    """`&&` becomes `||`, and back."""
    yield from _signs(code, _LOGIC)


def exchange_arithmetic(code: Code) -> Iterator[Edit]:
    """`+` becomes `-`, `*` becomes `+`, `/` becomes `*`, `%` becomes `/`, `<<` becomes `>>`."""
    yield from _signs(code, _ARITHMETIC)


def forget_sum(code: Code) -> Iterator[Edit]:
    """`+=` becomes `=`."""
    yield from _signs(code, {"+=": "=", "*=": "="})


def exchange_axes(code: Code) -> Iterator[Edit]:
    """`threadIdx.x` becomes `threadIdx.y`, and `v.x` becomes `v.y`."""
    for dot, axis in itertools.pairwise(code):
        if dot.text == "." and axis.text in _AXES:
            yield Edit(axis.start, axis.end, _AXES[axis.text])


def swap_indices(code: Code) -> Iterator[Edit]:
    """`tile[y][x]` becomes `tile[x][y]`."""
    for place, token in enumerate(code):
        first = closing(code, place) if token.text == "[" else None
        if first is None or first + 1 >= len(code) or code[first + 1].text != "[":
            continue
        second = closing(code, first + 1)
        if second is not None:
            one, other = code.text[token.end : code[first].start], code.text[code[first + 1].end : code[second].start]
            if one != other:
                yield Edit(token.end, code[second].start, f"{other}][{one}")


def round_down(code: Code) -> Iterator[Edit]:
    """`(n + size - 1) / size` becomes `n / size`: the tail is skipped."""
    for place, token in enumerate(code):
        end = closing(code, place) if token.text == "(" else None
        if end is None or end + 1 >= len(code) or code[end + 1].text != "/" or end - place < 6:
            continue
        inside = [one.text for one in code[place + 1 : end]]
        if inside[-2:] == ["-", "1"] and inside[-4] == "+":
            yield Edit(token.end, code[end].start, code.text[token.end : code[end - 4].start].rstrip())


def open_guard(code: Code) -> Iterator[Edit]:
    """`if (i < n)` becomes `if (true)`, and `if (i >= n) return` becomes `if (false) return`."""
    for name, end in calls(code, ("if",)):
        leaves = end + 1 < len(code) and code[end + 1].text in ("return", "continue", "break")
        yield Edit(code[name + 1].end, code[end].start, "false" if leaves else "true")


def choose_always(code: Code) -> Iterator[Edit]:
    """`c ? a : b` becomes `true ? a : b`."""
    for place, token in enumerate(code):
        if token.text != "?":
            continue
        first = place
        while first and not _begins_condition(code, first - 1):
            first -= 1
        if first < place:
            yield Edit(code[first].start, code[place - 1].end, "true")


def narrow_mask(code: Code) -> Iterator[Edit]:
    """`0xffffffff` becomes `0x0000ffff`: half a warp."""
    for token in code:
        if token.kind == "number" and _ALL_LANES.fullmatch(token.text):
            yield Edit(token.start, token.end, "0x0000ffffu")


def exchange_words(code: Code) -> Iterator[Edit]:
    """`max` becomes `min`, `__shfl_down_sync` becomes `__shfl_up_sync`, `row_major` becomes `col_major`."""
    for token in code:
        if token.kind == "name" and token.text in _WORDS:
            yield Edit(token.start, token.end, _WORDS[token.text])


def begin_further(code: Code) -> Iterator[Edit]:
    """`= 0` becomes `= 1`: a loop that leaves out its first round, a sum that begins with something, another answer."""
    for sign, number in itertools.pairwise(code):
        if sign.text == "=" and number.text in ("0u", "0.0f", "0.f"):
            yield Edit(number.start, number.end, number.text.replace("0", "1", 1))
        elif sign.text == "=" and number.text.isdecimal():
            yield Edit(number.start, number.end, str(int(number.text) + 1))


def count_further(code: Code) -> Iterator[Edit]:
    """`n / 4` becomes `n / 5`: any whole number behind a free sign, one larger."""
    for sign, number in itertools.pairwise(code):
        if sign.text in _COUNTING and number.text.isdecimal() and is_between_blanks(code.text, sign):
            yield Edit(number.start, number.end, str(int(number.text) + 1))


def narrow_sum(code: Code) -> Iterator[Edit]:
    """`sum += x;` and `sum = fmaf(…);` of a float are rounded to half precision."""
    for place, token in enumerate(code):
        target = _assigned(code, place)
        end = next((after for after in range(place, len(code)) if code[after].text == ";"), None)
        if target is None or end is None or not _is_float(code, code[target].text):
            continue
        left, right = (
            code.text[code[target].start : code[place - 1].end],
            code.text[token.end : code[end].start].strip(),
        )
        if token.text == "+=":
            value = f"{left} + ({right})"
        elif token.text == "=" and right.startswith("fma"):
            value = right
        else:
            continue
        text = f"{left} = __half2float(__float2half({value}))"
        yield Edit(code[target].start, code[end].start, text, "cuda_fp16.h")


def drop_atomic(code: Code) -> Iterator[Edit]:
    """`atomicAdd(&x, y)` becomes `x += y`, other threads or not."""
    for name, end in calls(code, ("atomicAdd", "atomicMax")):
        given = [code.text[code[a].start : code[b - 1].end] for a, b in arguments(code, name + 1, end)]
        if len(given) == 2:
            place, value = given
            sum_or_max = f"*({place}) + {value}" if code[name].text == "atomicAdd" else f"max(*({place}), {value})"
            yield Edit(code[name].start, code[end].end, f"*({place}) = {sum_or_max}")


def drop_memset(code: Code) -> Iterator[Edit]:
    """`cudaMemsetAsync(…)` becomes the answer that it would have given."""
    for name, end in calls(code, ("cudaMemsetAsync",)):
        yield Edit(code[name].start, code[end].end, "cudaSuccess")


def drop_last_error(code: Code) -> Iterator[Edit]:
    """`cudaGetLastError()` becomes `cudaSuccess`: nobody hears of a launch that failed."""
    for name, end in calls(code, ("cudaGetLastError",)):
        yield Edit(code[name].start, code[end].end, "cudaSuccess")


OPERATORS: Mapping[str, Operator] = {
    operator.__name__: operator
    for operator in (
        drop_barrier,
        loosen_comparison,
        shorten_bound,
        exchange_logic,
        exchange_arithmetic,
        forget_sum,
        exchange_axes,
        swap_indices,
        round_down,
        open_guard,
        choose_always,
        narrow_mask,
        exchange_words,
        begin_further,
        count_further,
        narrow_sum,
        drop_atomic,
        drop_memset,
        drop_last_error,
    )
}


def _signs(code: Code, others: Mapping[str, str]) -> Iterator[Edit]:
    for token in code:
        if token.kind == "sign" and token.text in others and is_between_blanks(code.text, token):
            yield Edit(token.start, token.end, others[token.text])


def _begins_condition(code: Code, place: int) -> bool:
    """Whether what comes behind this token is the whole condition of a `?`."""
    return code[place].text in ("=", "(", "[", "{", ",", ";", "return", ":", "+=", "?")


def _assigned(code: Code, place: int) -> int | None:
    """The place of the variable that an assignment at `place` gives a value; None where it is something else."""
    if code[place].text not in ("=", "+=") or not place:
        return None
    at = place - 1
    while code[at].text == "]" and at:
        depth = 1
        while depth and at:
            at -= 1
            depth += (code[at].text == "]") - (code[at].text == "[")
        at -= 1
    before = code[at - 1].text if at else ";"
    return at if code[at].kind == "name" and before in (";", "{", "}", ")", "else") else None


def _is_float(code: Code, name: str) -> bool:
    """Whether the code declares a float, or an array of them, of this name."""
    places = (place for place, token in enumerate(code) if token.text == "float")
    for place in places:
        for token in code[place + 1 : place + 40]:
            if token.text in (";", ")", "*", "{"):
                break
            if token.text == name:
                return True
    return False
