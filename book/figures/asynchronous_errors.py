"""The drawing of the chapter on errors that come later."""

from __future__ import annotations

from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing


def late() -> Drawing:
    """Host and GPU over time: the launch succeeds, the kernel fails, a copy hears of it."""
    sketch = Sketch("The launch succeeds, the kernel fails later, and the copy hears of it")
    sketch.text(8, 40, "host", kind="soft")
    sketch.text(8, 112, "GPU", kind="soft")
    sketch.box(56, 22, 60, 30, "launch", fill="good")
    sketch.box(122, 22, 62, 30, "others", fill="load-past")
    sketch.box(190, 22, 196, 30, "cudaMemcpy of y", fill="bad")
    sketch.text(86, 16, "success", kind="small", align="middle")
    sketch.text(288, 16, "an illegal memory access", kind="small", align="middle")
    sketch.box(130, 94, 150, 30, "kernel", fill="load-past")
    sketch.box(254, 94, 26, 30, fill="bad")
    sketch.arrow(86, 54, 130, 92)
    sketch.arrow(268, 92, 310, 54)
    sketch.text(304, 80, "told only now", kind="soft")
    sketch.text(268, 142, "here it went out of bounds", kind="soft", align="middle")
    return sketch.drawing()
