"""Diagrams of the chapter on threads, warps, blocks and multiprocessors."""

from grader.publish.sketch import Sketch
from grader.trace.svg import MARGIN, WIDTH, Drawing, tag

INNER = WIDTH - 2 * MARGIN
BLOCK, WARP, LANE = 2, 2, 6  # thread 70 of block 2


def grid() -> Drawing:
    """From the grid to one lane."""
    sketch = Sketch("A grid of blocks, a block of warps, a warp of lanes, and one thread followed through them")
    rows = [
        ("a grid of 4 blocks", 4, BLOCK, "block {}"),
        ("block 2: 256 threads, in warps 0 to 7", 8, WARP, "{}"),
        ("warp 2: threads 64 to 95, in 32 lanes", 32, LANE, "{}"),
    ]
    for level, (title, count, chosen, name) in enumerate(rows):
        y = 30 + 92 * level
        width = INNER / count
        sketch.text(MARGIN, y - 9, title, kind="soft")
        for place in range(count):
            told = name.format(place) if count < 32 else ""
            fill = "load" if place == chosen else "load-past"
            sketch.box(MARGIN + place * width + 0.5, y, width - 1, 30, told, fill=fill)
        if level < len(rows) - 1:
            below = y + 66
            sketch.line(MARGIN + chosen * width, y + 32, MARGIN, below, dashed=True)
            sketch.line(MARGIN + (chosen + 1) * width, y + 32, WIDTH - MARGIN, below, dashed=True)
    middle = MARGIN + (LANE + 0.5) * INNER / 32
    sketch.arrow(middle, 270, middle, 247)
    sketch.text(middle + 10, 272, "lane 6: threadIdx.x = 2 · 32 + 6 = 70", kind="small")
    sketch.text(middle + 10, 289, "i = blockIdx.x · blockDim.x + threadIdx.x", kind="small")
    sketch.text(middle + 10, 306, "  = 2 · 256 + 70 = 582", kind="small")
    return sketch.drawing()


SPLIT, STEPS = 12, (2, 3, 3, 2)  # lanes of the first way; steps before, on either way, after


def divergence() -> Drawing:
    """A branch on which the lanes of a warp disagree, and one on which whole warps decide alike."""
    sketch = Sketch("Which lanes work in each step, where a warp diverges and where it does not")
    before, first, second, after = STEPS
    size = 10
    sketch.text(MARGIN + 42, 16, "one warp, if (lane < 12) … else …", kind="code")
    painted: dict[tuple[int, int], str] = {}
    for step in range(sum(STEPS)):
        for lane in range(32):
            common = step < before or step >= before + first + second
            left = before <= step < before + first
            if common:
                painted[step, lane] = "load-past"
            elif left == (lane < SPLIT):
                painted[step, lane] = "load" if left else "store"
    sketch.cells(MARGIN + 42, 26, rows=sum(STEPS), columns=32, size=size, painted=painted)
    _ways(sketch, 26, size, [("both", before), ("if", first), ("else", second), ("both", after)])

    sketch.text(MARGIN + 42, 26 + size * sum(STEPS) + 15, "10 steps", kind="small")

    top = 182
    width = 5
    sketch.text(MARGIN + 42, top - 10, "two warps, if (warp == 0) … else …", kind="code")
    for warp, (fill, steps) in enumerate((("load", first), ("store", second))):
        painted = {(step, lane): "load-past" for step in range(before + steps + after) for lane in range(32)}
        painted |= {(before + step, lane): fill for step in range(steps) for lane in range(32)}
        x = MARGIN + 42 + warp * (32 * width + 12)
        _narrow(sketch, x, top, painted, before + steps + after, width, size)
        sketch.text(x, top + 10 * (before + steps + after) + 15, f"warp {warp}: 7 steps", kind="small")
    _ways(sketch, top, size, [("both", before), ("own", first), ("both", after)])
    sketch.legend(MARGIN, top + 108, {"load-past": "all lanes", "load": "if", "store": "else", "empty": "stands still"})
    return sketch.drawing()


def _ways(sketch: Sketch, y: float, size: float, ways: list[tuple[str, int]]) -> None:
    """Names of stretches of steps, left of the lanes."""
    for name, steps in ways:
        sketch.text(MARGIN + 36, y + size * steps / 2 + 4, name, kind="small", align="end")
        y += size * steps


def _narrow(
    sketch: Sketch,
    x: float,
    y: float,
    painted: dict[tuple[int, int], str],
    steps: int,
    width: float,
    size: float,
) -> None:
    """Lanes across and steps downwards, where all lanes do the same: one stripe a step."""
    for step in range(steps):
        top = y + step * size
        sketch.put(
            tag("rect", x=x, y=top, width=32 * width, height=size - 1, class_=painted[step, 0]), bottom=top + size
        )


