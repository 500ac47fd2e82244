"""fused_layernorm_linear: the kernels of 7.3 and 7.6 as one function that PyTorch can train through.

Why    PyTorch's autograd cannot look into a kernel. A torch.autograd.Function tells it both halves: `forward` computes
       and keeps what `backward` will need; `backward` is handed the gradient of the result, and returns one for each
       argument of `forward`.
Given  the entries of 7.3 and 7.6, yours where they have passed, called with tensors and numbers and without a stream;
       they write into the tensors that they are given, on the CPU or a GPU, and want all of them contiguous. In
       `forward`, the sizes and empty tensors for y, mean and rstd: rows are all dimensions of x but the last.
Write  about 10 lines in three places. In `forward`, call the kernel, keep for `backward` what 7.6 asks for, return y.
       In `backward`, make an empty tensor for each gradient and the workspace, call the kernel, return the gradients.
       In the function, `apply`.
Goal   All values come from the kernels: PyTorch computes nothing.
"""

import torch

from grader.op import part_entry

layernorm_linear = part_entry("layernorm_linear")
layernorm_linear_backward = part_entry("layernorm_linear_backward")


def sizes(x, W):
    """rows, cols and out_features, of x [batch, seq, hidden] and W [out_features, hidden]."""
    return x.numel() // x.shape[-1], x.shape[-1], W.shape[0]


class LayerNormLinear(torch.autograd.Function):
    """y [batch, seq, out_features] = layernorm(x) · Wᵀ + bias, for autograd."""

    @staticmethod
    def forward(ctx, x, gamma, beta, W, bias, eps):
        """With x [batch, seq, hidden], gamma and beta [hidden], W [out_features, hidden], bias [out_features] → y."""
        rows, cols, out_features = sizes(x, W)
        y, mean, rstd = x.new_empty(*x.shape[:-1], out_features), x.new_empty(rows), x.new_empty(rows)
        # --- your code ---
        # --- end ---

    @staticmethod
    def backward(ctx, dy):
        """With dy as y → dx, dgamma, dbeta, dW, dbias, each of the shape of what it belongs to, and None for eps."""
        # --- your code ---
        # --- end ---


def fused_layernorm_linear(x, ln_weight, ln_bias, linear_weight, linear_bias, eps=1e-5):
    """LayerNorm over the last dimension of x [batch, seq, hidden], then the linear layer, differentiable."""
    # --- your code ---
    # --- end ---
