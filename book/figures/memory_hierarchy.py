"""The drawing of the chapter on the memory hierarchy."""

from __future__ import annotations

from pathlib import Path

from grader.publish.numbers import result
from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing

_ROOT = Path(__file__).parents[2]


def places() -> Drawing:
    """Where a value can lie, from registers down to the memory of the device."""
    light = result(_ROOT, "h200/first_light.json")["about"]
    sketch = Sketch("The places of an H200's memory, from registers to device memory")
    sketch.text(8, 18, f"a multiprocessor, one of {light['multiprocessors']}", kind="head")
    sketch.box(8, 26, 384, 128, fill="none")
    sketch.box(24, 38, 352, 34, "registers: 256 KiB, each a thread's own", fill="load")
    sketch.arrow(112, 74, 112, 104, "words")
    sketch.arrow(288, 74, 288, 104, "words")
    sketch.box(24, 106, 172, 38, "shared memory\n32 banks", fill="load-past")
    sketch.box(204, 106, 172, 38, "L1 cache\nlines of 128 bytes", fill="load-past")
    sketch.text(376, 172, "together 256 KiB", kind="soft", align="end")
    sketch.arrow(112, 156, 112, 206, "sectors of 32 bytes")
    sketch.box(
        8, 208, 384, 36, f"L2 cache: {light['l2_bytes'] // 2**20} MiB, for all multiprocessors", fill="store-past"
    )
    sketch.arrow(112, 246, 112, 282, "sectors of 32 bytes")
    sketch.box(8, 284, 384, 36, "device memory: 141 GB, 4.8 TB/s", fill="empty")
    return sketch.drawing()
