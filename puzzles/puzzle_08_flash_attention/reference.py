"""What attention gives, forward and backward, in float64 on PyTorch tensors, and what its errors are proportional to.

q and o are [bh, q_len, d], k and v [bh, k_len, d], lse [bh, q_len]; a query without keys gives zeros and -inf.
"""

from math import inf

WIDTHS = (64, 128)  # columns of a tile in shared memory, in 8.4; those from d on hold zeros
TILE = 32  # queries that share each key, and keys of a tile, in 8.4


def scaled_scores(q, k, scale, causal, diagonal=None, hidden=-inf):
    """Scores [bh, q_len, k_len], `hidden` where j > i + diagonal, which is k_len - q_len where none is given."""
    scores = scale * (q @ k.mT)
    _, q_len, k_len = scores.shape
    if not causal:
        return scores
    ahead = (k_len - q_len if diagonal is None else diagonal) + 1
    return scores.masked_fill(scores.new_ones(q_len, k_len).triu(ahead).bool(), hidden)


def weighted(scores, v):
    """Softmax of the scores, times v: [bh, q_len, d]; zeros for a row of -inf alone, which is NaN to PyTorch."""
    return scores.softmax(2).nan_to_num(0) @ v


def both(scores, v):
    """What 8.4 and the parts after it give: o, and the logarithm of the sums [bh, q_len]."""
    return weighted(scores, v), scores.logsumexp(2)


def attention(q, k, v, scale, causal):
    return weighted(scaled_scores(q, k, scale, causal), v)


def attention_and_lse(q, k, v, scale, causal):
    return both(scaled_scores(q, k, scale, causal), v)


def error_terms(q, k, v, scale, causal):
    """What errors of o and lse are proportional to.

    A score is off by roundings of the terms it is the sum of, and its weight by as much of itself. A key whose weight
    is off by a part of it moves o by that part of weight · (v - o), and lse by that part of its weight.
    """
    scores = scaled_scores(q, k, scale, causal)
    parts = scores.softmax(2).nan_to_num(0) * (1 + abs(scale) * (q.abs() @ k.abs().mT))
    moved = parts.sum(2)
    return parts @ v.abs() + moved[..., None] * weighted(scores, v).abs(), moved + scores.logsumexp(2).abs()


def half_error_terms(q, k, v, scale, causal):
    """The same where weights and o are halves and all else is in float, as shares of what half makes."""
    of_o, of_lse = error_terms(q, k, v, scale, causal)
    return attention(q, k, v.abs(), scale, causal) + of_o * 2.0**-10, of_lse * 2.0**-10


def gradients(q, k, v, dout, scale, causal):
    q, k, v = (x.detach().clone().requires_grad_() for x in (q, k, v))
    attention(q, k, v, scale, causal).backward(dout)
    return q.grad, k.grad, v.grad


def gradient_terms(q, k, v, dout, scale, causal):
    """The terms of dq, dk and dv as they are without a sign; a weight is off by as much of itself as its score is."""
    scores = scaled_scores(q, k, scale, causal)
    p = scores.softmax(2).nan_to_num(0) * (1 + 2.0**-10 * abs(scale) * (q.abs() @ k.abs().mT))
    ds = abs(scale) * p * (dout.abs() @ v.abs().mT + (dout * weighted(scores, v)).abs().sum(2, keepdim=True))
    return ds @ k.abs(), ds.mT @ q.abs(), p.mT @ dout.abs()


def by_head(function):
    """The same function, head after head: the scores of all of them at once can be many gigabytes."""

    def of_all(q, k, v, scale, causal):
        import torch  # not for those who only list puzzles

        heads = [function(*(x[b : b + 1] for x in (q, k, v)), scale, causal) for b in range(len(q))]
        return tuple(map(torch.cat, zip(*heads, strict=True))) if heads else function(q, k, v, scale, causal)

    return of_all


def first_of(function):
    """The same function, without lse."""
    return lambda q, k, v, scale, causal: function(q, k, v, scale, causal)[0]


def of_row(function):
    """The same function for one query a head, q and o [bh, d], without lse."""
    return lambda q, k, v, scale: function(q[:, None], k, v, scale, 0)[0][:, 0]
