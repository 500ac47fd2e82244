"""SVG as text: elements with everything escaped, shapes made of cells, and the colours for light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

WIDTH = 400  # of every drawing, in its own units: on a phone they are about as wide as pixels
MARGIN = 12
_SCALE = 1.3  # of a file that is opened by itself

STYLE = """
.trace { --paper: #ffffff; --ink: #1f2328; --soft: #59636e; --rule: #d5dbe1; --empty: #eef1f4; --load: #2b78d4;
  --store: #c2620e; --load-past: #c9def7; --store-past: #f6d9b8; --waste: #f4c95d; --good: #1f7a4d; --bad: #b42318;
  --w0: #2b8c7e; --w1: #f0c24b; --w2: #ee9f3a; --w3: #e77b35; --w4: #d85a34; --w5: #bf3d36; --w6: #98263a; }
@media (prefers-color-scheme: dark) {
  .trace { --paper: #14181d; --ink: #e6edf3; --soft: #9aa5b1; --rule: #343c46; --empty: #20262d; --load: #5aa2f2;
    --store: #f0944a; --load-past: #1f3f63; --store-past: #573519; --waste: #8a6a1d; --good: #56c08a; --bad: #ff8d80;
    --w0: #3aa898; --w1: #b98f2a; --w2: #d08a2e; --w3: #e07f3a; --w4: #ec7650; --w5: #f4726b; --w6: #ff7d93; }
}
.trace .paper { fill: var(--paper); }
.trace text { fill: var(--ink); font: 11px ui-sans-serif, system-ui, "Segoe UI", Roboto, sans-serif; }
.trace .head { font-size: 14px; font-weight: 650; }
.trace .soft, .trace .label { fill: var(--soft); }
.trace .label { font-size: 8.5px; font-variant-numeric: tabular-nums; }
.trace .ruler { fill: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums; }
.trace .code { font: 10px ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
.trace .on { fill: var(--paper); font-size: 7.5px; font-weight: 600; }
.trace .good { fill: var(--good); } .trace .bad { fill: var(--bad); } .trace .good, .trace .bad { font-weight: 600; }
.trace .end { text-anchor: end; } .trace .middle { text-anchor: middle; }
.trace .empty { fill: var(--empty); }
.trace .grid { stroke: var(--paper); stroke-width: 1; fill: none; vector-effect: non-scaling-stroke; }
.trace .thin { stroke-width: 0.5; }
.trace .load { fill: var(--load); } .trace .store { fill: var(--store); }
.trace .load-past { fill: var(--load-past); } .trace .store-past { fill: var(--store-past); }
.trace .past .load { fill: var(--load-past); } .trace .past .store { fill: var(--store-past); }
.trace .waste { fill: var(--waste); }
.trace .w0 { fill: var(--w0); } .trace .w1 { fill: var(--w1); } .trace .w2 { fill: var(--w2); }
.trace .w3 { fill: var(--w3); } .trace .w4 { fill: var(--w4); } .trace .w5 { fill: var(--w5); }
.trace .w6 { fill: var(--w6); }
.trace .edge { stroke: var(--rule); stroke-width: 1; fill: none; }
.trace .edge.told { stroke: var(--load); stroke-width: 1.2; }
.trace .node { fill: var(--rule); } .trace .node.told { fill: var(--load); }
"""


@dataclass(frozen=True)
class Drawing:
    """`height` units of a drawing that is WIDTH wide; `title` says what it shows. Each of `parts` is whole elements,
    such that drawings of a kind share some.
    """

    title: str
    height: float
    parts: tuple[str, ...]

    @property
    def body(self) -> str:
        """All its elements."""
        return "".join(self.parts)


def tag(name: str, content: str = "", **attributes: object) -> str:
    """An element; `content` is markup already. `class_` is `class`, and `stroke_width` is `stroke-width`."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(number(value))}"
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def number(value: object) -> str:
    """Numbers with no more digits than can be seen."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(x: float, y: float, line: str, class_: str = "") -> str:
    """A line of text that begins at (x, y), or ends there with class `end`."""
    return tag("text", escaped(line), x=x, y=y, class_=class_ or None)


def escaped(line: str) -> str:
    """As it may stand between tags, without what neither XML nor a terminal can hold."""
    return escape("".join(character if character.isprintable() else " " for character in line))


def cells(places: Iterable[tuple[int, int]]) -> str:
    """The path of cells (row, column), each a square of 1, as few rectangles as lie row by row."""
    rows: dict[int, list[int]] = {}
    for row, column in set(places):
        rows.setdefault(row, []).append(column)
    open_at: dict[tuple[int, int], int] = {}  # (first column, width) → the row in which the rectangle begins
    path, before = "", -2
    for row in sorted(rows):
        runs = set(_runs(sorted(rows[row])))
        for run in [run for run in open_at if run not in runs or row != before + 1]:
            path += _rectangle(run, open_at.pop(run), before)
        for run in runs:
            open_at.setdefault(run, row)
        before = row
    return path + "".join(_rectangle(run, first, before) for run, first in open_at.items())


def _runs(columns: list[int]) -> Iterable[tuple[int, int]]:
    first = last = columns[0]
    for column in columns[1:]:
        if column != last + 1:
            yield first, last - first + 1
            first = column
        last = column
    yield first, last - first + 1


def _rectangle(run: tuple[int, int], first: int, last: int) -> str:
    column, width = run
    return f"M{column} {first}h{width}v{last - first + 1}h-{width}z"


def lattice(rows: int, columns: int) -> str:
    """Lines between the cells of a grid."""
    across = "".join(f"M0 {row}h{columns}" for row in range(1, rows))
    return across + "".join(f"M{column} 0v{rows}" for column in range(1, columns))


def stacked(drawings: Iterable[Drawing], title: str, *, gap: float = 26) -> Drawing:
    """One drawing of several, one below the other."""
    parts, y = [], float(MARGIN)
    for drawing in drawings:
        parts.append(tag("g", drawing.body, transform=f"translate(0 {number(y)})"))
        y += drawing.height + gap
    return Drawing(title, y - gap + MARGIN, tuple(parts))


def document(drawings: Iterable[Drawing], heading: str) -> str:
    """A file of its own: the drawings one below the other, on paper of the reader's colour."""
    whole = stacked(drawings, heading)
    height = whole.height
    inside = (
        tag("title", escaped(heading))
        + tag("style", escape(STYLE))
        + tag("rect", width=WIDTH, height=height, class_="paper")
        + whole.body
    )
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tag(
        "svg", inside, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {number(height)}",
        width=_SCALE * WIDTH, height=_SCALE * height, class_="trace", role="img",
    )  # fmt: skip
