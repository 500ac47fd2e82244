"""The sectors of one access to global memory: a row is a cache line of 128 bytes, four sectors of 32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.trace.accesses import Access
from grader.trace.served import LINE, SECTOR, lanes_by_place, sectors
from grader.trace.svg import MARGIN, Drawing, number, tag, text
from grader.trace.words import access_line, counted, say

_LEFT, _TOP, _BYTE = 70, 44, 2.4
_GAP = 3  # between the sectors of a line
_ROW, _HIGH = 14, 11  # a line, and what of it is drawn
_MOST_LINES = 40
_NARROWEST = 9  # of a box with a number in it


def sector_map(access: Access) -> Drawing:
    """Which bytes the lanes of a warp want, and what is fetched besides."""
    fetched = sectors(access)
    lines = sorted({sector * SECTOR // LINE for sector in fetched})
    rows = {line: _TOP + _ROW * place for place, line in enumerate(lines[:_MOST_LINES])}
    title = access_line(access)
    head = text(MARGIN, 14, title, "head") + text(MARGIN, 30, *counted(access))
    labels = "".join(text(_LEFT - 6, y + 9, _label(access, line * LINE), "label end") for line, y in rows.items())
    wanted = ""
    for piece in _pieces(access):
        first, end, lanes = piece
        line = first // LINE
        if line in rows:
            wanted += _piece(first - line * LINE, end - first, lanes, rows[line], is_row=_is_row(access, piece))
    below = _TOP + _ROW * len(rows)
    if len(lines) > len(rows):
        labels += text(_LEFT, below + 9, say("more_lines", number=len(lines) - len(rows)), "soft")
        below += _ROW
    return Drawing(title, below + 26, (head, labels, _sectors(rows, fetched), wanted, _legend(below + 18, access)))


def _sectors(rows: Mapping[int, int], fetched: Sequence[int]) -> str:
    """All sectors of the lines; those that are not fetched are empty."""
    paths = {"empty": "", "waste": ""}
    for line, y in rows.items():
        for place in range(LINE // SECTOR):
            kind = "waste" if line * LINE // SECTOR + place in fetched else "empty"
            wide = number(SECTOR * _BYTE)
            paths[kind] += f"M{number(_x(place * SECTOR))} {y}h{wide}v{_HIGH}h-{wide}z"
    return "".join(tag("path", d=path, class_=kind) for kind, path in paths.items() if path)


def _label(access: Access, address: int) -> str:
    if access.array is None:
        return ""
    start = max(address, access.array.address)
    return access.array.element(access.array.index(start))


def _x(byte: float) -> float:
    """Where a byte of a line begins."""
    return _LEFT + byte * _BYTE + byte // SECTOR * _GAP


def _pieces(access: Access) -> list[tuple[int, int, list[int]]]:
    """What is wanted, as (first byte, end, lanes): the places side by side in a line that lanes in a row want, one
    each, or a place that several lanes want.
    """
    pieces: list[tuple[int, int, list[int]]] = []
    for address, lanes in lanes_by_place(access).items():
        if pieces and len(lanes) == 1 and address % LINE:
            first, end, before = pieces[-1]
            if address == end and lanes[0] == before[-1] + 1 and _is_row(access, pieces[-1]):
                pieces[-1] = (first, end + access.bytes, [*before, *lanes])
                continue
        pieces.append((address, address + access.bytes, lanes))
    return pieces


def _is_row(access: Access, piece: tuple[int, int, list[int]]) -> bool:
    """Whether each lane has a place of its own."""
    first, end, lanes = piece
    return end - first == access.bytes * len(lanes)


def _piece(at: int, size: int, lanes: list[int], y: float, *, is_row: bool) -> str:
    """A box for each lane, the first and the last with their numbers; or one for all lanes of a place."""
    boxes = [lanes] if not is_row else [[lane] for lane in lanes]
    bytes_each = size / len(boxes)
    width = bytes_each * _BYTE
    gap = 0.4 if width > _NARROWEST else 0.2
    path = numbers = ""
    for place, inside in enumerate(boxes):
        x = _x(at + place * bytes_each)
        path += f"M{number(x + gap)} {number(y)}h{number(width - 2 * gap)}v{_HIGH}h-{number(width - 2 * gap)}z"
        if width >= _NARROWEST and place in (0, len(boxes) - 1):
            numbers += text(x + width / 2, y + 8.4, f"{inside[0]}{'+' * (len(inside) > 1)}", "on middle")
    return tag("path", d=path, class_="load") + numbers


def _legend(y: float, access: Access) -> str:
    body = tag("rect", x=_LEFT, y=y - 8, width=9, height=9, class_="load") + text(_LEFT + 14, y, say("wanted"), "soft")
    if access.excess > 0:
        body += tag("rect", x=_LEFT + 150, y=y - 8, width=9, height=9, class_="waste")
        body += text(_LEFT + 164, y, say("for_nothing"), "soft")
    return body
