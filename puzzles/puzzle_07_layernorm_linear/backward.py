"""The way back: the gradients of both, their mistakes, and how far a float may be off."""

from types import SimpleNamespace

from grader.puzzle import Mistake, Tolerance

# ---- what is right ----

SAVED = {"mean": "mean_of_x", "rstd": "rstd_of_x"}  # what the forward pass has left, of the x that was drawn


def normalised(x, mean, rstd):
    return (x - mean[:, None]) * rstd[:, None]


def average(matrix):
    return matrix.mean(1, keepdim=True)


def added_up(matrix):
    return matrix.sum(1, keepdim=True)


def gradients(dy, x, gamma, mean, rstd):
    """By x, gamma and beta: what autograd makes of LayerNorm, with the statistics that were saved."""
    n, g = normalised(x, mean, rstd), gamma * dy
    dx = rstd[:, None] * (g - average(g) - n * average(g * n))
    return dx, (dy * n).sum(0), dy.sum(0)


def terms_of_gradients(dy, x, gamma, mean, rstd):
    """The three terms of dx without a sign, whose difference it is; the root of the sum of squares of the others'."""
    n, g = normalised(x, mean, rstd), gamma * dy
    dx = rstd[:, None] * (g.abs() + average(g.abs()) + n.abs() * average((g * n).abs()))
    return dx, (dy * n).square().sum(0).sqrt(), dy.square().sum(0).sqrt()


def through_linear(dy, input, W):
    """By input, W and bias: what autograd makes of input · Wᵀ + bias."""
    return dy @ W, dy.T @ input, dy.sum(0)


def terms_through_linear(dy, input, W, rows, out_features):
    """The roots of the sums of squares of their terms, √terms times: no sum of their magnitudes is more."""
    squares = through_linear(dy.square(), input.square(), W.square())
    return tuple((count * each).sqrt() for each, count in zip(squares, (out_features, rows, rows), strict=True))


def all_gradients(dy, x, gamma, beta, W, mean, rstd):
    """By x, gamma, beta, W and bias: the chain of both."""
    dnormed, *others = through_linear(dy, normalised(x, mean, rstd) * gamma + beta, W)
    return *gradients(dnormed, x, gamma, mean, rstd), *others


def terms_of_all(dy, x, gamma, beta, W, mean, rstd, rows, out_features):
    """The same chain of terms without signs."""
    normed = (normalised(x, mean, rstd) * gamma).abs() + beta.abs()
    dnormed, *others = terms_through_linear(dy, normed, W, rows, out_features)
    return *terms_of_gradients(dnormed, x, gamma, mean, rstd), *others


# ---- mistakes ----


def mistaken(*, dx=None, sums=None):
    """The gradients with another dx, or with sums over the rows of other terms, made of what has a name in 7.5."""

    def results(dy, x, gamma, mean, rstd):
        names = SimpleNamespace(dy=dy, x=x, gamma=gamma, mean=mean[:, None], rstd=rstd[:, None])
        names.n, names.g = normalised(x, mean, rstd), gamma * dy
        right, *right_sums = gradients(dy, x, gamma, mean, rstd)
        added = right_sums if sums is None else [terms.sum(0) for terms in sums(names)]
        return right if dx is None else dx(names), *added

    return results


