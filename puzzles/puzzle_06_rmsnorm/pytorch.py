"""RMSNorm as one would write it in PyTorch, forward and backward."""


def rmsnorm(x, w, eps):
    """`rms_norm`."""
    from torch.nn.functional import rms_norm  # not for those who only list puzzles

    return rms_norm(x, w.shape, w, eps)


def gradient_by_x(x, w, dy, eps):
    """`rms_norm` and its way back, by x."""
    from torch.func import vjp

    _, back = vjp(lambda x: rmsnorm(x, w, eps), x)
    return back(dy)[0]


def gradients(x, w, dy, eps):
    """`rms_norm` and its way back."""
    from torch.func import vjp

    _, back = vjp(lambda x, w: rmsnorm(x, w, eps), x, w)
    return back(dy)
