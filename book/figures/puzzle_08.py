"""The diagrams of the chapter on flash attention."""

from math import exp

from grader.publish.sketch import Sketch
from grader.trace.svg import Drawing

ROWS, COLUMNS, CELL = 6, 3, 13  # of the small matrices of `one_head`, and how wide an element is


def one_head() -> Drawing:
    """The two products of one head, with one query's row marked all the way through."""
    sketch = Sketch("One head: scores, weights, weighted sum")
    row = 2

    def matrix(x: float, y: float, rows: int, columns: int, name: str, marked: list[tuple[int, int]]) -> None:
        sketch.cells(x, y, rows=rows, columns=columns, size=CELL, painted=dict.fromkeys(marked, "load"))
        sketch.text(x + columns * CELL / 2, y - 7, name, kind="soft", align="middle")

    all_of_it = [(r, c) for r in range(ROWS) for c in range(COLUMNS)]
    line = [(row, j) for j in range(ROWS)]
    matrix(20, 130, ROWS, COLUMNS, "q", [(row, c) for c in range(COLUMNS)])
    matrix(78, 66, COLUMNS, ROWS, "k, turned", [(c, r) for r, c in all_of_it])
    matrix(78, 130, ROWS, ROWS, "scores", line)
    sketch.arrow(164, 169, 208, 169)
    sketch.text(186, 190, "softmax", kind="small", align="middle")
    matrix(216, 130, ROWS, ROWS, "weights", line)
    matrix(330, 26, ROWS, COLUMNS, "v", all_of_it)
    sketch.arrow(300, 169, 326, 169)
    matrix(330, 130, ROWS, COLUMNS, "o", [(row, c) for c in range(COLUMNS)])
    return sketch.drawing()


def running_sum() -> Drawing:
    """Six scores, the largest so far, and the sum as seen from it."""
    sketch = Sketch("A maximum and a sum in one pass")
    scores, wide, left = [2, 1, 4, 3, 5, 2], 54, 66
    floor, unit, tall = 150, 22, 34  # where scores stand; a score of 1; a sum of 1
    sketch.text(8, 100, "score", kind="soft")
    sketch.text(8, 178, "largest", kind="soft")
    sketch.text(8, 198, "factor", kind="soft")
    sketch.text(8, 252, "sum", kind="soft")
    largest, total = float("-inf"), 0.0
    for place, score in enumerate(scores):
        x = left + place * (wide + 2)
        higher = max(largest, score)
        factor = exp(largest - higher) if total else 0.0
        old, new = total * factor, exp(score - higher)
        sketch.box(x + 12, floor - score * unit, 30, score * unit, str(score), fill="load")
        sketch.line(x + 4, floor - higher * unit, x + wide - 4, floor - higher * unit, dashed=True)
        sketch.text(x + wide / 2, 178, str(int(higher)), align="middle")
        changed = total > 0 and factor < 1
        words = f"× {factor:.2f}" if total else "–"
        sketch.text(x + wide / 2, 198, words, kind="bad" if changed else "soft", align="middle")
        top = 286 - old * tall
        if old:
            sketch.box(x + 12, top, 30, old * tall, fill="load-past")
        sketch.box(x + 12, top - new * tall, 30, new * tall, fill="load")
        total, largest = old + new, higher
        sketch.text(x + wide / 2, 304, f"{total:.2f}", align="middle")
    sketch.legend(left, 330, {"load-past": "what was there, rescaled", "load": "the new term"})
    return sketch.drawing()


def who_sees_what() -> Drawing:
    """The causal mask of equal and unequal lengths."""
    sketch = Sketch("Which keys a query sees")
    cell = 15
    for x, queries, keys, words in (
        (26, 6, 6, "as many keys\nas queries"),
        (146, 4, 7, "more keys:\na cache"),
        (290, 6, 4, "fewer keys: some\nqueries see none"),
    ):
        seen = {(i, j): "load" for i in range(queries) for j in range(keys) if j <= i + keys - queries}
        names = [str(j) for j in range(keys)]
        sketch.cells(x, 40, rows=queries, columns=keys, size=cell, painted=seen, across=names, down=names_of(queries))
        sketch.text(x + keys * cell / 2, 152, words, kind="soft", align="middle")
    sketch.text(26, 16, "keys go across, queries down", kind="small")
    return sketch.drawing()


