"""Diagrams of the chapter on vector add."""

from collections.abc import Callable

from grader.publish.sketch import Sketch
from grader.trace.svg import MARGIN, WIDTH, Drawing

COUNT, THREADS = 16, 8  # elements; threads of the grid, where a thread takes several
STRETCH = COUNT // THREADS


def who() -> Drawing:
    """Which thread takes which element with which of its accesses, in four ways."""
    sketch = Sketch("Sixteen elements, and which thread takes each, in four ways of sharing them out")
    ways: list[tuple[str, Callable[[int], tuple[int, int]]]] = [
        ("1.1, 1.2: one thread, one element", lambda place: (place, 0)),
        (f"1.4: step by the grid, here of {THREADS} threads", lambda place: (place % THREADS, place // THREADS)),
        ("1.5: four neighbours with one access", lambda place: (place // 4, 0)),
        ("not so: each thread a stretch", lambda place: (place // STRETCH, place % STRETCH)),
    ]
    size = (WIDTH - 2 * MARGIN) / COUNT
    for row, (title, taken) in enumerate(ways):
        y = 26 + 58 * row
        sketch.text(MARGIN, y - 8, title, kind="bad" if title.startswith("not") else "")
        threads = [taken(place) for place in range(COUNT)]
        sketch.cells(
            MARGIN,
            y,
            rows=1,
            columns=COUNT,
            size=size,
            painted={(0, place): ("load", "load-past")[access] for place, (_, access) in enumerate(threads)},
            words={(0, place): str(thread) for place, (thread, _) in enumerate(threads)},
        )
    sketch.legend(MARGIN, 26 + 58 * len(ways), {"load": "first access", "load-past": "second access"})
    return sketch.drawing()
