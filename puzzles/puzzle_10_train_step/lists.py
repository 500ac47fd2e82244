"""10.6 to 10.8: a training step as a list of op calls, back through one layer and through two, and ten whole steps.

Right is what float64 gives. How far off a result may be follows from the type, the sizes and the numbers themselves:
each value goes with a bound of its error, see bounded.py.
"""

from grader.goals import loss_falls
from grader.launch_goals import kernels_only, variants_chosen
from grader.list_part import ListPart, Question, ReadingPart
from grader.puzzle import Case, DTypeBy, In, InOut, Out, Scalar, Tolerance, Work, Workspace, f16, f32, i32

from . import pytorch
from .mistakes import LR, MISTAKES, MISTAKES_OF_TWO_LAYERS
from .training import linear_bounds, linear_values, loss, mlp_bounds, mlp_values, trained_bounds, trained_values

F32, F16 = 0, 1
BY_DTYPE = DTypeBy("dtype", (f32, f16))
RUNTIME = ("runtime/*.hpp", "runtime/variants/*.cu")
OPS = ("gemm_tiled", "gemm_nt", "gemm_tn", "sgd_f32", "sgd_f16", "sgd_f16_half2")
OWN_OPS = ("mse_grad", "relu_bwd", "bias_grad", "sgd_supported")
LR_OF_TEN = 0.05  # with it ten steps are downhill whatever the inputs
WHY = "four times all roundings together, each as large as it can be: half of what lies between a result and the next"


# ---- what comes in ----

LINEAR_INPUTS = {"W": "weights", "Y": lambda X, W, b: X @ W + b}
MLP_INPUTS = {
    "W1": "weights",
    "W2": "weights",
    "Z1": lambda X, W1, b1: X @ W1 + b1,
    "H": lambda Z1: Z1.clamp(min=0),
    "Y": lambda H, W2, b2: H @ W2 + b2,
}


# ---- cases and work ----


def linear(rows, features, outputs, dtype=F32, lr=LR, **how):
    return Case(rows=rows, features=features, outputs=outputs, dtype=dtype, lr=lr, **how)


def mlp(rows, features, hidden, outputs, dtype=F32, lr=LR, **how):
    return Case(rows=rows, features=features, hidden=hidden, outputs=outputs, dtype=dtype, lr=lr, **how)


def training(rows, features, hidden, outputs, dtype=F32, *, steps):
    return mlp(rows, features, hidden, outputs, dtype, LR_OF_TEN, steps=steps)


def linear_work(rows, features, outputs, dtype):
    weights = (features + 1) * outputs
    elements = 3 * rows * outputs + rows * features + rows * outputs * 2 + weights * 4
    return Work(bytes=(2 if dtype == F16 else 4) * elements, flops=outputs * rows * (2 * features + 3) + 2 * weights)


def mlp_work(rows, features, hidden, outputs, dtype):
    weights = (features + 1) * hidden + (hidden + 1) * outputs
    elements = rows * (2 * features + 6 * hidden + 8 * outputs) + 5 * weights
    flops = rows * (2 * features * hidden + 4 * hidden * outputs + 2 * hidden + 3 * outputs) + 2 * weights
    return Work(bytes=(2 if dtype == F16 else 4) * elements, flops=flops)


def train_work(rows, features, hidden, outputs, steps, dtype):
    one = mlp_work(rows, features, hidden, outputs, dtype)
    flops = one.flops + 2 * rows * hidden * (features + outputs)
    return Work(bytes=2 * steps * one.bytes, flops=steps * flops)


# ---- goals ----


def update_of(elements, dtype):
    """The variant of an update; all tensors are aligned."""
    if dtype == F32:
        return "sgd_step_f32_kernel"
    return "sgd_step_f16_kernel" if elements % 2 else "sgd_step_f16_half2_kernel"


def product_of(m, n, k, dtype, turned):
    """The variant of a product of m · n results and k terms each; `turned` is that of puzzle 2."""
    if dtype == F16:
        return "gemm_f16_tc_wmma_kernel"
    small = turned != "gemm_tiled" and m * n * k >= 1 << 20 and m * n <= 32 * 128 * 128
    return "gemm_f32_small_kernel" if small else turned


