"""read_plan: an answer is missing."""


def read_plan():
    """The answers, in this order."""
    launches, variant_of_dW1, bytes_of_update = None, None, None
    # --- your code ---
    launches = 16
    variant_of_dW1 = "gemm_tn"
    bytes_of_update = 12 * (3 * 5 + 5 + 5 * 2 + 2)
    # --- end ---
    return launches, variant_of_dW1
