"""Diagrams of the chapter on the first kernel."""

from grader.publish.sketch import Sketch
from grader.trace.svg import MARGIN, WIDTH, Drawing


def pipeline() -> Drawing:
    """From the file to the verdict."""
    sketch = Sketch("A file is built, its launch code is recorded, its kernels run, and results are compared")
    middle = WIDTH / 2
    half = (WIDTH - 2 * MARGIN - 16) / 2
    right = WIDTH - MARGIN - half
    sketch.box(middle - 70, 10, 140, 30, "your file, a .cu", fill="empty")
    sketch.arrow(middle, 42, middle, 68, "build: nvcc")
    sketch.box(MARGIN, 72, half, 44, "launch code\nfor the CPU", fill="load-past")
    sketch.box(right, 72, half, 44, "kernels: PTX and\nmachine code", fill="store-past")
    sketch.arrow(MARGIN + half / 2, 118, MARGIN + half / 2, 148, "record, in a cage")
    sketch.box(MARGIN, 152, half, 44, "the plan: a list of\nlaunches", fill="load-past")
    sketch.arrow(MARGIN + half / 2, 198, middle - 40, 236)
    sketch.arrow(right + half / 2, 118, middle + 40, 236, "run")
    sketch.box(middle - 110, 240, 220, 44, "software GPU: every access\nchecked and counted", fill="empty")
    sketch.arrow(middle, 286, middle, 314, "compare with PyTorch")
    sketch.box(middle - 70, 318, 140, 30, "the verdict", fill="good")
    return sketch.drawing()