def names_of(count: int) -> list[str]:
    """0, 1, …, as words."""
    return [str(number) for number in range(count)]


def tiles() -> Drawing:
    """One block of 8.4 at its third tile of keys."""
    sketch = Sketch("Tiles of keys and values stream past a block's queries")
    left, wide, now = 96, 58, 2
    sketch.text(left, 20, "k, 32 keys a tile", kind="soft")
    sketch.text(left + 5 * wide, 214, "v, 32 values a tile", kind="soft", align="end")
    for tile in range(5):
        x = left + tile * wide
        fill = "load" if tile == now else "load-past" if tile < now else "empty"
        for y in (28, 222):
            sketch.box(x, y, wide - 3, 34, "here" if tile == now else "", fill=fill)
        if tile == now:
            sketch.box(x, 92, wide - 3, 84, "scores", fill="store")
        else:
            sketch.box(x, 92, wide - 3, 84, "gone" if tile < now else "", fill="none")
    middle = left + now * wide + (wide - 3) / 2
    sketch.box(12, 92, 66, 84, "32\nqueries", fill="load")
    sketch.arrow(80, 134, left - 3, 134)
    sketch.arrow(middle, 63, middle, 90)
    sketch.arrow(middle, 178, middle, 220)
    sketch.arrow(middle, 258, middle, 290)
    sketch.box(
        left, 292, 5 * wide - 3, 46, "32 rows of o so far, of each\nthe largest score and the sum", fill="store-past"
    )
    sketch.text(12, 312, "rescaled,", kind="soft")
    sketch.text(12, 328, "added to", kind="soft")
    sketch.arrow(left + 3 * wide + 6, 45, left + 5 * wide - 8, 45)
    return sketch.drawing()


def fragment() -> Drawing:
    """Which lane holds which element of the sum of mma.sync.m16n8k16."""
    sketch = Sketch("Where a warp holds a tile of 16 by 8")
    lanes = {(row, column): row % 8 * 4 + column // 2 for row in range(16) for column in range(8)}
    held = {place: "load" for place, lane in lanes.items() if lane < 4 and place[0] < 8}
    held |= {place: "store" for place, lane in lanes.items() if lane < 4 and place[0] >= 8}
    words = {place: str(lane) for place, lane in lanes.items()}
    sketch.text(66, 16, "columns", kind="soft")
    sketch.cells(66, 40, rows=16, columns=8, size=20, painted=held, words=words, across=names_of(8), down=names_of(16))
    sketch.text(244, 54, "numbers are lanes", kind="soft")
    sketch.text(244, 96, "c[0] and c[1]\nof lanes 0 to 3")
    sketch.arrow(242, 92, 228, 56)
    sketch.text(244, 256, "c[2] and c[3]\nof the same lanes,\neight rows below")
    sketch.arrow(242, 252, 228, 214)
    sketch.text(20, 206, "rows", kind="soft", align="middle")
    return sketch.drawing()


def splits() -> Drawing:
    """A cache in four pieces, each summed up by a warp, and merged."""
    sketch = Sketch("A long cache, split and merged")
    sketch.text(14, 20, "the keys and values of one head", kind="soft")
    for place in range(4):
        x = 14 + place * 95
        sketch.box(x, 30, 87, 32, f"split {place}", fill="load")
        sketch.arrow(x + 43, 64, x + 43, 90, "a warp" if place == 0 else "")
        sketch.box(x, 92, 87, 52, "m, ℓ and\nd sums of v", fill="store-past")
        sketch.arrow(x + 43, 146, 200 + (place - 1.5) * 30, 184)
    sketch.box(100, 186, 200, 40, "rescaled to the largest,\nadded up, divided", fill="store")
    sketch.arrow(200, 228, 200, 250)
    sketch.box(150, 252, 100, 28, "o", fill="load-past")
    return sketch.drawing()
