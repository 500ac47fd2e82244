"""backward_linear: the error is stored over Y, which the entry only may read."""

from grader.op import op


def backward_linear(X, T, W, b, Y, dY, dW, db, lr):
    """The calls of one backward pass, in their order."""
    return [
        # --- your code ---
        op("MseGrad", [Y, T], [Y]),
        op("Gemm", [X, Y], [dW], trans_a=1, trans_b=0),
        op("ReduceSum", [Y], [db], axis=0),
        op("SgdStep", [W, dW], [W], lr=lr),
        op("SgdStep", [b, db], [b], lr=lr),
        # --- end ---
    ]
