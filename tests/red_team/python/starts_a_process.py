"""Starts a program, which could do anything."""

import os

from grader.op import op

os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", ": > @MARK@"], {}), 0)


def backward_linear(X, T, W, b, Y, dY, dW, db, lr):
    return [
        op("MseGrad", [Y, T], [dY]),
        op("Gemm", [X, dY], [dW], trans_a=1, trans_b=0),
        op("ReduceSum", [dY], [db], axis=0),
        op("SgdStep", [W, dW], [W], lr=lr),
        op("SgdStep", [b, db], [b], lr=lr),
    ]
