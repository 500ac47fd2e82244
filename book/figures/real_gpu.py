"""The diagram of the page on a real GPU."""

from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing


def turns() -> Drawing:
    """Rounds of a race, and what belongs to a lap."""
    sketch = Sketch("A race: turns, and what happens in one of them")
    kinds = (("yours", "load"), ("solution", "store"), ("PyTorch", "waste"), ("limit", "empty"))
    for lap in range(8):
        sketch.box(12 + lap * 47, 34, 44, 26, fill=kinds[lap % 4][1])
    sketch.bracket(12, 197, 30, "one round", above=True)
    sketch.bracket(200, 385, 30, "the next", above=True)
    sketch.legend(12, 236, {fill: name for name, fill in kinds})
    sketch.line(12, 62, 12, 106, dashed=True)
    sketch.line(56, 62, 388, 106, dashed=True)
    for x, width, words, fill in (
        (12, 148, "forget: inputs anew,\nmemory overwritten,\ncold caches", "empty"),
        (163, 34, "event", "load-past"),
        (200, 80, "the kernel", "load"),
        (283, 34, "event", "load-past"),
        (320, 68, "look at\nsome\nplaces", "empty"),
    ):
        sketch.box(x, 108, width, 62, "" if words == "event" else words, fill=fill)
        if words == "event":
            sketch.text(x + width / 2, 143, words, kind="small", align="middle")
    sketch.bracket(180, 300, 178, "the time of the lap")
    return sketch.drawing()
