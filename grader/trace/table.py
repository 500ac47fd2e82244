"""A trace in the terminal: for each line and array what the block asks for, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from grader.banks.lanes import WORD, BankMap
from grader.facts import listed
from grader.report.banks import bank_picture
from grader.report.terminal import WIDEST, labelled, prose, put_line
from grader.trace.accesses import Access, Trace
from grader.trace.sheet import Place, notes, places
from grader.trace.words import access_line, counts, launched, say


def print_table(console: Console, trace: Trace, heading: str, label: str, line: int | None) -> None:
    """`label` is the part's, such as "3.3". With a line, only what it asks for, and the banks where its lanes meet."""
    width = min(console.width, WIDEST)
    put_line(console, Text(heading, style="bold"))
    put_line(console, Text(f"  {launched(trace)}"))
    if trace.sizes:
        put_line(console, Text(f"  {listed(trace.sizes)}"))
    for told in notes(trace):
        prose(console, told, width)
    console.print()
    rows = list(map(_row, places(trace, line)))
    widths = [max(len(row[column]) for row, _ in rows) for column in range(3)]
    for row, style in rows:
        put_line(console, _line(row, widths, style))
    if line is not None:
        for drawn in _banks(trace, line):
            put_line(console, Text(f"  {drawn}".rstrip()))
    console.print()
    labelled(console, say("pictures"), say("next_out", label=label), width, style="cyan")
    console.print()


def _row(place: Place) -> tuple[tuple[str, str, str, str], str]:
    first = place.first
    what = first.array.name if first.array is not None else say("memory")
    verb = say(f"verb_one_{first.kind}")
    several = len(place.accesses) > 1
    accesses = say("accesses" if several else "accesses_one", number=len(place.accesses))
    style = "red" if place.cost > place.ideal else "green"
    told = counts(first.space, place.cost, place.ideal, in_all=several) if place.cost else ""
    return (say("line_short", line=first.line), f"{verb} {what}", accesses, told), style


def _line(row: tuple[str, str, str, str], widths: list[int], style: str) -> Text:
    line, what, accesses, told = row
    start = f"  {line:<{widths[0]}}  {what:<{widths[1]}}  {accesses:>{widths[2]}}  "
    return Text(start).append(told, style=style)


def _banks(trace: Trace, line: int) -> Iterator[str]:
    """Of the line's accesses to shared memory the one that costs most, bank by bank."""
    costly = [place.worst for place in places(trace, line) if place.first.space == "shared" and place.worst.excess > 0]
    for access in costly[:1]:
        yield ""
        yield access_line(access)
        yield from bank_picture(_bank_map(access))


def _bank_map(access: Access) -> BankMap:
    words = tuple(None if address is None else address // WORD for address in access.lanes)
    return BankMap(access.kind, access.bytes, words)
