"""A puzzle of one part in Python, for tests: RMSNorm with its backward, through the entries of puzzle 6."""

import torch

from grader.puzzle import In, Puzzle, Scalar, Tolerance, f32, i32
from grader.python_part import Call, PythonPart, Source


def calls(*values, eps=1e-5, **further):
    return [Call(batch=batch, seq=seq, hidden=hidden, eps=eps, **further) for batch, seq, hidden in values]


def rms_norm(x, weight, eps):
    return x * ((x * x).mean(-1, keepdim=True) + eps).rsqrt() * weight


puzzle = Puzzle(
    title="Autograd",
    parts=[
        PythonPart(
            "autograd",
            entry="fused_rmsnorm",
            uses=["rmsnorm", "rmsnorm_backward"],
            params=[Scalar("batch", i32), Scalar("seq", i32), Scalar("hidden", i32), Scalar("eps", f32)],
            tensors=[In("x", f32, "batch", "seq", "hidden"), In("weight", f32, "hidden")],
            numbers=["eps"],
            reference=rms_norm,
            result=Source("rmsnorm", "y"),
            gradients={"x": Source("rmsnorm_backward", "dx"), "weight": Source("rmsnorm_backward", "dw")},
            groups={
                "forward": calls((2, 3, 8), needs=()),
                "gradients": calls((2, 3, 8), (1, 5, 33)),
                "some of them": calls((2, 2, 8), needs=["x"]) + calls((2, 2, 8), needs=["weight"]),
                "another eps": calls((2, 2, 8), eps=0.5),
                "not contiguous": calls((2, 3, 8), strided=["x"]) + calls((2, 3, 8), strided=["dy"]),
                "training": calls((2, 3, 8), steps=3, rate=0.5),
            },
            tolerance=Tolerance(2.0**-14, why="some roundings of a float's 24 bits, and far less than half's 11"),
            lesson="Only for tests.",
        )
    ],
)
assert torch  # a reference of PyTorch's operations, in float64
