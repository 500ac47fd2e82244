"""What a training step would give under usual mistakes, for the sentences that begin with "as if"."""

from grader.puzzle import Mistake

from .training import linear_values, mlp_values

LR = 0.5  # of nearly all cases


def linear_of_turned_error(X, T, W, b, Y, lr, dtype):
    return linear_values(X, Y, W, b, T, lr, dtype)


def mlp_of_turned_error(X, T, W1, b1, W2, b2, Z1, H, Y, lr, dtype):
    return mlp_values(X, Y, W1, b1, W2, b2, Z1, H, T, lr, dtype)


def mlp_without_relu(X, T, W1, b1, W2, b2, Z1, H, Y, lr, dtype):
    return mlp_values(X, T, W1, b1, W2, b2, Z1.abs() + 1, H, Y, lr, dtype)


def mlp_updated_too_early(X, T, W1, b1, W2, b2, Z1, H, Y, lr, dtype):
    return mlp_values(X, T, W1, b1, W2 - lr * H.T @ (Y - T) * (2 / max(Y.numel(), 1)), b2, Z1, H, Y, lr, dtype)


def linear_with_frozen_rate(X, T, W, b, Y, dtype):
    return linear_values(X, T, W, b, Y, LR, dtype)


def linear_twice(X, T, W, b, Y, lr, dtype):
    dY, dW, db, *_ = linear_values(X, T, W, b, Y, lr, dtype)
    return dY, dW, db, *linear_values(X, T, W, b, Y, 2 * lr, dtype)[3:]


def mlp_with_frozen_rate(X, T, W1, b1, W2, b2, Z1, H, Y, dtype):
    return mlp_values(X, T, W1, b1, W2, b2, Z1, H, Y, LR, dtype)


def mlp_relu_exchanged(X, T, W1, b1, W2, b2, Z1, H, Y, lr, dtype):
    dY, dW2, db2, dH, _, _, _, _, _, *second = mlp_values(X, T, W1, b1, W2, b2, Z1, H, Y, lr, dtype)
    dZ1 = Z1 * (dH > 0)
    dW1, db1 = X.T @ dZ1, dZ1.sum(0)
    return dY, dW2, db2, dH, dZ1, dW1, db1, W1 - lr * dW1, b1 - lr * db1, *second


TURNED = "T and Y had changed places", "The error is Y - T, and its gradient points to where the loss grows."
FROZEN = (
    "the learning rate were 0.5, whatever it is",
    "The rate comes with each call of the entry: `lr=lr`. A number that stands in the list is the same for ever.",
)
TWICE = "the weights had gone two steps", "Each weight goes one step: look for an update that is called twice."
MISTAKES = [
    Mistake(TURNED[0], linear_of_turned_error, why=TURNED[1]),
    Mistake(FROZEN[0], linear_with_frozen_rate, why=FROZEN[1]),
    Mistake(TWICE[0], linear_twice, why=TWICE[1]),
]
MISTAKES_OF_TWO_LAYERS = [
    Mistake(TURNED[0], mlp_of_turned_error, why=TURNED[1]),
    Mistake(
        "there were no ReLU on the way back",
        mlp_without_relu,
        why="Where Z1 was not above 0, nothing comes back: what belongs to the first layer is made of dZ1, not of dH.",
    ),
    Mistake(
        "Z1 and dH had changed places in ReluBwd",
        mlp_relu_exchanged,
        why="ReluBwd takes the gradient first and then what went into the ReLU: [dH, Z1].",
    ),
    Mistake(FROZEN[0], mlp_with_frozen_rate, why=FROZEN[1]),
    Mistake(
        "W2 had gone its step before dH was made of it",
        mlp_updated_too_early,
        why="An op reads what is there when its turn comes. The gradients belong to the weights that the forward pass "
        "had: whoever reads W2 comes before its update.",
    ),
]