def multiprocessor() -> Drawing:
    """A multiprocessor, and the GPU that is made of them."""
    sketch = Sketch("A multiprocessor: four schedulers, registers, shared memory; and 132 of them over one memory")
    sketch.text(MARGIN, 16, "one multiprocessor", kind="head")
    sketch.box(MARGIN, 26, 226, 262, fill="none")
    for place in range(4):
        x = MARGIN + 8 + place * 53
        sketch.box(x, 36, 51, 34, "sche-\nduler", fill="load-past")
        sketch.cells(x + 1.5, 78, rows=4, columns=4, size=12, painted=_all(4, 4, "w0"))
        sketch.text(x + 25.5, 140, "16 warps", kind="small", align="middle")
        sketch.cells(x + 1.5, 148, rows=4, columns=8, size=6, painted=_all(4, 8, "load"))
        sketch.text(x + 25.5, 187, "32 lanes", kind="small", align="middle")
    sketch.box(MARGIN + 8, 198, 210, 34, "65,536 registers", fill="store-past")
    sketch.box(MARGIN + 8, 240, 210, 40, "shared memory, first cache\n256 KiB", fill="store-past")

    left = MARGIN + 242
    sketch.text(left, 16, "the GPU", kind="head")
    count = 132
    columns, size = 12, 11
    sketch.cells(
        left + 1,
        26,
        rows=count // columns,
        columns=columns,
        size=size,
        painted={divmod(place, columns): "load" if place == 0 else "load-past" for place in range(count)},
    )
    sketch.text(left, 166, "132 multiprocessors", kind="small")
    sketch.line(left + 66, 172, left + 66, 198)
    sketch.box(left, 198, 133, 34, "second cache, L2", fill="store-past")
    sketch.line(left + 66, 232, left + 66, 240)
    sketch.box(left, 240, 133, 40, "device memory\n141 GB", fill="store-past")
    return sketch.drawing()


def _all(rows: int, columns: int, fill: str) -> dict[tuple[int, int], str]:
    return {(row, column): fill for row in range(rows) for column in range(columns)}


DURATIONS = (4, 6, 5, 4, 5, 4, 5, 4, 4, 5, 4, 6)  # of blocks 0 to 11


def queue() -> Drawing:
    """Blocks take the places of multiprocessors as these become free."""
    sketch = Sketch("Twelve blocks, one after the other on the four multiprocessors that are free first")
    places = 4
    free = [0] * places
    unit = (INNER - 46) / 17
    for block, duration in enumerate(DURATIONS):
        place = free.index(min(free))
        x = MARGIN + 46 + free[place] * unit
        sketch.box(x + 0.5, 14 + place * 34, duration * unit - 1, 28, str(block), fill="load-past")
        free[place] += duration
    for place in range(places):
        sketch.text(MARGIN + 38, 33 + place * 34, f"SM {place}", kind="small", align="end")
    sketch.arrow(MARGIN + 46, 162, WIDTH - MARGIN, 162)
    sketch.text(WIDTH - MARGIN, 180, "time", kind="soft", align="end")
    return sketch.drawing()


WORK, WAIT, ROUNDS = 2, 6, 2


def hiding() -> Drawing:
    """What a scheduler does with one warp, and with four."""
    sketch = Sketch("A scheduler with one warp, mostly waiting, and with four warps, always busy")
    unit = (INNER - 66) / (ROUNDS * (WORK + WAIT) + 3 * WORK)
    bottom = _warps(sketch, 34, 1, unit)
    sketch.text(MARGIN, 16, "one warp", kind="head")
    top = bottom + 44
    sketch.text(MARGIN, top - 18, "four warps", kind="head")
    bottom = _warps(sketch, top, 4, unit)
    sketch.legend(MARGIN, bottom + 22, {"load": "issues instructions", "empty": "waits for memory"})
    return sketch.drawing()


def _warps(sketch: Sketch, y: float, count: int, unit: float) -> float:
    """Rows of warps that begin one after the other, and what their scheduler does; returns where they end."""
    left = MARGIN + 66
    row = y + count * 22 + 6
    for warp in range(count):
        for turn in range(ROUNDS):
            at = left + (warp * WORK + turn * (WORK + WAIT)) * unit
            sketch.box(at, y + warp * 22, WORK * unit, 17, fill="load")
            sketch.box(at + WORK * unit, y + warp * 22, WAIT * unit, 17, fill="empty")
            sketch.box(at, row, WORK * unit, 17, fill="load")
        sketch.text(left - 7, y + warp * 22 + 13, f"warp {warp}", kind="small", align="end")
    sketch.text(left - 7, row + 13, "scheduler", kind="small", align="end")
    return row + 17