def fitting_variants(case):
    """Of each launch of all steps, in their order; None where there is nothing to do."""
    rows, features, hidden, outputs, steps, dtype = (
        case.params[name] for name in ("rows", "features", "hidden", "outputs", "steps", "dtype")
    )
    if not all((rows, features, hidden, outputs)):
        return None
    sizes = (hidden * outputs, outputs, features * hidden, hidden)
    return steps * [
        product_of(rows, hidden, features, dtype, "gemm_tiled"),
        "bias_add_kernel",
        "eltwise_relu_kernel",
        product_of(rows, outputs, hidden, dtype, "gemm_tiled"),
        "bias_add_kernel",
        "mse_grad_kernel",
        product_of(hidden, outputs, rows, dtype, "gemm_tn"),
        "reduce_sum_axis0_kernel",
        product_of(rows, hidden, outputs, dtype, "gemm_nt"),
        "relu_bwd_kernel",
        product_of(features, hidden, rows, dtype, "gemm_tn"),
        "reduce_sum_axis0_kernel",
        *(update_of(elements, dtype) for elements in sizes),
    ]


# ---- parts ----

LINEAR_SIZES = [*(Scalar(name, i32) for name in ("rows", "features", "outputs")), Scalar("dtype", i32)]
MLP_SIZES = [Scalar(name, i32) for name in ("rows", "features", "hidden", "outputs")]
WEIGHTS = [
    InOut("W1", BY_DTYPE, "features", "hidden"),
    InOut("b1", BY_DTYPE, "hidden"),
    InOut("W2", BY_DTYPE, "hidden", "outputs"),
    InOut("b2", BY_DTYPE, "outputs"),
]
DATA = [In("X", BY_DTYPE, "rows", "features"), In("T", BY_DTYPE, "rows", "outputs")]


def gradients_of_two_layers(role):
    return [
        role("dY", BY_DTYPE, "rows", "outputs"),
        role("dW2", BY_DTYPE, "hidden", "outputs"),
        role("db2", BY_DTYPE, "outputs"),
        role("dH", BY_DTYPE, "rows", "hidden"),
        role("dZ1", BY_DTYPE, "rows", "hidden"),
        role("dW1", BY_DTYPE, "features", "hidden"),
        role("db1", BY_DTYPE, "hidden"),
    ]


READ_PLAN = ReadingPart(
    "read_plan",
    about="train_step",
    questions=[
        Question(
            "launches",
            right=len,
            why="Each row of the table is a launch, and its last line counts them. One step is asked for.",
        ),
        Question(
            "variant_of_dW1",
            right=lambda ops: next(one.variant for one in ops if one.call.outputs == ("dW1",)),
            why="Look for the row with dW1 behind the arrow, and in it for the variant. Here it is a string.",
        ),
        Question(
            "bytes_of_update",
            right=lambda ops: sum(one.bytes for one in ops if one.call.op == "SgdStep"),
            why="The update is four rows, of two weights and two biases: w and g are read and w is written, which is "
            "12 bytes for each of them in f32. Add up all four.",
        ),
    ],
    lesson="What a step asks of the GPU, read before any of it is written.",
)

BACKWARD_LINEAR = ListPart(
    "backward_linear",
    params=[
        *DATA,
        InOut("W", BY_DTYPE, "features", "outputs"),
        InOut("b", BY_DTYPE, "outputs"),
        In("Y", BY_DTYPE, "rows", "outputs"),
        Out("dY", BY_DTYPE, "rows", "outputs"),
        Out("dW", BY_DTYPE, "features", "outputs"),
        Out("db", BY_DTYPE, "outputs"),
        Scalar("lr", f32),
        *LINEAR_SIZES,
    ],
    reference=linear_values,
    pytorch=pytorch.linear_step,
    groups={
        "one of each": [linear(1, 1, 1), linear(4, 3, 2)],
        "f32": [linear(64, 32, 16), linear(33, 17, 5), linear(7, 65, 31)],
        "f16": [linear(64, 32, 16, F16), linear(33, 17, 5, F16), linear(1, 1, 1, F16)],
        "another rate": [linear(33, 17, 5, lr=0.125), linear(33, 17, 5, F16, lr=0.125)],
        "many rows": [linear(500, 3, 2), linear(500, 3, 2, F16)],
        "empty": [linear(0, 3, 2), linear(3, 0, 2), linear(3, 2, 0, F16)],
    },
    bench=linear(1024, 1024, 1024),
    work=linear_work,
    tolerance=Tolerance(4.0, scale=linear_bounds, why=WHY),
    lesson="The chain rule as a program: a gradient for every tensor, then the update.",
    default_inputs=LINEAR_INPUTS,
    mistakes=MISTAKES,
    uses=(*OPS, *OWN_OPS),
    headers=RUNTIME,
)

