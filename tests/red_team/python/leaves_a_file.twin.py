"""Writes into memory."""

import io

from grader.op import op

io.StringIO().write("for nobody")


def backward_linear(X, T, W, b, Y, dY, dW, db, lr):
    return [
        op("MseGrad", [Y, T], [dY]),
        op("Gemm", [X, dY], [dW], trans_a=1, trans_b=0),
        op("ReduceSum", [dY], [db], axis=0),
        op("SgdStep", [W, dW], [W], lr=lr),
        op("SgdStep", [b, db], [b], lr=lr),
    ]
