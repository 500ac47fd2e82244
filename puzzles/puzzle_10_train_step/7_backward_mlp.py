"""backward_mlp: the gradients of two layers with a ReLU between them, and their updates.

Why    A second layer adds nothing new but the way back to the first: the gradient of what it was given, through its
       weights; through the ReLU, which lets pass what was above 0; and from there on it is a linear layer again.
       Forward: Z1 = X · W1 + b1, H = relu(Z1), Y = H · W2 + b2.
Given  X [rows, features], T, Y and dY [rows, outputs], Z1, H, dZ1 and dH [rows, hidden]; weights and their gradients
       [features, hidden] and [hidden, outputs], biases as wide as those. The second layer's gradients, as in 10.6, and
       three of the four updates.
Write  5 calls between them:
           dH  = dY · W2ᵀ                  Gemm
           dZ1 = dH where Z1 > 0, else 0   ReluBwd  [dy, x] → [dx], x as it was before the ReLU
           dW1, db1                        of dZ1, as in 10.6
           the update of W2                after everyone who reads W2 has read it
Goal   Every gradient, and the new weights, in float and in half.
"""

from grader.op import op


def backward_mlp(X, T, W1, b1, W2, b2, Z1, H, Y, dY, dW2, db2, dH, dZ1, dW1, db1, lr):
    """The calls of one backward pass, in their order."""
    return [
        op("MseGrad", [Y, T], [dY]),
        op("Gemm", [H, dY], [dW2], trans_a=1, trans_b=0),
        op("ReduceSum", [dY], [db2], axis=0),
        # --- your code ---
        # --- end ---
        op("SgdStep", [b2, db2], [b2], lr=lr),
        op("SgdStep", [W1, dW1], [W1], lr=lr),
        op("SgdStep", [b1, db1], [b1], lr=lr),
    ]
