// The operations that a training step is made of, what each takes and what it gives.
#pragma once

enum class OpKind : int {
    EltwiseAdd = 0,   // a, b → y = a + b
    EltwiseRelu = 1,  // x → y = max(x, 0)
    Gemm = 2,         // A, B → C = A · B, either of them turned first if its attribute is 1: trans_a, trans_b
    BiasAdd = 3,      // x [rows, cols], bias [cols] → y = x with bias added to each row
    ReduceSum = 4,    // x → out = the sum of x along `axis`, which out does not have
    MseGrad = 5,      // y, target → dy = 2 · (y - target) / how many elements y has
    ReluBwd = 6,      // dy, x (before the ReLU) → dx = dy where x > 0, else 0
    SgdStep = 7,      // w, g → w - lr · g, in place: the result is w again
};

constexpr int op_kinds = 8, most_operands = 2, most_attrs = 2;

// The names of an operation and of what it is called with; those that it does not have are null.
struct OpSignature {
    const char* name;
    const char* inputs[most_operands];
    const char* output;
    const char* attrs[most_attrs];
};

constexpr OpSignature signatures[op_kinds] = {
    {"EltwiseAdd", {"a", "b"}, "y", {}},
    {"EltwiseRelu", {"x"}, "y", {}},
    {"Gemm", {"A", "B"}, "C", {"trans_a", "trans_b"}},
    {"BiasAdd", {"x", "bias"}, "y", {}},
    {"ReduceSum", {"x"}, "out", {"axis"}},
    {"MseGrad", {"y", "target"}, "dy", {}},
    {"ReluBwd", {"dy", "x"}, "dx", {}},
    {"SgdStep", {"w", "g"}, "w", {"lr"}},
};

inline const OpSignature& signature(OpKind kind) {
    return signatures[static_cast<int>(kind)];
}
