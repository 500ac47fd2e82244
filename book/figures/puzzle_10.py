"""The diagrams of the chapter on a training step."""

from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing


def op_call() -> Drawing:
    """From an operation's name to a launch."""
    sketch = Sketch("How a call finds its kernel")
    sketch.box(20, 12, 360, 34, "op_call: SgdStep of w and g, into w, lr", fill="load")
    sketch.arrow(200, 47, 200, 68)
    sketch.box(20, 70, 360, 50, "is it a call at all?\n2 inputs, 1 output, 1 number, one shape", fill="load-past")
    sketch.arrow(200, 121, 200, 142)
    sketch.text(20, 160, "variants of SgdStep, highest priority first", kind="soft")
    rows = (
        ("sgd_step_f16_half2_kernel", "w or g is not 4-byte aligned", "waste"),
        ("sgd_step_f16_kernel", "supported", "store"),
        ("sgd_step_f32_kernel", "not asked", "empty"),
        ("sgd_step_any_kernel", "not asked", "empty"),
    )
    for place, (name, answer, fill) in enumerate(rows):
        y = 170 + place * 34
        sketch.box(20, y, 184, 28, name, fill=fill)
        sketch.text(214, y + 19, answer, kind="soft" if fill == "empty" else "")
    sketch.arrow(112, 308, 112, 330)
    sketch.box(20, 332, 360, 34, "launch: one kernel, on this stream", fill="store")
    return sketch.drawing()


def eager_and_captured() -> Drawing:
    """Host and GPU over time, call by call and as a graph."""
    sketch = Sketch("A small step, eager and captured")
    left, kernel, apart = 60, 12, 42
    sketch.text(8, 18, "call by call", kind="head")
    sketch.text(8, 52, "host", kind="soft")
    sketch.text(8, 92, "GPU", kind="soft")
    for place in range(8):
        x = left + place * apart
        sketch.box(x, 36, apart - 3, 24, fill="load-past")
        if place < 7:
            sketch.box(x + apart, 76, kernel, 24, fill="store")
    sketch.text(8, 136, "as a graph", kind="head")
    sketch.text(8, 170, "host", kind="soft")
    sketch.text(8, 210, "GPU", kind="soft")
    sketch.box(left, 154, 24, 24, fill="load-past")
    for place in range(8):
        sketch.box(left + 28 + place * (kernel + 1), 194, kernel, 24, fill="store")
    sketch.arrow(left, 240, 390, 240)
    sketch.text(left, 256, "time", kind="small")
    sketch.legend(left + 50, 256, {"load-past": "the host prepares a launch", "store": "a kernel runs"})
    return sketch.drawing()
