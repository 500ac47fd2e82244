"""Cases of puzzle 7: sizes, and how their inputs are filled and placed."""

from grader.puzzle import Case
from grader.python_part import Call

EPS = 1e-5

# ---- forward ----


def shapes(*values, eps=EPS, **places):
    return [Case(rows=height, cols=width, eps=eps, **places) for height, width in values]


def layers(*values, eps=EPS, **places):
    return [Case(rows=height, cols=width, out_features=out, eps=eps, **places) for height, width, out in values]


def filled(generator, *values, cases=shapes, **further):
    return cases(*values, inputs={"x": generator}, **further)


def at_least_one(cols):
    return cols >= 1


def aligned(case):
    return case.params["cols"] % 4 == 0 and not case.offset


# ---- backward ----


def back_shapes(*values, offset=None, **generators):
    return [Case(rows=height, cols=width, inputs=generators, offset=offset) for height, width in values]


def back_layers(*values, offset=None, **generators):
    """Cases of rows, cols and out_features."""
    return [
        Case(rows=rows, cols=cols, out_features=out, inputs=generators, offset=offset) for rows, cols, out in values
    ]


def in_float4s(case):
    """Whether every row of every matrix begins where 16 bytes can be loaded at once."""
    return case.params["cols"] % 4 == 0 and case.params["out_features"] % 4 == 0 and not case.offset


# ---- in Python ----


def calls(*values, eps=EPS, **further):
    sizes = (dict(zip(("batch", "seq", "hidden", "out_features"), value, strict=True)) for value in values)
    return [Call(**size, eps=eps, **further) for size in sizes]
