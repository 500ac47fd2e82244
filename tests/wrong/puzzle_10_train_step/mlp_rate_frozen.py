"""backward_mlp: the learning rate is a number in the list."""

from grader.op import op


def backward_mlp(X, T, W1, b1, W2, b2, Z1, H, Y, dY, dW2, db2, dH, dZ1, dW1, db1, lr):
    """The calls of one backward pass, in their order."""
    return [
        op("MseGrad", [Y, T], [dY]),
        op("Gemm", [H, dY], [dW2], trans_a=1, trans_b=0),
        op("ReduceSum", [dY], [db2], axis=0),
        # --- your code ---
        op("Gemm", [dY, W2], [dH], trans_a=0, trans_b=1),
        op("ReluBwd", [dH, Z1], [dZ1]),
        op("Gemm", [X, dZ1], [dW1], trans_a=1, trans_b=0),
        op("ReduceSum", [dZ1], [db1], axis=0),
        op("SgdStep", [W2, dW2], [W2], lr=0.5),
        # --- end ---
        op("SgdStep", [b2, db2], [b2], lr=0.5),
        op("SgdStep", [W1, dW1], [W1], lr=0.5),
        op("SgdStep", [b1, db1], [b1], lr=0.5),
    ]
