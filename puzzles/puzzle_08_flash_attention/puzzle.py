"""Puzzle 8: attention, from a matrix of scores in memory to one that is never stored."""

from math import inf

from grader.puzzle import Case, In, Mistake, Out, Part, Puzzle, Scalar, Tolerance, Work, Workspace, f32, i32

MASKED = Scalar("causal", i32)
LENGTHS = [Scalar("bh", i32), Scalar("q_len", i32), Scalar("k_len", i32), Scalar("d", i32), Scalar("scale", f32)]


# ---- what is right ----


def scaled_scores(q, k, scale, causal, diagonal=None):
    """Scores [bh, q_len, k_len], -inf where a causal mask hides the key: j > i + diagonal, k_len - q_len by default."""
    scores = scale * (q @ k.mT)
    _, q_len, k_len = scores.shape
    if not causal:
        return scores
    ahead = (k_len - q_len if diagonal is None else diagonal) + 1
    return scores.masked_fill(scores.new_ones(q_len, k_len).triu(ahead).bool(), -inf)


def weighted(scores, v):
    """Softmax of the scores, times v: [bh, q_len, d]; zeros for a row of -inf alone, which is NaN to PyTorch."""
    return scores.softmax(2).nan_to_num(0) @ v


def attention(q, k, v, scale, causal):
    return weighted(scaled_scores(q, k, scale, causal), v)


def attention_and_lse(q, k, v, scale, causal):
    scores = scaled_scores(q, k, scale, causal)
    return weighted(scores, v), scores.logsumexp(2)


def error_terms(q, k, v, scale, causal):
    """What errors of o and lse are proportional to.

    A score is off by roundings of the terms it is the sum of, and its weight by as much of itself. A key whose weight
    is off by a part of it moves o by that part of weight · (v - o), and lse by that part of its weight.
    """
    scores = scaled_scores(q, k, scale, causal)
    parts = scores.softmax(2).nan_to_num(0) * (1 + abs(scale) * (q.abs() @ k.abs().mT))
    moved = parts.sum(2)
    return parts @ v.abs() + moved[..., None] * weighted(scores, v).abs(), moved + scores.logsumexp(2).abs()


def work_of(element_bytes):
    return lambda bh, q_len, k_len, d: Work(
        bytes=2 * element_bytes * bh * (q_len + k_len) * d, flops=4 * bh * q_len * k_len * d
    )


# ---- cases ----


def shapes(*values, scale=0.125, causal=0, **places):
    """bh, q_len, k_len and d of each case."""
    names = ("bh", "q_len", "k_len", "d")
    return [Case(**dict(zip(names, each, strict=True)), scale=scale, causal=causal, **places) for each in values]


def operands(dtype):
    return [In("q", dtype, "bh", "q_len", "d"), In("k", dtype, "bh", "k_len", "d"), In("v", dtype, "bh", "k_len", "d")]


def one_output(at, b, i, c):
    """What o[b][i][c] is made of, where no mask depends on i."""
    return at.q[b, i, :], at.k[b, :, :], at.v[b, :, c]


# ---- mistakes ----

MISTAKES = [
    Mistake(
        "the mask began at the top left",
        lambda q, k, v, scale, causal: weighted(scaled_scores(q, k, scale, causal, 0), v),
        why="The last query sees the last key, whatever the lengths: query i sees the keys j <= i + k_len - q_len. "
        "With j <= i alone, a query after 1,000 cached keys would see the first of them only.",
    ),
    Mistake(
        "a query did not see its own key",
        lambda q, k, v, scale, causal: weighted(scaled_scores(q, k, scale, causal, k.shape[1] - q.shape[1] - 1), v),
        why="Query i sees the keys j <= i + k_len - q_len: the key at its own place, too.",
    ),
    Mistake(
        "there were no mask",
        lambda q, k, v, scale: weighted(scaled_scores(q, k, scale, 0), v),
        why="With causal = 1, query i sees the keys j <= i + k_len - q_len alone.",
    ),
    Mistake(
        "scale were left out",
        lambda q, k, v, causal: weighted(scaled_scores(q, k, 1, causal), v),
        why="A score is scale · (q · k): a sum of d products grows with √d, and scale takes that back.",
    ),
    Mistake(
        "scale came twice",
        lambda q, k, v, scale, causal: weighted(scaled_scores(q, k, scale * scale, causal), v),
        why="Is q scaled when it is loaded, and the score once more?",
    ),
    Mistake(
        "the weights were not divided by their sum",
        lambda q, k, v, scale, causal: (
            ((s := scaled_scores(q, k, scale, causal)) - s.amax(2, keepdim=True).nan_to_num(neginf=0)).exp() @ v
        ),
        why="The exponentials are weights only when they are divided by their sum over the keys that are seen.",
    ),
    Mistake(
        "k and v were exchanged",
        lambda q, k, v, scale, causal: weighted(scaled_scores(q, v, scale, causal), k),
        why="Scores are products of q and k; what is added up with these weights is v.",
    ),
    Mistake(
        "each key's weights added up to 1, not each query's",
        lambda q, k, v, scale, causal: scaled_scores(q, k, scale, causal).softmax(1).nan_to_num(0) @ v,
        why="The softmax goes along the keys: for each query, the weights of all its keys add up to 1.",
    ),
]

# ---- tolerances ----

SINGLE = Tolerance(
    2.0**-20,
    scale=error_terms,
    why="a score is off by about 2^-24 of the terms it is the sum of, and its weight by as much of itself; expf adds "
    "2^-22, and each sum about 2^-23: eight times that is allowed",
)

puzzle = Puzzle(
    title="Flash attention",
    parts=[
        Part(
            "attention_naive",
            params=[
                *operands(f32),
                Out("o", f32, "bh", "q_len", "d"),
                Workspace("scores", f32, "bh", "q_len", "k_len"),
                *LENGTHS,
                MASKED,
            ],
            reference=attention,
            sampled=one_output,
            groups={
                "a square": shapes((1, 32, 32, 32), (2, 64, 64, 64)),
                "any length": shapes((2, 5, 33, 40), (1, 33, 7, 128), (3, 1, 130, 1), (1, 3, 1, 200)),
                "large scores": shapes((2, 7, 60, 64), scale=10.0)
                + shapes((1, 5, 70, 64), scale=4096.0)
                + shapes((1, 5, 40, 32), scale=-10.0),
                "causal": shapes((2, 33, 33, 40), (1, 64, 64, 64), causal=1),
                "more keys than queries": shapes((2, 5, 37, 40), (1, 1, 70, 64), causal=1),
                "rows that see nothing": shapes((2, 37, 5, 40), causal=1) + shapes((2, 3, 0, 40)),
                "empty": shapes((0, 5, 5, 64), (2, 0, 5, 64)),
            },
            bench=Case(bh=16, q_len=2048, k_len=2048, d=64, scale=0.125, causal=0),
            far=Case(bh=64, q_len=8192, k_len=8192, d=64, scale=0.125, causal=0),
            work=work_of(4),
            tolerance=Tolerance(
                SINGLE.relative,
                scale=lambda q, k, v, scale, causal: error_terms(q, k, v, scale, causal)[0],
                why=SINGLE.why,
            ),
            lesson="Scores, softmax, weighted sum: right, and with a matrix of scores in memory.",
            valid=lambda d: d >= 1,
            mistakes=MISTAKES,
        ),
    ],
)