BACKWARD_MLP = ListPart(
    "backward_mlp",
    params=[
        *DATA,
        *WEIGHTS,
        In("Z1", BY_DTYPE, "rows", "hidden"),
        In("H", BY_DTYPE, "rows", "hidden"),
        In("Y", BY_DTYPE, "rows", "outputs"),
        *gradients_of_two_layers(Out),
        Scalar("lr", f32),
        *MLP_SIZES,
        Scalar("dtype", i32),
    ],
    reference=mlp_values,
    pytorch=pytorch.mlp_step,
    groups={
        "small": [mlp(4, 3, 5, 2), mlp(1, 1, 1, 1)],
        "f32": [mlp(64, 32, 48, 16), mlp(33, 17, 21, 5)],
        "f16": [mlp(64, 32, 48, 16, F16), mlp(33, 17, 21, 5, F16)],
        "another rate": [mlp(33, 17, 21, 5, lr=0.125), mlp(33, 17, 21, 5, F16, lr=0.125)],
        "many rows": [mlp(500, 3, 6, 2), mlp(500, 3, 6, 2, F16)],
        "empty": [mlp(0, 3, 4, 2), mlp(3, 2, 0, 2, F16)],
    },
    bench=mlp(1024, 1024, 1024, 1024),
    work=mlp_work,
    tolerance=Tolerance(4.0, scale=mlp_bounds, why=WHY),
    lesson="Through the ReLU into the layer before, with weights that must not have changed yet.",
    default_inputs=MLP_INPUTS,
    mistakes=MISTAKES_OF_TWO_LAYERS,
    uses=(*OPS, *OWN_OPS),
    headers=RUNTIME,
)

TRAIN_STEP = ListPart(
    "train_step",
    params=[
        *DATA,
        *WEIGHTS,
        Workspace("Z1", BY_DTYPE, "rows", "hidden"),
        Workspace("H", BY_DTYPE, "rows", "hidden"),
        Workspace("Y", BY_DTYPE, "rows", "outputs"),
        *gradients_of_two_layers(Workspace),
        Scalar("lr", f32),
        *MLP_SIZES,
        Scalar("steps", i32),
        Scalar("dtype", i32),
    ],
    reference=trained_values,
    pytorch=pytorch.trained,
    groups={
        "one step": [training(4, 3, 5, 2, steps=1), training(33, 17, 21, 5, steps=1)],
        "one step in f16": [training(16, 8, 12, 4, F16, steps=1), training(33, 17, 21, 5, F16, steps=1)],
        "ten steps": [training(16, 8, 12, 4, steps=10), training(33, 17, 21, 5, steps=10)],
        "ten steps in f16": [training(16, 8, 12, 4, F16, steps=10), training(33, 17, 21, 5, F16, steps=10)],
        "empty": [training(4, 3, 5, 2, steps=0), training(0, 3, 5, 2, steps=1)],
    },
    bench=training(1024, 1024, 1024, 1024, steps=1),
    work=train_work,
    tolerance=Tolerance(4.0, scale=trained_bounds, why=WHY),
    lesson="Ten steps of training, on your own ops.",
    goals=[variants_chosen(fitting_variants), kernels_only(), loss_falls()],
    loss=loss,
    is_given=True,
    default_inputs={name: MLP_INPUTS[name] for name in ("W1", "W2")},
    uses=(*OPS, *OWN_OPS, "backward_linear", "backward_mlp"),
    headers=RUNTIME,
    repeat="steps",
)