MISTAKES_OF_DX = [
    Mistake(
        "the mean had not been subtracted in n",
        mistaken(dx=lambda of: of.rstd * (of.g - average(of.g) - of.x * of.rstd * average(of.g * of.x * of.rstd))),
        why="n is (x - mean) · rstd.",
    ),
    Mistake(
        "mean and rstd did not depend on x",
        mistaken(dx=lambda of: of.rstd * of.g),
        why="x also sits in mean and in rstd, which all of the row shares: those are the terms that are subtracted.",
    ),
    Mistake(
        "the mean of g were left out",
        mistaken(dx=lambda of: of.rstd * (of.g - of.n * average(of.g * of.n))),
        why="x also sits in the mean of its row: the mean of g is subtracted as well.",
    ),
    Mistake(
        "the term with n were left out",
        mistaken(dx=lambda of: of.rstd * (of.g - average(of.g))),
        why="x also sits in rstd: n times the mean of g · n is subtracted as well.",
    ),
    Mistake(
        "the two terms were added",
        mistaken(dx=lambda of: of.rstd * (of.g + average(of.g) + of.n * average(of.g * of.n))),
        why="Both terms are subtracted: a larger x moves the mean up and makes rstd smaller.",
    ),
    Mistake(
        "sums stood for the means",
        mistaken(dx=lambda of: of.rstd * (of.g - added_up(of.g) - of.n * added_up(of.g * of.n))),
        why="Both are means: divide each sum by cols.",
    ),
    Mistake(
        "the factor rstd were missing",
        mistaken(dx=lambda of: of.g - average(of.g) - of.n * average(of.g * of.n)),
        why="n is made of (x - mean) · rstd, so all of dx has the factor rstd.",
    ),
    Mistake(
        "gamma were left out",
        mistaken(dx=lambda of: of.rstd * (of.dy - average(of.dy) - of.n * average(of.dy * of.n))),
        why="g is gamma · dy, in dx itself and in both means.",
    ),
    Mistake(
        "gamma were missing in the means",
        mistaken(dx=lambda of: of.rstd * (of.g - average(of.dy) - of.n * average(of.dy * of.n))),
        why="Both means are of g, which is gamma · dy.",
    ),
    Mistake(
        "the last term had x - mean, without rstd",
        mistaken(dx=lambda of: of.rstd * (of.g - average(of.g) - (of.x - of.mean) * average(of.g * of.n))),
        why="n is (x - mean) · rstd, in the term itself as in its mean.",
    ),
    Mistake(
        "the last mean were of g · (x - mean), without rstd",
        mistaken(dx=lambda of: of.rstd * (of.g - average(of.g) - of.n * average(of.g * (of.x - of.mean)))),
        why="n is (x - mean) · rstd, in the mean as in the term itself.",
    ),
]
MISTAKES_OF_SUMS = [
    Mistake(
        "x stood for n in dgamma",
        mistaken(sums=lambda of: (of.dy * of.x, of.dy)),
        why="y is n · gamma + beta, so each row adds dy · n to dgamma, where n is (x - mean) · rstd.",
    ),
    Mistake(
        "rstd were missing in dgamma",
        mistaken(sums=lambda of: (of.dy * (of.x - of.mean), of.dy)),
        why="Each row adds dy · n to dgamma, with its own rstd in n.",
    ),
    Mistake(
        "g stood for dy in dgamma and dbeta",
        mistaken(sums=lambda of: (of.g * of.n, of.g)),
        why="The sums are of dy · n and of dy: gamma is no factor of its own gradient.",
    ),
    Mistake(
        "dgamma and dbeta were exchanged",
        mistaken(sums=lambda of: (of.dy, of.dy * of.n)),
        why="dgamma is the sum of dy · n, dbeta that of dy.",
    ),
    Mistake(
        "dgamma and dbeta had the last row of each block alone",
        mistaken(sums=lambda of: ((of.dy * of.n)[-256:], of.dy[-256:])),
        why="Every row adds to both: is a sum kept from row to row of a block, or set anew?",
    ),
]

MISTAKES_OF_LINEAR = [
    Mistake(
        "W were transposed on the way to dinput",
        lambda dy, input, W: (dy @ W.T, *through_linear(dy, input, W)[1:]),
        why="dinput[r][c] sums over o: dy · W, and W is [out_features, cols] as it lies there.",
    ),
    Mistake(
        "dW were input · dy, transposed",
        lambda dy, input, W: (dy @ W, (input.T @ dy).reshape(W.shape), dy.sum(0)),
        why="dW[o][c] sums over the rows: dyᵀ · input, with dy first, so that o numbers its rows.",
    ),
    Mistake(
        "dbias were summed along the rows",
        lambda dy, input, W: (dy @ W, dy.T @ input, dy.sum(1)),
        why="dbias[o] is the sum down column o of dy, over all rows.",
    ),
    Mistake(
        "rows and out_features of dy were exchanged for dbias",
        lambda dy, input, W: (dy @ W, dy.T @ input, dy.reshape(dy.shape[1], dy.shape[0]).sum(0)),
        why="dy has rows rows and out_features columns: `col_sum` is told both, in this order.",
    ),
    Mistake(
        "dbias were the sum of input",
        lambda dy, input, W: (dy @ W, dy.T @ input, input.sum(0)),
        why="The bias is added to y, so its gradient is the sum of dy.",
    ),
    Mistake(
        "dinput stood for input in dW",
        lambda dy, W: (dy @ W, dy.T @ (dy @ W), dy.sum(0)),
        why="W was multiplied by input, so dW is dyᵀ · input.",
    ),
]


