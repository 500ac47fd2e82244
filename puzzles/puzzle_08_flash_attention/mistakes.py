"""What attention would give under usual mistakes, for the sentences that begin with "as if"."""

from math import log

from grader.puzzle import Mistake

from .reference import TILE, WIDTHS, both, gradients, scaled_scores, weighted


def of_scores(mistaken):
    """What `mistaken` makes of the right scores, and of v."""
    return lambda q, k, v, scale, causal: mistaken(scaled_scores(q, k, scale, causal), v)


def largest_of(scores):
    return scores.amax(2, keepdim=True).nan_to_num(neginf=0)


def largest_so_far(scores, tile):
    """For each score the largest up to the end of its tile: what is subtracted when it is added up."""
    count = scores.shape[2]
    ends = [min(j // tile * tile + tile, count) - 1 for j in range(count)]
    return scores.cummax(2).values[..., ends].nan_to_num(neginf=0)


def not_rescaled(of_o, of_sum):
    """Tiles of so many keys, or None for what is brought up to date."""

    def mistaken(scores, v):
        largest = largest_of(scores)
        terms, counted = (
            (scores - (largest if tile is None else largest_so_far(scores, tile))).exp() for tile in (of_o, of_sum)
        )
        added_up = counted.sum(2, keepdim=True)
        return (terms @ v / added_up).nan_to_num(0), (largest + added_up.log())[..., 0]

    return of_scores(mistaken)


def padded(scores, v):
    """The last tile of keys is filled up with zeros, and these count."""
    heads, q_len, k_len = scores.shape
    full = -(-k_len // TILE) * TILE
    longer, zeros = scores.new_zeros(heads, q_len, full), v.new_zeros(heads, full, v.shape[2])
    longer[..., :k_len], zeros[:, :k_len] = scores, v
    return both(longer, zeros)


def swizzled_once(q, k, v, scale, causal):
    """Column c of key j of a tile lies at c ^ j, and is read at c; or the other way round, which is the same."""
    from torch import arange

    heads, count, d = k.shape
    wide = next(wide for wide in WIDTHS if d <= wide)
    queries, keys = q.new_zeros(heads, q.shape[1], wide), k.new_zeros(heads, count, wide)
    queries[..., :d], keys[..., :d] = q, k
    key = arange(count)[:, None]
    return both(scaled_scores(queries, keys[:, key, arange(wide) ^ key % TILE], scale, causal), v)


MASKING = [
    Mistake(
        "the mask began at the top left",
        lambda q, k, v, scale, causal: both(scaled_scores(q, k, scale, causal, diagonal=0), v),
        why="The last query sees the last key, whatever the lengths: query i sees the keys j <= i + k_len - q_len. "
        "With j <= i, a query that comes after 1,000 cached keys would see the first of them only.",
    ),
    Mistake(
        "a query did not see the key at its own place",
        lambda q, k, v, scale, causal: both(scaled_scores(q, k, scale, causal, k.shape[1] - q.shape[1] - 1), v),
        why="Query i sees the keys j <= i + k_len - q_len: the last of them, too.",
    ),
    Mistake(
        "hidden keys had the score 0",
        lambda q, k, v, scale, causal: both(scaled_scores(q, k, scale, causal, hidden=0), v),
        why="exp(0) is 1, so a key with the score 0 counts. A hidden score is -infinity: its exponential is 0.",
    ),
]
WEIGHTING = [
    Mistake(
        "scale came twice",
        lambda q, k, v, scale, causal: both(scaled_scores(q, k, scale * scale, causal), v),
        why="Is q scaled when it is loaded, and the score once more?",
    ),
    Mistake(
        "the weights were not divided by their sum",
        of_scores(lambda scores, v: ((scores - largest_of(scores)).exp() @ v, scores.logsumexp(2))),
        why="The exponentials are weights when they are divided by their sum over the keys that the query sees.",
    ),
    Mistake(
        "each key's weights added up to 1, not each query's",
        of_scores(lambda scores, v: (scores.softmax(1).nan_to_num(0) @ v, scores.logsumexp(2))),
        why="The softmax goes along the keys: for each query, the weights of all its keys add up to 1.",
    ),
]
SWIZZLED_ONCE = Mistake(
    "the columns of the keys were swizzled on one side only",
    swizzled_once,
    why="Column c of key j lies at keys[j][c ^ j]: whoever reads it has to ask there, too. A lane reads the key of its "
    "own number.",
)
RESCALING = [
    Mistake(
        f"{what} kept what was added up before the largest score grew{where}",
        not_rescaled(*tiles),
        why="Terms of exp(score - old) and of exp(score - new) do not add up. When a larger score comes, what there is "
        "so far has to be multiplied by exp(old - new): the sum, and every column of o.",
    )
    for tile, where in ((1, ""), (TILE, " from tile to tile"))
    for what, tiles in (("o", (tile, None)), ("the sum", (None, tile)), ("o and the sum", (tile, tile)))
]
TAIL = Mistake(
    f"the keys that fill up the last tile of {TILE} counted, with the score 0",
    of_scores(padded),
    why="exp(0) is 1: zeros past the end of k are keys like any other. Their score has to be -infinity.",
)
OF_LSE = [
    Mistake(
        "the largest score were missing",
        of_scores(lambda scores, v: (weighted(scores, v), scores.logsumexp(2) - largest_of(scores)[..., 0])),
        why="The sum has the terms exp(score - largest): the logarithm of the whole sum is largest + logf(sum).",
    ),
    Mistake(
        "the logarithm of the sum were to the base 2",
        of_scores(
            lambda scores, v: (
                weighted(scores, v),
                largest_of(scores)[..., 0] + (scores.logsumexp(2) - largest_of(scores)[..., 0]) / log(2),
            )
        ),
        why="lse is a natural logarithm: logf, not log2f. With exp2f and scores times log2(e), divide by log2(e) in "
        "the end.",
    ),
    Mistake(
        "lse were counted in powers of 2",
        of_scores(lambda scores, v: (weighted(scores, v), scores.logsumexp(2) / log(2))),
        why="lse is a natural logarithm. Where scores were multiplied by log2(e), for exp2f, multiply by ln(2) again.",
    ),
]

IN_HALF = [
    Mistake(
        "scores had been rounded to half",
        of_scores(lambda scores, v: both(scores.half().double(), v)),
        why="A half has 11 significant bits: a score near 32 is off by 1/64, and its weight by as much of itself. What "
        "tensor cores add up is a float. It becomes a half when it is a weight, between 0 and 1.",
    ),
    Mistake(
        "log2(e) were multiplied in twice",
        lambda q, k, v, scale, causal: both(scaled_scores(q, k, scale / log(2), causal), v),
        why="`scale` has log2(e) in it already: a weight is exp2f of a score, not expf.",
    ),
]


def explicit(q, k, v, dout, scale, causal, *, delta=True, scaled=True):
    """The gradients by their formulas, delta or scale left out where that is False."""
    p = scaled_scores(q, k, scale, causal).softmax(2).nan_to_num(0)
    ds = p * (dout @ v.mT - delta * (dout * (p @ v)).sum(2, keepdim=True)) * (scale if scaled else 1)
    return ds @ k, ds.mT @ q, p.mT @ dout


OF_GRADIENTS = [
    Mistake(
        "delta were left out",
        lambda q, k, v, dout, scale, causal: explicit(q, k, v, dout, scale, causal, delta=False),
        why="A weight that grows takes from all others of its row, as they add up to 1: that is what delta takes off.",
    ),
    Mistake(
        "scale were missing in dq and dk",
        lambda q, k, v, dout, scale, causal: explicit(q, k, v, dout, scale, causal, scaled=False),
        why="A score is scale · (q · k), so that its derivatives by q and by k have scale in them.",
    ),
    Mistake(
        "there were no mask",
        lambda q, k, v, dout, scale: gradients(q, k, v, dout, scale, 0),
        why="With causal = 1, query i sees the keys j <= i + k_len - q_len; its weights for others are 0.",
    ),
]


def as_in(adapted, *mistakes):
    """The mistakes of a part whose entry is called otherwise."""
    return [Mistake(mistake.like, adapted(mistake.reference), why=mistake.why) for mistake in mistakes]
