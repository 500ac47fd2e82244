"""Attention as one would write it in PyTorch, which keeps the logarithms of the sums to itself.

On the way back it takes them, and o, as the part does; its mask begins at the top left there, which is the part's where
both lengths are equal.
"""


def attention(q, k, v, scale, causal):
    """`scaled_dot_product_attention`."""
    from torch.nn.attention.bias import causal_lower_right  # not for those who only list puzzles
    from torch.nn.functional import scaled_dot_product_attention

    mask = causal_lower_right(q.shape[1], k.shape[1]) if causal else None
    return scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask, scale=scale)[0]


def attention_without_lse(q, k, v, scale, causal):
    """`scaled_dot_product_attention`."""
    return attention(q, k, v, scale, causal), None


def attention_of_a_row(q, k, v, scale):
    """`scaled_dot_product_attention`."""
    return attention(q[:, None], k, v, scale, 0)[:, 0]


def gradients(q, k, v, o, dout, lse, scale, causal):
    """`scaled_dot_product_attention`, its way back."""
    import torch

    q, k, v, o, dout, lse = (tensor[None] for tensor in (q, k, v, o, dout, lse))
    if q.is_cuda:
        back, unused = torch.ops.aten._scaled_dot_product_flash_attention_backward, q.new_empty(2, dtype=torch.uint64)
        lengths = None, None, q.shape[2], k.shape[2]
        found = back(dout, q, k, v, o, lse, *lengths, 0.0, bool(causal), unused, unused, scale=scale)
    else:
        back = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        found = back(dout, q, k, v, o, lse, 0.0, bool(causal), scale=scale)
    return tuple(gradient[0] for gradient in found)