def with_normed(normed):
    """All gradients, where the linear layer's input was recomputed as something else."""

    def results(dy, x, gamma, beta, W, mean, rstd):
        *others, _, dbias = all_gradients(dy, x, gamma, beta, W, mean, rstd)
        names = SimpleNamespace(x=x, gamma=gamma, beta=beta, n=normalised(x, mean, rstd), dnormed=dy @ W)
        return *others, dy.T @ normed(names), dbias

    return results


def with_dx(wrong):
    """All gradients, where the norm's were taken of other matrices: a dnormed, and an x."""

    def results(dy, x, gamma, beta, W, mean, rstd):
        normed = normalised(x, mean, rstd) * gamma + beta
        names = SimpleNamespace(dy=dy, x=x, normed=normed, dnormed=dy @ W)
        return *gradients(*wrong(names), gamma, mean, rstd), *through_linear(dy, normed, W)[1:]

    return results


MISTAKES_OF_CHAIN = [
    Mistake(
        "dW were dyᵀ · x",
        with_normed(lambda of: of.x),
        why="The linear layer has seen normed, not x: compute that once more, (x - mean) · rstd · gamma + beta.",
    ),
    Mistake(
        "dW were dyᵀ · n, without gamma and beta",
        with_normed(lambda of: of.n),
        why="normed is (x - mean) · rstd · gamma + beta.",
    ),
    Mistake(
        "beta were missing in normed",
        with_normed(lambda of: of.n * of.gamma),
        why="normed is (x - mean) · rstd · gamma + beta.",
    ),
    Mistake(
        "gamma were missing in normed",
        with_normed(lambda of: of.n + of.beta),
        why="normed is (x - mean) · rstd · gamma + beta.",
    ),
    Mistake(
        "dnormed stood in normed's place",
        with_normed(lambda of: of.dnormed),
        why="Both need a piece of the workspace of their own: rows · cols floats for normed, then as many for dnormed.",
    ),
    Mistake(
        "the norm's gradients were taken of normed",
        with_dx(lambda of: (of.normed, of.x)),
        why="What comes back to the norm is dnormed, which `linear_backward` gives as its dinput.",
    ),
    Mistake(
        "the norm's gradients were taken of dy",
        with_dx(lambda of: (of.dy, of.x)),
        why="Between dy and the norm lies the linear layer: what comes back to the norm is dnormed.",
    ),
    Mistake(
        "normed stood for x in the norm's gradients",
        with_dx(lambda of: (of.dnormed, of.normed)),
        why="`layernorm_backward` makes (x - mean) · rstd by itself, of the x that the norm was given.",
    ),
]

# ---- tolerances ----

GRADIENTS = Tolerance(
    2.0**-15,
    scale=terms_of_gradients,
    why="each term of dx is right to about 2^-18 of itself, or of the sum of magnitudes that its mean is made of, and "
    "can cancel; dgamma and dbeta are sums over rows, of which rows roundings make 2^-25·√rows of the root of the sum "
    "of squares, 2^-19 for 3,001 rows: eight times that is allowed",
)

PRODUCTS = Tolerance(
    2.0**-19,
    scale=terms_through_linear,
    why="as in puzzle 2: a sum of K terms is right to about √K · 2^-22 of the root of the sum of squares; eight times "
    "that is allowed",
)
CHAIN = Tolerance(
    2.0**-17,
    scale=terms_of_all,
    why="dnormed and dW are sums of products, right to 2^-22 of √K times the root of the sum of squares; dx is three "
    "terms of dnormed, which can cancel, dgamma and dbeta are sums of it: 2^-20 in all; eight times that is allowed",
)
