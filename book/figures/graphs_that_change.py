"""The diagram of the page on graphs that change."""

from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing


def three_places() -> Drawing:
    """A length frozen in a launch, in memory, and in the choice of a graph."""
    sketch = Sketch("Three places for a length")
    heads = ("in the launch", "in memory", "in the choice")
    for place, head in enumerate(heads):
        sketch.text(12 + place * 130 + 58, 18, head, align="middle")
    sketch.box(12, 30, 116, 84, "a graph,\nk_len = 1000\nfor ever", fill="store-past")
    sketch.box(142, 30, 116, 84, "a graph, for\nthe longest", fill="store-past")
    sketch.arrow(200, 150, 200, 116, "reads")
    sketch.box(166, 152, 68, 28, "1237", fill="load")
    for number, size in enumerate(("512", "1024", "2048")):
        taken = size == "2048"
        sketch.box(272, 30 + number * 30, 116, 24, f"a graph, {size}", fill="store" if taken else "store-past")
    sketch.arrow(330, 150, 330, 116)
    sketch.box(284, 152, 92, 28, "host: 1237", fill="load")
    return sketch.drawing()
