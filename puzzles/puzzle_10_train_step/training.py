"""What a training step gives in float64, one layer or two, and bounds of how far off it may be; see bounded.py."""

from .bounded import Bounded, column_sums, mse_gradient, product, relu, relu_backward, step, turned, with_bias


def linear_step(X, T, W, b, Y, lr, dtype):
    """dY, dW, db, and the new W and b, in the order of the results."""
    dY = mse_gradient(Bounded.exact(Y), T, dtype)
    dW, db = product(turned(Bounded.exact(X)), dY, dtype), column_sums(dY, dtype)
    return dY, dW, db, step(Bounded.exact(W), dW, lr, dtype), step(Bounded.exact(b), db, lr, dtype)


def mlp_gradients(X, T, W2, Z1, H, Y, dtype):
    """dY, dW2, db2, dH, dZ1, dW1, db1; all but X and T are bounded."""
    dY = mse_gradient(Y, T, dtype)
    dW2, db2 = product(turned(H), dY, dtype), column_sums(dY, dtype)
    dH = product(dY, turned(W2), dtype)
    dZ1 = relu_backward(dH, Z1)
    dW1, db1 = product(turned(Bounded.exact(X)), dZ1, dtype), column_sums(dZ1, dtype)
    return dY, dW2, db2, dH, dZ1, dW1, db1


def mlp_step(X, T, W1, b1, W2, b2, Z1, H, Y, lr, dtype):
    """All gradients, and the new weights, in the order of the results."""
    W1, b1, W2, b2, Z1, H, Y = map(Bounded.exact, (W1, b1, W2, b2, Z1, H, Y))
    gradients = mlp_gradients(X, T, W2, Z1, H, Y, dtype)
    _, dW2, db2, _, _, dW1, db1 = gradients
    updates = ((W1, dW1), (b1, db1), (W2, dW2), (b2, db2))
    return *gradients, *(step(w, g, lr, dtype) for w, g in updates)


def forward(X, W1, b1, W2, b2, dtype):
    """Z1, H and Y."""
    Z1 = with_bias(product(Bounded.exact(X), W1, dtype), b1, dtype)
    H = relu(Z1)
    return Z1, H, with_bias(product(H, W2, dtype), b2, dtype)


def trained(X, T, W1, b1, W2, b2, lr, steps, dtype):
    """The weights after so many steps.

    Each step adds what it rounds, from exact weights: a step downhill does not make a difference in them larger. (A
    bound that is handed on from step to step takes the worst sign each time, and says nothing after ten.) Only on which
    side of 0 a number before the ReLU lies is open as far as all steps so far may have moved it.
    """
    weights = list(map(Bounded.exact, (W1, b1, W2, b2)))
    for _ in range(steps):
        exact = [Bounded.exact(one.value) for one in weights]
        _, H, Y = forward(X, *exact, dtype)
        Z1, _, _ = forward(X, *weights, dtype)
        _, dW2, db2, _, _, dW1, db1 = mlp_gradients(X, T, exact[2], Z1, H, Y, dtype)
        moved = [step(w, g, lr, dtype) for w, g in zip(exact, (dW1, db1, dW2, db2), strict=True)]
        weights = [Bounded(new.value, old.off + new.off) for old, new in zip(weights, moved, strict=True)]
    return tuple(weights)


def linear_values(X, T, W, b, Y, lr, dtype):
    return tuple(one.value for one in linear_step(X, T, W, b, Y, lr, dtype))


def linear_bounds(X, T, W, b, Y, lr, dtype):
    return tuple(one.off for one in linear_step(X, T, W, b, Y, lr, dtype))


def mlp_values(X, T, W1, b1, W2, b2, Z1, H, Y, lr, dtype):
    return tuple(one.value for one in mlp_step(X, T, W1, b1, W2, b2, Z1, H, Y, lr, dtype))


def mlp_bounds(X, T, W1, b1, W2, b2, Z1, H, Y, lr, dtype):
    return tuple(one.off for one in mlp_step(X, T, W1, b1, W2, b2, Z1, H, Y, lr, dtype))


def trained_values(X, T, W1, b1, W2, b2, lr, steps, dtype):
    return tuple(one.value for one in trained(X, T, W1, b1, W2, b2, lr, steps, dtype))


def trained_bounds(X, T, W1, b1, W2, b2, lr, steps, dtype):
    return tuple(one.off for one in trained(X, T, W1, b1, W2, b2, lr, steps, dtype))


def loss(X, T, W1, b1, W2, b2):
    """The mean squared error of what the network makes of X."""
    return (((X @ W1 + b1).clamp(min=0) @ W2 + b2 - T) ** 2).mean()
