"""train_step: an op whose result nobody reads, because the next one that writes there comes first."""

from grader.op import op, part_list

backward_mlp = part_list("backward_mlp")


def train_step(X, T, W1, b1, W2, b2, Z1, H, Y, dY, dW2, db2, dH, dZ1, dW1, db1, lr):
    """The calls of one step: X [rows, features] and T [rows, outputs] are data, weights change, the rest is scratch."""
    return [
        op("Gemm", [X, W1], [Z1], trans_a=0, trans_b=0),
        op("BiasAdd", [Z1, b1], [Z1]),
        op("EltwiseRelu", [Z1], [H]),
        op("EltwiseRelu", [Z1], [dH]),
        op("Gemm", [H, W2], [Y], trans_a=0, trans_b=0),
        op("BiasAdd", [Y, b2], [Y]),
        *backward_mlp(X, T, W1, b1, W2, b2, Z1, H, Y, dY, dW2, db2, dH, dZ1, dW1, db1, lr),
    ]
