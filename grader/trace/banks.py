"""The bank map of one access to shared memory: lanes down, banks across, and a colour for how long a lane waits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from grader.banks.lanes import BANKS, LANES
from grader.trace.accesses import Access
from grader.trace.served import Served, served
from grader.trace.svg import MARGIN, Drawing, cells, lattice, number, tag, text
from grader.trace.words import access_line, counted, first_elements, say

_LEFT, _TOP, _CELL = 40, 62, 11
_PLACED = f"translate({_LEFT} {_TOP}) scale({_CELL})"
_SHADES = 6


def bank_map(access: Access) -> Drawing:
    """Of one warp: each lane's words in the banks that they lie in. What has to wait is not blue-green."""
    asked = served(access)
    title = access_line(access)
    head = text(MARGIN, 14, title, "head") + text(MARGIN, 30, *counted(access))
    head += text(MARGIN, 45, first_elements(access), "code soft")
    bars = _TOP + LANES * _CELL + 10
    end = bars + _bar(max(_words(asked).values(), default=1)) + 30
    return Drawing(
        title, end + 4, (head, _axes(), _cells(asked), _lattice(), _depths(asked, bars), _legend(asked, end))
    )


def _axes() -> str:
    left = _LEFT - 5
    body = text(left, _TOP - 5, say("bank"), "label end") + text(left, _TOP + 8, say("lane", number=0), "label end")
    body += "".join(text(_middle(bank), _TOP - 5, str(bank), "label middle") for bank in range(0, BANKS, 4))
    body += "".join(text(left, _TOP + lane * _CELL + 8, str(lane), "label end") for lane in range(4, LANES, 4))
    return body + tag("rect", x=_LEFT, y=_TOP, width=BANKS * _CELL, height=LANES * _CELL, class_="empty")


def _middle(bank: int) -> float:
    return _LEFT + (bank + 0.5) * _CELL


def _cells(asked: list[Served]) -> str:
    shades: dict[int, list[tuple[int, int]]] = {}
    for one in asked:
        shades.setdefault(shade(one.wait, longest(asked)), []).append((one.lane, one.bank))
    paths = "".join(tag("path", d=cells(places), class_=f"w{at}") for at, places in sorted(shades.items()))
    return tag("g", paths, transform=_PLACED)


def _lattice() -> str:
    return tag("path", d=lattice(LANES, BANKS), class_="grid", transform=_PLACED)


def longest(asked: list[Served]) -> int:
    """The longest that a lane waits, in wavefronts."""
    return max((one.wait for one in asked), default=0)


def shade(wait: int, most: int) -> int:
    """0 for who is served at once, then 1 to 6, the last for who waits longest."""
    return 0 if wait == 0 else wait if most <= _SHADES else 1 + (wait - 1) * _SHADES // most


def _depths(asked: list[Served], y: float) -> str:
    """Below each bank a bar: how many different words of it are wanted, in the colour of who waits longest there; and
    below the first of equal ones the number.
    """
    words, waits = _words(asked), {one.bank: 0 for one in asked}
    for one in asked:
        waits[one.bank] = max(waits[one.bank], one.wait)
    body = text(_LEFT - 5, y + 8, say("words"), "label end")
    for depth, wait in sorted({(words[bank], waits[bank]) for bank in words}):
        banks = [bank for bank in sorted(words) if (words[bank], waits[bank]) == (depth, wait)]
        high = number(_bar(depth))
        path = "".join(f"M{_LEFT + bank * _CELL + 1} {y}h{_CELL - 2}v{high}h-{_CELL - 2}z" for bank in banks)
        body += tag("path", d=path, class_=f"w{shade(wait, longest(asked))}")
        firsts = [bank for bank in banks if words.get(bank - 1) != depth]
        body += "".join(text(_middle(bank), y + _bar(depth) + 9, str(depth), "label middle") for bank in firsts)
    return body


def _words(asked: list[Served]) -> Mapping[int, int]:
    """Bank → how many different words of it are wanted."""
    return Counter(bank for bank, _ in {(one.bank, one.word) for one in asked})


def _bar(words: int) -> float:
    """The height of a bar; it grows more slowly than what it stands for, so that 1, 2 and 32 can all be seen."""
    return 5 * math.pow(words, 0.6)


def _legend(asked: list[Served], y: float) -> str:
    body = tag("rect", x=_LEFT, y=y - 8, width=9, height=9, class_="w0") + text(_LEFT + 14, y, say("at_once"), "soft")
    most = longest(asked)
    if not most:
        return body
    shades = sorted({shade(wait, most) for wait in range(1, most + 1)})
    start = _LEFT + 112
    for place, at in enumerate(shades):
        body += tag("rect", x=start + 9 * place, y=y - 8, width=9, height=9, class_=f"w{at}")
    told = say("waits_for_one") if most == 1 else say("waits", number=number(most))
    return body + text(start + 9 * len(shades) + 6, y, told, "soft")
