"""Layer norm and linear layer as one would write them in PyTorch, forward and backward."""

from .backward import through_linear

# native_layer_norm is what layer_norm calls: it gives mean and rstd too, which the way back needs, as [rows, 1].


def layernorm(x, gamma, beta, eps):
    """`native_layer_norm`."""
    import torch  # not for those who only list puzzles

    y, mean, rstd = torch.native_layer_norm(x, gamma.shape, gamma, beta, eps)
    return y, mean.flatten(), rstd.flatten()


def step_by_step(x, gamma, beta, W, bias, eps):
    """`native_layer_norm` and `linear`."""
    from torch.nn.functional import linear

    normed, mean, rstd = layernorm(x, gamma, beta, eps)
    return linear(normed, W, bias), mean, rstd, normed


def layernorm_linear(x, gamma, beta, W, bias, eps):
    """`native_layer_norm` and `linear`."""
    return step_by_step(x, gamma, beta, W, bias, eps)[:3]


def gradients(dy, x, gamma, mean, rstd):
    """`native_layer_norm_backward`."""
    import torch

    beta = gamma  # of which only the shape counts on the way back
    return torch.ops.aten.native_layer_norm_backward(
        dy, x, gamma.shape, mean[:, None], rstd[:, None], gamma, beta, [True, True, True]
    )


def all_gradients(dy, x, gamma, beta, W, mean, rstd):
    """`addcmul`, `mm`, `sum` and `native_layer_norm_backward`."""
    import torch

    normed = torch.addcmul(beta, (x - mean[:, None]).mul_(rstd[:, None]), gamma)
    dnormed, *of_linear = through_linear(dy, normed, W)
    return *gradients(dnormed, x, gamma, mean, rstd), *of_linear
