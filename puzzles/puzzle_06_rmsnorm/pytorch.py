"""RMSNorm as one would write it in PyTorch, forward and backward."""


def rmsnorm(x, w, eps):
    """`rms_norm`."""
    from torch.nn.functional import rms_norm  # not for those who only list puzzles

    return rms_norm(x, w.shape, w, eps)


def back(function, inputs, dy):
    """The gradients by these inputs.

    The compiler sees through vjp, and not through autograd; without it, vjp takes rms_norm apart into its operations.
    """
    import torch

    if torch.compiler.is_compiling():
        return torch.func.vjp(function, *inputs)[1](dy)
    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    return torch.autograd.grad(function(*leaves), leaves, dy)


def gradient_by_x(x, w, dy, eps):
    """`rms_norm` and its way back, by x."""
    return back(lambda x: rmsnorm(x, w, eps), [x], dy)[0]


def gradients(x, w, dy, eps):
    """`rms_norm` and its way back."""
    return back(lambda x, w: rmsnorm(x, w, eps), [x, w], dy)
