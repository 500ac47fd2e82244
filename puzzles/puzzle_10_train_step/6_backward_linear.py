"""backward_linear: the gradients of a linear layer, and its update, as a list of op calls.

Why    Training goes forward, then backward. Forward is Y = X · W + b; the loss is the mean of (Y - T)². Backward, each
       tensor gets its gradient, the last one first, since a gradient is made of the one behind it; then the weights go
       a step against theirs.
Given  the names of the tensors, as they are in the list of a program: X [rows, features]; T, Y and dY [rows, outputs];
       W and dW [features, outputs]; b and db [outputs]; Y has been computed. lr, the learning rate. op(name, inputs,
       outputs, attributes) notes a call; the grader makes C++ of the list, which calls the runtime in this order.
Write  5 calls:
           dY  = 2 (Y - T) / count          MseGrad    [y, target] → [dy]
           dW  = Xᵀ · dY                    Gemm       [A, B] → [C], trans_a, trans_b: 1 turns that matrix
           db  = the sum of dY's rows       ReduceSum  [x] → [out], axis: the one that goes away
           W, b = W - lr · dW, b - lr · db  SgdStep    [w, g] → [w], lr
Goal   Every gradient, and the new weights, in float and in half.
"""

from grader.op import op


def backward_linear(X, T, W, b, Y, dY, dW, db, lr):
    """The calls of one backward pass, in their order."""
    return [
        # --- your code ---
        # --- end ---
    ]
