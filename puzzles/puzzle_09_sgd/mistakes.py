"""The steps of SGD, and what they would give under usual mistakes, for the sentences that begin with "as if"."""

from grader.puzzle import Mistake


def stepped(w, g, lr):
    return w - lr * g


def stepped_with_momentum(w, g, velocity, lr, momentum, weight_decay):
    moved = momentum * velocity + g + weight_decay * w
    return w - lr * moved, moved


def as_half(value):
    import torch  # not for those who only list puzzles

    return torch.tensor(value, dtype=torch.float16).double()


def within_pairs(values, first, second):
    """Each pair of values with those at the places `first` and `second` of it instead."""
    return values.reshape(len(values) // 2, 2)[:, [first, second]].flatten()


MISTAKES = [
    Mistake(
        "the step went up the gradient",
        lambda w, g, lr: w + lr * g,
        why="The gradient points to where the loss grows. A step goes the other way: w - lr · g.",
    ),
    Mistake(
        "the weight itself were left out",
        lambda g, lr: -lr * g,
        why="The step is added to the weight that was there: w - lr · g.",
    ),
    Mistake(
        "weights shrank instead of following g",
        lambda w, lr: w - lr * w,
        why="The step is the rate times the gradient, g, not times the weight.",
    ),
]
MISTAKES_IN_HALF = [
    Mistake(
        "the rate had been rounded to a half",
        lambda w, g, lr: w - as_half(lr) * g,
        why="As a half, the rate has 11 significant bits, and below 3 · 10⁻⁸ it is 0. Leave lr the float that it is.",
    ),
    Mistake(
        "the product had been rounded to a half",
        lambda w, g, lr: w - (lr * g).half().double(),
        why="The result is rounded once, at the end. A product that is kept in a half is rounded before, and is "
        "infinite past 65,504: multiply and subtract floats.",
    ),
    Mistake(
        "everything had been computed in half",
        lambda w, g, lr: w - (as_half(lr) * g).half().double(),
        why="Turn both halves into floats first, subtract and multiply floats, and round the result once.",
    ),
    *MISTAKES,
]
MISTAKES_IN_PAIRS = [
    Mistake(
        "both halves of a pair were its first",
        lambda w, g, lr: within_pairs(stepped(w, g, lr), 0, 0),
        why="A half2 has two halves: what is computed of its `.x` goes to `.x`, what of its `.y` to `.y`.",
    ),
    Mistake(
        "both halves of a pair took the gradient of its first",
        lambda w, g, lr: stepped(w, within_pairs(g, 0, 0), lr),
        why="The second weight of a pair, its `.y`, moves by the `.y` of its gradients.",
    ),
    Mistake(
        "the halves of each pair had changed places",
        lambda w, g, lr: within_pairs(stepped(w, g, lr), 1, 0),
        why="`.x` is the half at the lower address, `.y` the one behind it, in the result as in the inputs.",
    ),
    Mistake(
        "the gradients of each pair had changed places",
        lambda w, g, lr: stepped(w, within_pairs(g, 1, 0), lr),
        why="The `.x` of the weights moves by the `.x` of the gradients, `.y` by `.y`.",
    ),
    *MISTAKES_IN_HALF,
]
MISTAKES_WITH_MOMENTUM = [
    Mistake(
        "the weight followed the old velocity",
        lambda w, g, velocity, lr, momentum, weight_decay: (
            w - lr * velocity,
            stepped_with_momentum(w, g, velocity, lr, momentum, weight_decay)[1],
        ),
        why="First the new velocity, then the weight by it.",
    ),
    Mistake(
        "the rate were part of the velocity",
        lambda w, g, velocity, lr, momentum, weight_decay: (
            w - momentum * velocity - lr * (g + weight_decay * w),
            momentum * velocity + lr * (g + weight_decay * w),
        ),
        why="That is the older formula. PyTorch keeps the velocity without the rate, and multiplies where the weight "
        "is changed: the two differ once the rate does.",
    ),
    Mistake(
        "the gradient counted with 1 - momentum",
        lambda w, g, velocity, lr, momentum, weight_decay: (
            w - lr * (momentum * velocity + (1 - momentum) * (g + weight_decay * w)),
            momentum * velocity + (1 - momentum) * (g + weight_decay * w),
        ),
        why="That is a running mean, as Adam keeps it. Here the gradient is added whole.",
    ),
    Mistake(
        "the decay did not go through the velocity",
        lambda w, g, velocity, lr, momentum, weight_decay: (
            w - lr * weight_decay * w - lr * (momentum * velocity + g),
            momentum * velocity + g,
        ),
        why="That is AdamW's way. In SGD the decay is part of the gradient: g + weight_decay · w.",
    ),
    Mistake(
        "weight decay were left out",
        lambda w, g, velocity, lr, momentum: (w - lr * (momentum * velocity + g), momentum * velocity + g),
        why="The gradient that counts is g + weight_decay · w.",
    ),
    Mistake(
        "the weight also took what the next step will have of this one (Nesterov)",
        lambda w, g, velocity, lr, momentum, weight_decay: (
            w - lr * (g + weight_decay * w + momentum * (momentum * velocity + g + weight_decay * w)),
            momentum * velocity + g + weight_decay * w,
        ),
        why="That is `nesterov=True`. Here the weight follows the velocity, and nothing else.",
    ),
]
